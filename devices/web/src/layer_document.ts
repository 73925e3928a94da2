/** The documents of layers. Written by vectors/generate.py from src/neologue/protocol/layer_fields.py. */

import { type FieldCheck, decimal, equal, listOf, matching, nullable, text, wholeNumber } from "./field_checks";

export interface OpenDocument {
  readonly alphabet: string;
  readonly bound: number;
  readonly cohort: number;
  readonly depth: number;
  readonly epsilon: string;
  readonly extension: number;
  readonly found: string[];
  readonly frontier: string[];
  readonly known: string;
  readonly layer: number;
  readonly pass: number;
  readonly randomizer: string;
  readonly replaced: string;
  readonly sampler: string;
  readonly stripped: string;
  readonly targets: string[] | null;
  readonly version: 2;
}

export const OPEN_FIELDS = {
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
  version: equal(2),
} as const satisfies Readonly<Record<keyof OpenDocument, FieldCheck>>;

export interface LikelyDocument {
  readonly again: number[];
  readonly alphabet: string;
  readonly backoffs: number[];
  readonly bound: number;
  readonly cohort: number;
  readonly contexts: string[];
  readonly costs: number[];
  readonly depth: number;
  readonly epsilon: string;
  readonly even_costs: number[][];
  readonly found: string[];
  readonly known: string;
  readonly layer: number;
  readonly limits: number[];
  readonly pass: number;
  readonly prefix_limits: number[];
  readonly randomizer: string;
  readonly replaced: string;
  readonly root_costs: number[][];
  readonly roots: string[][];
  readonly sampler: string;
  readonly stripped: string;
  readonly symbols: string[];
  readonly targets: string[] | null;
  readonly version: 2;
}

export const LIKELY_FIELDS = {
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
  version: equal(2),
} as const satisfies Readonly<Record<keyof LikelyDocument, FieldCheck>>;

export interface ClosedDocument {
  readonly alphabet: string;
  readonly bound: number;
  readonly cohort: number;
  readonly depth: number;
  readonly epsilon: string;
  readonly known: string;
  readonly randomizer: string;
  readonly rate: string;
  readonly replaced: string;
  readonly stripped: string;
  readonly targets: string[] | null;
  readonly version: 2;
  readonly words: string[];
}

export const CLOSED_FIELDS = {
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
  words: listOf(text),
} as const satisfies Readonly<Record<keyof ClosedDocument, FieldCheck>>;
