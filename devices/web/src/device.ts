/**
 * The device: all that an app puts in. It notes what is typed, talks to a service, and keeps its owner's promises.
 *
 * It makes one report for a campaign, ever, on the disk with its cost before a byte is sent, and sends these bytes
 * again until the service says that they are final or of no more use. Its randomness is the browser's, and there is no
 * way to give it any other. Whether and when it talks, and what it asks for, doesn't depend on a word that was typed.
 */

import { contribute, votesOf } from "./contribution";
import { Diary, type DiaryLimits } from "./diary";
import { DeviceError, LaterError, RefusalError } from "./errors";
import type { Layer } from "./layer";
import { HandoverTransport } from "./handover";
import { Library } from "./library";
import { checkGoesOn, checkProof, evidenceBinding, folderOf } from "./log";
import {
  type Answer,
  type Asked,
  type Credential,
  type End,
  NOBODY,
  type Owner,
  answers,
  change,
  changeCheckpoint,
  changeKeys,
  credentialOf,
  kept,
  keyHistory,
  newestCheckpoint,
  owner,
} from "./membership";
import { type Octets, hex, joined, unhex } from "./octets";
import { KEY_BYTES, type Limits, Policy, SWITCHED_OFF, sum } from "./policy";
import { noiseVotes, quotient } from "./randomizer";
import * as receipt from "./receipt";
import { type ReleaseCheck, checkRelease } from "./release_check";
import { SendingTime, type SendingWindow, USUAL_WINDOW } from "./sending_time";
import { publicKey, signedBy } from "./signature";
import { normalised } from "./spelling";
import { type Name, STORES, Store, type Turn, asked as askedFor } from "./store";
import { type KeyHistory, NO_HISTORY, learn, merge, signers } from "./succession";
import { HttpTransport, JSON_KIND, OCTETS_KIND, SMALL_ANSWER, type Answer as Response, type Transport } from "./transport";

const SOONEST = 1;
const LATEST = 86_400;
const FIRST_DELAY = 60;
const LONGEST_DELAY = 21_600;
const REFUSED_DELAY = 3600;
const DIGEST_BYTES = 32;
const SIGNATURE_BYTES = 64;
const TICKET_BYTES = 16;
const MOST_TILE = 8192;
const MOST_EVIDENCE = 1 << 16;
const SIGNED = new TextEncoder().encode("neologue invitation v1\0");
/** What Ed25519's base point looks like as a key: any browser that has the curve can read it. */
const SOME_KEY = Uint8Array.from({ length: KEY_BYTES }, (_, index) => (index === 0 ? 0x58 : 0x66));

export type State =
  "out" | "alone" | "wait" | "invited" | "later" | "refused" | "received" | "final" | "closed" | "over";

export interface Tick {
  state: State;
  again: number | null;
  message: string;
  report?: Uint8Array;
}

export interface Options extends Partial<DiaryLimits> {
  server: string | null;
  operators: readonly string[];
  policy?: Partial<Limits>;
  sendingWindow?: SendingWindow;
  known?: Uint8Array;
  evidence?: Evidence;
  name?: string;
}

/** Whether a document of evidence shows what the owner accepts, over these bytes. */
type Evidence = (document: Uint8Array, binding: Uint8Array) => boolean | Promise<boolean>;

export interface Preview {
  word: string;
  counts: boolean | null;
  why: string;
}

export interface Vote {
  prefix: string;
  ends: boolean;
}

export interface Meaning {
  votes: Vote[];
  candidates: number;
  noise: number;
  chanceHeld: number;
  chanceOther: number;
  epsilon: number;
  words: number;
  layerSize: number;
}

const OUT: Tick = {
  state: "out",
  again: null,
  message: "the owner of this device has not opted in; nothing is sent and nothing is stored",
};

/** What a step needs to know of the past. */
interface Past {
  owner: Owner;
  answers: Answer[];
  waiting: Octets | null;
}

