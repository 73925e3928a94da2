/**
 * Hand-over by file, for a page that may not use the network: the requests of a device, and the answers that somebody carries.
 *
 * A step whose answer is not at hand gives out its request, and is taken again when the answer has come. The request has the
 * answers that the step has used already, which come back with the new one. Whoever carries them is trusted no more than a
 * network is. docs/protocol.md has the form of the files.
 */

import { DeviceError, LaterError, OversizeError } from "./errors";
import { LARGEST_DOCUMENT } from "./layer";
import { type Octets, base64, hex, joined, sha256, unbase64 } from "./octets";
import { type Answer, HttpTransport, JSON_KIND, OCTETS_KIND, type Transport } from "./transport";

const FORMAT = 1;
const LARGEST_FILE = 1 << 26;
/** Seconds: a step is taken again as soon as its answer has come. */
const SOON = 1;
/** What is carried: a group of masked votes needs a network, because others wait for each of its messages. */
const CARRIED = new RegExp(
  "^(?:POST /v1/(?:check-in|reports)|GET /v1/(?:layers|known)/[0-9a-f]{64}|GET /log/evidence|" +
    "GET /log/(?:campaigns/[0-9a-f]{32}/)?tile/[0-9]{1,2}/(?:x[0-9]{3}/)*[0-9]{3}(?:\\.p/[0-9]{1,3})?)$",
);

/** Documents: a device has them in its storage once it has used them. */
const KEPT = /^\/v1\/(?:layers|known)\//;

/** An answer as a file has it, with the name of its request. */
interface Item {
  request: string;
  status: number;
  retry_after: string | null;
  body: string;
}

interface Request {
  method: "GET" | "POST";
  path: string;
  type: string;
  body: string;
  answers: Item[];
}

/** Answers requests from what was carried, and keeps the first one that it can't answer. */
export class HandoverTransport implements Transport {
  #answers = new Map<string, Item>();
  #used: Item[] = [];
  /** The request that waits to be carried, as the text of its file; null if the step needed none. */
  pending: string | null = null;

  /** Begin a step, with the text of a file of answers if there is one. */
  begin(carried: string | undefined): void {
    const items = carried === undefined ? [] : answersIn(carried);
    this.#answers = new Map(items.map((item) => [item.request, item]));
    this.#used = [];
    this.pending = null;
  }

  async request(method: "GET" | "POST", path: string, most: number, body?: Octets, kind = JSON_KIND): Promise<Answer> {
    const answers = this.#answers;
    const sent = body ?? new Uint8Array();
    const name = await nameOf(method, path, sent);
    if (answers !== this.#answers) throw new LaterError("the owner no longer agrees");
    const item = answers.get(name);
    answers.delete(name);
    if (!item) {
      // A report ends the step: what comes back is for the next one, which begins with it.
      const used = method === "GET" ? this.#used : [];
      this.pending = JSON.stringify({ handover: FORMAT, method, path, type: kind, body: base64(sent), answers: used });
      throw new LaterError("the next request of this device waits to be carried to the service", SOON);
    }
    const content = unbase64(item.body);
    if (content.length > most) {
      throw new OversizeError(`a carried answer has more than ${most} bytes: have the request carried again`);
    }
    if (!KEPT.test(path)) this.#used.push(item);
    return { status: item.status, body: content, retryAfter: item.retry_after };
  }

  halt(): void {
    this.#answers = new Map();
    this.pending = null;
  }
}

/** Make the request in a file, and give the file with its answer and the documents that the next step of the device needs. */
export async function carry(file: string, server: string): Promise<string> {
  const transport = new HttpTransport(server);
  const { method, path, type, body, answers } = requestIn(file);
  const note = async (verb: string, at: string, content: Octets, answer: Answer): Promise<Answer> => {
    const { status, retryAfter } = answer;
    const request = await nameOf(verb, at, content);
    answers.push({ request, status, retry_after: retryAfter, body: base64(answer.body) });
    return answer;
  };
  const sent = unbase64(body);
  const answer = await transport.request(method, path, LARGEST_DOCUMENT, method === "POST" ? sent : undefined, type);
  await note(method, path, sent, answer);
  if (path === "/v1/check-in" && answer.status === 200) {
    const fetched = async (wanted: string): Promise<Answer> =>
      note("GET", wanted, new Uint8Array(), await transport.request("GET", wanted, LARGEST_DOCUMENT));
    try {
      await fetched(documentPath("known", await fetched(documentPath("layers", answer, "layer")), "known"));
    } catch {
      // The device judges what there is, and asks for what is missing.
    }
  }
  return JSON.stringify({ handover: FORMAT, answers });
}

/** By what an answer names its request. */
async function nameOf(method: string, path: string, body: Octets): Promise<string> {
  return hex(await sha256(joined(new TextEncoder().encode(`${method} ${path}\n`), body)));
}

/** The path of a document that an answer names by a field. */
function documentPath(kind: string, answer: Answer, field: string): string {
  const path = `/v1/${kind}/${JSON.parse(new TextDecoder().decode(answer.body))[field]}`;
  if (!CARRIED.test(`GET ${path}`)) throw new LaterError("the answer names no document");
  return path;
}

function requestIn(file: string): Request {
  try {
    const { method, path, type, body, answers = [] } = parsed(file);
    unbase64(body);
    const known = type === JSON_KIND || type === OCTETS_KIND;
    if (known && CARRIED.test(`${method} ${path}`)) return { method, path, type, body, answers: items(answers) };
  } catch {
    // it is none
  }
  throw new DeviceError("the file has no request of a device: have the device write it again");
}

function answersIn(file: string): Item[] {
  try {
    return items(parsed(file).answers);
  } catch {
    throw new DeviceError("the file has no answers that were carried: have the request carried again");
  }
}

/** The same answers, if they are some. */
function items(answers: Item[]): Item[] {
  return answers.map(({ request, status, retry_after, body }) => {
    const usable = typeof request === "string" && Number.isInteger(status) && typeof body === "string";
    if (!usable || !(retry_after === null || typeof retry_after === "string")) throw new TypeError();
    unbase64(body);
    return { request, status, retry_after, body };
  });
}

/** The fields of a file; whoever reads one checks it. */
function parsed(file: string): Record<string, any> {
  const told = file.length > LARGEST_FILE ? null : JSON.parse(file);
  if (told.handover !== FORMAT) throw new TypeError();
  return told;
}
