/** A neologue device in a browser. What it promises, and what it can't, is in docs/browser.md. */

/** What went wrong, as a sentence with a remedy; it never quotes what was typed. */
export declare class DeviceError extends Error {}

/** The limits of the device's owner; those not given are the defaults of docs/device-policy.md. */
export interface Limits {
  /** Whether anything is answered at all. */
  enabled: boolean;
  /** The largest local ε of one word in one report. */
  largestEpsilon: number;
  /** The largest B·ε: that of all words of one report together. */
  largestUserEpsilon: number;
  /** The largest sum of the local ε of all campaigns ever answered. */
  lifetimeEpsilon: number;
  /** The fewest users that a layer may say it asks. */
  smallestLayerSize: number;
  /** The most characters of a word that may count. */
  longestWord: number;
  /** The most candidates of a layer. */
  largestLayer: number;
  /** The most bytes of a report. */
  largestReport: number;
  /** The most votes of a report, and words it has room for. */
  mostVotes: number;
  /** The most that one vote may multiply the odds by that a word is held. */
  largestVoteRatio: number;
  /** The same where the operator lists whole words. */
  largestClosedVoteRatio: number;
  /** The most that a missing vote may divide these odds by. */
  largestSilenceRatio: number;
  /** The fewest votes that chance alone must give, on average. */
  fewestNoiseVotes: number;
  /** Whether an operator may list the only words that count. */
  allowTargets: boolean;
  /** Whether an operator may ask about a list of whole words that is in no log which a quorum co-signed. */
  allowUnloggedLists: boolean;
  /** The most known words of a layer, and bytes of their list. */
  mostKnownWords: number;
  largestKnown: number;
  /** The public keys, in hexadecimal, of the logs in which a layer must be that is answered, and of their witnesses. */
  logs: readonly string[];
  witnesses: readonly string[];
  /** How many of the witnesses must have co-signed that the layer is in a log; with 0, it need be in none. */
  quorum: number;
}

export interface Options {
  /** The address of the service: https, or this very machine; null for a page without a network, whose requests are carried. */
  server: string | null;
  /**
   * The public keys of the operators whose campaigns are answered, in hexadecimal; with none, nobody's are. Behind a key, a
   * colon and the digest of the recovery key that may revoke it.
   */
  operators: readonly string[];
  policy?: Partial<Limits>;
  /**
   * After how many seconds a report is sent, at least and at most: at a moment drawn before it is made. 5 and 15 unless given;
   * less than making takes shows how many words there are.
   */
  sendingWindow?: readonly [earliest: number, latest: number];
  /** A list of known words that the app comes with, as the service serves it; one with its digest is not fetched. */
  known?: Uint8Array;
  /**
   * Whether a document of evidence shows where the service runs, over 64 bytes that follow from the key of its log
   * (docs/transparency.md); if it is given, nothing is answered without. The policy must demand a quorum.
   */
  evidence?: (document: Uint8Array, binding: Uint8Array) => boolean | Promise<boolean>;
  /** The name of the database, for a page with several devices. */
  name?: string;
  /** How many days a word is remembered, how many words at most, and of how many characters. */
  days?: number;
  capacity?: number;
  longest?: number;
}

/** What one step of a device came to. */
export interface Tick {
  /**
   * out: not opted in; alone: no campaign joined; wait: nothing is asked yet; invited: asked, and looked only; later: no
   * usable answer; refused: by the device's own policy, or by the service; received: not yet final; final: counted;
   * closed: too late, not counted; over: nothing more will be asked.
   */
  state: "out" | "alone" | "wait" | "invited" | "later" | "refused" | "received" | "final" | "closed" | "over";
  /** After how many seconds to tick again; null if only the owner or another campaign changes anything. */
  again: number | null;
  /** The same as a sentence. */
  message: string;
  /** The bytes that were sent, if the service answered to them. */
  report?: Uint8Array;
  /** Without a server: the text of a file with the request that this step needs carried. */
  request?: string;
}

/** Whether a word would count, and why or why not; null if nothing is asked yet. */
export interface Preview {
  /** The word in the form in which it would be compared. */
  word: string;
  counts: boolean | null;
  why: string;
}

/** What a device says of a release. */
export interface ReleaseCheck {
  /** What is wrong with it, in sentences; none if it has what this device was asked, as it was told. */
  objections: string[];
  /** What was told and an earlier version did not record, so that nothing shows whether the release says the same. */
  notCompared: string[];
}

/** A beginning of words that a report votes for; `ends` if it is a whole word. */
export interface Vote {
  prefix: string;
  ends: boolean;
}

/** What a report says to whoever reads it. */
export interface Meaning {
  votes: Vote[];
  /** How many beginnings could have been voted for. */
  candidates: number;
  /** How many votes chance alone gives, on average. */
  noise: number;
  /** The chance of a vote for a beginning that one word of the report has, and for any other. */
  chanceHeld: number;
  chanceOther: number;
  epsilon: number;
  /** The most words that the report speaks of. */
  words: number;
  layerSize: number;
}

export interface Device {
  /** Note that a word was typed; nothing is kept of a private field, nor before the owner has opted in. */
  typed(word: string, options?: { times?: number; private?: boolean }): Promise<void>;
  /** Take part in the campaign of a credential, as soon as it asks. */
  join(credential: string): Promise<void>;
  /** Leave the campaign; a report that waits is erased unsent. */
  leave(): Promise<void>;
  /** The owner agrees: from now on words are remembered and a report may leave. */
  optIn(): Promise<void>;
  /** The owner no longer agrees: all words are forgotten, and nothing is stored or sent. */
  optOut(): Promise<void>;
  optedIn(): Promise<boolean>;
  /** Forget one word. */
  forget(word: string): Promise<void>;
  /** Erase words, reports that wait, receipts, the credential and what was fetched; what was spent stays. */
  forgetMe(): Promise<void>;
  /** The words that are remembered, and how often each was typed. */
  words(): Promise<Map<string, number>>;
  /** What left this device and what it could have meant, the oldest first. */
  receipts(): Promise<string[]>;
  /** The sum of the local ε of all campaigns ever answered. */
  spent(): Promise<number>;
  /**
   * Whether a release, the text of a release.json, is signed by the operator who asked and has the layer that this device
   * answered, with the ε and the words per user that it was told. Nothing is sent.
   */
  checkRelease(release: string): Promise<ReleaseCheck>;
  /** Follow an operator whose key was replaced, as each check-in does: by the `succession` of /v1/key. */
  follow(succession: string): Promise<void>;
  /** Whether a word would count in the layer that was seen last. Nothing of it is kept. */
  preview(word: string): Promise<Preview>;
  /** What a report of the layer that was seen last says. */
  explain(report: Uint8Array): Promise<Meaning>;
  /**
   * Do the next thing there is to do; a report is sent some seconds later. Fails only if the storage can't be used, or `carried`,
   * the text of the file of answers that was carried to a device without a server.
   */
  tick(carried?: string): Promise<Tick>;
  /** Only ask the service and fetch what it asks about, without an answer. */
  look(carried?: string): Promise<Tick>;
  close(): void;
}

export declare const Device: {
  /** A device; nothing is stored until its owner opts in. Fails if the browser lacks what it needs. */
  open(options: Options): Promise<Device>;
};

/** Make the request of a device without a server, the text of its file, and give the text of the file of answers to carry back. */
export declare function carry(request: string, server: string): Promise<string>;
