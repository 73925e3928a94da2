// The device: one report for a campaign, on the disk before it is sent, and the same bytes until it is final (T, Z, N).

import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, writeSync } from "node:fs";
import { randomInt } from "node:crypto";
import { isSigned, learn, path } from "./keys.mjs";
import { Refusal, readKnown, readLayer, refuseIf, sha256 } from "./layer.mjs";
import { LARGEST_KNOWN, checkKnown, checkLayer } from "./policy.mjs";
import { Unary, exact } from "./unary.mjs";
import { compare, countingWords } from "./words.mjs";

const [HOUR, DAY, DAYS_KEPT] = [3600, 86_400, 60];
const SMALL = 2 ** 16;

class Later extends Error {
  constructor(after = null) {
    super("later");
    this.after = after;
  }
}

const today = () => Math.floor(Date.now() / 1000 / DAY);
const clamp = (seconds) => Math.min(Math.max(seconds, 1), DAY);

export class Device {
  #failures = 0;

  constructor(folder, server, operator, window = [5, 15], patience = 60) {
    const { protocol, hostname } = new URL(server);
    const here = /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);
    if (protocol !== "https:" && !(protocol === "http:" && here)) throw new Error(`${server} is not https:// (T1)`);
    Object.assign(this, { folder, server, operator, window, patience, file: `${folder}/device.json` });
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    this.state = existsSync(this.file) ? JSON.parse(readFileSync(this.file, "utf8")) : {
      optedIn: false, credential: null, asked: null, ended: false, answers: {}, reports: {}, words: {},
      keys: { successions: {}, revocations: {} },
    };
  }

  /** Change the state; it is on the disk before anybody sees it (Z1). */
  #update(change) {
    const next = { ...this.state, ...change };
    const draft = openSync(`${this.file}.new`, "w", 0o600);
    writeSync(draft, JSON.stringify(next));
    fsyncSync(draft);
    closeSync(draft);
    renameSync(`${this.file}.new`, this.file);
    const folder = openSync(this.folder, "r");
    fsyncSync(folder);
    closeSync(folder);
    this.state = next;
  }

  optIn() {
    this.#update({ optedIn: true });
  }

  optOut() {
    this.#update({ optedIn: false, words: {} });
  }

  forgetMe() {
    this.#update({ credential: null, asked: null, ended: false, reports: {}, words: {} });
  }

  leave() {
    this.#update({ credential: null, asked: null, ended: false, reports: {} });
  }

  join(credential) {
    if (credential === this.state.credential) return;
    const waits = Object.keys(this.state.reports).length > 0;
    if (waits) throw new Error("a report still waits: leave the campaign first");
    this.#update({ credential, asked: null, ended: false });
  }

  typed(words) {
    if (!this.state.optedIn) return;
    const kept = structuredClone(this.state.words);
    for (const [word, times] of Object.entries(words)) {
      const days = (kept[word.normalize("NFC")] ??= {});
      days[today()] = Math.min((days[today()] ?? 0) + times, 2 ** 31 - 1);
    }
    this.#update({ words: kept });
  }

  /** What was typed lately, and how often. */
  #words() {
    const words = new Map();
    for (const [word, days] of Object.entries(this.state.words)) {
      const lately = Object.entries(days).filter(([day]) => Number(day) > today() - DAYS_KEPT);
      if (lately.length) words.set(word, lately.reduce((sum, [, times]) => sum + times, 0));
    }
    return words;
  }

  /** Take one step: its state, and the seconds until the next one. */
  async tick() {
    if (!this.state.optedIn) return { state: "out", again: null };
    if (this.state.credential === null) return { state: "alone", again: null };
    if (this.state.ended) return { state: "over", again: null };
    try {
      const step = await this.#advance();
      this.#failures = 0;
      return step;
    } catch (error) {
      if (error instanceof Refusal) return { state: "refused", again: DAY };
      if (!(error instanceof Later)) throw error;
      const longest = Math.min(21_600, 60 * 2 ** Math.min(this.#failures++, 16));
      return { state: "later", again: error.after ?? longest * (0.5 + randomInt(2 ** 32) / 2 ** 33) };
    }
  }

  async #advance() {
    const credential = Buffer.from(this.state.credential, "base64url");
    const [campaign, serial] = [credential.subarray(0, 16), credential.subarray(16, 32)];
    const name = campaign.toString("hex");
    if (this.state.answers[name] && !this.state.reports[name]) return this.#end("over", name);
    let { asked } = this.state;
    if (!asked?.ticket || !this.#trusts(asked.operator)) {
      const reply = await this.#checkIn();
      if (reply.again !== undefined) return reply;
      if (reply.state === "over") return this.#end("over", name);
      asked = reply;
      if (this.state.asked?.layer === asked.layer) this.#update({ asked });
    }
    refuseIf(!this.#trusts(asked.operator), "its operator (T5)");
    const message = Buffer.concat([Buffer.from("neologue invitation v1\0"), campaign, Buffer.from(asked.layer, "hex")]);
    const signed = isSigned(Buffer.from(asked.operator, "hex"), Buffer.from(asked.signature, "hex"), message);
    refuseIf(!signed, "its signature (T5)");
    const layer = readLayer(await this.#document("layers", asked.layer, 2 ** 24));
    const others = Object.entries(this.state.answers).filter(([each]) => each !== name);
    checkLayer(layer, others.map(([, answer]) => answer.epsilon));
    const list = await this.#document("known", layer.document.known, LARGEST_KNOWN);
    checkKnown(list);
    const known = readKnown(list);
    // The moment is drawn first, so that it does not tell how long it took to make the report (T7).
    let moment = performance.now() + this.#delay();
    const report = this.#report(layer, known, asked, name);
    while (performance.now() > moment) moment += this.#delay();
    await new Promise((resolve) => setTimeout(resolve, moment - performance.now()));
    if (!this.state.optedIn) return { state: "out", again: null };
    const body = Buffer.concat([campaign, serial, Buffer.from(asked.ticket, "hex"), report]);
    return this.#read(await this.#request("POST", "/v1/reports", SMALL, body, "application/octet-stream"), name);
  }

  #delay() {
    const [earliest, latest] = this.window;
    return 1000 * (earliest + ((latest - earliest) * randomInt(2 ** 32)) / 2 ** 32);
  }

  #trusts(operator) {
    return path(this.state.keys, this.operator, null).at(-1) === operator;
  }

  async #checkIn() {
    const body = JSON.stringify({ credential: this.state.credential.slice(0, 128) });
    const response = await this.#request("POST", "/v1/check-in", SMALL, body, "application/json");
    if (response.status !== 200) return refusal(response);
    const reply = json(response);
    if (reply.succession != null) {
      const keys = learn(this.state.keys, unhex(reply.succession), this.operator, null);
      if (JSON.stringify(keys) !== JSON.stringify(this.state.keys)) this.#update({ keys });
    }
    if (reply.state === "over") return { state: "over" };
    if (reply.state === "wait") return { state: "wait", again: seconds(reply.retry_after) };
    if (reply.state !== "invited") throw new Later();
    refuseIf(reply.masked != null, "votes under masks (T5)");
    refuseIf(reply.proof != null && unhex(reply.proof).length > 8192, "its proof");
    const bytes = { layer: 32, operator: 32, signature: 64, ticket: 16 };
    for (const [field, length] of Object.entries(bytes)) unhex(reply[field], length);
    return { layer: reply.layer, operator: reply.operator, signature: reply.signature, ticket: reply.ticket };
  }

  async #document(kind, digest, most) {
    const response = await this.#request("GET", `/v1/${kind}/${digest}`, most);
    refuseIf(response.tooLong && kind === "known", "too many known words (P15)");
    if (response.status !== 200 || response.tooLong) throw new Later(retryAfter(response));
    refuseIf(sha256(response.body).toString("hex") !== digest, "another digest (D6)");
    return response.body;
  }

  /** The one report of the campaign, on the disk with its cost when this returns. */
  #report(layer, known, asked, name) {
    const made = this.state.answers[name];
    if (made) {
      refuseIf(made.layer !== asked.layer, "another layer than was answered (T10)");
      return Buffer.from(this.state.reports[name], "hex");
    }
    const { bound } = layer.document;
    const held = heldCandidates(countingWords(this.#words(), layer, known), layer);
    const payload = new Unary(layer.size, layer.epsilon, bound).randomize(held);
    const report = Buffer.concat([Buffer.of(2), layer.digest.subarray(0, 8), payload]);
    const answer = { layer: asked.layer, epsilon: layer.epsilon, bound, operator: asked.operator, day: today() };
    this.#update({
      asked,
      answers: { ...this.state.answers, [name]: answer },
      reports: { ...this.state.reports, [name]: report.toString("hex") },
    });
    return report;
  }

  #read(response, name) {
    if (response.status === 410) return this.#end("closed", name);
    if (response.status === 401) this.#update({ asked: { ...this.state.asked, ticket: null } });
    if (response.status !== 200 && response.status !== 202) return refusal(response);
    const { state, retry_after } = json(response);
    if (response.status === 200 && state === "final") return this.#end("final", name);
    if (response.status === 202 && state === "received") return { state, again: seconds(retry_after) };
    throw new Later();
  }

  #end(state, name) {
    const { [name]: _erased, ...reports } = this.state.reports;
    this.#update({ ended: true, reports });
    return { state, again: null };
  }

  async #request(method, path, most, body, type) {
    const signal = AbortSignal.timeout(1000 * this.patience);
    const headers = type ? { "Content-Type": type } : {};
    try {
      const response = await fetch(this.server + path, { method, body, headers, signal, redirect: "manual" });
      const chunks = [];
      let length = 0;
      for await (const chunk of response.body ?? []) {
        chunks.push(chunk);
        if ((length += chunk.length) > most) break;
      }
      const after = response.headers.get("Retry-After");
      return { status: response.status, body: Buffer.concat(chunks), after, tooLong: length > most };
    } catch {
      throw new Later();
    }
  }
}

