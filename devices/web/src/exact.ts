/** Numbers without rounding: doubles as the integers they are, and e^ε from below. */

/** The fractional bits in which e^ε is written. */
export const EXP_BITS = 256n;
export const WORD_BITS = 64n;
/** A probability is a numerator over this. */
export const ONE = 1n << WORD_BITS;

/** A double is a whole number of these: 2^-1074, the smallest one there is. */
const GRAIN_BITS = 1074n;

/** A finite double from 0 up, in units of 2^-1074. */
export function grains(value: number): bigint {
  const bits = new DataView(new ArrayBuffer(8));
  bits.setFloat64(0, value);
  const whole = bits.getBigUint64(0);
  const exponent = whole >> 52n;
  const fraction = whole & ((1n << 52n) - 1n);
  return exponent === 0n ? fraction : (fraction | (1n << 52n)) << (exponent - 1n);
}

/** The smallest double at or above so many units of 2^-1074, found from a guess nearby. */
export function roundUp(total: bigint, guess: number): number {
  let value = guess;
  while (grains(value) < total) value = neighbour(value, 1n);
  while (value > 0 && grains(neighbour(value, -1n)) >= total) value = neighbour(value, -1n);
  return value;
}

function neighbour(value: number, step: bigint): number {
  const bits = new DataView(new ArrayBuffer(8));
  bits.setFloat64(0, value);
  bits.setBigUint64(0, bits.getBigUint64(0) + step);
  return bits.getFloat64(0);
}

/** ⌊value · 2^bits⌋ of a double from 0 up. */
export function scaled(value: number, bits: bigint): bigint {
  return (grains(value) << bits) >> GRAIN_BITS;
}

/** ⌈numerator / denominator⌉ of positive integers. */
export function ceilDivide(numerator: bigint, denominator: bigint): bigint {
  return (numerator + denominator - 1n) / denominator;
}

/**
 * e^ε · 2^256, rounded down: every term of the series and every step is, and all of them are positive.
 * What is lost is below 2^-200, so that thresholds made of it are those of e^ε itself, and err to the safe side.
 */
export function expBelow(epsilon: number): bigint {
  const x = scaled(epsilon, EXP_BITS);
  let term = 1n << EXP_BITS;
  let sum = term;
  for (let k = 1n; term > 0n; k++) {
    term = ((term * x) >> EXP_BITS) / k;
    sum += term;
  }
  return sum;
}

/** ⌊√value⌋. */
export function integerRoot(value: bigint): bigint {
  if (value < 2n) return value;
  let root = 1n << BigInt((value.toString(2).length + 1) >> 1);
  for (;;) {
    const next = (root + value / root) >> 1n;
    if (next >= root) return root;
    root = next;
  }
}

/** The bits that a positive integer takes. */
export function bitLength(value: bigint): number {
  return value === 0n ? 0 : value.toString(2).length;
}
