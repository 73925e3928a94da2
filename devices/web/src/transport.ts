/**
 * How a device talks to a service: with a limit on everything that comes back.
 *
 * A server may be hostile. An answer has a deadline as a whole and a most number of bytes, unpacked; redirections are not
 * followed; no cookie goes along. Whatever goes wrong on the way is one LaterError.
 */

import { DeviceError, LaterError, OversizeError } from "./errors";
import { type Octets, joined } from "./octets";

export const SMALL_ANSWER = 1 << 16;
const MILLISECONDS = 60_000;

export interface Answer {
  status: number;
  body: Octets;
  retryAfter: string | null;
}

export const JSON_KIND = "application/json";
export const OCTETS_KIND = "application/octet-stream";

/** What carries requests to a service and answers back: HTTP, or files that somebody carries. */
export interface Transport {
  /** The answer; or a LaterError, also if the request may have arrived. */
  request(method: "GET" | "POST", path: string, most: number, body?: Octets, kind?: string): Promise<Answer>;
  /** Cut off what is under way, because the owner no longer agrees. */
  halt(): void;
}

export class HttpTransport implements Transport {
  readonly #server: string;
  #halt = new AbortController();

  constructor(server: string) {
    let url: URL;
    try {
      url = new URL(server, globalThis.location?.href);
    } catch {
      throw new DeviceError(`${server} is no address of a service; give one such as https://words.example.org`);
    }
    const here = url.hostname === "localhost" || url.hostname === "[::1]" || /^127(\.\d+){3}$/.test(url.hostname);
    if (url.search || url.hash || url.username || !(url.protocol === "https:" || (url.protocol === "http:" && here))) {
      throw new DeviceError(`${server} can't be talked to; give an address such as https://words.example.org`);
    }
    this.#server = url.href.replace(/\/+$/, "");
  }

  async request(method: "GET" | "POST", path: string, most: number, body?: Octets, kind?: string): Promise<Answer> {
    const halt = this.#halt;
    const timer = setTimeout(() => halt.abort(), MILLISECONDS);
    try {
      const response = await fetch(this.#server + path, {
        method,
        ...(body && { body, headers: { "Content-Type": kind! } }),
        cache: "no-store",
        credentials: "omit",
        redirect: "error",
        referrerPolicy: "no-referrer",
        signal: halt.signal,
      });
      const content = await limited(response, most);
      return { status: response.status, body: content, retryAfter: response.headers.get("Retry-After") };
    } catch (error) {
      if (error instanceof OversizeError) throw error;
      const name = error instanceof Error || error instanceof DOMException ? error.name : "unknown error";
      throw new LaterError(`no usable answer from ${this.#server} (${name}): try again later`);
    } finally {
      clearTimeout(timer);
      if (halt.signal.aborted && this.#halt === halt) this.#halt = new AbortController();
    }
  }

  halt(): void {
    this.#halt.abort();
    this.#halt = new AbortController();
  }
}

/** The body of an answer, unless it is too long: then no more of it is read than shows that. */
async function limited(response: Response, most: number): Promise<Octets> {
  const reader = response.body?.getReader();
  const pieces: Uint8Array[] = [];
  let size = 0;
  while (reader) {
    const { done, value } = await reader.read();
    if (done) break;
    size += value.length;
    if (size > most) {
      await reader.cancel();
      throw new OversizeError(`an answer has more than ${most} bytes: try again later`);
    }
    pieces.push(value);
  }
  return joined(...pieces);
}
