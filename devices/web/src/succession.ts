/**
 * How an operator's key is replaced: by a succession that the old key signs, or by a revocation of an offline key.
 *
 * A key has one successor: the first succession that was seen counts. A revocation goes before all successions of the
 * revoked key, also those that were seen before it. docs/protocol.md has the bytes and the rules.
 */

import { RefusalError } from "./errors";
import { type Octets, hex, joined, sha256 } from "./octets";
import { signedBy } from "./signature";

const KEY_BYTES = 32;
const SIGNATURE_BYTES = 64;
const MOST_BYTES = 1 << 14;
/** By the first byte of a link: how many keys it has, and what its signature begins with. */
const KINDS: Readonly<Record<number, [keys: number, domain: string]>> = {
  1: [2, "neologue succession v1\0"],
  2: [3, "neologue revocation v1\0"],
};

/** Keys that are trusted from the start, each with the digest of its recovery key or null; all in hexadecimal. */
export type Pins = ReadonlyMap<string, string | null>;

/** What is known of how keys were replaced. */
export interface KeyHistory {
  /** The new key by the old one. */
  successions: Readonly<Record<string, string>>;
  /** The successor by the digest of the recovery key, a colon and the revoked key. */
  revocations: Readonly<Record<string, string>>;
}

export const NO_HISTORY: KeyHistory = { successions: {}, revocations: {} };

interface Link {
  old: string;
  new: string;
  /** The digest of the recovery key, if it is a revocation. */
  recovery: string | null;
  genuine: () => Promise<boolean>;
}

/** What is known with a succession document: only what leads on from the pins is kept. */
export async function learn(history: KeyHistory, content: Octets, pins: Pins): Promise<KeyHistory> {
  const links = await read(content);
  const genuine = links.map((link) => changesNothing(history, link, pins) || link.genuine());
  if ((await Promise.all(genuine)).includes(false)) throw unusable("has a signature that is wrong");
  return links.reduce((known, link) => withLink(known, link, pins), history);
}

/** The keys from a pinned one to the one that is trusted now; none if they go round in a circle. */
export function path(history: KeyHistory, pinned: string, recovery: string | null): string[] {
  const keys = [pinned];
  for (;;) {
    const last = keys.at(-1)!;
    const next = (recovery && history.revocations[`${recovery}:${last}`]) ?? history.successions[last];
    if (!next) return keys;
    if (keys.includes(next)) return [];
    keys.push(next);
  }
}

/** Whether a key was revoked by any recovery key that this device pinned. */
export function isRevoked(history: KeyHistory, key: string): boolean {
  return Object.keys(history.revocations).some((known) => known.endsWith(`:${key}`));
}

/** The keys by which a release may be signed, whose operator asked with this key. */
export function signers(history: KeyHistory, key: string): string[] {
  const recoveries = [null, ...Object.keys(history.revocations).map((known) => known.split(":")[0]!)];
  const reached = recoveries.flatMap((recovery) => path(history, key, recovery));
  return [...new Set(reached)].filter((each) => !isRevoked(history, each));
}

/** What both know; of two successors of a key, the one that was there first. */
export function merge(first: KeyHistory, second: KeyHistory): KeyHistory {
  return {
    successions: { ...second.successions, ...first.successions },
    revocations: { ...second.revocations, ...first.revocations },
  };
}

function changesNothing(history: KeyHistory, link: Link, pins: Pins): boolean {
  if (link.recovery === null) return link.old in history.successions;
  return ![...pins.values()].includes(link.recovery) || `${link.recovery}:${link.old}` in history.revocations;
}

function withLink(history: KeyHistory, link: Link, pins: Pins): KeyHistory {
  if (changesNothing(history, link, pins)) return history;
  if (link.recovery !== null) {
    return { ...history, revocations: { ...history.revocations, [`${link.recovery}:${link.old}`]: link.new } };
  }
  // Only from a key that is trusted now, and never back to one that was.
  const leadsOn = [...pins].some(([pinned, recovery]) => {
    const keys = path(history, pinned, recovery);
    return keys.at(-1) === link.old && !keys.includes(link.new);
  });
  return leadsOn ? { ...history, successions: { ...history.successions, [link.old]: link.new } } : history;
}

async function read(content: Octets): Promise<Link[]> {
  if (content.length > MOST_BYTES) throw unusable("is too long");
  const links: Link[] = [];
  for (let place = 0; place < content.length; ) {
    const [count, domain] = KINDS[content[place]!] ?? [Infinity, ""];
    const end = place + 1 + count * KEY_BYTES + SIGNATURE_BYTES;
    if (end > content.length) throw unusable("is cut, or of a kind that this device does not know");
    const key = (index: number) => content.slice(place + 1 + index * KEY_BYTES, place + 1 + (index + 1) * KEY_BYTES);
    const [older, newer, signer] = [key(0), key(1), count === 3 ? key(2) : key(0)];
    const signature = content.slice(end - SIGNATURE_BYTES, end);
    links.push({
      old: hex(older),
      new: hex(newer),
      recovery: count === 3 ? hex(await sha256(signer)) : null,
      genuine: () => signedBy(signer, signature, joined(new TextEncoder().encode(domain), older, newer)),
    });
    place = end;
  }
  return links;
}

function unusable(what: string): RefusalError {
  return new RefusalError(`the keys of the operator can't be followed: their succession ${what}; get it anew from them`);
}
