/**
 * Hand-over by file, for a page that may not use the network: the requests of a device, and the answers that somebody carries.
 *
 * A step whose answer is not at hand gives out its request, and is taken again when the answer has come. Whoever carries them
 * is trusted no more than a network is. docs/protocol.md has the form of the files.
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

interface Request {
  method: "GET" | "POST";
  path: string;
  type: string;
  body: string;
}

/** Answers requests from what was carried, and keeps the first one that it can't answer. */
export class HandoverTransport implements Transport {
  #answers = new Map<string, Answer>();
  /** The request that waits to be carried, as the text of its file; null if the step needed none. */
  pending: string | null = null;

  /** Begin a step, with the text of a file of answers if there is one. */
  begin(carried: string | undefined): void {
    this.#answers = carried === undefined ? new Map() : answersIn(carried);
    this.pending = null;
  }

  async request(method: "GET" | "POST", path: string, most: number, body?: Octets, kind = JSON_KIND): Promise<Answer> {
    const answers = this.#answers;
    const sent = body ?? new Uint8Array();
    const name = await nameOf(method, path, sent);
    if (answers !== this.#answers) throw new LaterError("the owner no longer agrees");
    const answer = answers.get(name);
    answers.delete(name);
    if (!answer) {
      this.pending = JSON.stringify({ handover: FORMAT, method, path, type: kind, body: base64(sent) });
      throw new LaterError("the next request of this device waits to be carried to the service", SOON);
    }
    if (answer.body.length > most) {
      throw new OversizeError(`a carried answer has more than ${most} bytes: have the request carried again`);
    }
    return answer;
  }

  halt(): void {
    this.#answers = new Map();
    this.pending = null;
  }
}

/** Make the request in a file, and give the file with its answer and the documents that the next step of the device needs. */
export async function carry(file: string, server: string): Promise<string> {
  const transport = new HttpTransport(server);
  const { method, path, type, body } = requestIn(file);
  const answers: object[] = [];
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
    const { method, path, type, body } = parsed(file);
    unbase64(body);
    if ((type === JSON_KIND || type === OCTETS_KIND) && CARRIED.test(`${method} ${path}`)) return { method, path, type, body };
  } catch {
    // it is none
  }
  throw new DeviceError("the file has no request of a device: have the device write it again");
}

function answersIn(file: string): Map<string, Answer> {
  try {
    return new Map(
      parsed(file).answers.map((answer: Record<string, unknown>) => {
        const { request, status, retry_after: retryAfter, body } = answer;
        const usable = typeof request === "string" && Number.isInteger(status) && typeof body === "string";
        if (!usable || !(retryAfter === null || typeof retryAfter === "string")) throw new TypeError();
        return [request, { status, body: unbase64(body), retryAfter }];
      }),
    );
  } catch {
    throw new DeviceError("the file has no answers that were carried: have the request carried again");
  }
}

/** The fields of a file; whoever reads one checks it. */
function parsed(file: string): Record<string, any> {
  const told = file.length > LARGEST_FILE ? null : JSON.parse(file);
  if (told.handover !== FORMAT) throw new TypeError();
  return told;
}