export class Device {
  readonly #name: string;
  readonly #policy: Policy;
  readonly #diary: Diary;
  readonly #transport: Transport;
  readonly #library: Library;
  readonly #sendingTime: SendingTime;
  readonly #evidence: Evidence | null;
  #opening: Promise<Store | null> | null = null;
  #store: Store | null = null;
  #ticking: Promise<unknown> = Promise.resolve();
  #failures = 0;
  #closed = false;

  private constructor(options: Options) {
    const { server, operators, policy = {}, name = "neologue", days = 60, capacity = 10_000, longest = 64 } = options;
    this.#name = name;
    this.#policy = new Policy(operators, policy);
    this.#diary = new Diary({ days, capacity, longest });
    this.#transport = server === null ? new HandoverTransport() : new HttpTransport(server);
    this.#sendingTime = new SendingTime(options.sendingWindow ?? USUAL_WINDOW);
    this.#evidence = options.evidence ?? null;
    if (this.#evidence && !this.#policy.limits.quorum) {
      throw new DeviceError("evidence speaks for the key of a log: add logs, witnesses and a quorum to the policy");
    }
    this.#library = new Library(
      (work) =>
        this.#turn(["owner", "library"], undefined, async (turn) =>
          (await owner(turn)).withdrawn ? undefined : work(turn),
        ),
      (path, most) => this.#fetched(path, most),
      options.known ? Uint8Array.from(options.known) : null,
    );
  }

  /** A device; nothing is stored until its owner opts in. */
  static async open(options: Options): Promise<Device> {
    const { crypto, indexedDB, isSecureContext } = globalThis;
    if (!isSecureContext || !crypto?.subtle || !indexedDB) {
      throw new DeviceError("a device needs Web Crypto and IndexedDB: serve the page over https");
    }
    try {
      await publicKey(SOME_KEY);
    } catch {
      throw new DeviceError(
        "this browser can't check Ed25519 signatures (Web Crypto), and without them nobody is answered: use " +
          "Chromium 137, Firefox 129, Safari 17 or newer",
      );
    }
    return new Device(options);
  }

  // What the app tells it

  async typed(word: string, { times = 1, private: hidden = false } = {}): Promise<void> {
    if (!Number.isInteger(times) || times < 1)
      throw new DeviceError(`times is ${times}; a typed word counts at least 1`);
    if (hidden) return;
    const note = async (turn: Turn): Promise<void> => {
      if (!(await owner(turn)).withdrawn) await this.#diary.typed(turn, today(), word, times);
    };
    // A word that a loss of power takes is no harm, and typing must not wait for the disk.
    await this.#turn(["owner", "diary"], undefined, note, "relaxed");
  }

  async join(credential: string): Promise<void> {
    const { campaign } = credentialOf(credential);
    const joining = async (turn: Turn): Promise<boolean> => {
      const record = await owner(turn);
      if (record.withdrawn) return false;
      if (record.credential === credential) return true;
      if (record.credential !== null && record.ended === null) {
        const earlier = hex(credentialOf(record.credential).campaign);
        if ((await answers(turn)).some((answer) => answer.campaign === earlier)) {
          throw new DeviceError(
            `the report for the campaign ${earlier} still waits to be confirmed: join the campaign ${hex(campaign)} ` +
              "when it is, or leave the earlier one first, which gives the report up",
          );
        }
      }
      change(turn, { withdrawn: false, credential, answered: null, ended: null });
      return true;
    };
    if (!(await this.#turn(["owner", "answers"], false, joining))) {
      throw new DeviceError("the owner of this device has not opted in: ask them, call optIn(), and join then");
    }
  }

  /** Leave the campaign; a report that waits is erased unsent. What it cost stays, and it makes no other. */
  async leave(): Promise<void> {
    await this.#turn(["owner", "reports", "receipts"], undefined, async (turn) => {
      const record = await owner(turn);
      if (record.credential === null) return;
      const { campaign } = credentialOf(record.credential);
      if (await kept(turn, hex(campaign))) {
        turn("reports").delete(hex(campaign));
        turn("receipts").add(receipt.abandonedReceipt(today(), campaign));
      }
      change(turn, { ...NOBODY, withdrawn: record.withdrawn });
    });
  }

  // What its owner tells it

  /** Take part, from what is typed from now on. */
  async optIn(): Promise<void> {
    const store = await this.#opened(true);
    await store!.turn(["owner"], async (turn) => change(turn, { ...(await owner(turn)), withdrawn: false }));
    // If the browser cleared the account to save space, a campaign could be answered twice.
    void navigator.storage?.persist?.().catch(() => false);
  }

  /** Send nothing and store nothing from now on, and forget all words; a report that waits is held back. */
  async optOut(): Promise<void> {
    this.#transport.halt();
    await this.#turn(["owner", "diary"], undefined, async (turn) => {
      change(turn, { ...(await owner(turn)), withdrawn: true });
      turn("diary").clear();
    });
  }

  async optedIn(): Promise<boolean> {
    return !(await this.#turn(["owner"], NOBODY, owner)).withdrawn;
  }

  /** Forget one word; what was sent before can't be taken back. */
  async forget(word: string): Promise<void> {
    await this.#turn(["diary"], undefined, (turn) => this.#diary.forget(turn, word));
  }

  /** Erase all but the account: without it this device could answer a campaign twice, which would give away more. */
  async forgetMe(): Promise<void> {
    this.#transport.halt();
    this.#library.clear();
    await this.#turn(STORES, undefined, async (turn) => {
      change(turn, { ...NOBODY, withdrawn: (await owner(turn)).withdrawn });
      for (const name of STORES) if (name !== "owner" && name !== "answers") turn(name).clear();
    });
  }

  async words(): Promise<Map<string, number>> {
    return this.#turn(["diary"], new Map(), (turn) => this.#diary.words(turn, today()));
  }

  async receipts(): Promise<string[]> {
    return this.#turn(["receipts"], [], (turn) => askedFor<string[]>(turn("receipts").getAll()));
  }

  async spent(): Promise<number> {
    return sum((await this.#turn(["answers"], [], answers)).map(({ epsilon }) => epsilon));
  }

  /** Whether a release, the text of a release.json, has the layer that was answered, as this device was told. */
  async checkRelease(release: string): Promise<ReleaseCheck> {
    const history = await this.#history();
    return checkRelease(release, await this.#turn(["answers"], [], answers), (operator) =>
      (operator ? [operator] : [...this.#policy.pins.keys()]).flatMap((key) => signers(history, key)),
    );
  }

  /** Follow an operator whose key was replaced, as a check-in does: by the `succession` of /v1/key. */
  async follow(succession: string): Promise<void> {
    const content = unhex(succession, succession.length >> 1);
    if (!content) throw new DeviceError("a succession is a text of hexadecimal digits: take it from /v1/key");
    await this.#learn(content);
  }

  /** Whether a word would count in the layer that was seen last, and why not. Nothing of it is kept. */
  async preview(word: string): Promise<Preview> {
    const layer = await this.#seen();
    const form = layer ? layer.form.of(word) : normalised(word);
    const preview = (counts: boolean | null, why: string): Preview => ({ word: form, counts, why });
    if (this.#diary.form(word) === "") return preview(false, "it is empty, or so long that it is not kept");
    if (!layer) return preview(null, "nothing is asked of this device yet");
    const complaint = layer.complaint(form);
    if (complaint) return preview(false, complaint);
    if (!layer.has(form)) return preview(false, "it goes on in a way that is not asked about");
    return preview(true, `it may be one of at most ${layer.document.bound} that the report speaks of`);
  }

  /** What a report of the layer that was seen last says to whoever reads it. */
  async explain(report: Uint8Array): Promise<Meaning> {
    const layer = await this.#seen();
    if (!layer) throw new DeviceError("no layer is known in which a report could be read; tick first");
    const { candidates, channel } = layer.randomizer;
    const votes = await votesOf(Uint8Array.from(report), layer);
    return {
      votes: votes.map((vote) => layer.describe(vote)),
      candidates,
      noise: noiseVotes(layer.randomizer, candidates),
      chanceHeld: quotient(channel.held, channel.of),
      chanceOther: quotient(channel.other, channel.of),
      epsilon: layer.epsilon,
      words: layer.document.bound,
      layerSize: layer.document.cohort,
    };
  }

  // What it does

  /**
   * Do the next thing there is to do, and say when to come again. Fails only if its own storage can't be used. A report is
   * sent some seconds later, at its moment. A device without a server takes what was carried to it.
   */
  tick(carried?: string): Promise<Tick> {
    return this.#inTurn(true, carried);
  }

  /** Only ask and fetch what is asked, without an answer. */
  look(carried?: string): Promise<Tick> {
    return this.#inTurn(false, carried);
  }

  close(): void {
    this.#closed = true;
    this.#transport.halt();
    this.#store?.close();
  }

  #inTurn(answering: boolean, carried: string | undefined): Promise<Tick> {
    const ticked = this.#ticking.then(async () => {
      if (!(this.#transport instanceof HandoverTransport)) return this.#ticked(answering);
      this.#transport.begin(carried);
      const done = await this.#ticked(answering);
      const { pending } = this.#transport;
      return pending === null ? done : { ...done, request: pending };
    });
    this.#ticking = ticked.catch(() => undefined);
    return ticked;
  }

  async #ticked(answering: boolean): Promise<Tick> {
    const past = await this.#turn(["owner", "answers", "reports"], null, async (turn): Promise<Past> => {
      const record = await owner(turn);
      const waiting =
        record.credential === null ? null : await kept(turn, hex(credentialOf(record.credential).campaign));
      return { owner: record, answers: await answers(turn), waiting };
    });
    if (!past || past.owner.withdrawn) return OUT;
    if (past.owner.credential === null) return tickOf("alone", null, "no campaign is joined; join one with a credential");
    if (past.owner.ended !== null) return tickOf("over", null, "this device has done its part in the campaign");
    if (!this.#policy.limits.enabled) return tickOf("refused", null, SWITCHED_OFF);
    try {
      const done = await this.#advanced(past, credentialOf(past.owner.credential), answering);
      this.#failures = 0;
      return done;
    } catch (error) {
      if (error instanceof LaterError) return tickOf("later", this.#delay(error), error.message);
      if (!(error instanceof RefusalError)) throw error;
      this.#failures = 0;
      return tickOf("refused", LATEST, error.message);
    }
  }

  /** One step in a campaign that is not over. */
  async #advanced(past: Past, credential: Credential, answering: boolean): Promise<Tick> {
    const campaign = hex(credential.campaign);
    const answer = past.answers.find((each) => each.campaign === campaign);
    if (answer && !past.waiting) {
      return this.#end("over", credential, "this device has done its part in the campaign", false);
    }
    let asked = past.owner.answered;
    if (!answer && asked) {
      throw new DeviceError(
        `the account of this device has lost its answer to the campaign ${campaign}: answer no more campaigns; it ` +
          "can't be told what this device has spent",
      );
    }
    if (!asked?.ticket || this.#policy.replaced(asked.operator, await this.#history())) {
      const reply = await this.#checkIn(credential, answer !== undefined);
      if ("state" in reply) return reply;
      asked = reply;
    }
    this.#policy.checkOperator(asked.operator, await this.#history());
    // Before anything is fetched: whoever is not the operator costs this device nothing.
    if (!(await genuine(asked, credential.campaign))) {
      throw new RefusalError(
        "the signature is not the operator's for this campaign and layer; get the invitation anew from them",
      );
    }
    if (!answer) await this.#checkLog(asked, credential.campaign);
    const spent = past.answers.filter((each) => each.campaign !== campaign).map(({ epsilon }) => epsilon);
    const layer = await this.#library.layer(hex(asked.layer), this.#policy, (unread) => {
      this.#policy.checkLayer(unread);
      this.#policy.checkLifetime(unread.epsilon, spent);
    });
    if (!answering) return tickOf("invited", null, "this device is asked, and answers with the next tick");

    const { ticket } = asked;
    const report = await this.#sendingTime.hide(async () => {
      const made = answer ? null : await contribute(await this.words(), layer);
      return this.#recorded(made, asked!, layer, credential);
    });
    if (this.#closed) throw new LaterError("the device was closed before it sent its report");
    // Only here: the bytes and their cost are on the disk, and the owner still agrees.
    if (!report || !(await this.optedIn())) return OUT;
    const body = joined(credential.campaign, credential.serial, ticket!, report);
    const response = await this.#transport.request("POST", "/v1/reports", SMALL_ANSWER, body, OCTETS_KIND);
    return { ...(await this.#received(response, credential)), report };
  }

  /** The bytes to send: those that were recorded before, or these, recorded now; null if the owner has opted out. */
  #recorded(made: Octets | null, asked: Asked, layer: Layer, credential: Credential): Promise<Octets | null> {
    const campaign = hex(credential.campaign);
    return this.#turn(["owner", "answers", "reports", "receipts"], null, async (turn) => {
      const record = await owner(turn);
      if (record.withdrawn) return null;
      if (record.credential !== credential.text)
        throw new LaterError("the campaign was left meanwhile: try again later");
      const past = await answers(turn);
      const answer = past.find((each) => each.campaign === campaign);
      if (answer) {
        // Made before, perhaps in another tab a moment ago: then what was made here is dropped, and never leaves.
        const report = await kept(turn, campaign);
        if (!report || answer.layer !== hex(asked.layer))
          throw new RefusalError(answeredBefore(campaign, report !== null));
        change(turn, { ...record, answered: stored(asked) });
        return report;
      }
      if (!made) throw new LaterError("the report was erased meanwhile: try again later");
      this.#policy.checkLifetime(
        layer.epsilon,
        past.map(({ epsilon }) => epsilon),
      );
      turn("answers").add({
        campaign,
        layer: hex(asked.layer),
        epsilon: layer.epsilon,
        day: today(),
        operator: hex(asked.operator),
        bound: layer.document.bound,
      } satisfies Answer);
      turn("reports").add({ campaign, report: made });
      const spent = sum([...past.map(({ epsilon }) => epsilon), layer.epsilon]);
      const lifetime = this.#policy.limits.lifetimeEpsilon;
      turn("receipts").add(
        receipt.reportReceipt(today(), credential.campaign, asked.operator, layer, made.length, spent, lifetime),
      );
      change(turn, { ...record, answered: stored(asked) });
      return made;
    });
  }

  /** What the service asks of this device, or the step's outcome if it asks nothing. */
  async #checkIn(credential: Credential, waits: boolean): Promise<Asked | Tick> {
    const body = Uint8Array.from(new TextEncoder().encode(JSON.stringify({ credential: credential.text })));
    const response = await this.#transport.request("POST", "/v1/check-in", SMALL_ANSWER, body, JSON_KIND);
    if (response.status !== 200) return refusal(response, "check-in");
    const reply = jsonObject(response);
    // Before anything else: a key that was revoked is not trusted even for this answer.
    if (reply.succession != null) await this.#learn(octets(reply.succession, String(reply.succession).length >> 1));
    switch (reply.state) {
      case "wait":
        return tickOf("wait", clampDelay(reply.retry_after), "the service asks nothing of this device yet");
      case "over":
        return this.#end("over", credential, "nothing is asked of this device in the campaign", waits);
      case "invited":
        if (reply.masked != null) throw new RefusalError("the campaign takes votes under masks, which this device does not make");
        return {
          layer: octets(reply.layer, DIGEST_BYTES),
          operator: octets(reply.operator, KEY_BYTES),
          signature: octets(reply.signature, SIGNATURE_BYTES),
          ticket: octets(reply.ticket, TICKET_BYTES),
          proof: reply.proof == null ? null : octets(reply.proof, String(reply.proof).length >> 1),
        };
      default:
        throw badAnswer();
    }
  }

  /** What the service says of a report that was sent. */
  async #received(response: Response, credential: Credential): Promise<Tick> {
    if (response.status === 410) {
      return this.#end("closed", credential, "the report came too late and was not counted; it was erased", true);
    }
    // The service may have lost the secret of its tickets; the credential earns another one.
    if (response.status === 401) await this.#dropTicket(credential);
    if (response.status !== 200 && response.status !== 202) return refusal(response, "report");
    const reply = jsonObject(response);
    if (response.status === 200 && reply.state === "final") {
      return this.#end("final", credential, "the report was counted and erased from this device", true);
    }
    if (response.status === 202 && reply.state === "received") {
      return tickOf("received", clampDelay(reply.retry_after), "the report has arrived and is not final yet; it is kept");
    }
    throw badAnswer();
  }

  /** End a campaign: erase the report, if one waits, and record the end. */
  async #end(how: End, credential: Credential, message: string, waited: boolean): Promise<Tick> {
    await this.#turn(["owner", "reports", "receipts"], undefined, async (turn) => {
      const record = await owner(turn);
      turn("reports").delete(hex(credential.campaign));
      // Unless its owner wants to be forgotten since.
      if (record.credential !== credential.text) return;
      if (waited)
        turn("receipts").add((how === "final" ? receipt.countedReceipt : receipt.abandonedReceipt)(today(), credential.campaign));
      change(turn, { ...record, ended: how });
    });
    return tickOf(how, null, message);
  }

  /** Refuse an invitation unless enough witnesses vouch that everybody is asked this. */
  async #checkLog(asked: Asked, campaign: Octets): Promise<void> {
    const { limits } = this.#policy;
    if (!limits.quorum) return;
    if (!asked.proof) {
      throw new RefusalError(
        "the invitation comes without a proof that its layer is in a log, and this device answers no other; its owner " +
          "can change quorum",
      );
    }
    const question = { campaign, layer: asked.layer, masked: null };
    const proved = await checkProof(asked.proof, question, limits, Date.now() / 1000);
    for (const checkpoint of proved) {
      const known = await this.#turn(["owner"], null, (turn) => newestCheckpoint(turn, checkpoint.origin));
      const folder = folderOf(checkpoint);
      if (known) await checkGoesOn(known, checkpoint, (path) => this.#fetched(folder + path, MOST_TILE));
      await this.#turn(["owner"], undefined, async (turn) => {
        // Another tab may have seen a newer one meanwhile.
        const newest = await newestCheckpoint(turn, checkpoint.origin);
        if (!newest || newest.size < checkpoint.size) changeCheckpoint(turn, checkpoint);
      });
    }
    if (!this.#evidence) return;
    const shown = await this.#fetched("/log/evidence", MOST_EVIDENCE);
    if (!(await this.#evidence(shown, await evidenceBinding(proved[0]!)))) {
      throw new RefusalError(
        "this device does not answer: the service shows no evidence of where it runs that the owner of this device accepts",
      );
    }
  }

  #history(): Promise<KeyHistory> {
    return this.#turn(["owner"], NO_HISTORY, keyHistory);
  }

  /** Take in a succession document: it is on the disk when this has resolved. */
  async #learn(succession: Octets): Promise<void> {
    const before = await this.#history();
    const known = await learn(before, succession, this.#policy.pins);
    if (known === before) return;
    // Another tab may have been faster: what it has seen first counts here, too.
    await this.#turn(["owner"], undefined, async (turn) => changeKeys(turn, merge(await keyHistory(turn), known)));
  }

  async #dropTicket(credential: Credential): Promise<void> {
    await this.#turn(["owner"], undefined, async (turn) => {
      const record = await owner(turn);
      if (record.credential === credential.text && record.answered) {
        change(turn, { ...record, answered: { ...record.answered, ticket: null } });
      }
    });
  }

  async #fetched(path: string, most: number): Promise<Octets> {
    const response = await this.#transport.request("GET", path, most);
    if (response.status !== 200) {
      // Gone or not there yet: the next check-in tells.
      throw new LaterError(`the service answers ${response.status} for ${path}`, retryAfter(response));
    }
    return response.body;
  }

  /** The layer that was fetched last, if it is one that this device would answer. */
  async #seen(): Promise<Layer | null> {
    const digest = await this.#library.last();
    if (!digest) return null;
    try {
      return await this.#library.layer(digest, this.#policy, (unread) => this.#policy.checkLayer(unread));
    } catch (error) {
      if (error instanceof RefusalError || error instanceof LaterError) return null;
      throw error;
    }
  }

  /** A turn on the database; what is given instead if there is none, because nobody has opted in. */
  async #turn<Result>(
    names: readonly Name[],
    otherwise: Result,
    work: (turn: Turn) => Promise<Result>,
    durability?: IDBTransactionDurability,
  ): Promise<Result> {
    const store = await this.#opened(false);
    return store ? store.turn(names, work, durability) : otherwise;
  }

  async #opened(create: boolean): Promise<Store | null> {
    if (this.#store && !this.#store.closed) return this.#store;
    while (this.#opening) await this.#opening.catch(() => null);
    if (this.#store && !this.#store.closed) return this.#store;
    this.#opening = Store.open(this.#name, create);
    try {
      return (this.#store = await this.#opening);
    } finally {
      this.#opening = null;
    }
  }

  /** After how long to try again: as the server says, or longer and longer, each device in its own time. */
  #delay(error: LaterError): number {
    this.#failures++;
    if (error.retryAfter !== null) return error.retryAfter;
    const longest = Math.min(LONGEST_DELAY, FIRST_DELAY * 2 ** Math.min(this.#failures - 1, 16));
    return longest * (0.5 + crypto.getRandomValues(new Uint32Array(1))[0]! / 2 ** 33);
  }
}

function tickOf(state: State, again: number | null, message: string): Tick {
  return { state, again, message };
}

/** Days since 1970-01-01. */
function today(): number {
  return Math.floor(Date.now() / 1000 / receipt.SECONDS_PER_DAY);
}

/** What is kept of an invitation: its proof has been checked, and is of no more use. */
function stored(asked: Asked): Asked {
  return { ...asked, proof: null };
}

/** Whether the signature is the operator's, for this campaign and this layer. */
function genuine(asked: Asked, campaign: Octets): Promise<boolean> {
  return signedBy(asked.operator, asked.signature, joined(SIGNED, campaign, asked.layer));
}

function answeredBefore(campaign: string, waits: boolean): string {
  return waits
    ? `this device has answered another layer of the campaign ${campaign}, and takes part once: invite it to the next ` +
        "campaign"
    : `this device's report for the campaign ${campaign} was confirmed and erased, and it makes no second: invite it ` +
        "to the next campaign";
}

/** An answer that is no success: worth another try soon, or not. */
function refusal(response: Response, what: string): Tick {
  const { status } = response;
  if (status >= 500 || status === 408 || status === 429 || (status >= 300 && status < 400)) {
    throw new LaterError(`the service answers ${status} to a ${what}: try again later`, retryAfter(response));
  }
  let code: unknown;
  try {
    code = (jsonObject(response).error as { code?: unknown } | null | undefined)?.code;
  } catch {
    code = null;
  }
  // Only what looks like a code is repeated: the rest of the answer could say anything.
  const named = typeof code === "string" && /^[a-z_]{1,32}$/.test(code) ? ` (${code})` : "";
  return tickOf("refused", REFUSED_DELAY, `the service refuses a ${what} of this device with ${status}${named}`);
}

/** The JSON object in the body of an answer. */
function jsonObject(response: Response): Record<string, unknown> {
  let reply: unknown;
  try {
    reply = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(response.body));
  } catch {
    throw badAnswer();
  }
  if (typeof reply !== "object" || reply === null || Array.isArray(reply)) throw badAnswer();
  return reply as Record<string, unknown>;
}

function octets(value: unknown, length: number): Octets {
  const content = unhex(value, length);
  if (!content) throw badAnswer();
  return content;
}

/** A time to wait as a server says it, within reason. */
function clampDelay(seconds: unknown): number {
  if (typeof seconds !== "number") throw badAnswer();
  return Math.min(Math.max(seconds, SOONEST), LATEST);
}

/** The time in a Retry-After header; a date is not understood, and nothing is lost by that. */
function retryAfter(response: Response): number | null {
  return /^[0-9]{1,9}$/.test(response.retryAfter ?? "") ? clampDelay(Number(response.retryAfter)) : null;
}

function badAnswer(): LaterError {
  return new LaterError("the service's answer can't be understood: try again later");
}
