// The limits of the owner (P1 to P16), at their defaults. Quotients are compared exactly.

import { refuseIf } from "./layer.mjs";
import { ONE, Unary, exact } from "./unary.mjs";

const GRAIN = 1100n;
const grains = (value) => exact(value, GRAIN);
const isAbove = (numerator, denominator, limit) => numerator << GRAIN > denominator * grains(limit);

export const LARGEST_KNOWN = 2 ** 24;
export const MOST_KNOWN_WORDS = 2 ** 20;

/** Refuse a layer beyond a limit, of a device that has spent these ε before. Nothing here looks at a word. */
export function checkLayer(layer, spent, allowsLists = false) {
  const { bound, cohort, depth, randomizer, targets } = layer.document;
  const { epsilon } = layer;
  refuseIf(!(epsilon >= 0.001 && epsilon <= 20), "its ε (P1)");
  refuseIf(randomizer !== "unary", "a randomizer that this device does not have (P2)");
  refuseIf(epsilon > 10, "its ε is above 10 (P3)");
  refuseIf(BigInt(bound) * grains(epsilon) > grains(600), "the ε of all words is above 600 (P4)");
  const total = spent.reduce((sum, each) => sum + grains(each), grains(epsilon));
  refuseIf(total > grains(20), "more than 20 in a lifetime (P5)");
  refuseIf(cohort < 100, "fewer than 100 are asked (P6)");
  refuseIf(Math.max(depth, layer.longest) > 32, "words of more than 32 characters (P7)");
  refuseIf(targets !== null, "targets (P8)");
  refuseIf(layer.size < 1 || layer.size > 2 ** 24, "too many candidates, or none (P9)");
  refuseIf(bound > 2 ** 20, "too many words (P11)");
  const { noise, bytes } = new Unary(layer.size, epsilon, bound);
  refuseIf(9 + bytes > 10_000, "a report of more than 10,000 bytes (P10)");
  refuseIf((BigInt(layer.size) * noise + ONE / 2n + ONE - 1n) / ONE > 2n ** 20n, "too many votes (P11)");
  refuseIf(isAbove(ONE / 2n, noise, layer.closed ? 50 : 22_100), "a vote that says too much (P12)");
  refuseIf(isAbove(ONE - noise, ONE / 2n, 4), "silence that says too much (P13)");
  refuseIf((BigInt(layer.asked) * noise) << GRAIN < ONE * grains(3), "less noise than 3 votes (P14)");
  refuseIf(layer.closed && !allowsLists, "a list of words that no log shows (P16)");
}

/** Refuse too many known words before they are parsed (P15). */
export function checkKnown(bytes) {
  const lines = bytes.filter((byte) => byte === 0x0a).length + (bytes.length ? 1 : 0);
  refuseIf(bytes.length > LARGEST_KNOWN || lines > MOST_KNOWN_WORDS, "too many known words (P15)");
}
