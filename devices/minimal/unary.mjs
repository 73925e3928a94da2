// The unary randomizer (R1, R3): the distribution binds, so every bit is drawn by itself, exactly.

import { randomFillSync } from "node:crypto";

export const ONE = 1n << 64n;
const BITS = 320n;

/** k = ⌈2^64/(e^ε+1)⌉, of the double ε as it is. */
export function noiseOf(epsilon) {
  const unit = 1n << BITS;
  const exponent = exact(epsilon, BITS);
  let [sum, term] = [0n, unit];
  for (let i = 1n; term > 0n; i++) {
    sum += term;
    term = ((term * exponent) >> BITS) / i;
  }
  return ((unit << 64n) + sum + unit - 1n) / (sum + unit);
}

/** A double as a whole number of 2^-bits. */
export function exact(value, bits) {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, value);
  const raw = view.getBigUint64(0);
  const power = (raw >> 52n) & 0x7ffn;
  const mantissa = (raw & ((1n << 52n) - 1n)) | (power ? 1n << 52n : 0n);
  const shift = bits - 1075n + (power || 1n);
  return shift >= 0n ? mantissa << shift : mantissa >> -shift;
}

export class Unary {
  constructor(candidates, epsilon, bound) {
    this.candidates = candidates;
    this.noise = noiseOf(epsilon);
    const median = (ONE * 45426n) / (65536n * this.noise);
    this.remainderBits = Math.max(0, median.toString(2).length - 1);
    const mean = Number((BigInt(candidates) * this.noise + ONE - 1n) / ONE);
    const ones = Math.min(candidates, mean + bound + 10 + root(87 + 56 * mean) + 1);
    const bits = 32 + ones * (this.remainderBits + 1) + Math.floor(candidates / 2 ** this.remainderBits);
    this.bytes = Math.ceil(bits / 8);
  }

  /** The payload of a report on the candidates held. */
  randomize(held) {
    const set = new Set(held);
    const [high, low] = [Number(this.noise >> 32n), Number(this.noise & 0xffffffffn)];
    const ones = [];
    const words = new Uint32Array(2 * 8192);
    for (let start = 0; start < this.candidates; start += 8192) {
      randomFillSync(words);
      for (let i = 0; i < 8192 && start + i < this.candidates; i++) {
        const [h, l] = [words[2 * i], words[2 * i + 1]];
        if (set.has(start + i) ? h < 2 ** 31 : h < high || (h === high && l < low)) ones.push(start + i);
      }
    }
    return this.encode(ones);
  }

  /** The gaps between the ones. */
  encode(ones) {
    const bits = [];
    const write = (value, width) => {
      for (let i = width - 1; i >= 0; i--) bits.push(Math.floor(value / 2 ** i) % 2);
    };
    const gaps = ones.map((one, i) => one - (i ? ones[i - 1] : -1) - 1);
    write(ones.length, 32);
    for (const gap of gaps) write(gap % 2 ** this.remainderBits, this.remainderBits);
    for (const gap of gaps) {
      for (let rest = Math.floor(gap / 2 ** this.remainderBits); rest > 0; rest--) bits.push(1);
      bits.push(0);
    }
    let length = this.bytes;
    while (8 * length < bits.length) length *= 2;
    const payload = Buffer.alloc(length);
    bits.forEach((bit, i) => (payload[i >> 3] |= bit << (7 - (i & 7))));
    return payload;
  }
}

function root(square) {
  const near = Math.floor(Math.sqrt(square));
  return near * near > square ? near - 1 : (near + 1) ** 2 <= square ? near + 1 : near;
}
