/** The prefixes that a layer votes on, in the one order that device and server derive from the frontier. */

import { type Alphabet, compare, find } from "./spelling";

/** T(m): how many ways there are to go on by m symbols, or to end before; Infinity as soon as it is above `most`. */
export function extensions(characters: number, symbols: number, most = Infinity): number {
  let count = 1;
  for (let m = 0; m < symbols; m++) {
    count = 1 + characters * count;
    if (count > most) return Infinity;
  }
  return count;
}

export class Candidates {
  /** T(m-1), …, T(0). */
  readonly #below: readonly number[];
  /** T(m). */
  readonly #ways: number;
  readonly #length: number;

  constructor(
    readonly alphabet: Alphabet,
    readonly frontier: readonly string[],
    readonly extension: number,
  ) {
    const characters = alphabet.characters.length;
    this.#below = Array.from({ length: extension }, (_, position) => extensions(characters, extension - 1 - position));
    this.#ways = extensions(characters, extension);
    this.#length = [...frontier[0]!].length;
  }

  get size(): number {
    return this.frontier.length * this.#ways;
  }

  /** The candidate that a word of the alphabet belongs to, or -1. */
  index(word: string): number {
    const characters = [...word];
    const head = characters.slice(0, this.#length).join("");
    const rank = find(this.frontier, head, compare);
    if (rank < 0) return -1;
    let way = 0;
    for (const [position, character] of characters.slice(this.#length, this.#length + this.extension).entries()) {
      const code = this.alphabet.code(character);
      if (code === 0) return -1;
      way += 1 + (code - 1) * this.#below[position]!;
    }
    return rank * this.#ways + way;
  }

  /** The prefix of a candidate, and whether the word ends there, in ⊥. */
  prefix(candidate: number): { prefix: string; ends: boolean } {
    let prefix = this.frontier[Math.floor(candidate / this.#ways)]!;
    let way = candidate % this.#ways;
    for (const below of this.#below) {
      if (way === 0) return { prefix, ends: true };
      prefix += this.alphabet.characters[Math.floor((way - 1) / below)]!;
      way = (way - 1) % below;
    }
    return { prefix, ends: false };
  }
}

/** The last position in a list of ascending numbers whose number is at most this one. */
export function atMost(numbers: ArrayLike<number>, number: number): number {
  let [low, high] = [0, numbers.length];
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (numbers[middle]! <= number) low = middle;
    else high = middle;
  }
  return low;
}
