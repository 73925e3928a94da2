/** The strings that are likely enough to be asked about, numbered without enumerating them, in rounds of roots. */

import { atMost } from "./candidates";
import { unusable } from "./errors";
import { type Alphabet, ascends } from "./spelling";
import { NEVER, START, type Spelling, SpellingCosts } from "./spelling_costs";

const MOST_OPENINGS = 1 << 23;
const MOST_ROUNDS = 32;
/** The limit of prefixes where none is asked about, not even a root. */
const NO_PREFIXES = 0;
/** What words could cost that were asked about, where none was. */
const UNASKED = -1;

/** The part of a layer's document that says what is asked about, one item a round. */
export interface Rounds extends Spelling {
  readonly roots: readonly (readonly string[])[];
  readonly root_costs: readonly (readonly number[])[];
  readonly even_costs: readonly (readonly number[])[];
  readonly limits: readonly number[];
  readonly prefix_limits: readonly number[];
  readonly again: readonly number[];
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
  /**
   * `[r * symbols + x]`: what a word could cost behind root r and symbol x if it was asked about before; `NEVER` where x is
   * closed, because that prefix was asked about, too.
   */
  readonly asked: Int32Array;

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
    this.asked = new Int32Array(prefixes.length * spelling.symbols).fill(UNASKED);
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
    if (this.asked[root * symbols + symbol] === NEVER) return NEVER;
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

  /**
   * Tell the roots of the next round what was asked about behind them so far; whether each of them was asked about itself.
   */
  tell(next: Roots, limit: number, prefixLimit: number): boolean {
    const { symbols, cost, after, alphabet } = this.spelling;
    const gap = limit - prefixLimit;
    return next.prefixes.every((prefix, rank) => {
      const word = [...prefix];
      const root = this.of(word);
      if (root < 0 || prefixLimit === NO_PREFIXES) return false;
      const row = next.asked.subarray(rank * symbols, (rank + 1) * symbols);
      const note = (symbol: number, left: number, before: number): void => {
        const closes = before === NEVER || (symbol > 0 && left >= gap);
        row[symbol] = closes ? NEVER : Math.max(left, before, UNASKED);
      };
      const length = this.lengths[root]!;
      if (length === word.length) {
        row.forEach((_, symbol) => {
          note(symbol, limit - this.nextCost(root, symbol), this.asked[root * symbols + symbol]!);
        });
        return true;
      }
      const first = alphabet.code(word[length]!);
      let left = limit - this.nextCost(root, first);
      let before = this.asked[root * symbols + first]!;
      let state = after[this.states[root]! * symbols + first]!;
      for (const character of word.slice(length + 1)) {
        const at = state * symbols + alphabet.code(character);
        left -= cost[at]!;
        before -= cost[at]!;
        state = after[at]!;
      }
      row.forEach((_, symbol) => {
        const price = cost[state * symbols + symbol]!;
        note(symbol, left - price, before - price);
      });
      return left >= gap;
    });
  }
}

/** How many words and prefixes go on from each context; null where there are no prefixes. */
interface Sizes {
  readonly words: Uint32Array;
  readonly prefixes: Uint32Array | null;
}

/** The words below some roots that cost at most a limit, and the prefixes that cost at most another, if there are any. */
class LikelyStrings {
  /** The first string of each root, and the end of the last one's. */
  readonly #starts: Float64Array;
  /** What must be left of the limit for a prefix to be asked about. */
  readonly #gap: number;
  readonly #rooted: number;

  constructor(
    readonly roots: Roots,
    readonly limit: number,
    readonly prefixLimit: number,
    readonly sizes: Sizes,
  ) {
    const { symbols } = roots.spelling;
    this.#rooted = Number(prefixLimit !== NO_PREFIXES);
    this.#gap = this.#rooted ? limit - prefixLimit : NEVER;
    this.#starts = new Float64Array(roots.prefixes.length + 1);
    for (let root = 0; root < roots.prefixes.length; root++) {
      let end = this.#starts[root]! + this.#rooted;
      for (let symbol = 0; symbol < symbols; symbol++) end += this.#first(root, symbol);
      this.#starts[root + 1] = end;
    }
  }

  get size(): number {
    return this.#starts.at(-1)!;
  }

