/** From a seed to the base subsets of a Subset Selection report, the same in every language: see docs/protocol.md. */

import { boundedIntegers } from "./entropy";

export const SEED_BYTES = 16;
const BLOCK = 16;
const SPARE_WORDS = 64;

/** Uniform subsets of `size` values below `domain`, in the order of the keystream. */
export async function baseSubsets(
  seed: Uint8Array<ArrayBuffer>,
  domain: number,
  rows: number,
  size: number,
): Promise<number[][]> {
  const key = await crypto.subtle.importKey("raw", seed, "AES-CTR", false, ["encrypt"]);
  const octets = BLOCK * Math.ceil((4 * (rows * size + SPARE_WORDS)) / BLOCK);
  let blocks = 0;
  let values: Iterator<number> = [].values();
  const subsets: number[][] = [];
  while (subsets.length < rows) {
    const subset = new Set<number>();
    while (subset.size < size) {
      const { value, done } = values.next();
      if (done) {
        values = boundedIntegers(await keystream(key, blocks, octets), domain);
        blocks += octets / BLOCK;
      } else {
        subset.add(value);
      }
    }
    subsets.push([...subset]);
  }
  return subsets;
}

/** The keystream from a block on, as 32-bit little-endian words. */
async function keystream(key: CryptoKey, block: number, octets: number): Promise<Iterable<number>> {
  const counter = new Uint8Array(BLOCK);
  new DataView(counter.buffer).setBigUint64(8, BigInt(block));
  const stream = await crypto.subtle.encrypt({ name: "AES-CTR", counter, length: 64 }, key, new Uint8Array(octets));
  const view = new DataView(stream);
  return Uint32Array.from({ length: octets / 4 }, (_, index) => view.getUint32(4 * index, true));
}
