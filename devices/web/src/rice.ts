/** Sorted positions as Rice-coded gaps, in a length that says nothing; docs/protocol.md has the layout. */

import { ONE, bitLength, ceilDivide, integerRoot } from "./exact";
import { BitReader, BitWriter } from "./packing";

const COUNT_BITS = 32;
const [LN2_NUMERATOR, LN2_DENOMINATOR] = [45_426n, 65_536n];

/** The code for sorted subsets of {0, …, places-1}. */
export class RiceCode {
  readonly remainderBits: number;
  readonly usualBytes: number;

  /** For places set with probability numerator / 2^64, and at most `extra` more. */
  constructor(places: number, numerator: bigint, extra: number) {
    const ratio = (ONE * LN2_NUMERATOR) / (numerator * LN2_DENOMINATOR);
    this.remainderBits = Math.max(0, bitLength(ratio) - 1);
    const mean = ceilDivide(BigInt(places) * numerator, ONE);
    const most = Number(mean + 11n + integerRoot(87n + 56n * mean)) + extra;
    const bits =
      COUNT_BITS + Math.min(places, most) * (this.remainderBits + 1) + Math.floor(places / 2 ** this.remainderBits);
    this.usualBytes = Math.ceil(bits / 8);
  }

  encode(positions: readonly number[]): Uint8Array<ArrayBuffer> {
    const gaps = positions.map((position, rank) => position - (rank === 0 ? -1 : positions[rank - 1]!) - 1);
    const writer = new BitWriter();
    writer.field(positions.length, COUNT_BITS);
    for (const gap of gaps) writer.field(gap, this.remainderBits);
    for (const gap of gaps) {
      for (let rest = gap >>> this.remainderBits; rest > 0; rest--) writer.bit(1);
      writer.bit(0);
    }
    let length = this.usualBytes;
    while (length < writer.octets().length) length *= 2;
    return writer.octets(length);
  }

  /** The positions in a payload that this code has written. */
  decode(payload: Uint8Array): number[] {
    const reader = new BitReader(payload);
    const remainders = Array.from({ length: reader.field(COUNT_BITS) }, () => reader.field(this.remainderBits));
    let position = -1;
    return remainders.map((remainder) => {
      let rest = 0;
      while (reader.bit()) rest++;
      return (position += rest * 2 ** this.remainderBits + remainder + 1);
    });
  }
}
