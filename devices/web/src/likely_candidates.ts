/** The strings that are likely enough to be asked about, numbered without enumerating them, in rounds of roots. */

import { atMost } from "./candidates";
import { unusable } from "./errors";
import { type Alphabet, ascends } from "./spelling";
import { NEVER, START, type Spelling, SpellingCosts } from "./spelling_costs";

const MOST_OPENINGS = 1 << 23;
const MOST_ROUNDS = 32;

/** The part of a layer's document that says what is asked about, one item a round. */
export interface Rounds extends Spelling {
  readonly roots: readonly (readonly string[])[];
  readonly root_costs: readonly (readonly number[])[];
  readonly even_costs: readonly (readonly number[])[];
  readonly limits: readonly number[];
  readonly again: readonly number[];
  readonly escapes: boolean;
}

interface Told {
  readonly prefix: string;
  readonly ends: boolean;
}

/** Prefixes, in order, and what their next symbols cost. */
class Roots {
  readonly #rankOf: ReadonlyMap<string, number>;
  readonly #longest: number;
  readonly lengths: Uint8Array;
  readonly states: Uint16Array;
  /** `[r * symbols + x]`: whether symbol x was asked about below root r before. */
  readonly closed: Uint8Array;

  constructor(
    readonly spelling: SpellingCosts,
    readonly prefixes: readonly string[],
    readonly costs: readonly number[],
    readonly evenCosts: readonly number[],
  ) {
    this.#rankOf = new Map(prefixes.map((prefix, rank) => [prefix, rank]));
    this.lengths = Uint8Array.from(prefixes, (prefix) => [...prefix].length);
    this.#longest = this.lengths.reduce((most, each) => Math.max(most, each), 0);
    this.states = Uint16Array.from(prefixes, (prefix) =>
      [...prefix].reduce(
        (state, each) => spelling.after[state * spelling.symbols + spelling.alphabet.code(each)]!,
        START,
      ),
    );
    this.closed = new Uint8Array(prefixes.length * spelling.symbols);
  }

  /** The longest root that a word begins with, or -1. */
  of(word: readonly string[]): number {
    for (let length = Math.min(word.length, this.#longest); length >= 0; length--) {
      const rank = this.#rankOf.get(word.slice(0, length).join(""));
      if (rank !== undefined) return rank;
    }
    return -1;
  }

  /** The cost of a root and a symbol after it. */
  nextCost(root: number, symbol: number): number {
    const { symbols, cost } = this.spelling;
    if (this.closed[root * symbols + symbol]) return NEVER;
    return Math.min(this.costs[root]! + cost[this.states[root]! * symbols + symbol]!, this.evenCosts[root]!);
  }

  /** The most that is left of a limit behind the first character of a string. */
  budget(limit: number): number {
    let most = 0;
    for (let root = 0; root < this.prefixes.length; root++) {
      for (let symbol = 1; symbol < this.spelling.symbols; symbol++) {
        most = Math.max(most, limit - this.nextCost(root, symbol));
      }
    }
    return most;
  }

  /** Close the roots of the next round to all that was asked about so far; whether each of them was asked about itself. */
  close(next: Roots, limit: number): boolean {
    const { symbols, cost, after, alphabet } = this.spelling;
    return next.prefixes.every((prefix, rank) => {
      const word = [...prefix];
      const root = this.of(word);
      if (root < 0) return false;
      const row = next.closed.subarray(rank * symbols, (rank + 1) * symbols);
      const length = this.lengths[root]!;
      if (length === word.length) {
        const before = root * symbols;
        row.forEach((_, symbol) => {
          row[symbol] = Number(this.closed[before + symbol] || this.nextCost(root, symbol) <= limit);
        });
        return true;
      }
      const first = alphabet.code(word[length]!);
      let left = limit - this.nextCost(root, first);
      let state = after[this.states[root]! * symbols + first]!;
      for (const character of word.slice(length + 1)) {
        const at = state * symbols + alphabet.code(character);
        left -= cost[at]!;
        state = after[at]!;
      }
      row.forEach((_, symbol) => {
        row[symbol] = Number(cost[state * symbols + symbol]! <= left);
      });
      return left >= 0;
    });
  }
}

/** The strings below some roots that cost at most a limit: words, and also all prefixes if there are escapes. */
class LikelyStrings {
  /** The first string of each root, and the end of the last one's. */
  readonly #starts: Float64Array;

