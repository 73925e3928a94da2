/**
 * One-report unary encoding: bit z of a report is 1 with probability 1/2 if z is held and with probability q if not.
 *
 * q = k/2^64 with k = ⌈2^64/(e^ε+1)⌉, so that replacing one candidate changes the chance of any report by at most
 * (1-q)/q ≤ e^ε. First is drawn how many bits the noise sets, exactly binomial, then which; held ones become fair coins.
 */

import { drawBinomial } from "./binomial";
import type { Entropy } from "./entropy";
import { EXP_BITS, ONE, ceilDivide, expBelow } from "./exact";
import type { Channel, Randomizer } from "./randomizer";
import { RiceCode } from "./rice";

export class Unary implements Randomizer {
  readonly noise: bigint;
  readonly code: RiceCode;
  readonly keepsEpsilon: boolean;

  constructor(
    readonly candidates: number,
    epsilon: number,
    readonly bound: number,
  ) {
    const exp = expBelow(epsilon);
    this.noise = ceilDivide(ONE << EXP_BITS, exp + (1n << EXP_BITS));
    this.keepsEpsilon = (ONE - this.noise) << EXP_BITS <= exp * this.noise;
    this.code = new RiceCode(candidates, this.noise, bound);
  }

  get payloadBytes(): number {
    return this.code.usualBytes;
  }

  get votes(): number {
    return Number(ceilDivide(2n * BigInt(this.candidates) * this.noise + ONE, 2n * ONE));
  }

  get channel(): Channel {
    return { held: ONE / 2n, other: this.noise, of: ONE, contributions: 1 };
  }

  /** The randomness used does not depend on what is held. */
  positions(held: readonly number[], entropy: Entropy): number[] {
    const noise = entropy.subset(this.candidates, drawBinomial(this.candidates, this.noise, entropy));
    const coins = entropy.chances(ONE / 2n, this.bound);
    const own = new Set(held);
    return [...noise.filter((candidate) => !own.has(candidate)), ...held.filter((_, rank) => coins[rank])].sort(
      (a, b) => a - b,
    );
  }

  async randomize(held: readonly number[], entropy: Entropy): Promise<Uint8Array<ArrayBuffer>> {
    return this.code.encode(this.positions(held, entropy));
  }

  async votesOf(payload: Uint8Array): Promise<number[]> {
    return this.code.decode(payload);
  }
}
