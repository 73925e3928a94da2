// Layer documents and known words: read in their one form (D1 to D5), or refused (F1 to F20).

import { createHash } from "node:crypto";
import { ExtendedPrefixes, LikelyCandidates } from "./candidates.mjs";
import { ascend, compare, formOf, spells } from "./words.mjs";

export class Refusal extends Error {}

const VERSION = 2;
const LARGEST = 2 ** 24;
const COMMON = "alphabet bound cohort depth epsilon known randomizer replaced stripped targets version";
const FINDING = `${COMMON} found layer pass sampler`;
const KINDS = {
  closed: `${COMMON} rate words`,
  likely: `${FINDING} again backoffs contexts costs even_costs limits prefix_limits root_costs roots symbols`,
  extending: `${FINDING} extension frontier`,
};

const whole = (value) => Number.isInteger(value) && value >= 1 && value < 2 ** 31;
const cost = (value) => Number.isInteger(value) && value >= 0 && value <= 2 ** 14;
const text = (value) => typeof value === "string";
const matching = (pattern) => (value) => text(value) && pattern.test(value);
const listOf = (check) => (value) => Array.isArray(value) && value.every(check);
const decimal = (value) => text(value) && value === shortest(Number(value));
const FIELDS = {
  ...Object.fromEntries("bound cohort depth layer pass extension".split(" ").map((name) => [name, whole])),
  ...Object.fromEntries("alphabet replaced stripped".split(" ").map((name) => [name, text])),
  ...Object.fromEntries("frontier found words contexts symbols".split(" ").map((name) => [name, listOf(text)])),
  ...Object.fromEntries("backoffs costs limits prefix_limits again".split(" ").map((name) => [name, listOf(cost)])),
  ...Object.fromEntries("root_costs even_costs".split(" ").map((name) => [name, listOf(listOf(cost))])),
  roots: listOf(listOf(text)),
  targets: (value) => value === null || listOf(text)(value),
  known: matching(/^[0-9a-f]{64}$/),
  randomizer: matching(/^[a-z-]{1,32}$/),
  sampler: matching(/^(greedy|random)$/),
  epsilon: decimal,
  rate: decimal,
  version: (value) => value === VERSION,
};

/** The shortest decimal of a double (D4). */
export function shortest(value) {
  if (!Number.isFinite(value)) return "";
  const [digits, power] = value.toExponential().split("e");
  if (value !== 0 && (Number(power) < -4 || Number(power) >= 16)) {
    return `${digits}e${power[0]}${power.slice(1).padStart(2, "0")}`;
  }
  const plain = Math.abs(Number(power)) > 20 ? value.toFixed(20) : String(value);
  const written = plain.includes("e") ? value.toFixed(-Number(power) + digits.replace(/[.-]/g, "").length - 1) : plain;
  return written.includes(".") ? written : `${written}.0`;
}

export const sha256 = (bytes) => createHash("sha256").update(bytes).digest();

/** The layer of a document; or a Refusal. */
export function readLayer(bytes) {
  refuseIf(bytes.length > LARGEST || bytes.filter((byte) => byte === 0x2c).length > 2 ** 21, "too long");
  const json = decode(bytes);
  let document;
  try {
    document = JSON.parse(json);
  } catch {
    throw new Refusal("the document is no JSON");
  }
  refuseIf(typeof document !== "object" || document === null, "no object");
  const kind = Object.keys(KINDS).find((name) => {
    const fields = KINDS[name].split(" ");
    return fields.length === Object.keys(document).length && fields.every((field) => Object.hasOwn(document, field));
  });
  refuseIf(!kind, `of no kind, or of another version than ${VERSION}`);
  const fields = KINDS[kind].split(" ").sort();
  refuseIf(!fields.every((field) => FIELDS[field](document[field])), "of another form");
  const canonical = JSON.stringify(Object.fromEntries(fields.map((field) => [field, document[field]])));
  refuseIf(canonical !== json, "not canonical");
  const layer = { document, digest: sha256(bytes), closed: kind === "closed", epsilon: Number(document.epsilon) };
  checkCommon(layer);
  if (kind === "closed") readClosed(layer);
  else readFinding(layer, kind);
  return layer;
}

function checkCommon(layer) {
  const { alphabet, replaced, stripped, targets } = layer.document;
  const characters = [...alphabet];
  refuseIf(characters.length < 2 || characters[0] === "\0" || !ascend(characters), "its alphabet (F3)");
  layer.symbols = new Map(characters.map((one, i) => [one, i + 1]));
  const [pairs, ends] = [[...replaced], [...stripped]];
  refuseIf(pairs.length % 2 || ends.length % 2 || !ascend(pairs.filter((_, i) => i % 2 === 0)), "its form (F4)");
  refuseIf(!pairs.every((one, i) => layer.symbols.has(one) === (i % 2 === 1)), "its form (F4)");
  refuseIf(!ends.every((end, i) => i === 0 || compare(ends[i - 1], end) < i % 2), "its form (F4)");
  refuseIf(targets !== null && !ascend(targets), "its targets (F5)");
}

function readClosed(layer) {
  const { words, rate, depth, randomizer, bound } = layer.document;
  checkRoom(words);
  refuseIf(!(Number(rate) > 0 && Number(rate) <= 1), "its rate (F9)");
  refuseIf(!words.length || !ascend(words) || !words.every((word) => spells(layer.symbols, word, depth)), "words (F10)");
  layer.size = words.length + (randomizer === "unary" ? bound : 1);
  layer.longest = Math.max(...words.map(count));
  layer.asked = words.length;
}

