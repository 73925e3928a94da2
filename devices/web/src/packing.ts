/** Bits in bytes, the most significant first. */

import { RefusalError } from "./errors";

export class BitWriter {
  readonly #octets: number[] = [];
  #bits = 0;

  /** Add the low `width` bits of a number below 2^32. */
  field(value: number, width: number): void {
    for (let bit = width - 1; bit >= 0; bit--) this.bit((value >>> bit) & 1);
  }

  bit(value: number): void {
    if (this.#bits % 8 === 0) this.#octets.push(0);
    this.#octets[this.#octets.length - 1]! |= value << (7 - (this.#bits++ % 8));
  }

  /** What was written, filled up with zeros to a length; the least that there must be if it is longer. */
  octets(length = 0): Uint8Array<ArrayBuffer> {
    const octets = new Uint8Array(Math.max(length, this.#octets.length));
    octets.set(this.#octets);
    return octets;
  }
}

export class BitReader {
  #bits = 0;

  constructor(readonly octets: Uint8Array) {}

  field(width: number): number {
    let value = 0;
    for (let bit = 0; bit < width; bit++) value = ((value << 1) | this.bit()) >>> 0;
    return value;
  }

  bit(): number {
    const octet = this.octets[this.#bits >> 3];
    if (octet === undefined) throw new RefusalError("the bytes are no report of this layer: they end too soon");
    return (octet >> (7 - (this.#bits++ % 8))) & 1;
  }
}
