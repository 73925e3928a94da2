/**
 * The operator's log, as a device checks it: that the layer it is asked about is in the log which witnesses have
 * co-signed for everybody, and that the log only grows. docs/protocol.md has the bytes and the rules.
 */

import { LaterError, RefusalError } from "./errors";
import { type Octets, hex, joined, sha256, sha512, unhex } from "./octets";
import { signedBy } from "./signature";

const HASH_BYTES = 32;
const SIGNATURE_BYTES = 64;
const HINT_BYTES = 4;
const TIME_BYTES = 8;
const MOST_HASHES = 63;
const MOST_COSIGNATURES = 16;
const TILE_WIDTH = 256;
const TILE_LEVELS = 8;
const AHEAD = 86_400;
const TREES = 2;

/** Whom a policy trusts: logs and witnesses by their keys in hexadecimal, and how many witnesses must have co-signed. */
export interface Trust {
  logs: readonly string[];
  witnesses: readonly string[];
  quorum: number;
}

export interface Checkpoint {
  origin: string;
  size: number;
  /** In hexadecimal. */
  root: string;
}

/** What a device is asked about. */
export interface Question {
  campaign: Octets;
  layer: Octets;
  /** The promise about masks, if votes are masked. */
  masked: Octets | null;
}

/** Gives a file of the service. */
export type FetchTile = (path: string) => Promise<Octets>;

interface TreeProof {
  size: number;
  path: Octets[];
  signature: Octets;
  cosignatures: { hint: Octets; time: number; signature: Octets }[];
}

interface Proof {
  layer: number;
  index: number;
  trees: TreeProof[];
}

/** The checkpoints of the operator's tree and of the campaign's that prove a question; or a refusal. */
export async function checkProof(content: Octets, question: Question, trust: Trust, now: number): Promise<Checkpoint[]> {
  const proof = readProof(content);
  const leaf = await leafHash(new TextEncoder().encode(await entryOf(question, proof.layer)));
  const roots = [
    await rootOf(leaf, proof.index, proof.trees[0]!),
    await rootOf(leaf, proof.layer, proof.trees[1]!),
  ];
  for (const log of trust.logs) {
    const checkpoints = roots.map((root, tree) => ({
      origin: `neologue.log/${log}${tree ? `/${hex(question.campaign)}` : ""}`,
      size: proof.trees[tree]!.size,
      root: hex(root),
    }));
    const signed = await Promise.all(
      checkpoints.map((checkpoint, tree) => signedBy(key(log), proof.trees[tree]!.signature, encoded(textOf(checkpoint)))),
    );
    if (signed.includes(false)) continue;
    for (const [tree, checkpoint] of checkpoints.entries()) await checkWitnesses(proof.trees[tree]!, checkpoint, trust, now);
    return checkpoints;
  }
  throw refused("the layer is not in a log that this device knows, or not as it was asked about here");
}

/** Refuse a checkpoint unless it goes on from the one that was seen last, as the files of the log show. */
export async function checkGoesOn(known: Checkpoint, next: Checkpoint, fetch: FetchTile): Promise<void> {
  if (next.size < known.size) {
    throw new LaterError(
      `the log ${next.origin} is shown with ${next.size} entries, and this device has seen ${known.size}: it waits for ` +
        "the newer one",
    );
  }
  let seen = next.root;
  if (next.size > known.size) {
    const subtree = subtrees(next.size, fetch);
    if (hex(await rangeHash(0, next.size, subtree)) !== next.root) {
      throw refused(`the files of the log ${next.origin} do not belong to its checkpoint`);
    }
    seen = hex(await rangeHash(0, known.size, subtree));
  }
  if (seen !== known.root) {
    throw refused(
      `the log ${next.origin} was forked: its first ${known.size} entries are not those that this device has seen`,
    );
  }
}

/** Where the files of the log with this origin are. */
export function folderOf(checkpoint: Checkpoint): string {
  const campaign = checkpoint.origin.split("/")[2];
  return campaign ? `/log/campaigns/${campaign}/` : "/log/";
}

/** What evidence must be over that speaks for the key of the log with this origin. */
export function evidenceBinding({ origin }: Checkpoint): Promise<Octets> {
  return sha512(joined(new TextEncoder().encode("neologue evidence v1\0"), key(origin.split("/")[1]!)));
}

function readProof(content: Octets): Proof {
  let place = 0;
  const take = (length: number): Octets => {
    const part = content.slice(place, (place += length));
    if (part.length < length) throw cut();
    return part;
  };
  const number = (length: number): number => {
    const value = Number(BigInt(`0x${hex(take(length))}`));
    if (!Number.isSafeInteger(value)) throw cut();
    return value;
  };
  const many = <Part>(most: number, part: () => Part): Part[] => {
    const length = number(1);
    if (length > most) throw cut();
    return Array.from({ length }, part);
  };
  if (number(1) !== 1) throw cut();
  const [layer, index] = [number(2), number(8)];
  const trees = Array.from({ length: TREES }, () => ({
    size: number(8),
    path: many(MOST_HASHES, () => take(HASH_BYTES)),
    signature: take(SIGNATURE_BYTES),
    cosignatures: many(MOST_COSIGNATURES, () => ({
      hint: take(HINT_BYTES),
      time: number(TIME_BYTES),
      signature: take(SIGNATURE_BYTES),
    })),
  }));
  if (place !== content.length) throw cut();
  return { layer, index, trees };
}

