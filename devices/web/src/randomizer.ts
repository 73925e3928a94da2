/** What every randomizer is given, and what it answers for. */

import type { Entropy } from "./entropy";

export interface Randomizer {
  /** The candidates of a layer, and the most of them that one report speaks of (B). */
  readonly candidates: number;
  readonly bound: number;
  /** The length of a report's payload, but for one in 2^40. */
  readonly payloadBytes: number;
  /** How many votes a report stands for, at most on average, rounded up; and how many are noise, on average. */
  readonly votes: number;
  readonly noiseVotes: number;
  /** Whether the thresholds keep the ε that was asked for, in integers. */
  readonly keepsEpsilon: boolean;
  /** The chance of a vote for a candidate that is held, and for one that is not; for people to read. */
  readonly chances: readonly [held: number, other: number];

  /** The payload of a report on the candidates held, at most B. */
  randomize(held: readonly number[], entropy: Entropy): Promise<Uint8Array<ArrayBuffer>>;

  /** The candidates that a payload votes for, with repetition. */
  votesOf(payload: Uint8Array<ArrayBuffer>): Promise<number[]>;
}

/** A numerator over 2^64 as people read it. */
export function share(numerator: bigint): number {
  return Number(numerator) / 2 ** 64;
}
