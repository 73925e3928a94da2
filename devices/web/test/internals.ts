/** What the tests look into. It is a bundle of its own: nothing of this is in the module that is shipped. */

import { Candidates } from "../src/candidates";
import { drawBinomial } from "../src/binomial";
import { report as seededReport, votesOf } from "../src/contribution";
import { Entropy, SecureEntropy } from "../src/entropy";
import { baseSubsets } from "../src/expansion";
import { HandoverTransport } from "../src/handover";
import { type Layer, describeLayer } from "../src/layer";
import * as log from "../src/log";
import { credentialOf } from "../src/membership";
import type { Octets } from "../src/octets";
import { Policy } from "../src/policy";
import { noiseVotes } from "../src/randomizer";
import * as receipt from "../src/receipt";
import { Alphabet, Vocabulary, WordForm, compare, normalised } from "../src/spelling";
import * as succession from "../src/succession";
import { SubsetSelection } from "../src/subset_selection";
import { Unary } from "../src/unary";

export {
  Alphabet,
  Candidates,
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
  log,
  noiseVotes,
  normalised,
  receipt,
  seededReport,
  succession,
  votesOf,
};

/** The layer of a document and of the known words that it calls for. */
export async function readLayer(document: Octets, known: Octets): Promise<Layer> {
  const layer = await describeLayer(document);
  await layer.learn(known);
  return layer;
}

/** A stream of words that a vector dictates, and that must be used up. */
export class Dictated extends Entropy {
  #place = 0;

  constructor(readonly octets8: Uint8Array) {
    super();
  }

  halves(words: number): Uint32Array {
    const view = new DataView(this.octets8.buffer, this.octets8.byteOffset + this.#place, 8 * words);
    this.#place += 8 * words;
    return Uint32Array.from({ length: 2 * words }, (_, half) => view.getUint32(4 * half, true));
  }

  get left(): number {
    return this.octets8.length - this.#place;
  }
}
