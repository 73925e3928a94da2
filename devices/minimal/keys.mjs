// Ed25519 signatures, and how an operator's keys replace each other (K1 to K4). Keys are in hexadecimal.

import { createPublicKey, verify } from "node:crypto";
import { refuseIf, sha256 } from "./layer.mjs";

const HEADER = Buffer.from("302a300506032b6570032100", "hex");
const KINDS = { 1: [2, "neologue succession v1\0"], 2: [3, "neologue revocation v1\0"] };

export function isSigned(key, signature, message) {
  try {
    const open = createPublicKey({ key: Buffer.concat([HEADER, key]), format: "der", type: "spki" });
    return verify(null, message, open, signature);
  } catch {
    return false;
  }
}

/** The keys from a pinned one to the one that is trusted; none if they go round in a circle (K3). */
export function path(history, pinned, recovery) {
  const keys = [pinned];
  for (;;) {
    const last = keys.at(-1);
    const next = (recovery && history.revocations[`${recovery}:${last}`]) || history.successions[last];
    if (!next) return keys;
    if (keys.includes(next)) return [];
    keys.push(next);
  }
}

/** What is known with a succession document (K1, K2); it is refused as a whole if a signature in it is wrong. */
export function learn(history, content, pinned, recovery) {
  refuseIf(content.length > 2 ** 14, "a succession that is too long (K1)");
  const links = [];
  for (let next = 0; next < content.length; ) {
    const at = next;
    const [count, domain] = KINDS[content[at]] ?? [Infinity, ""];
    const end = at + 1 + 32 * count + 64;
    refuseIf(end > content.length, "a succession that is cut, or of another kind (K1)");
    const key = (i) => content.subarray(at + 1 + 32 * i, at + 33 + 32 * i);
    const signer = key(count === 3 ? 2 : 0);
    links.push({
      older: key(0).toString("hex"),
      newer: key(1).toString("hex"),
      recovery: count === 3 ? sha256(signer).toString("hex") : null,
      genuine: () => isSigned(signer, content.subarray(end - 64, end), Buffer.concat([Buffer.from(domain), key(0), key(1)])),
    });
    next = end;
  }
  const known = { successions: { ...history.successions }, revocations: { ...history.revocations } };
  const isKnown = (link) =>
    link.recovery === null
      ? link.older in known.successions
      : link.recovery !== recovery || `${link.recovery}:${link.older}` in known.revocations;
  refuseIf(!links.every((link) => isKnown(link) || link.genuine()), "a succession with a wrong signature (K1)");
  for (const link of links) {
    if (isKnown(link)) continue;
    const keys = path(known, pinned, recovery);
    if (link.recovery !== null) known.revocations[`${link.recovery}:${link.older}`] = link.newer;
    else if (keys.at(-1) === link.older && !keys.includes(link.newer)) known.successions[link.older] = link.newer;
  }
  return known;
}
