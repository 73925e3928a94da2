/**
 * A layer as a device is told it, read with suspicion: what it describes must have this very document.
 *
 * All is bounded before it is parsed, and nothing is quoted in an error.
 */

import { Candidates, type Lists, extensions, lastCharacter, lastCharacters } from "./candidates";
import { RefusalError } from "./errors";
import { hex, sha256 } from "./octets";
import type { Randomizer } from "./randomizer";
import { Alphabet, Vocabulary, ascends, compare, find, normalised } from "./spelling";
import { SubsetSelection } from "./subset_selection";
import { Unary } from "./unary";

export const LARGEST_DOCUMENT = 1 << 24;
export const LARGEST_KNOWN = 1 << 25;
export const LARGEST_LAYER = 1 << 27;
const MOST_ITEMS = 1 << 21;
const MOST_CHARACTERS = 1 << 24;
const LARGEST_NUMBER = 2 ** 31 - 1;
/** Lists name extensions by their numbers, which are below this; and those after all characters below the other. */
const MOST_EXTENSIONS = 2 ** 53;
const MOST_NUMBERED = 1n << 62n;
const DEEPEST = 64;
const COMMA = 0x2c;

const RANDOMIZERS: Readonly<Record<string, (s: number, epsilon: number, bound: number) => Randomizer>> = {
  unary: (...asked) => new Unary(...asked),
  "subset-selection": (...asked) => new SubsetSelection(...asked),
};

/** What both kinds of layers say. */
interface Common {
  version: 1;
  cohort: number;
  alphabet: string;
  depth: number;
  randomizer: string;
  epsilon: string;
  bound: number;
  known: string;
  targets: string[] | null;
}

interface ToldOpen extends Common {
  pass: number;
  layer: number;
  frontier: string[];
  extension: number;
  sampler: string;
  found: string[];
  listed: number[][] | null;
  ways: number[] | null;
  doubtful: string[];
}

interface ToldClosed extends Common {
  words: string[];
  rate: string;
}

const whole = (value: unknown, least = 1, most = LARGEST_NUMBER): boolean =>
  Number.isInteger(value) && (value as number) >= least && (value as number) <= most;
const text = (value: unknown): boolean => typeof value === "string";
const texts = (value: unknown): boolean => Array.isArray(value) && value.every(text);
const decimal = (value: unknown): boolean =>
  typeof value === "string" && /^[0-9.e+-]{1,32}$/.test(value) && written(Number(value)) === value;
const name = (value: unknown): boolean => typeof value === "string" && /^[a-z-]{1,32}$/.test(value);
const numbers = (value: unknown, least: number, most: number): boolean =>
  Array.isArray(value) && value.every((each) => whole(each, least, most));
const table = (value: unknown): boolean =>
  Array.isArray(value) && value.every((row) => numbers(row, 0, MOST_EXTENSIONS));

const FIELDS: Readonly<Record<string, (value: unknown) => boolean>> = {
  alphabet: text,
  bound: whole,
  cohort: whole,
  depth: whole,
  doubtful: texts,
  epsilon: decimal,
  extension: whole,
  found: texts,
  frontier: texts,
  known: (value) => typeof value === "string" && /^[0-9a-f]{64}$/.test(value),
  layer: whole,
  listed: (value) => value === null || table(value),
  pass: whole,
  randomizer: name,
  rate: decimal,
  sampler: name,
  targets: (value) => value === null || texts(value),
  version: (value) => value === 1,
  ways: (value) => value === null || numbers(value, 1, LARGEST_NUMBER),
  words: texts,
};
const CLOSED = ["rate", "words"];
const OPEN = ["doubtful", "extension", "found", "frontier", "layer", "listed", "pass", "sampler", "ways"];

/** A layer, or a closed one, and what both have. */
abstract class Asked<Told extends Common> {
  readonly alphabet: Alphabet;
  readonly epsilon: number;
  readonly targets: ReadonlySet<string> | null;
  #randomizer: Randomizer | null = null;

  constructor(
    readonly told: Told,
    readonly digest: Uint8Array,
    readonly known: Vocabulary,
  ) {
    this.alphabet = new Alphabet(told.alphabet);
    this.epsilon = Number(told.epsilon);
    this.targets = told.targets && new Set(told.targets);
    const { characters } = this.alphabet;
    if (characters.length < 2 || !ascends(characters) || characters.includes("\0")) throw unusable("alphabet");
    if (told.targets && !ascends(told.targets)) throw unusable("list of targets");
  }

  get knowsRandomizer(): boolean {
    return Object.hasOwn(RANDOMIZERS, this.told.randomizer);
  }