  /** The string that a word belongs to, given by its characters and their codes, or -1. */
  index(word: readonly string[], codes: readonly number[]): number {
    const { roots } = this;
    const { symbols, cost, after } = roots.spelling;
    const root = roots.of(word);
    if (root < 0) return -1;
    let position = roots.lengths[root]!;
    let code = codes[position] ?? 0;
    let before = roots.asked[root * symbols + code]!;
    if (before === NEVER) return -1;
    let found = this.#rooted ? this.#starts[root]! : -1;
    let left = this.limit - roots.nextCost(root, code);
    let here = this.#starts[root]! + this.#rooted;
    for (let earlier = 0; earlier < code; earlier++) here += this.#first(root, earlier);
    let state = after[roots.states[root]! * symbols + code]!;
    while (code > 0) {
      if (left < 0 && before < 0) return found;
      if (left >= this.#gap) found = here++;
      code = codes[++position] ?? 0;
      for (let earlier = 0; earlier < code; earlier++) here += this.#next(state, left, before, earlier);
      const price = cost[state * symbols + code]!;
      left -= price;
      before -= price;
      state = after[state * symbols + code]!;
    }
    // A word that was asked about before belongs to nothing here, whatever its prefixes are.
    if (before >= 0) return -1;
    return left >= 0 ? here : found;
  }

  /** One of the strings, and whether it is a word. */
  string(index: number): Told {
    const { roots } = this;
    const { symbols, cost, after, alphabet } = roots.spelling;
    const root = atMost(this.#starts, index);
    let prefix = roots.prefixes[root]!;
    let rank = index - this.#starts[root]! - this.#rooted;
    let [state, left, before] = [roots.states[root]!, this.limit, UNASKED];
    for (let first = true; rank >= 0; first = false) {
      let code = 0;
      for (; code < symbols; code++) {
        const size = first ? this.#first(root, code) : this.#next(state, left, before, code);
        if (rank < size) break;
        rank -= size;
      }
      if (code === 0) return { prefix, ends: true };
      const price = first ? roots.nextCost(root, code) : cost[state * symbols + code]!;
      before = first ? roots.asked[root * symbols + code]! : before - price;
      left -= price;
      state = after[state * symbols + code]!;
      prefix += alphabet.characters[code - 1]!;
      rank -= Number(left >= this.#gap);
    }
    return { prefix, ends: false };
  }

  /** How many strings begin with a root and a symbol. */
  #first(root: number, symbol: number): number {
    const { states, asked, spelling } = this.roots;
    const left = this.limit - this.roots.nextCost(root, symbol);
    return this.#behind(left, asked[root * spelling.symbols + symbol]!, states[root]!, symbol);
  }

  /** How many strings go on with a symbol from a context, if so much is left, now and of what was asked about before. */
  #next(state: number, left: number, before: number, symbol: number): number {
    const { symbols, cost } = this.roots.spelling;
    const price = cost[state * symbols + symbol]!;
    return this.#behind(left - price, before - price, state, symbol);
  }

  #behind(left: number, before: number, state: number, symbol: number): number {
    if (left < 0) return 0;
    if (!symbol) return Number(before < 0);
    const { symbols, after, width } = this.roots.spelling;
    const behind = after[state * symbols + symbol]!;
    let count = this.sizes.words[left * width + behind]!;
    if (before >= 0) count -= this.sizes.words[Math.min(before, left) * width + behind]!;
    if (left >= this.#gap) count += this.sizes.prefixes![(left - this.#gap) * width + behind]!;
    return count;
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
    const { roots, root_costs, even_costs, limits, prefix_limits, again } = document;
    const rounds = roots.length;
    if ([root_costs, even_costs, limits, prefix_limits, again].some((column) => column.length !== rounds)) throw unusable("rounds");
    if (rounds < 1 || rounds > MOST_ROUNDS || roots[0]!.length !== 1 || roots[0]![0] !== "") throw unusable("rounds");
    const total = roots.reduce((sum, prefixes) => sum + prefixes.length, 0);
    if (total > Math.floor(MOST_OPENINGS / spelling.symbols)) throw unusable("roots");
    this.#rounds = roots.map((prefixes, number) => {
      const [costs, evenCosts, limit] = [root_costs[number]!, even_costs[number]!, limits[number]!];
      if (!ascends(prefixes) || !prefixes.every((prefix) => alphabet.expresses(prefix))) throw unusable("roots");
      if (costs.length !== prefixes.length || evenCosts.length !== prefixes.length || evenCosts.includes(0)) {
        throw unusable("costs of roots");
      }
      if (limit > spelling.largestLimit || prefix_limits[number]! > limit) throw unusable("limits");
      if (again[number]! > (number === rounds - 1 ? 0 : limit)) throw unusable("limits");
      return new Roots(spelling, prefixes, costs, evenCosts);
    });
    this.#rounds[0]!.asked[0] = NEVER;
    this.#rounds.slice(1).forEach((each, earlier) => {
      const asked = this.#rounds[earlier]!.tell(each, limits[earlier]!, prefix_limits[earlier]!);
      if (!asked) throw unusable("roots");
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
    const { limits, prefix_limits, again } = this.document;
    const last = this.#rounds.length - 1;
    const [newest, earlier] = [this.#rounds[last]!, this.#rounds.slice(0, last)];
    const [limit, prefixLimit] = [limits[last]!, prefix_limits[last]!];
    const budget = newest.budget(limit);
    const budgets = earlier.map((roots, number) => roots.budget(again[number]!));
    const words = this.#spelling.sizes(Math.max(budget, ...budgets), false);
    if (!words) return null;
    const sizes = { words, prefixes: null };
    const parts = earlier.map((roots, number) => new LikelyStrings(roots, again[number]!, NO_PREFIXES, sizes));
    if (prefixLimit === NO_PREFIXES) return [new LikelyStrings(newest, limit, NO_PREFIXES, sizes), ...parts];
    const prefixes = this.#spelling.sizes(Math.max(0, budget - (limit - prefixLimit)), true);
    return prefixes && [new LikelyStrings(newest, limit, prefixLimit, { words, prefixes }), ...parts];
  }
}