  constructor(
    readonly roots: Roots,
    readonly limit: number,
    readonly escapes: boolean,
    readonly sizes: Uint32Array,
  ) {
    const { symbols } = roots.spelling;
    this.#starts = new Float64Array(roots.prefixes.length + 1);
    for (let root = 0; root < roots.prefixes.length; root++) {
      let end = this.#starts[root]! + Number(escapes);
      for (let symbol = 0; symbol < symbols; symbol++) end += this.#first(root, symbol);
      this.#starts[root + 1] = end;
    }
  }

  get size(): number {
    return this.#starts.at(-1)!;
  }

  /** The string that a word belongs to, given by its characters and their codes, or -1. */
  index(word: readonly string[], codes: readonly number[]): number {
    const { roots, escapes } = this;
    const { symbols, cost, after } = roots.spelling;
    const root = roots.of(word);
    if (root < 0) return -1;
    let position = roots.lengths[root]!;
    let code = codes[position] ?? 0;
    if (roots.closed[root * symbols + code]) return -1;
    let found = escapes ? this.#starts[root]! : -1;
    let left = this.limit - roots.nextCost(root, code);
    if (left < 0) return found;
    let here = this.#starts[root]! + Number(escapes);
    for (let earlier = 0; earlier < code; earlier++) here += this.#first(root, earlier);
    let state = after[roots.states[root]! * symbols + code]!;
    while (code > 0) {
      if (escapes) found = here;
      code = codes[++position] ?? 0;
      const price = cost[state * symbols + code]!;
      if (price > left) return found;
      here += Number(escapes);
      for (let earlier = 0; earlier < code; earlier++) here += this.#next(state, left, earlier);
      left -= price;
      state = after[state * symbols + code]!;
    }
    return here;
  }

  /** One of the strings, and whether it is a word. */
  string(index: number): Told {
    const { roots, escapes } = this;
    const { symbols, cost, after, alphabet } = roots.spelling;
    const root = atMost(this.#starts, index);
    let prefix = roots.prefixes[root]!;
    let rank = index - this.#starts[root]!;
    let [state, left] = [roots.states[root]!, this.limit];
    for (let first = true; !(escapes && rank === 0); first = false) {
      rank -= Number(escapes);
      let code = 0;
      for (; code < symbols; code++) {
        const size = first ? this.#first(root, code) : this.#next(state, left, code);
        if (rank < size) break;
        rank -= size;
      }
      if (code === 0) return { prefix, ends: true };
      left -= first ? roots.nextCost(root, code) : cost[state * symbols + code]!;
      state = after[state * symbols + code]!;
      prefix += alphabet.characters[code - 1]!;
    }
    return { prefix, ends: false };
  }

  /** How many strings begin with a root and a symbol. */
  #first(root: number, symbol: number): number {
    const state = this.roots.states[root]!;
    return this.#behind(this.limit - this.roots.nextCost(root, symbol), state, symbol);
  }

  /** How many strings go on with a symbol from a context, if so much is left. */
  #next(state: number, left: number, symbol: number): number {
    const { symbols, cost } = this.roots.spelling;
    return this.#behind(left - cost[state * symbols + symbol]!, state, symbol);
  }

  #behind(left: number, state: number, symbol: number): number {
    if (left < 0) return 0;
    const { symbols, after, width } = this.roots.spelling;
    return symbol ? this.sizes[left * width + after[state * symbols + symbol]!]! : 1;
  }
}

