/** What a device keeps about its owner's will and its campaign, and what it has answered. None of it is a word. */

import { DeviceError } from "./errors";
import type { Checkpoint } from "./log";
import { type Octets } from "./octets";
import { type Turn, asked } from "./store";
import { type KeyHistory, NO_HISTORY } from "./succession";

export type End = "final" | "closed" | "over";

/** What a check-in said: by whom a device is asked, and about which layer. */
export interface Asked {
  layer: Octets;
  operator: Octets;
  signature: Octets;
  /** Null if the one there was is not accepted. */
  ticket: Octets | null;
  /** That the layer is in a log; it is looked at before the answer and not stored. */
  proof?: Octets | null;
}

/** The one record of the store "owner". */
export interface Owner {
  withdrawn: boolean;
  credential: string | null;
  /** What it has sent an answer to, or tried to. */
  answered: Asked | null;
  ended: End | null;
}

/** A record of the store "answers", which nothing erases. */
export interface Answer {
  campaign: string;
  layer: string;
  epsilon: number;
  day: number;
  /** Who asked, and the most words of the report; an earlier version did not note them. */
  operator?: string;
  bound?: number;
}

/** A record of the store "reports": the bytes, until they are confirmed or given up. */
export interface Kept {
  campaign: string;
  report: Octets;
}

export interface Credential {
  text: string;
  campaign: Octets;
  serial: Octets;
}

const CAMPAIGN_BYTES = 16;
const SERIAL_BYTES = 16;

/** Without the record, nobody has agreed to anything. */
export const NOBODY: Owner = { withdrawn: true, credential: null, answered: null, ended: null };

export async function owner(turn: Turn): Promise<Owner> {
  return ((await asked(turn("owner").get("owner"))) as Owner | undefined) ?? NOBODY;
}

export function change(turn: Turn, record: Owner): void {
  turn("owner").put(record, "owner");
}

/** What is known of operators' keys that were replaced: a record beside the other, which nothing erases. */
export async function keyHistory(turn: Turn): Promise<KeyHistory> {
  return ((await asked(turn("owner").get("keys"))) as KeyHistory | undefined) ?? NO_HISTORY;
}

export function changeKeys(turn: Turn, history: KeyHistory): void {
  turn("owner").put(history, "keys");
}

/** The newest checkpoint of a log that was seen: a record of its own, which nothing erases. */
export async function newestCheckpoint(turn: Turn, origin: string): Promise<Checkpoint | null> {
  return ((await asked(turn("owner").get(`log ${origin}`))) as Checkpoint | undefined) ?? null;
}

export function changeCheckpoint(turn: Turn, checkpoint: Checkpoint): void {
  turn("owner").put(checkpoint, `log ${checkpoint.origin}`);
}

export async function answers(turn: Turn): Promise<Answer[]> {
  return (await asked(turn("answers").getAll())) as Answer[];
}

export async function kept(turn: Turn, campaign: string): Promise<Octets | null> {
  return ((await asked(turn("reports").get(campaign))) as Kept | undefined)?.report ?? null;
}

/** The credential in its text form; or an error that doesn't quote it. */
export function credentialOf(text: string): Credential {
  if (typeof text !== "string" || !/^[A-Za-z0-9_-]{128}$/.test(text)) {
    throw new DeviceError("a credential has 128 letters, digits, - and _, and this text is none: copy it as a whole");
  }
  const content = Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (c) => c.charCodeAt(0));
  return {
    text,
    campaign: content.slice(0, CAMPAIGN_BYTES),
    serial: content.slice(CAMPAIGN_BYTES, CAMPAIGN_BYTES + SERIAL_BYTES),
  };
}