/** A uniform order, by falling counts if it is greedy, of which the first B are held (S2); or a sample of a list (M1, M2). */
export function heldCandidates(counting, layer) {
  const { bound, sampler, words, rate } = layer.document;
  if (layer.closed) {
    const chance = exact(Number(rate), 64n);
    const kept = [...counting.keys()].sort(compare).filter(() => BigInt(randomInt(2 ** 32)) * 2n ** 32n + BigInt(randomInt(2 ** 32)) < chance);
    const places = shuffled(kept).slice(0, bound).map((word) => words.indexOf(word));
    const listed = places.filter((place) => place >= 0);
    return [...listed, ...Array.from({ length: places.length - listed.length }, (_, i) => words.length + i)];
  }
  const times = new Map();
  for (const [word, typed] of counting) {
    const candidate = layer.candidates.index(word);
    if (candidate >= 0) times.set(candidate, (times.get(candidate) ?? 0) + typed);
  }
  const order = shuffled([...times.keys()]);
  if (sampler === "greedy") order.sort((a, b) => times.get(b) - times.get(a));
  return order.slice(0, bound);
}

function shuffled(items) {
  for (let i = items.length - 1; i > 0; i--) {
    const j = randomInt(i + 1);
    [items[i], items[j]] = [items[j], items[i]];
  }
  return items;
}

function refusal(response) {
  const { status } = response;
  if (status >= 500 || status === 408 || status === 429 || (status >= 300 && status < 400)) throw new Later(retryAfter(response));
  return { state: "refused", again: HOUR };
}

function json(response) {
  if (response.tooLong) throw new Later();
  let value;
  try {
    value = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(response.body));
  } catch {
    throw new Later();
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) throw new Later();
  return value;
}

function unhex(value, length = null) {
  const right = typeof value === "string" && /^([0-9a-f]{2})*$/.test(value) && (length === null || value.length === 2 * length);
  if (!right) throw new Later();
  return Buffer.from(value, "hex");
}

function seconds(value) {
  if (typeof value !== "number") throw new Later();
  return clamp(value);
}

function retryAfter({ after }) {
  return /^[0-9]{1,9}$/.test(after ?? "") ? clamp(Number(after)) : null;
}
