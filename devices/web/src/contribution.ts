/** From the words of one device to its report. A device without a word that counts makes a full report too. */

import { type Entropy, SecureEntropy } from "./entropy";
import { WORD_BITS, scaled } from "./exact";
import { type ClosedLayer, type Layer, type LikelyLayer, type OpenLayer, VERSION } from "./layer";
import { type Octets, joined } from "./octets";
import { compare } from "./spelling";

const TAG_BYTES = 8;
export const HEADER_BYTES = 1 + TAG_BYTES;
const MOST_TIMES = 2 ** 31 - 1;

/** The report of a device that typed these words so many times each. */
export function contribute(words: ReadonlyMap<string, number>, layer: Layer): Promise<Octets> {
  return report(words, layer, new SecureEntropy());
}

/** The same with given randomness: for tests, and not in reach of whoever uses the module. */
export async function report(words: ReadonlyMap<string, number>, layer: Layer, entropy: Entropy): Promise<Octets> {
  const held = layer.closed ? heldPlaces(words, layer, entropy) : heldPrefixes(words, layer, entropy);
  const header = Uint8Array.of(VERSION, ...layer.digest.subarray(0, TAG_BYTES));
  return joined(header, await layer.randomizer.randomize(held, entropy));
}

/** The votes of a report that this device has made. */
export function votesOf(made: Octets, layer: Layer): Promise<number[]> {
  return layer.randomizer.votesOf(made.slice(HEADER_BYTES));
}

/** A sample of the candidates that the words belong to: the most typed, ties at random (greedy), or any (random). */
function heldPrefixes(words: ReadonlyMap<string, number>, layer: OpenLayer | LikelyLayer, entropy: Entropy): number[] {
  const times = new Map<number, number>();
  for (const [word, typed] of countingWords(words, layer)) {
    const candidate = layer.candidates.index(word);
    if (candidate >= 0) times.set(candidate, (times.get(candidate) ?? 0) + typed);
  }
  const prefixes = [...times.keys()].sort((a, b) => a - b);
  const order = entropy.permutation(prefixes.length).map((index) => prefixes[index]!);
  // Sorting is stable, so that ties stay in their random order.
  if (layer.document.sampler === "greedy") order.sort((a, b) => times.get(b)! - times.get(a)!);
  return order.slice(0, layer.document.bound);
}

/** The candidates of a closed layer that a random sample of the words holds; how often each was typed does not matter. */
function heldPlaces(words: ReadonlyMap<string, number>, layer: ClosedLayer, entropy: Entropy): number[] {
  const counting = [...countingWords(words, layer).keys()].sort(compare);
  const events = entropy.chances(scaled(layer.rate, WORD_BITS), counting.length);
  const drawn = counting.filter((_, index) => events[index]);
  const sampled = entropy
    .permutation(drawn.length)
    .slice(0, layer.document.bound)
    .map((index) => layer.index(drawn[index]!));
  const listed = sampled.filter((candidate) => candidate >= 0);
  return layer.held(listed, sampled.length - listed.length);
}

/** The words that count, in their one form, and how often each was typed, within reason. */
function countingWords(words: ReadonlyMap<string, number>, layer: Layer): Map<string, number> {
  const counting = new Map<string, number>();
  for (const [word, times] of words) {
    const form = layer.form.of(word);
    if (layer.complaint(form) === null) {
      counting.set(form, (counting.get(form) ?? 0) + Math.min(Math.max(1, times), MOST_TIMES));
    }
  }
  return counting;
}
