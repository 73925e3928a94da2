/** Words as the protocol has them: code points in NFC, compared by code point; and which are known. */

// What Python calls white space, of which JavaScript's \s is not the same set.
const SPACE = "\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
const ANY_SPACE = new RegExp(`[${SPACE}]`, "u");

/** What counts as one word: which characters take the place of others, and which are taken off at both ends. */
export class WordForm {
  readonly #replaced: ReadonlyMap<string, string>;
  readonly #stripped: readonly string[];

  /** Pairs of a character and its replacement, and of the first and the last of a range; both in order. */
  constructor(
    readonly replaced: string,
    readonly stripped: string,
  ) {
    const characters = [...replaced];
    this.#replaced = new Map(pairs(characters));
    this.#stripped = [...stripped];
  }

  /** Whether its pairs are complete and in order, and replace what an alphabet lacks by what it has. */
  fits(alphabet: Alphabet): boolean {
    const [characters, ends] = [[...this.replaced], this.#stripped];
    if (characters.length % 2 || ends.length % 2) return false;
    const taken = characters.filter((_, place) => place % 2 === 0);
    return (
      ascends(taken) &&
      pairs(characters).every(([from, to]) => alphabet.code(from) === 0 && alphabet.code(to) > 0) &&
      ends.every((end, place) => place === 0 || compare(ends[place - 1]!, end) < (place % 2 ? 1 : 0))
    );
  }

  /** The form of what was typed; empty if nothing is left of it. */
  of(typed: string): string {
    const whole = [...typed.normalize("NFC")].map((character) => this.#replaced.get(character) ?? character);
    const word = [...whole.join("").normalize("NFC")];
    let [first, last] = [0, word.length];
    while (first < last && this.#isTakenOff(word[first]!)) first++;
    while (first < last && this.#isTakenOff(word[last - 1]!)) last--;
    return word.slice(first, last).join("");
  }

  #isTakenOff(character: string): boolean {
    if (ANY_SPACE.test(character)) return true;
    let [low, high] = [0, this.#stripped.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (compare(this.#stripped[middle]!, character) <= 0) low = middle + 1;
      else high = middle;
    }
    // Within a range, an odd number of its ends is at or before the character, or it is the last one itself.
    return low % 2 === 1 || this.#stripped[low - 1] === character;
  }
}

const AS_TYPED = new WordForm("", "");

/** A word as it was typed: NFC, without surrounding white space. */
export function normalised(word: string): string {
  return AS_TYPED.of(word);
}

function pairs(characters: readonly string[]): [string, string][] {
  return characters.flatMap((from, place) => (place % 2 ? [] : [[from, characters[place + 1] ?? ""] as [string, string]]));
}

/** The order of code points; JavaScript's own is that of UTF-16 units. */
export function compare(a: string, b: string): number {
  const shorter = Math.min(a.length, b.length);
  for (let place = 0; place < shorter; place++) {
    const [x, y] = [a.charCodeAt(place), b.charCodeAt(place)];
    if (x !== y) return ranked(x) - ranked(y);
  }
  return a.length - b.length;
}

/** A unit so moved that surrogates, which stand for the highest code points, come last. */
function ranked(unit: number): number {
  if (unit < 0xd800) return unit;
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800;
}

/** Whether each string comes after the one before it. */
export function ascends(texts: readonly string[]): boolean {
  return texts.every((text, rank) => rank === 0 || compare(texts[rank - 1]!, text) < 0);
}

/** The place of an item in a list in order, or -1. */
export function find<Item>(items: readonly Item[], item: Item, order: (a: Item, b: Item) => number): number {
  let [low, high] = [0, items.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (order(items[middle]!, item) < 0) low = middle + 1;
    else high = middle;
  }
  return items[low] === item ? low : -1;
}

export class Alphabet {
  readonly characters: readonly string[];
  readonly #codes: ReadonlyMap<string, number>;

  constructor(readonly text: string) {
    this.characters = [...text];
    this.#codes = new Map(this.characters.map((character, place) => [character, place + 1]));
  }

  /** Symbol 1 to n of a character, or 0 if it has none. */
  code(character: string): number {
    return this.#codes.get(character) ?? 0;
  }

  expresses(text: string): boolean {
    return [...text].every((character) => this.#codes.has(character));
  }

  /** What is wrong with a normalised word of up to so many characters; null if nothing is. */
  complaint(word: string, depth: number): string | null {
    const length = [...word].length;
    if (length === 0) return "it is empty";
    if (ANY_SPACE.test(word)) return "it has white space in it";
    if (length > depth) return `it has ${length} characters, and words of up to ${depth} are asked for`;
    if (!this.expresses(word)) return "it has a character that is not asked for";
    return normalised(word) === word ? null : "it is not in its normal form";
  }
}

const UPPER = /\p{Uppercase}/u;
const LOWER = /\p{Lowercase}/u;
const NOT_UPPER = /[\p{Lowercase}\p{Lt}]/u;
const NOT_LOWER = /[\p{Uppercase}\p{Lt}]/u;

/** A set of words that also has the case forms that a sentence or a headline permits. */
export class Vocabulary {
  readonly #words: ReadonlySet<string>;

  constructor(words: Iterable<string>) {
    this.#words = new Set(words);
  }

  has(word: string): boolean {
    const form = word.normalize("NFC");
    return this.#words.has(form) || permitted(form).some((other) => this.#words.has(other));
  }
}

/** The other spellings of a word that would make this one right. */
function permitted(word: string): string[] {
  const first = [...word][0] ?? "";
  const lower = word.toLowerCase();
  if (UPPER.test(word) && !NOT_UPPER.test(word)) return [lower, first + lower.slice(first.toLowerCase().length)];
  const rest = word.slice(first.length);
  return UPPER.test(first) && LOWER.test(rest) && !NOT_LOWER.test(rest) ? [lower] : [];
}
