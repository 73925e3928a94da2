// What a layer asks about, numbered: prefixes that are extended (C1, C2), and likely strings (L1 to L8).

export const TOO_MANY = Infinity;
const MOST = 2 ** 27;
const MOST_STRINGS = 2 ** 32;

/** Prefixes of equal length, each extended by m symbols or by fewer that end in ⊥. */
export class ExtendedPrefixes {
  constructor(symbols, frontier, extension) {
    this.symbols = symbols;
    this.length = [...frontier[0]].length;
    this.ranks = new Map(frontier.map((prefix, rank) => [prefix, rank]));
    this.totals = [1];
    while (this.totals.length <= extension && this.totals.at(-1) * frontier.length <= MOST) {
      this.totals.push(1 + symbols.size * this.totals.at(-1));
    }
    this.extension = extension;
    this.size = this.totals.length > extension ? frontier.length * this.totals[extension] : TOO_MANY;
  }

  index(word) {
    const characters = [...word];
    const rank = this.ranks.get(characters.slice(0, this.length).join(""));
    if (rank === undefined) return -1;
    let number = rank * this.totals[this.extension];
    for (const [i, one] of characters.slice(this.length, this.length + this.extension).entries()) {
      if (!this.symbols.has(one)) return -1;
      number += 1 + (this.symbols.get(one) - 1) * this.totals[this.extension - 1 - i];
    }
    return number;
  }
}

/** The character model (L1, L2): costs and contexts as tables, and how many strings go on from a context (L7). */
export class Model {
  constructor(symbols, document) {
    const { contexts, backoffs, symbols: lists } = document;
    const contextOf = new Map(contexts.map((context, state) => [context, state]));
    const characters = [...symbols.keys()];
    let next = 0;
    this.cost = [];
    this.after = [];
    contexts.forEach((context, state) => {
      const shorter = state ? contextOf.get([...context].slice(1).join("")) : 0;
      this.cost[state] = state ? this.cost[shorter].map((cost) => cost + backoffs[state]) : [];
      for (const one of lists[state]) this.cost[state][symbols.get(one) ?? 0] = document.costs[next++];
    });
    contexts.forEach((context, state) => {
      this.after[state] = [0, ...characters.map((one) => longestEnding(contextOf, context + one))];
    });
    this.words = [];
    this.prefixes = [];
  }

  /** W and P for all budgets up to one; false if there are too many strings to count (L8). */
  count(table, most, itself) {
    for (let b = table.length; b <= most; b++) {
      table[b] = this.cost.map((costs, state) => {
        let sum = itself || (costs[0] <= b ? 1 : 0);
        for (let x = 1; x < costs.length; x++) if (costs[x] <= b) sum += table[b - costs[x]][this.after[state][x]];
        return sum;
      });
      if (table[b].some((number) => number >= MOST_STRINGS)) return false;
    }
    return true;
  }
}

function longestEnding(contextOf, text) {
  for (let characters = [...text].slice(-3); ; characters = characters.slice(1)) {
    const found = contextOf.get(characters.join(""));
    if (found !== undefined) return found;
  }
}

/** One round: its roots, and for each the next symbols that are open, what they cost, and what was asked before. */
class Round {
  constructor(model, symbols, roots, costs, evens, limit, prefixLimit, before) {
    Object.assign(this, { model, symbols, limit, prefixLimit });
    this.ranks = new Map(roots.map((root, rank) => [root, rank]));
    this.roots = roots.map((root, rank) => {
      const codes = [...root].map((one) => symbols.get(one));
      const state = codes.reduce((at, code) => model.after[at][code], 1);
      const open = model.cost[state].map((cost, x) => {
        const told = before ? before.askedBefore(root, x) : { closed: x === 0, words: -1 };
        return told.closed ? null : { cost: Math.min(costs[rank] + cost, evens[rank]), words: told.words };
      });
      return { root, length: codes.length, state, open };
    });
  }

  rootOf(characters) {
    for (let length = characters.length; length >= 0; length--) {
      const rank = this.ranks.get(characters.slice(0, length).join(""));
      if (rank !== undefined) return rank;
    }
    return -1;
  }

  /** What is left of the limit for words behind a prefix, and of what was asked before; null if it is closed to it. */
  reach(codes, root) {
    let first = root.open[codes[root.length]];
    if (!first) return null;
    let [left, asked] = [this.limit - first.cost, first.words];
    let state = this.model.after[root.state][codes[root.length]];
    for (const code of codes.slice(root.length + 1)) {
      left -= this.model.cost[state][code];
      asked -= this.model.cost[state][code];
      state = this.model.after[state][code];
    }
    return { left, asked, state };
  }

