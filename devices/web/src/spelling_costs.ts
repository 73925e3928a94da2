/** A character model in whole numbers: what each symbol costs after each context, and how many strings that permits. */

import { unusable } from "./errors";
import { type Alphabet, ascends, compare } from "./spelling";

/** The beginning of a word in a context, and its end among symbols. */
const BOUNDARY = "\0";
const LONGEST_CONTEXT = 3;
const DEAREST = 1 << 10;
const MOST_CONTEXTS = 1 << 16;
const MOST_ENTRIES = 1 << 22;
const MOST_SIZES = 1 << 23;
const MOST_STEPS = 1 << 27;
const MOST_STRINGS = 2 ** 32;
/** What a closed symbol costs: more than any limit. */
export const NEVER = DEAREST << 4;
/** The context at the beginning of a word. */
export const START = 1;

/** The part of a layer's document that is its model. */
export interface Spelling {
  readonly contexts: readonly string[];
  readonly backoffs: readonly number[];
  readonly symbols: readonly string[];
  readonly costs: readonly number[];
}

export class SpellingCosts {
  /** The number of symbols: the characters of the alphabet, and ⊥ before them. */
  readonly symbols: number;
  /** `[s * symbols + x]`: what symbol x costs after context s, and the context behind both. */
  readonly cost: Int16Array;
  readonly after: Uint16Array;
  /** One more than there are contexts. */
  readonly width: number;
  readonly largestLimit: number;
  readonly #backoffs: Int16Array;
  readonly #shorter: Uint16Array;
  /** The first listed symbol of each context; then of each listed symbol its code and its cost. */
  readonly #lists: Uint32Array;
  readonly #codes: Uint32Array;
  readonly #costs: Int16Array;

  constructor(
    readonly alphabet: Alphabet,
    { contexts, backoffs, symbols, costs }: Spelling,
  ) {
    const [states, size] = [contexts.length, alphabet.characters.length + 1];
    const most = Math.min(MOST_CONTEXTS, Math.floor(MOST_ENTRIES / size));
    if (states > most || backoffs.length !== states || symbols.length !== states) throw unusable("list of contexts");
    if (backoffs[0] !== 0 || backoffs.some((each) => each > DEAREST)) throw unusable("list of back-offs");
    if (costs.some((each) => each < 1 || each > DEAREST)) throw unusable("list of costs");
    if (contexts[0] !== "" || contexts[1] !== BOUNDARY || symbols[0] !== BOUNDARY + alphabet.text) {
      throw unusable("first context");
    }
    this.symbols = size;
    this.width = states + 1;
    this.largestLimit = Math.min(NEVER, Math.floor(MOST_SIZES / states), Math.floor(MOST_STEPS / costs.length)) - 1;
    this.#backoffs = Int16Array.from(backoffs);
    this.#costs = Int16Array.from(costs);
    this.#codes = new Uint32Array(costs.length);
    this.#lists = new Uint32Array(states + 1);
    this.#shorter = new Uint16Array(states);
    this.cost = new Int16Array(states * size);
    this.after = new Uint16Array(states * size);
    this.#readLists(symbols);
    this.#fill(contexts);
  }

  #readLists(symbols: readonly string[]): void {
    let entry = 0;
    symbols.forEach((listed, state) => {
      const characters = [...listed];
      if (!ascends(characters)) throw unusable("list of symbols");
      for (const character of characters) {
        const code = this.alphabet.code(character);
        if (code === 0 && character !== BOUNDARY) throw unusable("list of symbols");
        this.#codes[entry++] = code;
      }
      this.#lists[state + 1] = entry;
    });
    if (entry !== this.#costs.length) throw unusable("list of symbols");
  }

