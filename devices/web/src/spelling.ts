/** Words as the protocol has them: code points in NFC, compared by code point; and which are known. */

// What Python calls white space, of which JavaScript's \s is not the same set.
const SPACE = "\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
const AROUND = new RegExp(`^[${SPACE}]+|[${SPACE}]+$`, "gu");
const ANY_SPACE = new RegExp(`[${SPACE}]`, "u");

/** The one form in which words are compared and sent: NFC, without surrounding white space. */
export function normalised(word: string): string {
  return word.normalize("NFC").replace(AROUND, "");
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
