/**
 * Where randomness comes from: 64 uniform bits at a time, as two halves of 32.
 *
 * Every draw that decides what leaves a device is a comparison of integers, so that its probability is exactly the
 * fraction that the privacy statement names. Where numbers stand for integers here, all of them stay below 2^53.
 */

const HALF = 2 ** 32;
const SHORT = 2 ** 16;
const MOST_OCTETS = 65_536; // what the browser gives at once

export abstract class Entropy {
  /** The next words of the stream, each as its low 32 bits and then its high 32 bits. */
  abstract halves(words: number): Uint32Array;

  /** The next bytes, eight from each word. */
  octets(words: number): Uint8Array<ArrayBuffer> {
    const octets = new Uint8Array(8 * words);
    const view = new DataView(octets.buffer);
    this.halves(words).forEach((half, place) => view.setUint32(4 * place, half, true));
    return octets;
  }

  /** A uniform integer of so many bits, a multiple of 64; the first word is the least significant. */
  integer(bits: number): bigint {
    return this.halves(bits / 64).reduceRight((sum, half) => (sum << 32n) | BigInt(half), 0n);
  }

  /** Independent events, each with probability exactly numerator / 2^64. */
  chances(numerator: bigint, count: number): boolean[] {
    const halves = this.halves(count);
    const high = Number(numerator >> 32n);
    const low = Number(numerator & 0xffffffffn);
    return Array.from({ length: count }, (_, place) => {
      const top = halves[2 * place + 1]!;
      return top < high || (top === high && halves[2 * place]! < low);
    });
  }

  /** Independent uniform integers in [0, bound), with bound ≤ 2^32. */
  below(bound: number, count: number): number[] {
    const taken: number[] = [];
    while (taken.length < count) {
      const missing = count - taken.length;
      for (const value of boundedIntegers(this.halves(Math.ceil(missing / 2)), bound)) {
        if (taken.length < count) taken.push(value);
      }
    }
    return taken;
  }

  /** A uniform subset of {0, …, size-1}, sorted, in work proportional to the smaller side. */
  subset(size: number, count: number): number[] {
    if (2 * count > size) {
      const left = new Set(this.subset(size, size - count));
      return Array.from({ length: size }, (_, place) => place).filter((place) => !left.has(place));
    }
    const chosen = new Set<number>();
    while (chosen.size < count) {
      // As many as are missing, no more: then every subset has the same chance.
      for (const value of this.below(size, count - chosen.size)) chosen.add(value);
    }
    return [...chosen].sort((a, b) => a - b);
  }

  /** A uniform order of {0, …, count-1}: that of distinct random words. */
  permutation(count: number): number[] {
    for (;;) {
      const keys = this.halves(count);
      const compare = (a: number, b: number): number =>
        keys[2 * a + 1]! - keys[2 * b + 1]! || keys[2 * a]! - keys[2 * b]!;
      const order = Array.from({ length: count }, (_, place) => place).sort(compare);
      if (order.every((place, rank) => rank === 0 || compare(order[rank - 1]!, place) !== 0)) return order;
    }
  }
}

/** Uniform integers below a bound from uniform 32-bit words, in order; words that would bias are left out. */
export function* boundedIntegers(halves: Iterable<number>, bound: number): Generator<number> {
  const least = HALF % bound;
  const [high, low] = [Math.floor(bound / SHORT), bound % SHORT];
  for (const half of halves) {
    // half · bound has up to 64 bits: in two parts, each an exact integer below 2^53.
    const first = half * low;
    const rest = half * high + Math.floor(first / SHORT);
    if ((rest % SHORT) * SHORT + (first % SHORT) >= least) yield Math.floor(rest / SHORT);
  }
}

/** The browser's own generator. Nothing is kept between draws, and there is no seed. */
export class SecureEntropy extends Entropy {
  halves(words: number): Uint32Array {
    const halves = new Uint32Array(2 * words);
    for (let start = 0; start < halves.length; start += MOST_OCTETS / 4) {
      crypto.getRandomValues(halves.subarray(start, start + MOST_OCTETS / 4));
    }
    return halves;
  }
}
