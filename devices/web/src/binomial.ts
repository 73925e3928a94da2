/**
 * Exact binomial draws: Bin(n, k/2^64) with no rounding anywhere.
 *
 * Random bits are compared with integer bounds that enclose the true distribution function; more bits are taken, with
 * tighter bounds, whenever the bits at hand do not decide. A rounded table would have zeros in its tail, and an output
 * that one input can give and another can't has an unbounded likelihood ratio.
 */

import type { Entropy } from "./entropy";
import { ONE, ceilDivide } from "./exact";

const FIRST_BITS = 128;
const GUARD_BITS = 40n;
/** A weight of less than a millionth of a unit ends an arm; its rounding up is still far from showing. */
const NEGLIGIBLE = 1n << (GUARD_BITS / 2n);

/** Integer bounds around 2^bits · P(X ≤ j), for j = first - 1, first, first + 1, … */
interface Enclosure {
  first: number;
  lower: bigint[];
  upper: bigint[];
}

/** Weights on one side of the mode, rounded down and up, and a bound on the sum of all beyond them. */
interface Arm {
  lower: bigint[];
  upper: bigint[];
  beyond: bigint;
}

type Ratio = [numerator: bigint, denominator: bigint];

/** One draw from Bin(trials, numerator / 2^64), 0 < numerator < 2^64. */
export function drawBinomial(trials: number, numerator: bigint, entropy: Entropy): number {
  if (trials === 0) return 0;
  let bits = FIRST_BITS;
  let drawn = entropy.integer(bits);
  for (;;) {
    const outcome = decide(enclose(trials, numerator, BigInt(bits)), drawn);
    if (outcome !== null) return outcome;
    drawn = (drawn << BigInt(bits)) | entropy.integer(bits);
    bits *= 2;
  }
}

/** The outcome, if every extension of these random bits leads to it. */
function decide({ first, lower, upper }: Enclosure, drawn: bigint): number | null {
  const index = upper.findIndex((bound) => drawn < bound);
  if (index <= 0 || drawn >= lower[index]!) return null;
  return first - 1 + index;
}

/** Bounds of the distribution function of Bin(trials, numerator / 2^64) in units of 2^-bits. */
function enclose(trials: number, success: bigint, bits: bigint): Enclosure {
  const n = BigInt(trials);
  const failure = ONE - success;
  const mode = ((n + 1n) * success) / ONE;
  const peak = 1n << (bits + GUARD_BITS);
  const right = arm(peak, rising(n, mode, success, failure));
  const left = arm(peak, falling(n, mode, success, failure));

  const lower = [0n, ...left.lower.reverse(), peak, ...right.lower];
  const upper = [left.beyond, ...left.upper.reverse(), peak, ...right.upper];
  const lowest = sum(lower);
  const highest = sum(upper) + right.beyond;
  let [low, high] = [0n, 0n];
  const scaled: Enclosure = { first: Number(mode) - left.lower.length, lower: [], upper: [] };
  lower.forEach((weight, index) => {
    low += weight;
    high += upper[index]!;
    scaled.lower.push((low << bits) / (low + highest - high));
    scaled.upper.push(ceilDivide(high << bits, high + lowest - low));
  });
  return scaled;
}

function* rising(n: bigint, mode: bigint, success: bigint, failure: bigint): Generator<Ratio> {
  for (let j = mode; j < n; j++) yield [(n - j) * success, (j + 1n) * failure];
}

function* falling(n: bigint, mode: bigint, success: bigint, failure: bigint): Generator<Ratio> {
  for (let j = mode; j > 0n; j--) yield [j * failure, (n - j + 1n) * success];
}

/** Walk away from the mode by the ratios of neighbouring probabilities, which only fall on the way. */
function arm(peak: bigint, ratios: Iterable<Ratio>): Arm {
  const [lower, upper]: [bigint[], bigint[]] = [[], []];
  let [low, high] = [peak, peak];
  for (const [numerator, denominator] of ratios) {
    if (high <= NEGLIGIBLE) {
      // All further ratios are below this one, so a geometric series bounds what is left.
      return { lower, upper, beyond: ceilDivide(high * numerator, denominator - numerator) };
    }
    low = (low * numerator) / denominator;
    high = ceilDivide(high * numerator, denominator);
    lower.push(low);
    upper.push(high);
  }
  return { lower, upper, beyond: 0n };
}

function sum(values: bigint[]): bigint {
  return values.reduce((total, value) => total + value, 0n);
}
