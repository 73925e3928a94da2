/**
 * A layer document, read with suspicion: what it describes must have this very document.
 *
 * All is bounded before it is parsed, and nothing is quoted in an error.
 */

import { Candidates, extensions } from "./candidates";
import { RefusalError, unusable } from "./errors";
import type { FieldCheck } from "./field_checks";
import {
  CLOSED_FIELDS,
  type ClosedDocument,
  LIKELY_FIELDS,
  type LikelyDocument,
  OPEN_FIELDS,
  type OpenDocument,
} from "./layer_document";
import { LikelyCandidates } from "./likely_candidates";
import { type Octets, count, hex, sha256 } from "./octets";
import type { Randomizer } from "./randomizer";
import { Alphabet, Vocabulary, WordForm, ascends, compare, find, normalised } from "./spelling";
import { SubsetSelection } from "./subset_selection";
import { Unary } from "./unary";

export const VERSION = 2;
export const LARGEST_DOCUMENT = 1 << 24;
export const LARGEST_LAYER = 1 << 27;
const MOST_ITEMS = 1 << 21;
const MOST_CHARACTERS = 1 << 24;
const DEEPEST = 64;
const COMMA = 0x2c;

const RANDOMIZERS: Readonly<Record<string, (s: number, epsilon: number, bound: number) => Randomizer>> = {
  unary: (...asked) => new Unary(...asked),
  "subset-selection": (...asked) => new SubsetSelection(...asked),
};

/** A layer, or a closed one, and what both have. */
abstract class LayerBase<Document extends OpenDocument | LikelyDocument | ClosedDocument> {
  readonly alphabet: Alphabet;
  /** What counts as one word. */
  readonly form: WordForm;
  readonly epsilon: number;
  readonly targets: ReadonlySet<string> | null;
  #known: Vocabulary | null = null;
  #randomizer: Randomizer | null = null;

  constructor(
    readonly document: Document,
    readonly digest: Uint8Array,
  ) {
    this.alphabet = new Alphabet(document.alphabet);
    this.form = new WordForm(document.replaced, document.stripped);
    this.epsilon = Number(document.epsilon);
    this.targets = document.targets && new Set(document.targets);
    const { characters } = this.alphabet;
    if (characters.length < 2 || !ascends(characters) || characters.includes("\0")) throw unusable("alphabet");
    if (!this.form.fits(this.alphabet)) throw unusable("list of what it replaces or strips");
    if (document.targets && !ascends(document.targets)) throw unusable("list of targets");
  }

  /** Read the known words: without them a layer can be judged and not answered. */
  async learn(known: Octets): Promise<void> {
    if (hex(await sha256(known)) !== this.document.known)
      throw new RefusalError("the document calls for other known words");
    this.#known = readKnown(known);
  }

  get knowsRandomizer(): boolean {
    return Object.hasOwn(RANDOMIZERS, this.document.randomizer);
  }

