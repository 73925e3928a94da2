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
  return [...new Set(frontier.map(lastCharacter))].sort((a, b) => a.codePointAt(0)! - b.codePointAt(0)!);
}

/** Of one character, also where it takes two units. */
export function lastCharacter(prefix: string): string {
  return [...prefix].at(-1)!;
}

/** The numbers of some extensions for each last character, and how many of its list each prefix has. */
export interface Lists {
  readonly rows: readonly (readonly number[])[];
  readonly ways: readonly number[];
}

export class Candidates {
  /** T(m-1), …, T(0). */
  readonly #below: readonly number[];
  readonly #length: number;
  /** The list for each last character, if there are lists. */
  readonly #rows: ReadonlyMap<string, readonly number[]>;
  /** The first candidate of each prefix, and the first behind them all. */
  readonly #starts: readonly number[];

  constructor(
    readonly alphabet: Alphabet,
    readonly frontier: readonly string[],
    readonly extension: number,
    /** The extensions that are voted on; all if null. */
    readonly lists: Lists | null,
    /** Words that are asked about again, in order, all shorter than the prefixes. */
    readonly doubtful: readonly string[],
  ) {
    const characters = alphabet.characters.length;
    this.#below = Array.from({ length: extension }, (_, position) => extensions(characters, extension - 1 - position));
    this.#length = [...frontier[0]!].length;
    this.#rows = new Map(lists && lastCharacters(frontier).map((character, row) => [character, lists.rows[row]!]));
    const every = extensions(characters, extension);
    let start = 0;
    this.#starts = [0, ...frontier.map((_, rank) => (start += lists ? lists.ways[rank]! : every))];
  }

  get size(): number {
    return this.#extending + this.doubtful.length;
  }

  /** How many of the candidates extend a prefix: all but the doubtful words, which are behind them. */
  get #extending(): number {
    return this.#starts.at(-1)!;
  }

  /** The candidate that a word of the alphabet belongs to, or -1. */
  index(word: string): number {
    const characters = [...word];
    if (characters.length < this.#length) {
      const position = find(this.doubtful, word, compare);
      return position < 0 ? -1 : this.#extending + position;
    }
    const head = characters.slice(0, this.#length).join("");
    const rank = find(this.frontier, head, compare);
    if (rank < 0) return -1;
    let way = 0;
    for (const [position, character] of characters.slice(this.#length, this.#length + this.extension).entries()) {
      const code = this.alphabet.code(character);
      if (code === 0) return -1;
      way += 1 + (code - 1) * this.#below[position]!;
    }
    if (this.lists) way = this.#rows.get(lastCharacter(head))!.indexOf(way);
    const candidate = this.#starts[rank]! + way;
    return way >= 0 && candidate < this.#starts[rank + 1]! ? candidate : -1;
  }

  /** The prefix of a candidate, and whether the word ends there, in ⊥. */
  prefix(candidate: number): { prefix: string; ends: boolean } {
    if (candidate >= this.#extending) return { prefix: this.doubtful[candidate - this.#extending]!, ends: true };
    const rank = atMost(this.#starts, candidate);
    let prefix = this.frontier[rank]!;
    let way = candidate - this.#starts[rank]!;
    if (this.lists) way = this.#rows.get(lastCharacter(prefix))![way]!;
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