/** The strings of the last round, then the words of earlier rounds that are asked about again. */
export class LikelyCandidates {
  readonly #spelling: SpellingCosts;
  readonly #rounds: readonly Roots[];
  #parts: readonly LikelyStrings[] | null | undefined;

  constructor(
    readonly alphabet: Alphabet,
    readonly document: Rounds,
  ) {
    const spelling = (this.#spelling = new SpellingCosts(alphabet, document));
    const { roots, root_costs, even_costs, limits, again } = document;
    const rounds = roots.length;
    if ([root_costs, even_costs, limits, again].some((column) => column.length !== rounds)) throw unusable("rounds");
    if (rounds < 1 || rounds > MOST_ROUNDS || roots[0]!.length !== 1 || roots[0]![0] !== "") throw unusable("rounds");
    const total = roots.reduce((sum, prefixes) => sum + prefixes.length, 0);
    if (total > Math.floor(MOST_OPENINGS / spelling.symbols)) throw unusable("roots");
    this.#rounds = roots.map((prefixes, number) => {
      const [costs, evenCosts, limit] = [root_costs[number]!, even_costs[number]!, limits[number]!];
      if (!ascends(prefixes) || !prefixes.every((prefix) => alphabet.expresses(prefix))) throw unusable("roots");
      if (costs.length !== prefixes.length || evenCosts.length !== prefixes.length || evenCosts.includes(0)) {
        throw unusable("costs of roots");
      }
      if (limit > spelling.largestLimit) throw unusable("limits");
      if (again[number]! > (number === rounds - 1 ? 0 : limit)) throw unusable("limits");
      return new Roots(spelling, prefixes, costs, evenCosts);
    });
    this.#rounds[0]!.closed[0] = 1;
    this.#rounds.forEach((each, number) => {
      if (number && !this.#rounds[number - 1]!.close(each, limits[number - 1]!)) throw unusable("roots");
    });
  }

  /** The number of candidates; Infinity if it is beyond all bounds. */
  get size(): number {
    return this.#all?.reduce((sum, part) => sum + part.size, 0) ?? Infinity;
  }

  /** The candidate that a word belongs to, or -1. */
  index(word: string): number {
    const characters = [...word];
    const codes = characters.map((character) => this.alphabet.code(character));
    if (codes.includes(0)) return -1;
    let start = 0;
    let found = -1;
    for (const part of this.#all!) {
      const index = part.index(characters, codes);
      if (index >= 0) found = start + index;
      start += part.size;
    }
    return found;
  }

  /** The string of a candidate, and whether it is a word; otherwise it is an escape. */
  prefix(candidate: number): Told {
    let left = candidate;
    for (const part of this.#all!) {
      if (left < part.size) return part.string(left);
      left -= part.size;
    }
    throw new RangeError("there is no such candidate");
  }

  /** The new strings, then the words of each earlier round; null if they are beyond all bounds. */
  get #all(): readonly LikelyStrings[] | null {
    return this.#parts === undefined ? (this.#parts = this.#count()) : this.#parts;
  }

  #count(): LikelyStrings[] | null {
    const { limits, again, escapes } = this.document;
    const last = this.#rounds.length - 1;
    const [newest, earlier] = [this.#rounds[last]!, this.#rounds.slice(0, last)];
    const budgets = earlier.map((roots, number) => roots.budget(again[number]!));
    const fresh = this.#spelling.sizes(newest.budget(limits[last]!), escapes);
    const words = earlier.length ? this.#spelling.sizes(Math.max(...budgets), false) : fresh;
    return (
      fresh &&
      words && [
        new LikelyStrings(newest, limits[last]!, escapes, fresh),
        ...earlier.map((roots, number) => new LikelyStrings(roots, again[number]!, false, words)),
      ]
    );
  }
}
