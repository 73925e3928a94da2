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

/** The different last characters of some prefixes, in order. */
export function lastCharacters(frontier: readonly string[]): string[] {
  // Of one character each, so that the order by first code point is that of the strings.
  return [...new Set(frontier.map(last))].sort((a, b) => a.codePointAt(0)! - b.codePointAt(0)!);
}

function last(prefix: string): string {
  return [...prefix].at(-1)!;
}

export class Candidates {
  /** T(m-1), …, T(0). */
  readonly #below: readonly number[];
  readonly #length: number;
  readonly #rows: ReadonlyMap<string, number>;
  /** How many extensions of a prefix are voted on. */
  readonly ways: number;

  constructor(
    readonly alphabet: Alphabet,
    readonly frontier: readonly string[],
    readonly extension: number,
    readonly listed: readonly (readonly number[])[] | null,
    /** Words that are asked about again, in order, all shorter than the prefixes. */
    readonly doubtful: readonly string[],
  ) {
    const characters = alphabet.characters.length;
    this.#below = Array.from({ length: extension }, (_, place) => extensions(characters, extension - 1 - place));
    this.#length = [...frontier[0]!].length;
    this.#rows = new Map(lastCharacters(frontier).map((character, row) => [character, row]));
    this.ways = listed === null ? extensions(characters, extension) : listed[0]!.length;
  }

  get size(): number {
    return this.#extending + this.doubtful.length;
  }

  /** How many of the candidates extend a prefix: all but the doubtful words, which are behind them. */
  get #extending(): number {
    return this.frontier.length * this.ways;
  }

  /** The candidate that a word of the alphabet belongs to, or -1. */
  index(word: string): number {
    const characters = [...word];
    if (characters.length < this.#length) {
      const place = find(this.doubtful, word, compare);
      return place < 0 ? -1 : this.#extending + place;
    }
    const head = characters.slice(0, this.#length).join("");
    const rank = find(this.frontier, head, compare);
    if (rank < 0) return -1;
    let way = 0;
    for (const [place, character] of characters.slice(this.#length, this.#length + this.extension).entries()) {
      const code = this.alphabet.code(character);
      if (code === 0) return -1;
      way += 1 + (code - 1) * this.#below[place]!;
    }
    if (this.listed !== null) way = find(this.listed[this.#rows.get(last(head))!]!, way, (a, b) => a - b);
    return way < 0 ? -1 : rank * this.ways + way;
  }

  /** The prefix of a candidate, and whether the word ends there, in ⊥. */
  prefix(candidate: number): { prefix: string; ends: boolean } {
    if (candidate >= this.#extending) return { prefix: this.doubtful[candidate - this.#extending]!, ends: true };
    let prefix = this.frontier[Math.floor(candidate / this.ways)]!;
    let way = candidate % this.ways;
    if (this.listed !== null) way = this.listed[this.#rows.get(last(prefix))!]![way]!;
    for (const below of this.#below) {
      if (way === 0) return { prefix, ends: true };
      prefix += this.alphabet.characters[Math.floor((way - 1) / below)]!;
      way = (way - 1) % below;
    }
    return { prefix, ends: false };
  }
}