  /** Whether this round asks about a prefix (F19). */
  asks(prefix) {
    const characters = [...prefix];
    const rank = this.rootOf(characters);
    if (rank < 0 || this.prefixLimit === 0) return false;
    if (this.roots[rank].length === characters.length) return true;
    const there = this.reach(characters.map((one) => this.symbols.get(one)), this.roots[rank]);
    return there !== null && there.left >= this.limit - this.prefixLimit;
  }

  /** For a root of the next round and a symbol after it: whether it is closed, and how much words were asked about (L4, L7). */
  askedBefore(prefix, code) {
    const characters = [...prefix];
    const root = this.roots[this.rootOf(characters)];
    if (!root) return { closed: false, words: -1 };
    const there = this.reach([...characters.map((one) => this.symbols.get(one)), code], root);
    if (there === null) return { closed: true, words: -1 };
    const closed = code > 0 && this.prefixLimit > 0 && there.left >= this.limit - this.prefixLimit;
    return { closed, words: Math.max(there.left, there.asked, -1) };
  }

  /** The most that is left of a limit behind a first character. */
  budget(limit) {
    return Math.max(0, ...this.roots.flatMap(({ open }) => open.slice(1).map((at) => (at ? limit - at.cost : 0))));
  }
}

/** The strings of a round below some limits, numbered. */
class Part {
  constructor(round, limit, prefixLimit) {
    Object.assign(this, { round, limit, gap: prefixLimit ? limit - prefixLimit : Infinity });
    this.starts = [0];
    for (const root of round.roots) {
      let end = this.starts.at(-1) + (prefixLimit ? 1 : 0);
      root.open.forEach((at, x) => (end += at ? this.many(limit - at.cost, at.words, root.state, x) : 0));
      this.starts.push(end);
    }
    this.size = this.starts.at(-1);
  }

  /** How many candidates begin with a prefix and a symbol, behind which so much is left. */
  many(left, asked, state, x) {
    if (x === 0) return left >= 0 && asked < 0 ? 1 : 0;
    const { words, prefixes, after } = this.round.model;
    const at = (table, b) => (b >= 0 ? table[b][after[state][x]] : 0);
    return at(words, left) - at(words, Math.min(asked, left)) + at(prefixes, left - this.gap);
  }

  index(codes, characters) {
    const { round } = this;
    const { cost, after } = round.model;
    const rank = round.rootOf(characters);
    if (rank < 0) return -1;
    const root = round.roots[rank];
    let position = root.length;
    let code = codes[position] ?? 0;
    if (!root.open[code]) return -1;
    let escape = this.gap < Infinity ? this.starts[rank] : -1;
    let here = this.starts[rank] + (this.gap < Infinity ? 1 : 0);
    for (let x = 0; x < code; x++) {
      const at = root.open[x];
      if (at) here += this.many(this.limit - at.cost, at.words, root.state, x);
    }
    let [left, asked] = [this.limit - root.open[code].cost, root.open[code].words];
    let state = root.state;
    while (code > 0) {
      state = after[state][code];
      if (left >= this.gap) escape = here++;
      code = codes[++position] ?? 0;
      for (let x = 0; x < code; x++) here += this.many(left - cost[state][x], asked - cost[state][x], state, x);
      left -= cost[state][code];
      asked -= cost[state][code];
    }
    if (asked >= 0) return -1;
    return left >= 0 ? here : escape;
  }
}

export class LikelyCandidates {
  constructor(symbols, document) {
    const { roots, root_costs, even_costs, limits, prefix_limits, again } = document;
    const model = new Model(symbols, document);
    this.symbols = symbols;
    this.rounds = [];
    roots.forEach((prefixes, k) => {
      const told = [prefixes, root_costs[k], even_costs[k], limits[k], prefix_limits[k]];
      this.rounds.push(new Round(model, symbols, ...told, this.rounds[k - 1]));
    });
    const last = this.rounds.at(-1);
    const words = this.rounds.map((round, k) => round.budget(round === last ? limits[k] : again[k]));
    const gap = last.limit - last.prefixLimit;
    const counted =
      model.count(model.words, Math.max(...words), 0) &&
      (last.prefixLimit === 0 || model.count(model.prefixes, Math.max(0, words.at(-1) - gap), 1));
    this.parts = counted
      ? [
          new Part(last, last.limit, last.prefixLimit),
          ...this.rounds.slice(0, -1).map((round, k) => new Part(round, again[k], 0)),
        ]
      : [];
    this.size = counted ? this.parts.reduce((sum, part) => sum + part.size, 0) : TOO_MANY;
  }

  index(word) {
    const characters = [...word];
    const codes = characters.map((one) => this.symbols.get(one));
    if (codes.includes(undefined)) return -1;
    let [start, found] = [0, -1];
    for (const part of this.parts) {
      const index = part.index(codes, characters);
      if (index >= 0) found = start + index;
      start += part.size;
    }
    return found;
  }
}