  /** Of just these candidates; to be asked for only after the layer has been found to be small enough. */
  get randomizer(): Randomizer {
    return (this.#randomizer ??= RANDOMIZERS[this.document.randomizer]!(this.size, this.epsilon, this.document.bound));
  }

  /** The number of candidates; Infinity if it is beyond all bounds. */
  abstract get size(): number;
  /** The characters of a prefix, or of the longest word. */
  abstract get width(): number;
  /** Whether a word was released in an earlier pass. */
  abstract found(word: string): boolean;
  /** What a candidate stands for, for people. */
  abstract describe(candidate: number): { prefix: string; ends: boolean };
  /** Whether a word that counts belongs to a candidate. */
  abstract has(word: string): boolean;

  /** Why a word, in its form, doesn't count; null if it does. */
  complaint(word: string): string | null {
    const complaint = this.alphabet.complaint(word, this.document.depth);
    if (complaint) return complaint;
    if (this.form.of(word) !== word) return "it is not in its form";
    if (this.found(word)) return "it was found before";
    if (this.targets) return this.targets.has(word) ? null : "it is not one of the words asked for";
    if (!this.#known) throw new RefusalError("the known words of the layer were not read");
    return this.#known.has(word) ? "it is a known word" : null;
  }
}

/** A layer that finds words: one that extends prefixes, or one that asks about likely strings. */
export abstract class FindingLayer<Document extends OpenDocument | LikelyDocument> extends LayerBase<Document> {
  readonly closed = false;
  readonly #found: Vocabulary;

  constructor(document: Document, digest: Uint8Array) {
    super(document, digest);
    const { found, sampler } = document;
    this.#found = new Vocabulary(found);
    if (!ascends(found) || !found.every((word) => word !== "" && normalised(word) === word))
      throw unusable("found words");
    if (sampler !== "greedy" && sampler !== "random") throw unusable("sampler");
  }

  abstract get candidates(): Candidates | LikelyCandidates;

  found(word: string): boolean {
    return this.#found.has(word);
  }

  has(word: string): boolean {
    return this.candidates.index(word) >= 0;
  }

  describe(candidate: number): { prefix: string; ends: boolean } {
    return this.candidates.prefix(candidate);
  }
}

export class OpenLayer extends FindingLayer<OpenDocument> {
  #candidates: Candidates | null = null;

  constructor(document: OpenDocument, digest: Uint8Array) {
    super(document, digest);
    const { frontier } = document;
    checkRoom(frontier);
    const width = this.width;
    if (width < 1 || !ascends(frontier)) throw unusable("frontier");
    if (!frontier.every((prefix) => [...prefix].length === width && this.alphabet.expresses(prefix))) {
      throw unusable("frontier");
    }
  }

  get size(): number {
    const { frontier, extension } = this.document;
    return frontier.length * extensions(this.alphabet.characters.length, extension, LARGEST_LAYER);
  }

  get width(): number {
    return [...(this.document.frontier[0] ?? "")].length;
  }

  get candidates(): Candidates {
    const { frontier, extension } = this.document;
    return (this.#candidates ??= new Candidates(this.alphabet, frontier, extension));
  }
}

export class LikelyLayer extends FindingLayer<LikelyDocument> {
  readonly candidates: LikelyCandidates;

  constructor(document: LikelyDocument, digest: Uint8Array) {
    super(document, digest);
    document.roots.forEach(checkRoom);
    this.candidates = new LikelyCandidates(this.alphabet, document);
    if (this.width > document.depth) throw unusable("roots");
  }

  get size(): number {
    return this.candidates.size;
  }

  get width(): number {
    return this.document.roots.flat().reduce((most, root) => Math.max(most, [...root].length), 0);
  }
}

export class ClosedLayer extends LayerBase<ClosedDocument> {
  readonly closed = true;
  readonly rate: number;

  constructor(document: ClosedDocument, digest: Uint8Array) {
    super(document, digest);
    this.rate = Number(document.rate);
    checkRoom(document.words);
    if (document.words.length === 0 || !ascends(document.words)) throw unusable("list of words");
    if (document.words.some((word) => this.alphabet.complaint(word, document.depth))) throw unusable("list of words");
    if (!(this.rate > 0 && this.rate <= 1)) throw unusable("rate");
  }

  /** The list, and behind it a thermometer (unary) or one candidate for everything that is not listed. */
  get size(): number {
    return this.document.words.length + (this.document.randomizer === "unary" ? this.document.bound : 1);
  }

  get width(): number {
    return this.document.words.reduce((most, word) => Math.max(most, [...word].length), 0);
  }

  found(): boolean {
    return false;
  }

  has(): boolean {
    return true;
  }

  /** The candidates held by some words of the list and so many others. */
  held(listed: readonly number[], others: number): number[] {
    const { words, randomizer } = this.document;
    return [
      ...listed,
      ...Array.from({ length: others }, (_, index) => words.length + (randomizer === "unary" ? index : 0)),
    ];
  }

  index(word: string): number {
    return find(this.document.words, word, compare);
  }

  describe(candidate: number): { prefix: string; ends: boolean } {
    return { prefix: this.document.words[candidate] ?? "(another word)", ends: true };
  }
}

export type Layer = OpenLayer | LikelyLayer | ClosedLayer;

/** What a document says; or a RefusalError that quotes nothing of it. */
export function parseDocument(content: Uint8Array): OpenDocument | LikelyDocument | ClosedDocument {
  if (content.length > LARGEST_DOCUMENT) throw unreadable();
  if (count(content, COMMA) > MOST_ITEMS) throw unreadable();
  const json = decode(content);
  let parsed: unknown;
  try {
    parsed = JSON.parse(json);
  } catch {
    throw unreadable();
  }
  if (typeof parsed !== "object" || parsed === null || Array.isArray(parsed)) throw unreadable();
  const values = parsed as Record<string, unknown>;
  const fields = Object.entries(fieldsOf(values));
  if (!fields.every(([name, check]) => Object.hasOwn(values, name) && check(values[name]))) {
    throw unreadable(values.version);
  }
  // There is one document for each layer: the keys in order, and nothing that JSON would write in another way.
  if (JSON.stringify(Object.fromEntries(fields.map(([name]) => [name, values[name]]))) !== json) throw unreadable();
  return values as unknown as OpenDocument | LikelyDocument | ClosedDocument;
}

/** The fields of the kind of layer that an object seems to be. */
function fieldsOf(values: object): Readonly<Record<string, FieldCheck>> {
  if (Object.hasOwn(values, "words")) return CLOSED_FIELDS;
  return Object.hasOwn(values, "roots") ? LIKELY_FIELDS : OPEN_FIELDS;
}

/** The layer of a document, without its known words. */
export async function describeLayer(document: Octets): Promise<Layer> {
  const described = parseDocument(document);
  const digest = await sha256(document);
  if ("words" in described) return new ClosedLayer(described, digest);
  return "roots" in described ? new LikelyLayer(described, digest) : new OpenLayer(described, digest);
}

/** The known words of a list: each once, in NFC and in order, one a line. */
function readKnown(content: Uint8Array): Vocabulary {
  const words = content.length === 0 ? [] : decode(content).split("\n");
  if (!ascends(words) || !words.every((word) => word !== "" && normalised(word) === word)) {
    throw new RefusalError("the list of known words must have each once, in NFC and in order, one a line");
  }
  return new Vocabulary(words);
}

function decode(content: Uint8Array): string {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(content);
  } catch {
    throw new RefusalError("the document is not in UTF-8; get it from the operator anew");
  }
}

function checkRoom(strings: readonly string[]): void {
  const longest = strings.reduce((most, each) => Math.max(most, [...each].length), 0);
  if (longest > DEEPEST || longest * strings.length > MOST_CHARACTERS) throw unusable("list of prefixes or words");
}

function unreadable(version?: unknown): RefusalError {
  return new RefusalError(
    Number.isSafeInteger(version) && version !== VERSION
      ? `the document is of version ${version} of the protocol, and this device speaks version ${VERSION}; update ` +
        "whichever is older"
      : `the bytes are not the document of a layer in version ${VERSION} of the protocol, in its one form`,
  );
}