  /** Compute both tables, shorter contexts first. */
  #fill(contexts: readonly string[]): void {
    const { symbols, cost, after } = this;
    const stateOf = new Map(contexts.map((context, state) => [context, state]));
    const spelled = contexts.map((context) => [...context]);
    const longer: [number, number, number][] = [];
    spelled.forEach((context, state) => {
      const shorter = stateOf.get(context.slice(1).join(""));
      if (
        shorter === undefined ||
        context.length > LONGEST_CONTEXT ||
        context.some((each, place) => this.alphabet.code(each) === 0 && (place > 0 || each !== BOUNDARY)) ||
        (state > 0 && (context.length - spelled[state - 1]!.length || compare(contexts[state]!, contexts[state - 1]!)) <= 0)
      ) {
        throw unusable("list of contexts");
      }
      this.#shorter[state] = shorter;
      if (state > START) {
        const head = stateOf.get(context.slice(0, -1).join(""));
        const last = this.alphabet.code(context.at(-1)!);
        if (head === undefined || !this.#codes.subarray(this.#lists[head], this.#lists[head + 1]).includes(last)) {
          throw unusable("list of contexts");
        }
        longer.push([head, last, state]);
      }
    });
    let next = 0;
    for (let state = 0; state < contexts.length; state++) {
      const [row, below, backoff] = [state * symbols, this.#shorter[state]! * symbols, this.#backoffs[state]!];
      for (let symbol = 0; symbol < symbols; symbol++) cost[row + symbol] = cost[below + symbol]! + backoff;
      after.copyWithin(row, below, below + symbols);
      for (let entry = this.#lists[state]!; entry < this.#lists[state + 1]!; entry++) {
        cost[row + this.#codes[entry]!] = this.#costs[entry]!;
      }
      // Those that are one symbol longer come before any context that shares what is behind this one.
      if (spelled[state + 1]?.length === spelled[state]!.length) continue;
      for (; longer[next] && spelled[longer[next]![2]]!.length === spelled[state]!.length + 1; next++) {
        const [head, last, target] = longer[next]!;
        after[head * symbols + last] = target;
      }
    }
  }

  /**
   * `[b * width + s]`: how many words, or prefixes, go on from context s that cost at most b more; null if they are
   * beyond all bounds. The last column is the end of a word.
   *
   * A context shares what it does not list with the next shorter one, so that only lists are gone through.
   */
  sizes(budget: number, prefixes: boolean): Uint32Array | null {
    const itself = Number(prefixes);
    const { width, symbols, cost, after } = this;
    const states = width - 1;
    const entries = this.#codes.length;
    const [own, instead, dearer] = [new Uint32Array(entries), new Uint32Array(entries), new Int16Array(entries)];
    for (let state = 0; state < states; state++) {
      const shorter = this.#shorter[state]!;
      for (let entry = this.#lists[state]!; entry < this.#lists[state + 1]!; entry++) {
        const code = this.#codes[entry]!;
        own[entry] = code ? after[state * symbols + code]! : states;
        instead[entry] = code ? after[shorter * symbols + code]! : states;
        dearer[entry] = cost[shorter * symbols + code]! + this.#backoffs[state]!;
      }
    }
    const [lists, costs, backoffs] = [this.#lists, this.#costs, this.#backoffs];
    const numbers = new Uint32Array((budget + 1) * width);
    for (let b = 0; b <= budget; b++) {
      const row = b * width;
      numbers[row + states] = 1 - itself;
      for (let state = 0; state < states; state++) {
        let total = itself;
        for (let entry = lists[state]!; entry < lists[state + 1]!; entry++) {
          if (costs[entry]! <= b) total += numbers[row - costs[entry]! * width + own[entry]!]!;
          if (state && dearer[entry]! <= b) total -= numbers[row - dearer[entry]! * width + instead[entry]!]!;
        }
        const backoff = backoffs[state]!;
        if (state && backoff <= b) total += numbers[row - backoff * width + this.#shorter[state]!]! - itself;
        if (total >= MOST_STRINGS) return null;
        numbers[row + state] = total;
      }
    }
    return numbers;
  }
}