  /** Of just these candidates; to be asked for only after the layer has been found to be small enough. */
  get randomizer(): Randomizer {
    return (this.#randomizer ??= RANDOMIZERS[this.told.randomizer]!(this.size, this.epsilon, this.told.bound));
  }

  /** The number of places of a report; Infinity if it is beyond all measure. */
  abstract get size(): number;
  /** The characters of a prefix, or of the longest word. */
  abstract get width(): number;
  /** Whether a word was released in an earlier pass. */
  abstract found(word: string): boolean;
  /** What the places are, for people. */
  abstract place(candidate: number): { prefix: string; ends: boolean };
  /** Whether a word that counts has a place. */
  abstract has(word: string): boolean;

  /** Why a normalised word doesn't count; null if it does. */
  complaint(word: string): string | null {
    const complaint = this.alphabet.complaint(word, this.told.depth);
    if (complaint) return complaint;
    if (this.found(word)) return "it was found before";
    if (this.targets) return this.targets.has(word) ? null : "it is not one of the words asked for";
    return this.known.has(word) ? "it is a known word" : null;
  }
}

export class OpenLayer extends Asked<ToldOpen> {
  readonly closed = false;
  readonly #found: Vocabulary;
  readonly #lists: Lists | null;
  #candidates: Candidates | null = null;

