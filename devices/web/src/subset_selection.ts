/**
 * Subset Selection, the randomizer of the paper: each of B words, filled up with the null element γ, becomes a random
 * d-subset that contains the word with probability p and otherwise does not.
 *
 * A subset travels as an offset c of a base subset that a seed expands to. With s candidates, γ included, d =
 * ⌈s/(e^ε+1)⌉ and p rounded down from d·e^ε/(d·e^ε+s-d), one word changes the chance of any report by at most e^ε.
 */

import type { Entropy } from "./entropy";
import { EXP_BITS, ONE, ceilDivide, expBelow } from "./exact";
import { SEED_BYTES, baseSubsets } from "./expansion";
import { BitReader, BitWriter } from "./packing";
import type { Channel, Randomizer } from "./randomizer";

export class SubsetSelection implements Randomizer {
  readonly domain: number;
  readonly subsetSize: number;
  readonly truth: bigint;
  readonly keepsEpsilon: boolean;

  constructor(
    readonly candidates: number,
    epsilon: number,
    readonly bound: number,
  ) {
    this.domain = candidates + 1;
    const exp = expBelow(epsilon);
    const unit = 1n << EXP_BITS;
    const s = BigInt(this.domain);
    const d = ceilDivide(s * unit, exp + unit);
    this.subsetSize = Number(d);
    this.truth = (ONE * d * exp) / (d * exp + (s - d) * unit);
    this.keepsEpsilon = this.truth * (s - d) * unit <= exp * (ONE - this.truth) * d;
  }

  get offsetBits(): number {
    return 32 - Math.clz32(this.domain - 1);
  }

  get payloadBytes(): number {
    return SEED_BYTES + Math.ceil((this.bound * this.offsetBits) / 8);
  }

  get votes(): number {
    return this.bound * this.subsetSize;
  }

  get channel(): Channel {
    const others = BigInt(this.candidates);
    const other = BigInt(this.subsetSize) * ONE - this.truth;
    return { held: this.truth * others, other, of: ONE * others, contributions: this.bound };
  }

  async translates(held: readonly number[], entropy: Entropy): Promise<{ seed: Uint8Array; offsets: number[] }> {
    const words = entropy.permutation(this.bound).map((index) => held[index] ?? this.candidates);
    const seed = entropy.octets(SEED_BYTES / 8);
    const bases = await this.expand(seed);
    const positions = entropy.below(this.subsetSize, this.bound);
    const hits = words.map((word, j) => this.#modulo(word - bases[j]![positions[j]!]!));
    const truths = entropy.chances(this.truth, this.bound);
    const misses = this.#misses(words, bases, entropy);
    return { seed, offsets: hits.map((hit, j) => (truths[j] ? hit : misses[j]!)) };
  }

  async randomize(held: readonly number[], entropy: Entropy): Promise<Uint8Array<ArrayBuffer>> {
    const { seed, offsets } = await this.translates(held, entropy);
    const writer = new BitWriter();
    for (const octet of seed) writer.field(octet, 8);
    for (const offset of offsets) writer.field(offset, this.offsetBits);
    return writer.octets();
  }

  async votesOf(payload: Uint8Array<ArrayBuffer>): Promise<number[]> {
    const bases = await this.expand(payload.slice(0, SEED_BYTES));
    const reader = new BitReader(payload.subarray(SEED_BYTES));
    return bases
      .flatMap((base) => {
        const offset = reader.field(this.offsetBits);
        return base.map((value) => (value + offset) % this.domain);
      })
      .filter((vote) => vote !== this.candidates);
  }

  expand(seed: Uint8Array<ArrayBuffer>): Promise<number[][]> {
    return baseSubsets(seed, this.domain, this.bound, this.subsetSize);
  }

  /** For each word a uniform offset whose translate does not contain it. */
  #misses(words: number[], bases: number[][], entropy: Entropy): number[] {
    const offsets = entropy.below(this.domain, this.bound);
    for (;;) {
      const hit = words.flatMap((word, j) => (bases[j]!.includes(this.#modulo(word - offsets[j]!)) ? [j] : []));
      if (hit.length === 0) return offsets;
      entropy.below(this.domain, hit.length).forEach((offset, index) => (offsets[hit[index]!] = offset));
    }
  }

  #modulo(value: number): number {
    return value < 0 ? value + this.domain : value;
  }
}
