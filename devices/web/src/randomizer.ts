/** What every randomizer is given, and what it answers for. */

import type { Entropy } from "./entropy";

export interface Randomizer {
  /** The candidates of a layer, and the most of them that one report speaks of (B). */
  readonly candidates: number;
  readonly bound: number;
  /** The length of a report's payload, but for one in 2^40. */
  readonly payloadBytes: number;
  /** How many votes a report stands for, at most on average, rounded up. */
  readonly votes: number;
  /** Whether the thresholds keep the ε that was asked for, in integers. */
  readonly keepsEpsilon: boolean;
  /** The chances of a vote for a candidate that is held (p), and for one that is not (q), as the sampler uses them. */
  readonly channel: Channel;

  /** The payload of a report on the candidates held, at most B. */
  randomize(held: readonly number[], entropy: Entropy): Promise<Uint8Array<ArrayBuffer>>;

  /** The candidates that a payload votes for, with repetition. */
  votesOf(payload: Uint8Array<ArrayBuffer>): Promise<number[]>;
}

/** Two probabilities over one denominator, of so many contributions in one report. */
export interface Channel {
  readonly held: bigint;
  readonly other: bigint;
  readonly of: bigint;
  readonly contributions: number;
}

/** A quotient as people read it. */
export function quotient(numerator: bigint, denominator: bigint): number {
  return Number(numerator) / Number(denominator);
}

/** How many votes for so many candidates are noise, on average; for people to read. */
export function noiseVotes({ channel }: Randomizer, candidates: number): number {
  return channel.contributions * candidates * quotient(channel.other, channel.of);
}