  constructor(told: ToldOpen, digest: Uint8Array, known: Vocabulary) {
    super(told, digest, known);
    const { frontier, found, listed, ways, doubtful, sampler } = told;
    this.#found = new Vocabulary(found);
    if (!ascends(found) || !found.every((word) => word !== "" && normalised(word) === word))
      throw unusable("found words");
    checkRoom(frontier);
    const width = this.width;
    if (width < 1 || !ascends(frontier)) throw unusable("frontier");
    if (!frontier.every((prefix) => [...prefix].length === width && this.alphabet.expresses(prefix))) {
      throw unusable("frontier");
    }
    if (sampler !== "greedy" && sampler !== "random") throw unusable("sampler");
    this.#lists = listed && ways && { rows: listed, ways };
    if ((listed || ways) && !(this.#lists && this.#fit(this.#lists))) throw unusable("list of extensions");
    checkRoom(doubtful);
    if (!ascends(doubtful) || !doubtful.every((word) => this.alphabet.complaint(word, width - 1) === null)) {
      throw unusable("list of doubtful words");
    }
  }

  get size(): number {
    const { frontier, extension, ways, doubtful } = this.told;
    const every = extensions(this.alphabet.characters.length, extension, LARGEST_LAYER);
    return (ways ? ways.reduce((sum, each) => sum + each, 0) : frontier.length * every) + doubtful.length;
  }

  get width(): number {
    return [...(this.told.frontier[0] ?? "")].length;
  }

  get candidates(): Candidates {
    const { frontier, extension, doubtful } = this.told;
    return (this.#candidates ??= new Candidates(this.alphabet, frontier, extension, this.#lists, doubtful));
  }

  found(word: string): boolean {
    return this.#found.has(word);
  }

  has(word: string): boolean {
    return this.candidates.index(word) >= 0;
  }

  place(candidate: number): { prefix: string; ends: boolean } {
    return this.candidates.prefix(candidate);
  }

  /** Whether each prefix has a part of a list, each list is as long as the largest of them, and names each way once. */
  #fit({ rows, ways }: Lists): boolean {
    const { frontier, extension } = this.told;
    const characters = this.alphabet.characters.length;
    const every = extensions(characters, extension, MOST_EXTENSIONS);
    const lasts = lastCharacters(frontier);
    if (ways.length !== frontier.length || rows.length !== lasts.length) return false;
    const longest = new Map<string, number>();
    frontier.forEach((prefix, rank) => {
      const end = lastCharacter(prefix);
      longest.set(end, Math.max(longest.get(end) ?? 0, ways[rank]!));
    });
    return (
      every <= MOST_EXTENSIONS &&
      BigInt(every) * BigInt(characters) <= MOST_NUMBERED &&
      rows.every(
        (row, place) =>
          row.length === longest.get(lasts[place]!) && new Set(row).size === row.length && row.every((way) => way < every),
      )
    );
  }
}

export class ClosedLayer extends Asked<ToldClosed> {
  readonly closed = true;
  readonly rate: number;

  constructor(told: ToldClosed, digest: Uint8Array, known: Vocabulary) {
    super(told, digest, known);
    this.rate = Number(told.rate);
    checkRoom(told.words);
    if (told.words.length === 0 || !ascends(told.words)) throw unusable("list of words");
    if (told.words.some((word) => this.alphabet.complaint(word, told.depth))) throw unusable("list of words");
    if (!(this.rate > 0 && this.rate <= 1)) throw unusable("rate");
  }

  /** The list, and behind it a thermometer (unary) or one place for whatever is not listed. */
  get size(): number {
    return this.told.words.length + (this.told.randomizer === "unary" ? this.told.bound : 1);
  }

  get width(): number {
    return this.told.words.reduce((most, word) => Math.max(most, [...word].length), 0);
  }

  found(): boolean {
    return false;
  }

  has(): boolean {
    return true;
  }

  /** The places held by some words of the list and so many others. */
  held(listed: readonly number[], others: number): number[] {
    const { words, randomizer } = this.told;
    return [
      ...listed,
      ...Array.from({ length: others }, (_, place) => words.length + (randomizer === "unary" ? place : 0)),
    ];
  }

  index(word: string): number {
    return find(this.told.words, word, compare);
  }

  place(candidate: number): { prefix: string; ends: boolean } {
    return { prefix: this.told.words[candidate] ?? "(another word)", ends: true };
  }
}

export type Layer = OpenLayer | ClosedLayer;

/** What a document says; or a RefusalError that quotes nothing of it. */
export function parse(document: Uint8Array): ToldOpen | ToldClosed {
  if (document.length > LARGEST_DOCUMENT) throw unreadable();
  if (document.reduce((commas, octet) => commas + (octet === COMMA ? 1 : 0), 0) > MOST_ITEMS) throw unreadable();
  const content = decoded(document);
  let told: unknown;
  try {
    told = JSON.parse(content);
  } catch {
    throw unreadable();
  }
  if (typeof told !== "object" || told === null || Array.isArray(told)) throw unreadable();
  const said = told as Record<string, unknown>;
  const without = Object.hasOwn(said, "words") ? OPEN : CLOSED;
  const names = Object.keys(FIELDS).filter((field) => !without.includes(field));
  if (!names.every((field) => Object.hasOwn(said, field) && FIELDS[field]!(said[field]))) throw unreadable();
  // There is one document for each layer: the keys in order, and nothing that JSON would write in another way.
  if (JSON.stringify(Object.fromEntries(names.map((field) => [field, said[field]]))) !== content) throw unreadable();
  return said as unknown as ToldOpen | ToldClosed;
}

/** The layer of a document and of the known words that it calls for. */
export async function readLayer(document: Uint8Array<ArrayBuffer>, known: Uint8Array<ArrayBuffer>): Promise<Layer> {
  const told = parse(document);
  if (hex(await sha256(known)) !== told.known) throw new RefusalError("the document calls for other known words");
  const digest = await sha256(document);
  const vocabulary = readKnown(known);
  return "words" in told ? new ClosedLayer(told, digest, vocabulary) : new OpenLayer(told, digest, vocabulary);
}

/** The known words of a list: each once, in NFC and in order, one a line. */
function readKnown(content: Uint8Array): Vocabulary {
  if (content.length > LARGEST_KNOWN) throw new RefusalError("the list of known words is too long");
  const words = content.length === 0 ? [] : decoded(content).split("\n");
  if (!ascends(words) || !words.every((word) => word !== "" && normalised(word) === word)) {
    throw new RefusalError("the list of known words must have each once, in NFC and in order, one a line");
  }
  return new Vocabulary(words);
}

function decoded(content: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(content);
  } catch {
    throw new RefusalError("the document is not in UTF-8; get it from the operator anew");
  }
}

/** A number as documents write it: the shortest decimal that reads back as the same, as Python prints it. */
export function written(value: number): string {
  if (!Number.isFinite(value)) return "";
  const [digits, exponent] = value.toExponential().split("e") as [string, string];
  const power = Number(exponent);
  if (power >= -4 && power < 16) {
    // Of these, JavaScript writes only those below 10^-6 with an exponent.
    return Number.isInteger(value) ? `${value}.0` : `${value}`;
  }
  return `${digits}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
}

function checkRoom(strings: readonly string[]): void {
  const longest = strings.reduce((most, each) => Math.max(most, [...each].length), 0);
  if (longest > DEEPEST || longest * strings.length > MOST_CHARACTERS) throw unusable("list of prefixes or words");
}

function unreadable(): RefusalError {
  return new RefusalError(
    "the bytes are not the document of a layer in version 1 of the protocol, in its one form; a newer neologue may " +
      "read them",
  );
}

function unusable(what: string): RefusalError {
  return new RefusalError(`the document describes no layer: its ${what} can't be used`);
}