/** The entry that opens a layer, as canonical JSON. */
async function entryOf({ campaign, layer, masked }: Question, index: number): Promise<string> {
  const promise = masked ? { promise: hex(await sha256(masked)) } : {};
  return JSON.stringify({ campaign: hex(campaign), deed: "layer opened", digest: hex(layer), layer: index, ...promise });
}

/** The root of a tree in which a leaf is at this index, if its path is right. */
async function rootOf(leaf: Octets, index: number, { size, path }: TreeProof): Promise<Octets> {
  let [at, last, found] = [index, size - 1, leaf];
  if (index >= size || path.length !== pathLength(index, size)) throw cut();
  for (const sibling of path) {
    // At the right edge, levels without a sibling are skipped.
    while (at % 2 === 0 && at === last) [at, last] = [half(at), half(last)];
    found = at % 2 ? await nodeHash(sibling, found) : await nodeHash(found, sibling);
    [at, last] = [half(at), half(last)];
  }
  return found;
}

/** How many hashes prove a leaf: one for each level at which it has a sibling. */
function pathLength(index: number, size: number): number {
  let length = 0;
  for (let [at, last] = [index, size - 1]; last > 0; [at, last] = [half(at), half(last)]) {
    if (at % 2 || at < last) length++;
  }
  return length;
}

async function checkWitnesses(tree: TreeProof, checkpoint: Checkpoint, trust: Trust, now: number): Promise<void> {
  const body = textOf(checkpoint);
  let counted = 0;
  for (const witness of trust.witnesses) {
    for (const { hint, time, signature } of tree.cosignatures) {
      if (hex(hint) !== witness.slice(0, 2 * HINT_BYTES) || time > now + AHEAD) continue;
      if (await signedBy(key(witness), signature, encoded(`cosignature/v1\ntime ${time}\n${body}`))) {
        counted++;
        break;
      }
    }
    if (counted === trust.quorum) return;
  }
  throw refused(
    `${counted} of the ${trust.witnesses.length} witnesses that this device knows have co-signed the log ` +
      `${checkpoint.origin} with ${checkpoint.size} entries, and ${trust.quorum} must have`,
  );
}

type Subtree = (level: number, index: number) => Promise<Octets>;

/** The complete subtrees of a tree, from its tiles, each of which is fetched once. */
function subtrees(size: number, fetch: FetchTile): Subtree {
  const tiles = new Map<string, Promise<Octets>>();
  return async (level, index) => {
    const tileLevel = Math.floor(level / TILE_LEVELS);
    const above = 2 ** (level % TILE_LEVELS);
    const number = Math.floor((index * above) / TILE_WIDTH);
    const width = Math.min(TILE_WIDTH, Math.floor(size / TILE_WIDTH ** tileLevel) - number * TILE_WIDTH);
    const path = tilePath(tileLevel, number, width);
    if (!tiles.has(path)) tiles.set(path, fetch(path));
    const tile = await tiles.get(path)!;
    if (tile.length !== width * HASH_BYTES) throw refused(`the log's file ${path} has ${tile.length} bytes`);
    const first = (index * above) % TILE_WIDTH;
    let hashes = Array.from({ length: above }, (_, each) =>
      tile.slice((first + each) * HASH_BYTES, (first + each + 1) * HASH_BYTES),
    );
    while (hashes.length > 1) {
      hashes = await Promise.all(
        Array.from({ length: hashes.length / 2 }, (_, each) => nodeHash(hashes[2 * each]!, hashes[2 * each + 1]!)),
      );
    }
    return hashes[0]!;
  };
}

function tilePath(level: number, index: number, width: number): string {
  const digits = String(index);
  const parts = digits.padStart(Math.ceil(digits.length / 3) * 3, "0").match(/.{3}/g)!;
  const number = parts.map((part, place) => (place < parts.length - 1 ? `x${part}` : part)).join("/");
  return `tile/${level}/${number}${width === TILE_WIDTH ? "" : `.p/${width}`}`;
}

/** The hash over leaves from one to below another, a range that some tree has as a node. */
async function rangeHash(low: number, high: number, subtree: Subtree): Promise<Octets> {
  let [level, complete] = [0, 1];
  while (complete * 2 <= high - low) [level, complete] = [level + 1, complete * 2];
  if (complete === high - low) return subtree(level, low / complete);
  return nodeHash(await rangeHash(low, low + complete, subtree), await rangeHash(low + complete, high, subtree));
}

function leafHash(leaf: Uint8Array): Promise<Octets> {
  return sha256(joined(Uint8Array.of(0), leaf));
}

function nodeHash(left: Uint8Array, right: Uint8Array): Promise<Octets> {
  return sha256(joined(Uint8Array.of(1), left, right));
}

function textOf({ origin, size, root }: Checkpoint): string {
  return `${origin}\n${size}\n${btoa(String.fromCharCode(...key(root)))}\n`;
}

function encoded(text: string): Octets {
  return Uint8Array.from(new TextEncoder().encode(text));
}

function key(text: string): Octets {
  return unhex(text, HASH_BYTES)!;
}

function half(value: number): number {
  return Math.floor(value / 2);
}

function cut(): RefusalError {
  return refused("the proof beside the invitation is cut, or of a kind that this device does not know");
}

function refused(why: string): RefusalError {
  return new RefusalError(`this device does not answer: ${why}`);
}