function readFinding(layer, kind) {
  const { document, symbols } = layer;
  const { found, frontier, roots } = document;
  refuseIf(!ascend(found) || !found.every((word) => word && formOf(word) === word), "its found words (F5)");
  if (kind === "likely") {
    checkModel(document, symbols);
    checkRounds(document, symbols);
    layer.candidates = new LikelyCandidates(symbols, document);
    const asked = layer.candidates.rounds.every((round, k) => (roots[k + 1] ?? []).every((root) => round.asks(root)));
    refuseIf(!asked, "a root that was not asked about (F19)");
    layer.longest = Math.max(0, ...roots.flat().map(count));
  } else {
    checkRoom(frontier);
    layer.longest = count(frontier[0] ?? "");
    const alike = frontier.every((prefix) => count(prefix) === layer.longest && [...prefix].every((one) => symbols.has(one)));
    refuseIf(layer.longest < 1 || !ascend(frontier) || !alike, "its frontier (F7)");
    layer.candidates = new ExtendedPrefixes(symbols, frontier, document.extension);
  }
  layer.size = layer.asked = layer.candidates.size;
}

function checkModel({ contexts, backoffs, symbols: lists, costs }, symbols) {
  refuseIf(contexts.length > 2 ** 16 || contexts.length * (symbols.size + 1) > 2 ** 22, "its model's size (F13)");
  const alike = contexts.length === backoffs.length && contexts.length === lists.length;
  refuseIf(!alike || lists.reduce((sum, list) => sum + count(list), 0) !== costs.length, "its model (F11)");
  refuseIf(contexts[0] !== "" || contexts[1] !== "\0" || lists[0] !== `\0${[...symbols.keys()].join("")}`, "(F11)");
  refuseIf(backoffs[0] || backoffs.some((each) => each > 2 ** 10), "its back-offs (F12)");
  refuseIf(costs.some((each) => each < 1 || each > 2 ** 10), "its costs (F12)");
  const listOf = new Map(contexts.map((context, i) => [context, [...lists[i]]]));
  contexts.forEach((context, i) => {
    const spelled = [...context];
    const before = contexts[i - 1] ?? null;
    const order = before === null ? 1 : spelled.length - count(before) || compare(context, before);
    const known = spelled.every((one, place) => symbols.has(one) || (one === "\0" && place === 0));
    refuseIf(order <= 0 || spelled.length > 3 || !known, "its contexts (F11)");
    refuseIf(spelled.length && !listOf.has(spelled.slice(1).join("")), "a context without its ending (F11)");
    const head = listOf.get(spelled.slice(0, -1).join(""));
    refuseIf(spelled.length > 1 && !head?.includes(spelled.at(-1)), "a context that is not listed (F11)");
    const listed = [...lists[i]];
    refuseIf(!ascend(listed) || !listed.every((one) => one === "\0" || symbols.has(one)), "its symbols (F11)");
  });
}

function checkRounds(document, symbols) {
  const { roots, root_costs, even_costs, limits, prefix_limits, again, depth, contexts, costs } = document;
  const columns = [root_costs, even_costs, limits, prefix_limits, again];
  const rounds = roots.length;
  refuseIf(columns.some((column) => column.length !== rounds) || rounds < 1 || rounds > 32, "its rounds (F14)");
  refuseIf(roots[0].length !== 1 || roots[0][0] !== "", "its first root (F14)");
  refuseIf(roots.flat().length * (symbols.size + 1) > 2 ** 23, "too many roots (F15)");
  const dearest = Math.min(2 ** 14, Math.floor(2 ** 23 / contexts.length), Math.floor(2 ** 27 / costs.length)) - 1;
  roots.forEach((prefixes, k) => {
    checkRoom(prefixes);
    refuseIf(!ascend(prefixes) || prefixes.some((root) => count(root) > depth), "its roots (F15)");
    refuseIf(!prefixes.every((root) => [...root].every((one) => symbols.has(one))), "its roots (F15)");
    refuseIf(root_costs[k].length !== prefixes.length || even_costs[k].length !== prefixes.length, "costs (F15)");
    refuseIf(even_costs[k].includes(0), "an even cost of 0 (F16)");
    refuseIf(limits[k] > dearest || prefix_limits[k] > limits[k], "its limits (F17)");
    refuseIf(again[k] > (k === rounds - 1 ? 0 : limits[k]), "what is asked again (F18)");
  });
}

/** The known words of a list (D5, F20). */
export function readKnown(bytes) {
  const words = bytes.length ? decode(bytes).split("\n") : [];
  refuseIf(!ascend(words) || !words.every((word) => word && formOf(word) === word), "its known words (F20)");
  return new Set(words);
}

const count = (word) => [...word].length;

function checkRoom(strings) {
  const longest = strings.reduce((most, each) => Math.max(most, count(each)), 0);
  refuseIf(longest > 64 || longest * strings.length > 2 ** 24, "its prefixes or words (F6)");
}

function decode(bytes) {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new Refusal("no UTF-8");
  }
}

export function refuseIf(wrong, what) {
  if (wrong) throw new Refusal(`what the operator asks can't be used: ${what}`);
}
