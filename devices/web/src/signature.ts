/** Ed25519 signatures, as the browser checks them. */

import { type Octets } from "./octets";

export function publicKey(key: Octets): Promise<CryptoKey> {
  return crypto.subtle.importKey("raw", key, "Ed25519", false, ["verify"]);
}

/** Whether a signature of a message is by a key. */
export async function signedBy(key: Octets, signature: Octets, message: Octets): Promise<boolean> {
  try {
    return await crypto.subtle.verify("Ed25519", await publicKey(key), signature, message);
  } catch {
    return false; // the key is no point of the curve
  }
}
