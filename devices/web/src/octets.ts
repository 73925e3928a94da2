/** Byte strings: in hexadecimal, in base64, hashed, joined, counted. */

export type Octets = Uint8Array<ArrayBuffer>;

export function hex(octets: Uint8Array): string {
  return Array.from(octets, (octet) => octet.toString(16).padStart(2, "0")).join("");
}

/** The bytes of a text in lower-case hexadecimal; null if it is no such text of just this length. */
export function unhex(text: unknown, length: number): Octets | null {
  if (typeof text !== "string" || text.length !== 2 * length || !/^[0-9a-f]*$/.test(text)) return null;
  return Uint8Array.from({ length }, (_, place) => parseInt(text.slice(2 * place, 2 * place + 2), 16));
}

const BLOCK = 1 << 13;

/** Base64 with padding. */
export function base64(octets: Uint8Array): string {
  let binary = "";
  for (let start = 0; start < octets.length; start += BLOCK) {
    binary += String.fromCharCode(...octets.subarray(start, start + BLOCK));
  }
  return btoa(binary);
}

/** The bytes of a text in base64; fails if it is none. */
export function unbase64(text: string): Octets {
  return Uint8Array.from(atob(text), (character) => character.charCodeAt(0));
}

/** How often a byte occurs. */
export function count(octets: Uint8Array, wanted: number): number {
  return octets.reduce((sum, octet) => sum + (octet === wanted ? 1 : 0), 0);
}

export function joined(...parts: readonly Uint8Array[]): Octets {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let place = 0;
  for (const part of parts) {
    whole.set(part, place);
    place += part.length;
  }
  return whole;
}

export async function sha512(octets: Octets): Promise<Octets> {
  return new Uint8Array(await crypto.subtle.digest("SHA-512", octets));
}

export async function sha256(octets: Octets): Promise<Octets> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", octets));
}
