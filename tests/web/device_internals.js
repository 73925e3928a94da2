/* neologue device, Apache-2.0, built from devices/web: sources 392afdf7475c2fbccb439622af2a601a766747d61f3a4b7d50243b7e2ee4234a */
var __defProp = Object.defineProperty;
var __export = (target, all) => {
  for (var name in all)
    __defProp(target, name, { get: all[name], enumerable: true });
};

// src/spelling.ts
var SPACE = "\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
var ANY_SPACE = new RegExp(`[${SPACE}]`, "u");
var WordForm = class {
  /** Pairs of a character and its replacement, and of the first and the last of a range; both in order. */
  constructor(replaced, stripped) {
    this.replaced = replaced;
    this.stripped = stripped;
    const characters = [...replaced];
    this.#replaced = new Map(pairs(characters));
    this.#stripped = [...stripped];
  }
  #replaced;
  #stripped;
  /** Whether its pairs are complete and in order, and replace what an alphabet lacks by what it has. */
  fits(alphabet) {
    const [characters, ends] = [[...this.replaced], this.#stripped];
    if (characters.length % 2 || ends.length % 2) return false;
    const taken = characters.filter((_, place) => place % 2 === 0);
    return ascends(taken) && pairs(characters).every(([from, to]) => alphabet.code(from) === 0 && alphabet.code(to) > 0) && ends.every((end, place) => place === 0 || compare(ends[place - 1], end) < (place % 2 ? 1 : 0));
  }
  /** The form of what was typed; empty if nothing is left of it. */
  of(typed) {
    const whole = [...typed.normalize("NFC")].map((character) => this.#replaced.get(character) ?? character);
    const word = [...whole.join("").normalize("NFC")];
    let [first, last] = [0, word.length];
    while (first < last && this.#isTakenOff(word[first])) first++;
    while (first < last && this.#isTakenOff(word[last - 1])) last--;
    return word.slice(first, last).join("");
  }
  #isTakenOff(character) {
    if (ANY_SPACE.test(character)) return true;
    let [low, high] = [0, this.#stripped.length];
    while (low < high) {
      const middle = low + high >> 1;
      if (compare(this.#stripped[middle], character) <= 0) low = middle + 1;
      else high = middle;
    }
    return low % 2 === 1 || this.#stripped[low - 1] === character;
  }
};
var AS_TYPED = new WordForm("", "");
function normalised(word) {
  return AS_TYPED.of(word);
}
function pairs(characters) {
  return characters.flatMap((from, place) => place % 2 ? [] : [[from, characters[place + 1] ?? ""]]);
}
function compare(a, b) {
  const shorter = Math.min(a.length, b.length);
  for (let place = 0; place < shorter; place++) {
    const [x, y] = [a.charCodeAt(place), b.charCodeAt(place)];
    if (x !== y) return ranked(x) - ranked(y);
  }
  return a.length - b.length;
}
function ranked(unit) {
  if (unit < 55296) return unit;
  return unit < 57344 ? unit + 8192 : unit - 2048;
}
function ascends(texts) {
  return texts.every((text2, rank) => rank === 0 || compare(texts[rank - 1], text2) < 0);
}
function find(items2, item, order) {
  let [low, high] = [0, items2.length];
  while (low < high) {
    const middle = low + high >> 1;
    if (order(items2[middle], item) < 0) low = middle + 1;
    else high = middle;
  }
  return items2[low] === item ? low : -1;
}
var Alphabet = class {
  constructor(text2) {
    this.text = text2;
    this.characters = [...text2];
    this.#codes = new Map(this.characters.map((character, place) => [character, place + 1]));
  }
  characters;
  #codes;
  /** Symbol 1 to n of a character, or 0 if it has none. */
  code(character) {
    return this.#codes.get(character) ?? 0;
  }
  expresses(text2) {
    return [...text2].every((character) => this.#codes.has(character));
  }
  /** What is wrong with a normalised word of up to so many characters; null if nothing is. */
  complaint(word, depth) {
    const length = [...word].length;
    if (length === 0) return "it is empty";
    if (ANY_SPACE.test(word)) return "it has white space in it";
    if (length > depth) return `it has ${length} characters, and words of up to ${depth} are asked for`;
    if (!this.expresses(word)) return "it has a character that is not asked for";
    return normalised(word) === word ? null : "it is not in its normal form";
  }
};
var UPPER = /\p{Uppercase}/u;
var LOWER = /\p{Lowercase}/u;
var NOT_UPPER = /[\p{Lowercase}\p{Lt}]/u;
var NOT_LOWER = /[\p{Uppercase}\p{Lt}]/u;
var Vocabulary = class {
  #words;
  constructor(words) {
    this.#words = new Set(words);
  }
  has(word) {
    const form = word.normalize("NFC");
    return this.#words.has(form) || permitted(form).some((other) => this.#words.has(other));
  }
};
function permitted(word) {
  const first = [...word][0] ?? "";
  const lower = word.toLowerCase();
  if (UPPER.test(word) && !NOT_UPPER.test(word)) return [lower, first + lower.slice(first.toLowerCase().length)];
  const rest = word.slice(first.length);
  return UPPER.test(first) && LOWER.test(rest) && !NOT_LOWER.test(rest) ? [lower] : [];
}

// src/candidates.ts
function extensions(characters, symbols, most = Infinity) {
  let count2 = 1;
  for (let m = 0; m < symbols; m++) {
    count2 = 1 + characters * count2;
    if (count2 > most) return Infinity;
  }
  return count2;
}
var Candidates = class {
  constructor(alphabet, frontier, extension) {
    this.alphabet = alphabet;
    this.frontier = frontier;
    this.extension = extension;
    const characters = alphabet.characters.length;
    this.#below = Array.from({ length: extension }, (_, position) => extensions(characters, extension - 1 - position));
    this.#ways = extensions(characters, extension);
    this.#length = [...frontier[0]].length;
  }
  /** T(m-1), …, T(0). */
  #below;
  /** T(m). */
  #ways;
  #length;
  get size() {
    return this.frontier.length * this.#ways;
  }
  /** The candidate that a word of the alphabet belongs to, or -1. */
  index(word) {
    const characters = [...word];
    const head = characters.slice(0, this.#length).join("");
    const rank = find(this.frontier, head, compare);
    if (rank < 0) return -1;
    let way = 0;
    for (const [position, character] of characters.slice(this.#length, this.#length + this.extension).entries()) {
      const code = this.alphabet.code(character);
      if (code === 0) return -1;
      way += 1 + (code - 1) * this.#below[position];
    }
    return rank * this.#ways + way;
  }
  /** The prefix of a candidate, and whether the word ends there, in ⊥. */
  prefix(candidate) {
    let prefix = this.frontier[Math.floor(candidate / this.#ways)];
    let way = candidate % this.#ways;
    for (const below of this.#below) {
      if (way === 0) return { prefix, ends: true };
      prefix += this.alphabet.characters[Math.floor((way - 1) / below)];
      way = (way - 1) % below;
    }
    return { prefix, ends: false };
  }
};
function atMost(numbers, number) {
  let [low, high] = [0, numbers.length];
  while (high - low > 1) {
    const middle = low + high >> 1;
    if (numbers[middle] <= number) low = middle;
    else high = middle;
  }
  return low;
}

// src/exact.ts
var EXP_BITS = 256n;
var WORD_BITS = 64n;
var ONE = 1n << WORD_BITS;
var GRAIN_BITS = 1074n;
function grains(value) {
  const bits = new DataView(new ArrayBuffer(8));
  bits.setFloat64(0, value);
  const whole = bits.getBigUint64(0);
  const exponent = whole >> 52n;
  const fraction = whole & (1n << 52n) - 1n;
  return exponent === 0n ? fraction : (fraction | 1n << 52n) << exponent - 1n;
}
function roundUp(total, guess) {
  let value = guess;
  while (grains(value) < total) value = neighbour(value, 1n);
  while (value > 0 && grains(neighbour(value, -1n)) >= total) value = neighbour(value, -1n);
  return value;
}
function neighbour(value, step) {
  const bits = new DataView(new ArrayBuffer(8));
  bits.setFloat64(0, value);
  bits.setBigUint64(0, bits.getBigUint64(0) + step);
  return bits.getFloat64(0);
}
function scaled(value, bits) {
  return grains(value) << bits >> GRAIN_BITS;
}
function ceilDivide(numerator, denominator) {
  return (numerator + denominator - 1n) / denominator;
}
function expBelow(epsilon) {
  const x = scaled(epsilon, EXP_BITS);
  let term = 1n << EXP_BITS;
  let sum3 = term;
  for (let k = 1n; term > 0n; k++) {
    term = (term * x >> EXP_BITS) / k;
    sum3 += term;
  }
  return sum3;
}
function integerRoot(value) {
  if (value < 2n) return value;
  let root = 1n << BigInt(value.toString(2).length + 1 >> 1);
  for (; ; ) {
    const next = root + value / root >> 1n;
    if (next >= root) return root;
    root = next;
  }
}
function bitLength(value) {
  return value === 0n ? 0 : value.toString(2).length;
}

// src/binomial.ts
var FIRST_BITS = 128;
var GUARD_BITS = 40n;
var NEGLIGIBLE = 1n << GUARD_BITS / 2n;
function drawBinomial(trials, numerator, entropy) {
  if (trials === 0) return 0;
  let bits = FIRST_BITS;
  let drawn = entropy.integer(bits);
  for (; ; ) {
    const outcome = decide(enclose(trials, numerator, BigInt(bits)), drawn);
    if (outcome !== null) return outcome;
    drawn = drawn << BigInt(bits) | entropy.integer(bits);
    bits *= 2;
  }
}
function decide({ first, lower, upper }, drawn) {
  const index = upper.findIndex((bound) => drawn < bound);
  if (index <= 0 || drawn >= lower[index]) return null;
  return first - 1 + index;
}
function enclose(trials, success, bits) {
  const n = BigInt(trials);
  const failure = ONE - success;
  const mode = (n + 1n) * success / ONE;
  const peak = 1n << bits + GUARD_BITS;
  const right = arm(peak, rising(n, mode, success, failure));
  const left = arm(peak, falling(n, mode, success, failure));
  const lower = [0n, ...left.lower.reverse(), peak, ...right.lower];
  const upper = [left.beyond, ...left.upper.reverse(), peak, ...right.upper];
  const lowest = sum(lower);
  const highest = sum(upper) + right.beyond;
  let [low, high] = [0n, 0n];
  const scaled2 = { first: Number(mode) - left.lower.length, lower: [], upper: [] };
  lower.forEach((weight, index) => {
    low += weight;
    high += upper[index];
    scaled2.lower.push((low << bits) / (low + highest - high));
    scaled2.upper.push(ceilDivide(high << bits, high + lowest - low));
  });
  return scaled2;
}
function* rising(n, mode, success, failure) {
  for (let j = mode; j < n; j++) yield [(n - j) * success, (j + 1n) * failure];
}
function* falling(n, mode, success, failure) {
  for (let j = mode; j > 0n; j--) yield [j * failure, (n - j + 1n) * success];
}
function arm(peak, ratios) {
  const [lower, upper] = [[], []];
  let [low, high] = [peak, peak];
  for (const [numerator, denominator] of ratios) {
    if (high <= NEGLIGIBLE) {
      return { lower, upper, beyond: ceilDivide(high * numerator, denominator - numerator) };
    }
    low = low * numerator / denominator;
    high = ceilDivide(high * numerator, denominator);
    lower.push(low);
    upper.push(high);
  }
  return { lower, upper, beyond: 0n };
}
function sum(values) {
  return values.reduce((total, value) => total + value, 0n);
}

// src/entropy.ts
var HALF = 2 ** 32;
var SHORT = 2 ** 16;
var MOST_OCTETS = 65536;
var Entropy = class {
  /** The next bytes, eight from each word. */
  octets(words) {
    const octets = new Uint8Array(8 * words);
    const view = new DataView(octets.buffer);
    this.halves(words).forEach((half2, place) => view.setUint32(4 * place, half2, true));
    return octets;
  }
  /** A uniform integer of so many bits, a multiple of 64; the first word is the least significant. */
  integer(bits) {
    return this.halves(bits / 64).reduceRight((sum3, half2) => sum3 << 32n | BigInt(half2), 0n);
  }
  /** Independent events, each with probability exactly numerator / 2^64. */
  chances(numerator, count2) {
    const halves = this.halves(count2);
    const high = Number(numerator >> 32n);
    const low = Number(numerator & 0xffffffffn);
    return Array.from({ length: count2 }, (_, place) => {
      const top = halves[2 * place + 1];
      return top < high || top === high && halves[2 * place] < low;
    });
  }
  /** Independent uniform integers in [0, bound), with bound ≤ 2^32. */
  below(bound, count2) {
    const taken = [];
    while (taken.length < count2) {
      const missing = count2 - taken.length;
      for (const value of boundedIntegers(this.halves(Math.ceil(missing / 2)), bound)) {
        if (taken.length < count2) taken.push(value);
      }
    }
    return taken;
  }
  /** A uniform subset of {0, …, size-1}, sorted, in work proportional to the smaller side. */
  subset(size, count2) {
    if (2 * count2 > size) {
      const left = new Set(this.subset(size, size - count2));
      return Array.from({ length: size }, (_, place) => place).filter((place) => !left.has(place));
    }
    const chosen = /* @__PURE__ */ new Set();
    while (chosen.size < count2) {
      for (const value of this.below(size, count2 - chosen.size)) chosen.add(value);
    }
    return [...chosen].sort((a, b) => a - b);
  }
  /** A uniform order of {0, …, count-1}: that of distinct random words. */
  permutation(count2) {
    for (; ; ) {
      const keys = this.halves(count2);
      const compare2 = (a, b) => keys[2 * a + 1] - keys[2 * b + 1] || keys[2 * a] - keys[2 * b];
      const order = Array.from({ length: count2 }, (_, place) => place).sort(compare2);
      if (order.every((place, rank) => rank === 0 || compare2(order[rank - 1], place) !== 0)) return order;
    }
  }
};
function* boundedIntegers(halves, bound) {
  const least = HALF % bound;
  const [high, low] = [Math.floor(bound / SHORT), bound % SHORT];
  for (const half2 of halves) {
    const first = half2 * low;
    const rest = half2 * high + Math.floor(first / SHORT);
    if (rest % SHORT * SHORT + first % SHORT >= least) yield Math.floor(rest / SHORT);
  }
}
var SecureEntropy = class extends Entropy {
  halves(words) {
    const halves = new Uint32Array(2 * words);
    for (let start = 0; start < halves.length; start += MOST_OCTETS / 4) {
      crypto.getRandomValues(halves.subarray(start, start + MOST_OCTETS / 4));
    }
    return halves;
  }
};

// src/errors.ts
var DeviceError = class extends Error {
  name = "DeviceError";
};
var RefusalError = class extends DeviceError {
  name = "RefusalError";
};
function unusable(what) {
  return new RefusalError(`the document describes no layer: its ${what} can't be used`);
}
var LaterError = class extends DeviceError {
  constructor(message, retryAfter = null) {
    super(message);
    this.retryAfter = retryAfter;
  }
  name = "LaterError";
};
var OversizeError = class extends LaterError {
  name = "OversizeError";
};

// src/field_checks.ts
var text = (value) => typeof value === "string";
var wholeNumber = (least, most) => (value) => Number.isInteger(value) && value >= least && value <= most;
var matching = (pattern) => (value) => typeof value === "string" && pattern.test(value);
var equal = (constant) => (value) => value === constant;
var listOf = (check) => (value) => Array.isArray(value) && value.every((item) => check(item));
var nullable = (check) => (value) => value === null || check(value);
var decimal = (value) => typeof value === "string" && /^[0-9.e+-]{1,32}$/.test(value) && shortestDecimal(Number(value)) === value;
function shortestDecimal(value) {
  if (!Number.isFinite(value)) return "";
  const [digits2, exponent] = value.toExponential().split("e");
  const power = Number(exponent);
  if (power >= -4 && power < 16) {
    return Number.isInteger(value) ? `${value}.0` : `${value}`;
  }
  return `${digits2}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
}

// src/layer_document.ts
var OPEN_FIELDS = {
  alphabet: text,
  bound: wholeNumber(1, 2147483647),
  cohort: wholeNumber(1, 2147483647),
  depth: wholeNumber(1, 2147483647),
  epsilon: decimal,
  extension: wholeNumber(1, 2147483647),
  found: listOf(text),
  frontier: listOf(text),
  known: matching(/^[0-9a-f]{64}$/),
  layer: wholeNumber(1, 2147483647),
  pass: wholeNumber(1, 2147483647),
  randomizer: matching(/^[a-z-]{1,32}$/),
  replaced: text,
  sampler: matching(/^[a-z-]{1,32}$/),
  stripped: text,
  targets: nullable(listOf(text)),
  version: equal(2)
};
var LIKELY_FIELDS = {
  again: listOf(wholeNumber(0, 16384)),
  alphabet: text,
  backoffs: listOf(wholeNumber(0, 16384)),
  bound: wholeNumber(1, 2147483647),
  cohort: wholeNumber(1, 2147483647),
  contexts: listOf(text),
  costs: listOf(wholeNumber(0, 16384)),
  depth: wholeNumber(1, 2147483647),
  epsilon: decimal,
  even_costs: listOf(listOf(wholeNumber(0, 16384))),
  found: listOf(text),
  known: matching(/^[0-9a-f]{64}$/),
  layer: wholeNumber(1, 2147483647),
  limits: listOf(wholeNumber(0, 16384)),
  pass: wholeNumber(1, 2147483647),
  prefix_limits: listOf(wholeNumber(0, 16384)),
  randomizer: matching(/^[a-z-]{1,32}$/),
  replaced: text,
  root_costs: listOf(listOf(wholeNumber(0, 16384))),
  roots: listOf(listOf(text)),
  sampler: matching(/^[a-z-]{1,32}$/),
  stripped: text,
  symbols: listOf(text),
  targets: nullable(listOf(text)),
  version: equal(2)
};
var CLOSED_FIELDS = {
  alphabet: text,
  bound: wholeNumber(1, 2147483647),
  cohort: wholeNumber(1, 2147483647),
  depth: wholeNumber(1, 2147483647),
  epsilon: decimal,
  known: matching(/^[0-9a-f]{64}$/),
  randomizer: matching(/^[a-z-]{1,32}$/),
  rate: decimal,
  replaced: text,
  stripped: text,
  targets: nullable(listOf(text)),
  version: equal(2),
  words: listOf(text)
};

// src/spelling_costs.ts
var BOUNDARY = "\0";
var LONGEST_CONTEXT = 3;
var DEAREST = 1 << 10;
var MOST_CONTEXTS = 1 << 16;
var MOST_ENTRIES = 1 << 22;
var MOST_SIZES = 1 << 23;
var MOST_STEPS = 1 << 27;
var MOST_STRINGS = 2 ** 32;
var NEVER = DEAREST << 4;
var START = 1;
var SpellingCosts = class {
  constructor(alphabet, { contexts, backoffs, symbols, costs }) {
    this.alphabet = alphabet;
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
  /** The number of symbols: the characters of the alphabet, and ⊥ before them. */
  symbols;
  /** `[s * symbols + x]`: what symbol x costs after context s, and the context behind both. */
  cost;
  after;
  /** One more than there are contexts. */
  width;
  largestLimit;
  #backoffs;
  #shorter;
  /** The first listed symbol of each context; then of each listed symbol its code and its cost. */
  #lists;
  #codes;
  #costs;
  #readLists(symbols) {
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
  #fill(contexts) {
    const { symbols, cost, after } = this;
    const stateOf = new Map(contexts.map((context, state) => [context, state]));
    const spelled = contexts.map((context) => [...context]);
    const longer = [];
    spelled.forEach((context, state) => {
      const shorter = stateOf.get(context.slice(1).join(""));
      if (shorter === void 0 || context.length > LONGEST_CONTEXT || context.some((each, place) => this.alphabet.code(each) === 0 && (place > 0 || each !== BOUNDARY)) || state > 0 && (context.length - spelled[state - 1].length || compare(contexts[state], contexts[state - 1])) <= 0) {
        throw unusable("list of contexts");
      }
      this.#shorter[state] = shorter;
      if (state > START) {
        const head = stateOf.get(context.slice(0, -1).join(""));
        const last = this.alphabet.code(context.at(-1));
        if (head === void 0 || !this.#codes.subarray(this.#lists[head], this.#lists[head + 1]).includes(last)) {
          throw unusable("list of contexts");
        }
        longer.push([head, last, state]);
      }
    });
    let next = 0;
    for (let state = 0; state < contexts.length; state++) {
      const [row, below, backoff] = [state * symbols, this.#shorter[state] * symbols, this.#backoffs[state]];
      for (let symbol = 0; symbol < symbols; symbol++) cost[row + symbol] = cost[below + symbol] + backoff;
      after.copyWithin(row, below, below + symbols);
      for (let entry = this.#lists[state]; entry < this.#lists[state + 1]; entry++) {
        cost[row + this.#codes[entry]] = this.#costs[entry];
      }
      if (spelled[state + 1]?.length === spelled[state].length) continue;
      for (; longer[next] && spelled[longer[next][2]].length === spelled[state].length + 1; next++) {
        const [head, last, target] = longer[next];
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
  sizes(budget, prefixes) {
    const itself = Number(prefixes);
    const { width, symbols, cost, after } = this;
    const states = width - 1;
    const entries = this.#codes.length;
    const [own, instead, dearer] = [new Uint32Array(entries), new Uint32Array(entries), new Int16Array(entries)];
    for (let state = 0; state < states; state++) {
      const shorter = this.#shorter[state];
      for (let entry = this.#lists[state]; entry < this.#lists[state + 1]; entry++) {
        const code = this.#codes[entry];
        own[entry] = code ? after[state * symbols + code] : states;
        instead[entry] = code ? after[shorter * symbols + code] : states;
        dearer[entry] = cost[shorter * symbols + code] + this.#backoffs[state];
      }
    }
    const [lists, costs, backoffs] = [this.#lists, this.#costs, this.#backoffs];
    const numbers = new Uint32Array((budget + 1) * width);
    for (let b = 0; b <= budget; b++) {
      const row = b * width;
      numbers[row + states] = 1 - itself;
      for (let state = 0; state < states; state++) {
        let total = itself;
        for (let entry = lists[state]; entry < lists[state + 1]; entry++) {
          if (costs[entry] <= b) total += numbers[row - costs[entry] * width + own[entry]];
          if (state && dearer[entry] <= b) total -= numbers[row - dearer[entry] * width + instead[entry]];
        }
        const backoff = backoffs[state];
        if (state && backoff <= b) total += numbers[row - backoff * width + this.#shorter[state]] - itself;
        if (total >= MOST_STRINGS) return null;
        numbers[row + state] = total;
      }
    }
    return numbers;
  }
};

// src/likely_candidates.ts
var MOST_OPENINGS = 1 << 23;
var MOST_ROUNDS = 32;
var NO_PREFIXES = 0;
var UNASKED = -1;
var Roots = class {
  constructor(spelling, prefixes, costs, evenCosts) {
    this.spelling = spelling;
    this.prefixes = prefixes;
    this.costs = costs;
    this.evenCosts = evenCosts;
    this.#rankOf = new Map(prefixes.map((prefix, rank) => [prefix, rank]));
    this.lengths = Uint8Array.from(prefixes, (prefix) => [...prefix].length);
    this.#longest = this.lengths.reduce((most, each) => Math.max(most, each), 0);
    this.states = Uint16Array.from(
      prefixes,
      (prefix) => [...prefix].reduce(
        (state, each) => spelling.after[state * spelling.symbols + spelling.alphabet.code(each)],
        START
      )
    );
    this.asked = new Int32Array(prefixes.length * spelling.symbols).fill(UNASKED);
  }
  #rankOf;
  #longest;
  lengths;
  states;
  /**
   * `[r * symbols + x]`: what a word could cost behind root r and symbol x if it was asked about before; `NEVER` where x is
   * closed, because that prefix was asked about, too.
   */
  asked;
  /** The longest root that a word begins with, or -1. */
  of(word) {
    for (let length = Math.min(word.length, this.#longest); length >= 0; length--) {
      const rank = this.#rankOf.get(word.slice(0, length).join(""));
      if (rank !== void 0) return rank;
    }
    return -1;
  }
  /** The cost of a root and a symbol after it. */
  nextCost(root, symbol) {
    const { symbols, cost } = this.spelling;
    if (this.asked[root * symbols + symbol] === NEVER) return NEVER;
    return Math.min(this.costs[root] + cost[this.states[root] * symbols + symbol], this.evenCosts[root]);
  }
  /** The most that is left of a limit behind the first character of a string. */
  budget(limit) {
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
  tell(next, limit, prefixLimit) {
    const { symbols, cost, after, alphabet } = this.spelling;
    const gap = limit - prefixLimit;
    return next.prefixes.every((prefix, rank) => {
      const word = [...prefix];
      const root = this.of(word);
      if (root < 0 || prefixLimit === NO_PREFIXES) return false;
      const row = next.asked.subarray(rank * symbols, (rank + 1) * symbols);
      const note = (symbol, left2, before2) => {
        const closes = before2 === NEVER || symbol > 0 && left2 >= gap;
        row[symbol] = closes ? NEVER : Math.max(left2, before2, UNASKED);
      };
      const length = this.lengths[root];
      if (length === word.length) {
        row.forEach((_, symbol) => {
          note(symbol, limit - this.nextCost(root, symbol), this.asked[root * symbols + symbol]);
        });
        return true;
      }
      const first = alphabet.code(word[length]);
      let left = limit - this.nextCost(root, first);
      let before = this.asked[root * symbols + first];
      let state = after[this.states[root] * symbols + first];
      for (const character of word.slice(length + 1)) {
        const at = state * symbols + alphabet.code(character);
        left -= cost[at];
        before -= cost[at];
        state = after[at];
      }
      row.forEach((_, symbol) => {
        const price = cost[state * symbols + symbol];
        note(symbol, left - price, before - price);
      });
      return left >= gap;
    });
  }
};
var LikelyStrings = class {
  constructor(roots, limit, prefixLimit, sizes) {
    this.roots = roots;
    this.limit = limit;
    this.prefixLimit = prefixLimit;
    this.sizes = sizes;
    const { symbols } = roots.spelling;
    this.#rooted = Number(prefixLimit !== NO_PREFIXES);
    this.#gap = this.#rooted ? limit - prefixLimit : NEVER;
    this.#starts = new Float64Array(roots.prefixes.length + 1);
    for (let root = 0; root < roots.prefixes.length; root++) {
      let end = this.#starts[root] + this.#rooted;
      for (let symbol = 0; symbol < symbols; symbol++) end += this.#first(root, symbol);
      this.#starts[root + 1] = end;
    }
  }
  /** The first string of each root, and the end of the last one's. */
  #starts;
  /** What must be left of the limit for a prefix to be asked about. */
  #gap;
  #rooted;
  get size() {
    return this.#starts.at(-1);
  }
  /** The string that a word belongs to, given by its characters and their codes, or -1. */
  index(word, codes) {
    const { roots } = this;
    const { symbols, cost, after } = roots.spelling;
    const root = roots.of(word);
    if (root < 0) return -1;
    let position = roots.lengths[root];
    let code = codes[position] ?? 0;
    let before = roots.asked[root * symbols + code];
    if (before === NEVER) return -1;
    let found = this.#rooted ? this.#starts[root] : -1;
    let left = this.limit - roots.nextCost(root, code);
    let here = this.#starts[root] + this.#rooted;
    for (let earlier = 0; earlier < code; earlier++) here += this.#first(root, earlier);
    let state = after[roots.states[root] * symbols + code];
    while (code > 0) {
      if (left < 0 && before < 0) return found;
      if (left >= this.#gap) found = here++;
      code = codes[++position] ?? 0;
      for (let earlier = 0; earlier < code; earlier++) here += this.#next(state, left, before, earlier);
      const price = cost[state * symbols + code];
      left -= price;
      before -= price;
      state = after[state * symbols + code];
    }
    if (before >= 0) return -1;
    return left >= 0 ? here : found;
  }
  /** One of the strings, and whether it is a word. */
  string(index) {
    const { roots } = this;
    const { symbols, cost, after, alphabet } = roots.spelling;
    const root = atMost(this.#starts, index);
    let prefix = roots.prefixes[root];
    let rank = index - this.#starts[root] - this.#rooted;
    let [state, left, before] = [roots.states[root], this.limit, UNASKED];
    for (let first = true; rank >= 0; first = false) {
      let code = 0;
      for (; code < symbols; code++) {
        const size = first ? this.#first(root, code) : this.#next(state, left, before, code);
        if (rank < size) break;
        rank -= size;
      }
      if (code === 0) return { prefix, ends: true };
      const price = first ? roots.nextCost(root, code) : cost[state * symbols + code];
      before = first ? roots.asked[root * symbols + code] : before - price;
      left -= price;
      state = after[state * symbols + code];
      prefix += alphabet.characters[code - 1];
      rank -= Number(left >= this.#gap);
    }
    return { prefix, ends: false };
  }
  /** How many strings begin with a root and a symbol. */
  #first(root, symbol) {
    const { states, asked: asked2, spelling } = this.roots;
    const left = this.limit - this.roots.nextCost(root, symbol);
    return this.#behind(left, asked2[root * spelling.symbols + symbol], states[root], symbol);
  }
  /** How many strings go on with a symbol from a context, if so much is left, now and of what was asked about before. */
  #next(state, left, before, symbol) {
    const { symbols, cost } = this.roots.spelling;
    const price = cost[state * symbols + symbol];
    return this.#behind(left - price, before - price, state, symbol);
  }
  #behind(left, before, state, symbol) {
    if (left < 0) return 0;
    if (!symbol) return Number(before < 0);
    const { symbols, after, width } = this.roots.spelling;
    const behind = after[state * symbols + symbol];
    let count2 = this.sizes.words[left * width + behind];
    if (before >= 0) count2 -= this.sizes.words[Math.min(before, left) * width + behind];
    if (left >= this.#gap) count2 += this.sizes.prefixes[(left - this.#gap) * width + behind];
    return count2;
  }
};
var LikelyCandidates = class {
  constructor(alphabet, document) {
    this.alphabet = alphabet;
    this.document = document;
    const spelling = this.#spelling = new SpellingCosts(alphabet, document);
    const { roots, root_costs, even_costs, limits, prefix_limits, again } = document;
    const rounds = roots.length;
    if ([root_costs, even_costs, limits, prefix_limits, again].some((column) => column.length !== rounds)) throw unusable("rounds");
    if (rounds < 1 || rounds > MOST_ROUNDS || roots[0].length !== 1 || roots[0][0] !== "") throw unusable("rounds");
    const total = roots.reduce((sum3, prefixes) => sum3 + prefixes.length, 0);
    if (total > Math.floor(MOST_OPENINGS / spelling.symbols)) throw unusable("roots");
    this.#rounds = roots.map((prefixes, number) => {
      const [costs, evenCosts, limit] = [root_costs[number], even_costs[number], limits[number]];
      if (!ascends(prefixes) || !prefixes.every((prefix) => alphabet.expresses(prefix))) throw unusable("roots");
      if (costs.length !== prefixes.length || evenCosts.length !== prefixes.length || evenCosts.includes(0)) {
        throw unusable("costs of roots");
      }
      if (limit > spelling.largestLimit || prefix_limits[number] > limit) throw unusable("limits");
      if (again[number] > (number === rounds - 1 ? 0 : limit)) throw unusable("limits");
      return new Roots(spelling, prefixes, costs, evenCosts);
    });
    this.#rounds[0].asked[0] = NEVER;
    this.#rounds.slice(1).forEach((each, earlier) => {
      const asked2 = this.#rounds[earlier].tell(each, limits[earlier], prefix_limits[earlier]);
      if (!asked2) throw unusable("roots");
    });
  }
  #spelling;
  #rounds;
  #parts;
  /** The number of candidates; Infinity if it is beyond all bounds. */
  get size() {
    return this.#all?.reduce((sum3, part) => sum3 + part.size, 0) ?? Infinity;
  }
  /** The candidate that a word belongs to, or -1. */
  index(word) {
    const characters = [...word];
    const codes = characters.map((character) => this.alphabet.code(character));
    if (codes.includes(0)) return -1;
    let start = 0;
    let found = -1;
    for (const part of this.#all) {
      const index = part.index(characters, codes);
      if (index >= 0) found = start + index;
      start += part.size;
    }
    return found;
  }
  /** The string of a candidate, and whether it is a word; otherwise it is an escape. */
  prefix(candidate) {
    let left = candidate;
    for (const part of this.#all) {
      if (left < part.size) return part.string(left);
      left -= part.size;
    }
    throw new RangeError("there is no such candidate");
  }
  /** The new strings, then the words of each earlier round; null if they are beyond all bounds. */
  get #all() {
    return this.#parts === void 0 ? this.#parts = this.#count() : this.#parts;
  }
  #count() {
    const { limits, prefix_limits, again } = this.document;
    const last = this.#rounds.length - 1;
    const [newest, earlier] = [this.#rounds[last], this.#rounds.slice(0, last)];
    const [limit, prefixLimit] = [limits[last], prefix_limits[last]];
    const budget = newest.budget(limit);
    const budgets = earlier.map((roots, number) => roots.budget(again[number]));
    const words = this.#spelling.sizes(Math.max(budget, ...budgets), false);
    if (!words) return null;
    const sizes = { words, prefixes: null };
    const parts = earlier.map((roots, number) => new LikelyStrings(roots, again[number], NO_PREFIXES, sizes));
    if (prefixLimit === NO_PREFIXES) return [new LikelyStrings(newest, limit, NO_PREFIXES, sizes), ...parts];
    const prefixes = this.#spelling.sizes(Math.max(0, budget - (limit - prefixLimit)), true);
    return prefixes && [new LikelyStrings(newest, limit, prefixLimit, { words, prefixes }), ...parts];
  }
};

// src/octets.ts
function hex(octets) {
  return Array.from(octets, (octet) => octet.toString(16).padStart(2, "0")).join("");
}
function unhex(text2, length) {
  if (typeof text2 !== "string" || text2.length !== 2 * length || !/^[0-9a-f]*$/.test(text2)) return null;
  return Uint8Array.from({ length }, (_, place) => parseInt(text2.slice(2 * place, 2 * place + 2), 16));
}
var BLOCK = 1 << 13;
function base64(octets) {
  let binary = "";
  for (let start = 0; start < octets.length; start += BLOCK) {
    binary += String.fromCharCode(...octets.subarray(start, start + BLOCK));
  }
  return btoa(binary);
}
function unbase64(text2) {
  return Uint8Array.from(atob(text2), (character) => character.charCodeAt(0));
}
function count(octets, wanted) {
  return octets.reduce((sum3, octet) => sum3 + (octet === wanted ? 1 : 0), 0);
}
function joined(...parts) {
  const whole = new Uint8Array(parts.reduce((sum3, part) => sum3 + part.length, 0));
  let place = 0;
  for (const part of parts) {
    whole.set(part, place);
    place += part.length;
  }
  return whole;
}
async function sha512(octets) {
  return new Uint8Array(await crypto.subtle.digest("SHA-512", octets));
}
async function sha256(octets) {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", octets));
}

// src/expansion.ts
var SEED_BYTES = 16;
var BLOCK2 = 16;
var SPARE_WORDS = 64;
async function baseSubsets(seed, domain, rows, size) {
  const key2 = await crypto.subtle.importKey("raw", seed, "AES-CTR", false, ["encrypt"]);
  const octets = BLOCK2 * Math.ceil(4 * (rows * size + SPARE_WORDS) / BLOCK2);
  let blocks = 0;
  let values = [].values();
  const subsets = [];
  while (subsets.length < rows) {
    const subset = /* @__PURE__ */ new Set();
    while (subset.size < size) {
      const { value, done } = values.next();
      if (done) {
        values = boundedIntegers(await keystream(key2, blocks, octets), domain);
        blocks += octets / BLOCK2;
      } else {
        subset.add(value);
      }
    }
    subsets.push([...subset]);
  }
  return subsets;
}
async function keystream(key2, block, octets) {
  const counter = new Uint8Array(BLOCK2);
  new DataView(counter.buffer).setBigUint64(8, BigInt(block));
  const stream = await crypto.subtle.encrypt({ name: "AES-CTR", counter, length: 64 }, key2, new Uint8Array(octets));
  const view = new DataView(stream);
  return Uint32Array.from({ length: octets / 4 }, (_, index) => view.getUint32(4 * index, true));
}

// src/packing.ts
var BitWriter = class {
  #octets = [];
  #bits = 0;
  /** Add the low `width` bits of a number below 2^32. */
  field(value, width) {
    for (let bit = width - 1; bit >= 0; bit--) this.bit(value >>> bit & 1);
  }
  bit(value) {
    if (this.#bits % 8 === 0) this.#octets.push(0);
    this.#octets[this.#octets.length - 1] |= value << 7 - this.#bits++ % 8;
  }
  /** What was written, filled up with zeros to a length; the least that there must be if it is longer. */
  octets(length = 0) {
    const octets = new Uint8Array(Math.max(length, this.#octets.length));
    octets.set(this.#octets);
    return octets;
  }
};
var BitReader = class {
  constructor(octets) {
    this.octets = octets;
  }
  #bits = 0;
  field(width) {
    let value = 0;
    for (let bit = 0; bit < width; bit++) value = (value << 1 | this.bit()) >>> 0;
    return value;
  }
  bit() {
    const octet = this.octets[this.#bits >> 3];
    if (octet === void 0) throw new RefusalError("the bytes are no report of this layer: they end too soon");
    return octet >> 7 - this.#bits++ % 8 & 1;
  }
};

// src/subset_selection.ts
var SubsetSelection = class {
  constructor(candidates, epsilon, bound) {
    this.candidates = candidates;
    this.bound = bound;
    this.domain = candidates + 1;
    const exp = expBelow(epsilon);
    const unit = 1n << EXP_BITS;
    const s = BigInt(this.domain);
    const d = ceilDivide(s * unit, exp + unit);
    this.subsetSize = Number(d);
    this.truth = ONE * d * exp / (d * exp + (s - d) * unit);
    this.keepsEpsilon = this.truth * (s - d) * unit <= exp * (ONE - this.truth) * d;
  }
  domain;
  subsetSize;
  truth;
  keepsEpsilon;
  get offsetBits() {
    return 32 - Math.clz32(this.domain - 1);
  }
  get payloadBytes() {
    return SEED_BYTES + Math.ceil(this.bound * this.offsetBits / 8);
  }
  get votes() {
    return this.bound * this.subsetSize;
  }
  get channel() {
    const others = BigInt(this.candidates);
    const other = BigInt(this.subsetSize) * ONE - this.truth;
    return { held: this.truth * others, other, of: ONE * others, contributions: this.bound };
  }
  async translates(held, entropy) {
    const words = entropy.permutation(this.bound).map((index) => held[index] ?? this.candidates);
    const seed = entropy.octets(SEED_BYTES / 8);
    const bases = await this.expand(seed);
    const positions = entropy.below(this.subsetSize, this.bound);
    const hits = words.map((word, j) => this.#modulo(word - bases[j][positions[j]]));
    const truths = entropy.chances(this.truth, this.bound);
    const misses = this.#misses(words, bases, entropy);
    return { seed, offsets: hits.map((hit, j) => truths[j] ? hit : misses[j]) };
  }
  async randomize(held, entropy) {
    const { seed, offsets } = await this.translates(held, entropy);
    const writer = new BitWriter();
    for (const octet of seed) writer.field(octet, 8);
    for (const offset of offsets) writer.field(offset, this.offsetBits);
    return writer.octets();
  }
  async votesOf(payload) {
    const bases = await this.expand(payload.slice(0, SEED_BYTES));
    const reader = new BitReader(payload.subarray(SEED_BYTES));
    return bases.flatMap((base) => {
      const offset = reader.field(this.offsetBits);
      return base.map((value) => (value + offset) % this.domain);
    }).filter((vote) => vote !== this.candidates);
  }
  expand(seed) {
    return baseSubsets(seed, this.domain, this.bound, this.subsetSize);
  }
  /** For each word a uniform offset whose translate does not contain it. */
  #misses(words, bases, entropy) {
    const offsets = entropy.below(this.domain, this.bound);
    for (; ; ) {
      const hit = words.flatMap((word, j) => bases[j].includes(this.#modulo(word - offsets[j])) ? [j] : []);
      if (hit.length === 0) return offsets;
      entropy.below(this.domain, hit.length).forEach((offset, index) => offsets[hit[index]] = offset);
    }
  }
  #modulo(value) {
    return value < 0 ? value + this.domain : value;
  }
};

// src/rice.ts
var COUNT_BITS = 32;
var [LN2_NUMERATOR, LN2_DENOMINATOR] = [45426n, 65536n];
var RiceCode = class {
  remainderBits;
  usualBytes;
  /** For places set with probability numerator / 2^64, and at most `extra` more. */
  constructor(places, numerator, extra) {
    const ratio = ONE * LN2_NUMERATOR / (numerator * LN2_DENOMINATOR);
    this.remainderBits = Math.max(0, bitLength(ratio) - 1);
    const mean = ceilDivide(BigInt(places) * numerator, ONE);
    const most = Number(mean + 11n + integerRoot(87n + 56n * mean)) + extra;
    const bits = COUNT_BITS + Math.min(places, most) * (this.remainderBits + 1) + Math.floor(places / 2 ** this.remainderBits);
    this.usualBytes = Math.ceil(bits / 8);
  }
  encode(positions) {
    const gaps = positions.map((position, rank) => position - (rank === 0 ? -1 : positions[rank - 1]) - 1);
    const writer = new BitWriter();
    writer.field(positions.length, COUNT_BITS);
    for (const gap of gaps) writer.field(gap, this.remainderBits);
    for (const gap of gaps) {
      for (let rest = gap >>> this.remainderBits; rest > 0; rest--) writer.bit(1);
      writer.bit(0);
    }
    let length = this.usualBytes;
    while (length < writer.octets().length) length *= 2;
    return writer.octets(length);
  }
  /** The positions in a payload that this code has written. */
  decode(payload) {
    const reader = new BitReader(payload);
    const remainders = Array.from({ length: reader.field(COUNT_BITS) }, () => reader.field(this.remainderBits));
    let position = -1;
    return remainders.map((remainder) => {
      let rest = 0;
      while (reader.bit()) rest++;
      return position += rest * 2 ** this.remainderBits + remainder + 1;
    });
  }
};

// src/unary.ts
var Unary = class {
  constructor(candidates, epsilon, bound) {
    this.candidates = candidates;
    this.bound = bound;
    const exp = expBelow(epsilon);
    this.noise = ceilDivide(ONE << EXP_BITS, exp + (1n << EXP_BITS));
    this.keepsEpsilon = ONE - this.noise << EXP_BITS <= exp * this.noise;
    this.code = new RiceCode(candidates, this.noise, bound);
  }
  noise;
  code;
  keepsEpsilon;
  get payloadBytes() {
    return this.code.usualBytes;
  }
  get votes() {
    return Number(ceilDivide(2n * BigInt(this.candidates) * this.noise + ONE, 2n * ONE));
  }
  get channel() {
    return { held: ONE / 2n, other: this.noise, of: ONE, contributions: 1 };
  }
  /** The randomness used does not depend on what is held. */
  positions(held, entropy) {
    const noise = entropy.subset(this.candidates, drawBinomial(this.candidates, this.noise, entropy));
    const coins = entropy.chances(ONE / 2n, this.bound);
    const own = new Set(held);
    return [...noise.filter((candidate) => !own.has(candidate)), ...held.filter((_, rank) => coins[rank])].sort(
      (a, b) => a - b
    );
  }
  async randomize(held, entropy) {
    return this.code.encode(this.positions(held, entropy));
  }
  async votesOf(payload) {
    return this.code.decode(payload);
  }
};

// src/layer.ts
var VERSION = 2;
var LARGEST_DOCUMENT = 1 << 24;
var LARGEST_LAYER = 1 << 27;
var MOST_ITEMS = 1 << 21;
var MOST_CHARACTERS = 1 << 24;
var DEEPEST = 64;
var COMMA = 44;
var RANDOMIZERS = {
  unary: (...asked2) => new Unary(...asked2),
  "subset-selection": (...asked2) => new SubsetSelection(...asked2)
};
var LayerBase = class {
  constructor(document, digest) {
    this.document = document;
    this.digest = digest;
    this.alphabet = new Alphabet(document.alphabet);
    this.form = new WordForm(document.replaced, document.stripped);
    this.epsilon = Number(document.epsilon);
    this.targets = document.targets && new Set(document.targets);
    const { characters } = this.alphabet;
    if (characters.length < 2 || !ascends(characters) || characters.includes("\0")) throw unusable("alphabet");
    if (!this.form.fits(this.alphabet)) throw unusable("list of what it replaces or strips");
    if (document.targets && !ascends(document.targets)) throw unusable("list of targets");
  }
  alphabet;
  /** What counts as one word. */
  form;
  epsilon;
  targets;
  #known = null;
  #randomizer = null;
  /** Read the known words: without them a layer can be judged and not answered. */
  async learn(known) {
    if (hex(await sha256(known)) !== this.document.known)
      throw new RefusalError("the document calls for other known words");
    this.#known = readKnown(known);
  }
  get knowsRandomizer() {
    return Object.hasOwn(RANDOMIZERS, this.document.randomizer);
  }
  /** Of just these candidates; to be asked for only after the layer has been found to be small enough. */
  get randomizer() {
    return this.#randomizer ??= RANDOMIZERS[this.document.randomizer](this.size, this.epsilon, this.document.bound);
  }
  /** Why a word, in its form, doesn't count; null if it does. */
  complaint(word) {
    const complaint = this.alphabet.complaint(word, this.document.depth);
    if (complaint) return complaint;
    if (this.form.of(word) !== word) return "it is not in its form";
    if (this.found(word)) return "it was found before";
    if (this.targets) return this.targets.has(word) ? null : "it is not one of the words asked for";
    if (!this.#known) throw new RefusalError("the known words of the layer were not read");
    return this.#known.has(word) ? "it is a known word" : null;
  }
};
var FindingLayer = class extends LayerBase {
  closed = false;
  #found;
  constructor(document, digest) {
    super(document, digest);
    const { found, sampler } = document;
    this.#found = new Vocabulary(found);
    if (!ascends(found) || !found.every((word) => word !== "" && normalised(word) === word))
      throw unusable("found words");
    if (sampler !== "greedy" && sampler !== "random") throw unusable("sampler");
  }
  found(word) {
    return this.#found.has(word);
  }
  has(word) {
    return this.candidates.index(word) >= 0;
  }
  describe(candidate) {
    return this.candidates.prefix(candidate);
  }
};
var OpenLayer = class extends FindingLayer {
  #candidates = null;
  constructor(document, digest) {
    super(document, digest);
    const { frontier } = document;
    checkRoom(frontier);
    const width = this.width;
    if (width < 1 || !ascends(frontier)) throw unusable("frontier");
    if (!frontier.every((prefix) => [...prefix].length === width && this.alphabet.expresses(prefix))) {
      throw unusable("frontier");
    }
  }
  get size() {
    const { frontier, extension } = this.document;
    return frontier.length * extensions(this.alphabet.characters.length, extension, LARGEST_LAYER);
  }
  get width() {
    return [...this.document.frontier[0] ?? ""].length;
  }
  get candidates() {
    const { frontier, extension } = this.document;
    return this.#candidates ??= new Candidates(this.alphabet, frontier, extension);
  }
};
var LikelyLayer = class extends FindingLayer {
  candidates;
  constructor(document, digest) {
    super(document, digest);
    document.roots.forEach(checkRoom);
    this.candidates = new LikelyCandidates(this.alphabet, document);
    if (this.width > document.depth) throw unusable("roots");
  }
  get size() {
    return this.candidates.size;
  }
  get width() {
    return this.document.roots.flat().reduce((most, root) => Math.max(most, [...root].length), 0);
  }
};
var ClosedLayer = class extends LayerBase {
  closed = true;
  rate;
  constructor(document, digest) {
    super(document, digest);
    this.rate = Number(document.rate);
    checkRoom(document.words);
    if (document.words.length === 0 || !ascends(document.words)) throw unusable("list of words");
    if (document.words.some((word) => this.alphabet.complaint(word, document.depth))) throw unusable("list of words");
    if (!(this.rate > 0 && this.rate <= 1)) throw unusable("rate");
  }
  /** The list, and behind it a thermometer (unary) or one candidate for everything that is not listed. */
  get size() {
    return this.document.words.length + (this.document.randomizer === "unary" ? this.document.bound : 1);
  }
  get width() {
    return this.document.words.reduce((most, word) => Math.max(most, [...word].length), 0);
  }
  found() {
    return false;
  }
  has() {
    return true;
  }
  /** The candidates held by some words of the list and so many others. */
  held(listed, others) {
    const { words, randomizer } = this.document;
    return [
      ...listed,
      ...Array.from({ length: others }, (_, index) => words.length + (randomizer === "unary" ? index : 0))
    ];
  }
  index(word) {
    return find(this.document.words, word, compare);
  }
  describe(candidate) {
    return { prefix: this.document.words[candidate] ?? "(another word)", ends: true };
  }
};
function parseDocument(content) {
  if (content.length > LARGEST_DOCUMENT) throw unreadable();
  if (count(content, COMMA) > MOST_ITEMS) throw unreadable();
  const json = decode(content);
  let parsed2;
  try {
    parsed2 = JSON.parse(json);
  } catch {
    throw unreadable();
  }
  if (typeof parsed2 !== "object" || parsed2 === null || Array.isArray(parsed2)) throw unreadable();
  const values = parsed2;
  const fields = Object.entries(fieldsOf(values));
  if (!fields.every(([name, check]) => Object.hasOwn(values, name) && check(values[name]))) {
    throw unreadable(values.version);
  }
  if (JSON.stringify(Object.fromEntries(fields.map(([name]) => [name, values[name]]))) !== json) throw unreadable();
  return values;
}
function fieldsOf(values) {
  if (Object.hasOwn(values, "words")) return CLOSED_FIELDS;
  return Object.hasOwn(values, "roots") ? LIKELY_FIELDS : OPEN_FIELDS;
}
async function describeLayer(document) {
  const described = parseDocument(document);
  const digest = await sha256(document);
  if ("words" in described) return new ClosedLayer(described, digest);
  return "roots" in described ? new LikelyLayer(described, digest) : new OpenLayer(described, digest);
}
function readKnown(content) {
  const words = content.length === 0 ? [] : decode(content).split("\n");
  if (!ascends(words) || !words.every((word) => word !== "" && normalised(word) === word)) {
    throw new RefusalError("the list of known words must have each once, in NFC and in order, one a line");
  }
  return new Vocabulary(words);
}
function decode(content) {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(content);
  } catch {
    throw new RefusalError("the document is not in UTF-8; get it from the operator anew");
  }
}
function checkRoom(strings) {
  const longest = strings.reduce((most, each) => Math.max(most, [...each].length), 0);
  if (longest > DEEPEST || longest * strings.length > MOST_CHARACTERS) throw unusable("list of prefixes or words");
}
function unreadable(version) {
  return new RefusalError(
    Number.isSafeInteger(version) && version !== VERSION ? `the document is of version ${version} of the protocol, and this device speaks version ${VERSION}; update whichever is older` : `the bytes are not the document of a layer in version ${VERSION} of the protocol, in its one form`
  );
}

// src/contribution.ts
var TAG_BYTES = 8;
var HEADER_BYTES = 1 + TAG_BYTES;
var MOST_TIMES = 2 ** 31 - 1;
async function report(words, layer, entropy) {
  const held = layer.closed ? heldPlaces(words, layer, entropy) : heldPrefixes(words, layer, entropy);
  const header = Uint8Array.of(VERSION, ...layer.digest.subarray(0, TAG_BYTES));
  return joined(header, await layer.randomizer.randomize(held, entropy));
}
function votesOf(made, layer) {
  return layer.randomizer.votesOf(made.slice(HEADER_BYTES));
}
function heldPrefixes(words, layer, entropy) {
  const times = /* @__PURE__ */ new Map();
  for (const [word, typed] of countingWords(words, layer)) {
    const candidate = layer.candidates.index(word);
    if (candidate >= 0) times.set(candidate, (times.get(candidate) ?? 0) + typed);
  }
  const prefixes = [...times.keys()].sort((a, b) => a - b);
  const order = entropy.permutation(prefixes.length).map((index) => prefixes[index]);
  if (layer.document.sampler === "greedy") order.sort((a, b) => times.get(b) - times.get(a));
  return order.slice(0, layer.document.bound);
}
function heldPlaces(words, layer, entropy) {
  const counting = [...countingWords(words, layer).keys()].sort(compare);
  const events = entropy.chances(scaled(layer.rate, WORD_BITS), counting.length);
  const drawn = counting.filter((_, index) => events[index]);
  const sampled = entropy.permutation(drawn.length).slice(0, layer.document.bound).map((index) => layer.index(drawn[index]));
  const listed = sampled.filter((candidate) => candidate >= 0);
  return layer.held(listed, sampled.length - listed.length);
}
function countingWords(words, layer) {
  const counting = /* @__PURE__ */ new Map();
  for (const [word, times] of words) {
    const form = layer.form.of(word);
    if (layer.complaint(form) === null) {
      counting.set(form, (counting.get(form) ?? 0) + Math.min(Math.max(1, times), MOST_TIMES));
    }
  }
  return counting;
}

// src/transport.ts
var SMALL_ANSWER = 1 << 16;
var JSON_KIND = "application/json";

// src/handover.ts
var FORMAT = 1;
var LARGEST_FILE = 1 << 26;
var SOON = 1;
var CARRIED = new RegExp(
  "^(?:POST /v1/(?:check-in|reports)|GET /v1/(?:layers|known)/[0-9a-f]{64}|GET /log/evidence|GET /log/(?:campaigns/[0-9a-f]{32}/)?tile/[0-9]{1,2}/(?:x[0-9]{3}/)*[0-9]{3}(?:\\.p/[0-9]{1,3})?)$"
);
var KEPT = /^\/v1\/(?:layers|known)\//;
var HandoverTransport = class {
  #answers = /* @__PURE__ */ new Map();
  #used = [];
  /** The request that waits to be carried, as the text of its file; null if the step needed none. */
  pending = null;
  /** Begin a step, with the text of a file of answers if there is one. */
  begin(carried) {
    const items2 = carried === void 0 ? [] : answersIn(carried);
    this.#answers = new Map(items2.map((item) => [item.request, item]));
    this.#used = [];
    this.pending = null;
  }
  async request(method, path2, most, body, kind = JSON_KIND) {
    const answers = this.#answers;
    const sent = body ?? new Uint8Array();
    const name = await nameOf(method, path2, sent);
    if (answers !== this.#answers) throw new LaterError("the owner no longer agrees");
    const item = answers.get(name);
    answers.delete(name);
    if (!item) {
      const used = method === "GET" ? this.#used : [];
      this.pending = JSON.stringify({ handover: FORMAT, method, path: path2, type: kind, body: base64(sent), answers: used });
      throw new LaterError("the next request of this device waits to be carried to the service", SOON);
    }
    const content = unbase64(item.body);
    if (content.length > most) {
      throw new OversizeError(`a carried answer has more than ${most} bytes: have the request carried again`);
    }
    if (!KEPT.test(path2)) this.#used.push(item);
    return { status: item.status, body: content, retryAfter: item.retry_after };
  }
  halt() {
    this.#answers = /* @__PURE__ */ new Map();
    this.pending = null;
  }
};
async function nameOf(method, path2, body) {
  return hex(await sha256(joined(new TextEncoder().encode(`${method} ${path2}
`), body)));
}
function answersIn(file) {
  try {
    return items(parsed(file).answers);
  } catch {
    throw new DeviceError("the file has no answers that were carried: have the request carried again");
  }
}
function items(answers) {
  return answers.map(({ request, status, retry_after, body }) => {
    const usable = typeof request === "string" && Number.isInteger(status) && typeof body === "string";
    if (!usable || !(retry_after === null || typeof retry_after === "string")) throw new TypeError();
    unbase64(body);
    return { request, status, retry_after, body };
  });
}
function parsed(file) {
  const told = file.length > LARGEST_FILE ? null : JSON.parse(file);
  if (told.handover !== FORMAT) throw new TypeError();
  return told;
}

// src/log.ts
var log_exports = {};
__export(log_exports, {
  checkGoesOn: () => checkGoesOn,
  checkProof: () => checkProof,
  evidenceBinding: () => evidenceBinding,
  folderOf: () => folderOf
});

// src/signature.ts
function publicKey(key2) {
  return crypto.subtle.importKey("raw", key2, "Ed25519", false, ["verify"]);
}
async function signedBy(key2, signature, message) {
  try {
    return await crypto.subtle.verify("Ed25519", await publicKey(key2), signature, message);
  } catch {
    return false;
  }
}

// src/log.ts
var HASH_BYTES = 32;
var SIGNATURE_BYTES = 64;
var HINT_BYTES = 4;
var TIME_BYTES = 8;
var MOST_HASHES = 63;
var MOST_COSIGNATURES = 16;
var TILE_WIDTH = 256;
var TILE_LEVELS = 8;
var AHEAD = 86400;
var TREES = 2;
async function checkProof(content, question, trust, now) {
  const proof = readProof(content);
  const leaf = await leafHash(new TextEncoder().encode(await entryOf(question, proof.layer)));
  const roots = [
    await rootOf(leaf, proof.index, proof.trees[0]),
    await rootOf(leaf, proof.layer, proof.trees[1])
  ];
  for (const log of trust.logs) {
    const checkpoints = roots.map((root, tree) => ({
      origin: `neologue.log/${log}${tree ? `/${hex(question.campaign)}` : ""}`,
      size: proof.trees[tree].size,
      root: hex(root)
    }));
    const signed = await Promise.all(
      checkpoints.map((checkpoint, tree) => signedBy(key(log), proof.trees[tree].signature, encoded(textOf(checkpoint))))
    );
    if (signed.includes(false)) continue;
    for (const [tree, checkpoint] of checkpoints.entries()) await checkWitnesses(proof.trees[tree], checkpoint, trust, now);
    return checkpoints;
  }
  throw refused("the layer is not in a log that this device knows, or not as it was asked about here");
}
async function checkGoesOn(known, next, fetch2) {
  if (next.size < known.size) {
    throw new LaterError(
      `the log ${next.origin} is shown with ${next.size} entries, and this device has seen ${known.size}: it waits for the newer one`
    );
  }
  let seen = next.root;
  if (next.size > known.size) {
    const subtree = subtrees(next.size, fetch2);
    if (hex(await rangeHash(0, next.size, subtree)) !== next.root) {
      throw refused(`the files of the log ${next.origin} do not belong to its checkpoint`);
    }
    seen = hex(await rangeHash(0, known.size, subtree));
  }
  if (seen !== known.root) {
    throw refused(
      `the log ${next.origin} was forked: its first ${known.size} entries are not those that this device has seen`
    );
  }
}
function folderOf(checkpoint) {
  const campaign = checkpoint.origin.split("/")[2];
  return campaign ? `/log/campaigns/${campaign}/` : "/log/";
}
function evidenceBinding({ origin }) {
  return sha512(joined(new TextEncoder().encode("neologue evidence v1\0"), key(origin.split("/")[1])));
}
function readProof(content) {
  let place = 0;
  const take = (length) => {
    const part = content.slice(place, place += length);
    if (part.length < length) throw cut();
    return part;
  };
  const number = (length) => {
    const value = Number(BigInt(`0x${hex(take(length))}`));
    if (!Number.isSafeInteger(value)) throw cut();
    return value;
  };
  const many2 = (most, part) => {
    const length = number(1);
    if (length > most) throw cut();
    return Array.from({ length }, part);
  };
  if (number(1) !== 1) throw cut();
  const [layer, index] = [number(2), number(8)];
  const trees = Array.from({ length: TREES }, () => ({
    size: number(8),
    path: many2(MOST_HASHES, () => take(HASH_BYTES)),
    signature: take(SIGNATURE_BYTES),
    cosignatures: many2(MOST_COSIGNATURES, () => ({
      hint: take(HINT_BYTES),
      time: number(TIME_BYTES),
      signature: take(SIGNATURE_BYTES)
    }))
  }));
  if (place !== content.length) throw cut();
  return { layer, index, trees };
}
async function entryOf({ campaign, layer, masked }, index) {
  const promise = masked ? { promise: hex(await sha256(masked)) } : {};
  return JSON.stringify({ campaign: hex(campaign), deed: "layer opened", digest: hex(layer), layer: index, ...promise });
}
async function rootOf(leaf, index, { size, path: path2 }) {
  let [at, last, found] = [index, size - 1, leaf];
  if (index >= size || path2.length !== pathLength(index, size)) throw cut();
  for (const sibling of path2) {
    while (at % 2 === 0 && at === last) [at, last] = [half(at), half(last)];
    found = at % 2 ? await nodeHash(sibling, found) : await nodeHash(found, sibling);
    [at, last] = [half(at), half(last)];
  }
  return found;
}
function pathLength(index, size) {
  let length = 0;
  for (let [at, last] = [index, size - 1]; last > 0; [at, last] = [half(at), half(last)]) {
    if (at % 2 || at < last) length++;
  }
  return length;
}
async function checkWitnesses(tree, checkpoint, trust, now) {
  const body = textOf(checkpoint);
  let counted = 0;
  for (const witness of trust.witnesses) {
    for (const { hint, time, signature } of tree.cosignatures) {
      if (hex(hint) !== witness.slice(0, 2 * HINT_BYTES) || time > now + AHEAD) continue;
      if (await signedBy(key(witness), signature, encoded(`cosignature/v1
time ${time}
${body}`))) {
        counted++;
        break;
      }
    }
    if (counted === trust.quorum) return;
  }
  throw refused(
    `${counted} of the ${trust.witnesses.length} witnesses that this device knows have co-signed the log ${checkpoint.origin} with ${checkpoint.size} entries, and ${trust.quorum} must have`
  );
}
function subtrees(size, fetch2) {
  const tiles = /* @__PURE__ */ new Map();
  return async (level, index) => {
    const tileLevel = Math.floor(level / TILE_LEVELS);
    const above = 2 ** (level % TILE_LEVELS);
    const number = Math.floor(index * above / TILE_WIDTH);
    const width = Math.min(TILE_WIDTH, Math.floor(size / TILE_WIDTH ** tileLevel) - number * TILE_WIDTH);
    const path2 = tilePath(tileLevel, number, width);
    if (!tiles.has(path2)) tiles.set(path2, fetch2(path2));
    const tile = await tiles.get(path2);
    if (tile.length !== width * HASH_BYTES) throw refused(`the log's file ${path2} has ${tile.length} bytes`);
    const first = index * above % TILE_WIDTH;
    let hashes = Array.from(
      { length: above },
      (_, each) => tile.slice((first + each) * HASH_BYTES, (first + each + 1) * HASH_BYTES)
    );
    while (hashes.length > 1) {
      hashes = await Promise.all(
        Array.from({ length: hashes.length / 2 }, (_, each) => nodeHash(hashes[2 * each], hashes[2 * each + 1]))
      );
    }
    return hashes[0];
  };
}
function tilePath(level, index, width) {
  const digits2 = String(index);
  const parts = digits2.padStart(Math.ceil(digits2.length / 3) * 3, "0").match(/.{3}/g);
  const number = parts.map((part, place) => place < parts.length - 1 ? `x${part}` : part).join("/");
  return `tile/${level}/${number}${width === TILE_WIDTH ? "" : `.p/${width}`}`;
}
async function rangeHash(low, high, subtree) {
  let [level, complete] = [0, 1];
  while (complete * 2 <= high - low) [level, complete] = [level + 1, complete * 2];
  if (complete === high - low) return subtree(level, low / complete);
  return nodeHash(await rangeHash(low, low + complete, subtree), await rangeHash(low + complete, high, subtree));
}
function leafHash(leaf) {
  return sha256(joined(Uint8Array.of(0), leaf));
}
function nodeHash(left, right) {
  return sha256(joined(Uint8Array.of(1), left, right));
}
function textOf({ origin, size, root }) {
  return `${origin}
${size}
${btoa(String.fromCharCode(...key(root)))}
`;
}
function encoded(text2) {
  return Uint8Array.from(new TextEncoder().encode(text2));
}
function key(text2) {
  return unhex(text2, HASH_BYTES);
}
function half(value) {
  return Math.floor(value / 2);
}
function cut() {
  return refused("the proof beside the invitation is cut, or of a kind that this device does not know");
}
function refused(why) {
  return new RefusalError(`this device does not answer: ${why}`);
}

// src/succession.ts
var succession_exports = {};
__export(succession_exports, {
  NO_HISTORY: () => NO_HISTORY,
  isRevoked: () => isRevoked,
  learn: () => learn,
  merge: () => merge,
  path: () => path,
  signers: () => signers
});
var KEY_BYTES = 32;
var SIGNATURE_BYTES2 = 64;
var MOST_BYTES = 1 << 14;
var KINDS = {
  1: [2, "neologue succession v1\0"],
  2: [3, "neologue revocation v1\0"]
};
var NO_HISTORY = { successions: {}, revocations: {} };
async function learn(history, content, pins) {
  const links = await read(content);
  const genuine = links.map((link) => changesNothing(history, link, pins) || link.genuine());
  if ((await Promise.all(genuine)).includes(false)) throw unusable2("has a signature that is wrong");
  return links.reduce((known, link) => withLink(known, link, pins), history);
}
function path(history, pinned, recovery) {
  const keys = [pinned];
  for (; ; ) {
    const last = keys.at(-1);
    const next = (recovery && history.revocations[`${recovery}:${last}`]) ?? history.successions[last];
    if (!next) return keys;
    if (keys.includes(next)) return [];
    keys.push(next);
  }
}
function isRevoked(history, key2) {
  return Object.keys(history.revocations).some((known) => known.endsWith(`:${key2}`));
}
function signers(history, key2) {
  const recoveries = [null, ...Object.keys(history.revocations).map((known) => known.split(":")[0])];
  const reached = recoveries.flatMap((recovery) => path(history, key2, recovery));
  return [...new Set(reached)].filter((each) => !isRevoked(history, each));
}
function merge(first, second) {
  return {
    successions: { ...second.successions, ...first.successions },
    revocations: { ...second.revocations, ...first.revocations }
  };
}
function changesNothing(history, link, pins) {
  if (link.recovery === null) return link.old in history.successions;
  return ![...pins.values()].includes(link.recovery) || `${link.recovery}:${link.old}` in history.revocations;
}
function withLink(history, link, pins) {
  if (changesNothing(history, link, pins)) return history;
  if (link.recovery !== null) {
    return { ...history, revocations: { ...history.revocations, [`${link.recovery}:${link.old}`]: link.new } };
  }
  const leadsOn = [...pins].some(([pinned, recovery]) => {
    const keys = path(history, pinned, recovery);
    return keys.at(-1) === link.old && !keys.includes(link.new);
  });
  return leadsOn ? { ...history, successions: { ...history.successions, [link.old]: link.new } } : history;
}
async function read(content) {
  if (content.length > MOST_BYTES) throw unusable2("is too long");
  const links = [];
  for (let place = 0; place < content.length; ) {
    const [count2, domain] = KINDS[content[place]] ?? [Infinity, ""];
    const end = place + 1 + count2 * KEY_BYTES + SIGNATURE_BYTES2;
    if (end > content.length) throw unusable2("is cut, or of a kind that this device does not know");
    const key2 = (index) => content.slice(place + 1 + index * KEY_BYTES, place + 1 + (index + 1) * KEY_BYTES);
    const [older, newer, signer] = [key2(0), key2(1), count2 === 3 ? key2(2) : key2(0)];
    const signature = content.slice(end - SIGNATURE_BYTES2, end);
    links.push({
      old: hex(older),
      new: hex(newer),
      recovery: count2 === 3 ? hex(await sha256(signer)) : null,
      genuine: () => signedBy(signer, signature, joined(new TextEncoder().encode(domain), older, newer))
    });
    place = end;
  }
  return links;
}
function unusable2(what) {
  return new RefusalError(`the keys of the operator can't be followed: their succession ${what}; get it anew from them`);
}

// src/membership.ts
var CAMPAIGN_BYTES = 16;
var SERIAL_BYTES = 16;
function credentialOf(text2) {
  if (typeof text2 !== "string" || !/^[A-Za-z0-9_-]{128}$/.test(text2)) {
    throw new DeviceError("a credential has 128 letters, digits, - and _, and this text is none: copy it as a whole");
  }
  const content = Uint8Array.from(atob(text2.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
  return {
    text: text2,
    campaign: content.slice(0, CAMPAIGN_BYTES),
    serial: content.slice(CAMPAIGN_BYTES, CAMPAIGN_BYTES + SERIAL_BYTES)
  };
}

// src/randomizer.ts
function quotient(numerator, denominator) {
  return Number(numerator) / Number(denominator);
}
function noiseVotes({ channel }, candidates) {
  return channel.contributions * candidates * quotient(channel.other, channel.of);
}

// src/policy.ts
var KEY_BYTES2 = 32;
var SMALLEST_EPSILON = 1e-3;
var LARGEST_EPSILON = 20;
var MOST_EPSILON = 1e6;
var MOST_RATIO = 1e9;
var LINE_BREAK = 10;
var DEFAULTS = {
  enabled: true,
  largestEpsilon: 10,
  largestUserEpsilon: 600,
  lifetimeEpsilon: 20,
  smallestLayerSize: 100,
  longestWord: 32,
  largestLayer: 1 << 24,
  largestReport: 1e4,
  mostVotes: 1 << 20,
  largestVoteRatio: 22100,
  largestClosedVoteRatio: 50,
  largestSilenceRatio: 4,
  fewestNoiseVotes: 3,
  allowTargets: false,
  allowUnloggedLists: false,
  mostKnownWords: 1 << 20,
  largestKnown: 1 << 24,
  logs: [],
  witnesses: [],
  quorum: 0
};
var WHOLE_NUMBERS = {
  smallestLayerSize: [1, 1 << 30],
  longestWord: [1, 64],
  largestLayer: [1, LARGEST_LAYER],
  largestReport: [100, 1 << 30],
  mostVotes: [1, LARGEST_LAYER],
  mostKnownWords: [0, 1 << 30],
  largestKnown: [0, 1 << 30],
  quorum: [0, 1 << 10]
};
var NUMBERS = {
  largestEpsilon: [Number.MIN_VALUE, MOST_EPSILON],
  largestUserEpsilon: [Number.MIN_VALUE, MOST_EPSILON],
  lifetimeEpsilon: [Number.MIN_VALUE, MOST_EPSILON],
  largestVoteRatio: [1, MOST_RATIO],
  largestClosedVoteRatio: [1, MOST_RATIO],
  largestSilenceRatio: [1, MOST_RATIO],
  fewestNoiseVotes: [0, LARGEST_LAYER]
};
var SWITCHED_OFF = "this device answers no campaign: its owner has switched that off, and can switch it on (enabled)";
var Policy = class {
  limits;
  /** The operators' keys, each with the digest of its recovery key if it has one. */
  pins;
  constructor(operators, limits) {
    const pins = Array.isArray(operators) ? operators.map((text2) => String(text2).split(":")) : [[]];
    if (!pins.every((parts) => (parts.length === 1 || parts.length === 2) && parts.every((part) => unhex(part, KEY_BYTES2)))) {
      throw new DeviceError(
        "operators must be a list of public keys, each of 64 lower-case hexadecimal digits, perhaps with a colon and the digest of the recovery key"
      );
    }
    this.pins = new Map(pins.map(([key2, recovery]) => [key2, recovery ?? null]));
    this.limits = { ...DEFAULTS, ...limits };
    for (const [name, value] of Object.entries(this.limits)) {
      const whole = WHOLE_NUMBERS[name];
      const range = whole ?? NUMBERS[name];
      const right = range ? typeof value === "number" && value >= range[0] && value <= range[1] && (!whole || Number.isInteger(value)) : name in DEFAULTS && (Array.isArray(value) ? areKeys(value) : typeof value === "boolean");
      if (!right)
        throw new DeviceError(`the limit ${name} can't be ${String(value)}; docs/device-policy.md has the limits`);
    }
    const { logs, witnesses, quorum } = this.limits;
    if (quorum > witnesses.length || quorum > 0 && logs.length === 0) {
      throw new DeviceError(`a quorum of ${quorum} needs as many witnesses, and a log: add their keys to witnesses and logs`);
    }
  }
  /** Refuse unless this operator may ask at all: what a device wants to know before it fetches. */
  checkOperator(operator, history) {
    if (!this.limits.enabled) throw new RefusalError(SWITCHED_OFF);
    const replaced = this.replaced(operator, history);
    if (replaced) throw new RefusalError(replaced);
    if (![...this.pins].some((pin) => path(history, ...pin).at(-1) === hex(operator))) {
      throw new RefusalError(
        `the operator with the public key ${hex(operator)} is not one of the ${this.pins.size} that this device answers; its owner can add the key to operators`
      );
    }
  }
  /** What is wrong with an operator's key that another one has replaced; null if none has. */
  replaced(operator, history) {
    const key2 = hex(operator);
    const paths = [...this.pins].map((pin) => path(history, ...pin));
    if (paths.some((keys2) => keys2.at(-1) === key2)) return null;
    if (isRevoked(history, key2)) {
      return `the operator's key ${key2} was revoked, and this device never trusts it again: the service must use its successor`;
    }
    const keys = paths.find((each) => each.includes(key2));
    return keys ? `the operator's key ${key2} was replaced by ${keys.at(-1)}, and this device does not go back: the service must use that one` : null;
  }
  /** Refuse a layer that asks for too much, whoever asks. */
  checkLayer(layer) {
    for (const complaint of this.#complaints(layer)) throw new RefusalError(complaint);
  }
  /** Refuse a list of known words that is too long, before it is parsed. */
  checkKnown(content) {
    const { largestKnown, mostKnownWords } = this.limits;
    const words = count(content, LINE_BREAK) + (content.length > 0 ? 1 : 0);
    if (content.length > largestKnown || words > mostKnownWords) throw this.knownRefusal();
  }
  knownRefusal() {
    const { largestKnown, mostKnownWords } = this.limits;
    return new RefusalError(
      beyond(
        `the known words of the layer are more than the ${many(mostKnownWords)} words or the ${many(largestKnown)} bytes`,
        "mostKnownWords and largestKnown"
      )
    );
  }
  /** Refuse what would take the sum of all ε above the lifetime's, exactly. */
  checkLifetime(cost, spent) {
    const total = grains(cost) + sumOf(spent);
    if (total <= grains(this.limits.lifetimeEpsilon)) return;
    throw new RefusalError(
      beyond(
        `${shortestDecimal(sum2(spent))} of ε spent before and ${shortestDecimal(cost)} now make ${shortestDecimal(sum2([...spent, cost]))}, above the ${shortestDecimal(this.limits.lifetimeEpsilon)} in a lifetime`,
        "lifetimeEpsilon"
      )
    );
  }
  *#complaints(layer) {
    const { limits } = this;
    const { bound, cohort, depth } = layer.document;
    const { epsilon } = layer;
    if (!(epsilon >= SMALLEST_EPSILON && epsilon <= LARGEST_EPSILON)) {
      yield `the layer's ε is no number from ${SMALLEST_EPSILON} to ${LARGEST_EPSILON}; no policy permits that`;
    }
    if (!layer.knowsRandomizer) {
      yield "the layer's randomizer is not one of unary, subset-selection, the ones that this device can answer for; a newer neologue may know it";
    }
    if (layer.size < 1) yield "the layer asks about no string at all; no policy permits that";
    if (epsilon > limits.largestEpsilon) {
      yield beyond(
        `the layer's ε is ${shortestDecimal(epsilon)}, above the ${shortestDecimal(limits.largestEpsilon)}`,
        "largestEpsilon"
      );
    }
    if (BigInt(bound) * grains(epsilon) > grains(limits.largestUserEpsilon)) {
      yield beyond(
        `${many(bound)} words with an ε of ${shortestDecimal(epsilon)} each are above the ${shortestDecimal(limits.largestUserEpsilon)} for one report`,
        "largestUserEpsilon"
      );
    }
    if (cohort < limits.smallestLayerSize) {
      yield beyond(`the layer asks ${many(cohort)} users, below the ${many(limits.smallestLayerSize)}`, "smallestLayerSize");
    }
    const longest = Math.max(depth, layer.width);
    if (longest > limits.longestWord) {
      yield beyond(
        `the layer asks for words of ${many(longest)} characters, above the ${limits.longestWord}`,
        "longestWord"
      );
    }
    if (layer.targets && !limits.allowTargets) {
      yield `only words of a list of ${many(layer.targets.size)} that the operator made would count, and this device answers no such question; its owner can allow it (allowTargets)`;
    }
    if (layer.size > limits.largestLayer) {
      yield beyond(`the layer has more than the ${many(limits.largestLayer)} candidates`, "largestLayer");
    }
    if (bound > limits.mostVotes) {
      yield beyond(`a report has room for ${many(bound)} words, above the ${many(limits.mostVotes)}`, "mostVotes");
    }
    const { randomizer } = layer;
    const size = HEADER_BYTES + randomizer.payloadBytes;
    if (size > limits.largestReport) {
      yield beyond(`a report has ${many(size)} bytes, above the ${many(limits.largestReport)}`, "largestReport");
    }
    if (randomizer.votes > limits.mostVotes) {
      yield beyond(`a report has ${many(randomizer.votes)} votes, above the ${many(limits.mostVotes)}`, "mostVotes");
    }
    if (!randomizer.keepsEpsilon) yield "the layer's thresholds do not keep its ε; no policy permits that";
    yield* this.#answerComplaints(layer);
  }
  /** What is wrong with how much a report says of one word. */
  *#answerComplaints(layer) {
    const { limits } = this;
    const { held, other, of, contributions } = layer.randomizer.channel;
    const limit = layer.closed ? "largestClosedVoteRatio" : "largestVoteRatio";
    if (isAbove(held, other, limits[limit])) {
      yield beyond(
        `a vote would multiply the odds that a word is held by ${digits(quotient(held, other))}, above the ${digits(limits[limit])} for a ${layer.closed ? "list of words" : "layer"}`,
        limit
      );
    }
    if (isAbove(of - other, of - held, limits.largestSilenceRatio)) {
      yield beyond(
        `a missing vote would divide the odds that a word is held by ${digits(quotient(of - other, of - held))}, above the ${digits(limits.largestSilenceRatio)}`,
        "largestSilenceRatio"
      );
    }
    const asked2 = layer.closed ? layer.document.words.length : layer.randomizer.candidates;
    if (isBelow(BigInt(contributions) * BigInt(asked2) * other, of, limits.fewestNoiseVotes)) {
      yield beyond(
        `${many(asked2)} candidates are so few that chance gives ${digits(noiseVotes(layer.randomizer, asked2), 3)} votes, below the ${digits(limits.fewestNoiseVotes)}`,
        "fewestNoiseVotes"
      );
    }
    if (layer.closed && limits.quorum === 0 && !limits.allowUnloggedLists) {
      yield `nothing shows that others can see the list of ${many(asked2)} words that the operator asks about: its owner can demand a log that witnesses co-sign (quorum), or allow such lists (allowUnloggedLists)`;
    }
  }
};
function areKeys(values) {
  return values.every((value) => unhex(value, KEY_BYTES2)) && new Set(values).size === values.length;
}
function sum2(epsilons) {
  return roundUp(
    sumOf(epsilons),
    epsilons.reduce((total, epsilon) => total + epsilon, 0)
  );
}
function sumOf(epsilons) {
  return epsilons.reduce((total, epsilon) => total + grains(epsilon), 0n);
}
function isAbove(numerator, denominator, limit) {
  return numerator * grains(1) > denominator * grains(limit);
}
function isBelow(numerator, denominator, limit) {
  return numerator * grains(1) < denominator * grains(limit);
}
function digits(value, precision = 6) {
  return value.toLocaleString("en-US", { maximumSignificantDigits: precision });
}
function many(value) {
  return value.toLocaleString("en-US");
}
function beyond(what, limit) {
  return `${what} that this device accepts; its owner can change ${limit}`;
}

// src/receipt.ts
var receipt_exports = {};
__export(receipt_exports, {
  SECONDS_PER_DAY: () => SECONDS_PER_DAY,
  abandonedReceipt: () => abandonedReceipt,
  countedReceipt: () => countedReceipt,
  reportReceipt: () => reportReceipt
});
var SECONDS_PER_DAY = 86400;
var SHOWN = 16;
function reportReceipt(day, campaign, operator, layer, size, spent, lifetime) {
  const { bound, cohort } = layer.document;
  const { candidates } = layer.randomizer;
  const what = layer.closed ? "words that the operator chose, and some that stand for all other words" : "beginnings of words and whole words that the operator chose";
  const targets = layer.targets ? `Only words of a list of ${many(layer.targets.size)} that the operator made can be among yours. ` : "";
  return `On ${date(day)} this device made a report of ${many(size)} bytes for the operator ${short(operator)} and the campaign ${short(campaign)}: randomized votes on ${many(candidates)} candidates, ${what}. ${targets}${noiseSentence(noiseVotes(layer.randomizer, candidates))} Any single word you typed changes the probability of what it says by at most a factor of e^${atMost2(layer.epsilon)}; all your words together, of which it is about at most ${many(bound)}, by e^${atMost2(bound * layer.epsilon)}. According to the operator, ${many(cohort - 1)} other devices were asked the same. With this report the device has spent an ε of ${atMost2(spent)} of the ${atLeast(lifetime)} in its lifetime: ${atLeast(Math.max(lifetime - spent, 0))} is left. Once the campaign's release is published, this device can tell whether what it was asked is in it (neologue device check, or checkRelease).`;
}
function countedReceipt(day, campaign) {
  return `On ${date(day)} the service confirmed that the report for the campaign ${short(campaign)} was counted; its bytes were erased from this device.`;
}
function abandonedReceipt(day, campaign) {
  return `On ${date(day)} the report for the campaign ${short(campaign)} was given up without a confirmation that it was counted; its bytes were erased from this device, and no other is made for this campaign.`;
}
function noiseSentence(noise) {
  const votes = noise >= 10 ? `about ${many(Math.round(noise))}` : noise >= 0.01 ? `about ${Number(noise.toPrecision(2))}` : "less than 0.01";
  const hides = noise < 1 ? " So little hides hardly anything: whoever reads a vote may take it for yours." : "";
  return `Chance alone gives ${votes} of such votes, whatever you typed.${hides}`;
}
function date(day) {
  return new Date(day * SECONDS_PER_DAY * 1e3).toISOString().slice(0, 10);
}
function short(identity) {
  return `${hex(identity).slice(0, SHOWN)}…`;
}
function atMost2(value) {
  const near = sixDigits(value);
  return String(near < value ? sixDigits(near + lastDigit(value)) : near);
}
function atLeast(value) {
  const near = sixDigits(value);
  return String(near > value ? sixDigits(near - lastDigit(value)) : near);
}
function sixDigits(value) {
  return Number(value.toPrecision(6));
}
function lastDigit(value) {
  return 10 ** (Math.floor(Math.log10(value)) - 5);
}

// test/internals.ts
async function readLayer(document, known) {
  const layer = await describeLayer(document);
  await layer.learn(known);
  return layer;
}
var Dictated = class extends Entropy {
  constructor(octets8) {
    super();
    this.octets8 = octets8;
  }
  #place = 0;
  halves(words) {
    const view = new DataView(this.octets8.buffer, this.octets8.byteOffset + this.#place, 8 * words);
    this.#place += 8 * words;
    return Uint32Array.from({ length: 2 * words }, (_, half2) => view.getUint32(4 * half2, true));
  }
  get left() {
    return this.octets8.length - this.#place;
  }
};
export {
  Alphabet,
  Candidates,
  Dictated,
  HandoverTransport,
  Policy,
  SecureEntropy,
  SubsetSelection,
  Unary,
  Vocabulary,
  WordForm,
  baseSubsets,
  compare,
  credentialOf,
  describeLayer,
  drawBinomial,
  log_exports as log,
  noiseVotes,
  normalised,
  readLayer,
  receipt_exports as receipt,
  report as seededReport,
  succession_exports as succession,
  votesOf
};
