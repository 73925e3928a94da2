// Words as the protocol has them: white space, forms, alphabets, what is known, what counts (W1 to W6).

const SPACE = /[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]/u;
const MOST_TIMES = 2 ** 31 - 1;

/** The order of code points. */
export function compare(a, b) {
  const [left, right] = [[...a], [...b]];
  for (let i = 0; i < Math.min(left.length, right.length); i++) {
    if (left[i] !== right[i]) return left[i].codePointAt(0) - right[i].codePointAt(0);
  }
  return left.length - right.length;
}

export const ascend = (texts) => texts.every((text, i) => i === 0 || compare(texts[i - 1], text) < 0);

/** The form of what was typed (W2), by the strings of a document. */
export function formOf(typed, replaced = "", stripped = "") {
  const pairs = new Map([...replaced].flatMap((from, i, all) => (i % 2 ? [] : [[from, all[i + 1]]])));
  const ends = [...stripped];
  const takenOff = (one) =>
    SPACE.test(one) || ends.some((end, i) => i % 2 === 0 && compare(end, one) <= 0 && compare(one, ends[i + 1]) <= 0);
  const word = [...[...typed.normalize("NFC")].map((one) => pairs.get(one) ?? one).join("").normalize("NFC")];
  while (word.length && takenOff(word[0])) word.shift();
  while (word.length && takenOff(word.at(-1))) word.pop();
  return word.join("");
}

/** Whether a word is of an alphabet, in NFC, without white space, and not too long (W4 a to c). */
export function spells(symbols, word, depth) {
  const characters = [...word];
  return (
    characters.length >= 1 &&
    characters.length <= depth &&
    characters.every((one) => symbols.has(one) && !SPACE.test(one)) &&
    formOf(word) === word
  );
}

/** Whether a list has a word, or a case form of it (W5). */
export function knows(list, word) {
  if (list.has(word)) return true;
  const [first = "", ...rest] = word;
  const lower = word.toLowerCase();
  if (/\p{Uppercase}/u.test(word) && !/[\p{Lowercase}\p{Lt}]/u.test(word)) {
    return list.has(lower) || list.has(first + lower.slice(first.toLowerCase().length));
  }
  const others = rest.join("");
  const capitalised = /\p{Uppercase}/u.test(first) && /\p{Lowercase}/u.test(others) && !/[\p{Uppercase}\p{Lt}]/u.test(others);
  return capitalised && list.has(lower);
}

/** The words that count in a layer, in their form, and how often each was typed (W4, W6). */
export function countingWords(typed, layer, known) {
  const { document, symbols } = layer;
  const found = new Set(document.found ?? []);
  const counting = new Map();
  for (const [word, times] of typed) {
    const form = formOf(word, document.replaced, document.stripped);
    if (!spells(symbols, form, document.depth) || knows(found, form)) continue;
    if (document.targets ? !document.targets.includes(form) : knows(known, form)) continue;
    counting.set(form, (counting.get(form) ?? 0) + Math.min(Math.max(1, times), MOST_TIMES));
  }
  return counting;
}
