/** Receipts: what left a device and what it can reveal, in plain words for its owner. */

import type { Layer } from "./layer";
import { hex } from "./octets";
import { many } from "./policy";

export const SECONDS_PER_DAY = 86_400;
const SHOWN = 16;

/** For a report of so many bytes: who gets it, and what it can reveal at most. */
export function reportReceipt(day: number, campaign: Uint8Array, operator: Uint8Array, layer: Layer, size: number): string {
  const { bound, cohort } = layer.document;
  const { candidates, noiseVotes } = layer.randomizer;
  const what = layer.closed
    ? "words that others have found, and of candidates that stand for other words"
    : "beginnings of words";
  return (
    `On ${date(day)} this device sent ${many(size)} bytes to the operator ${short(operator)} for the campaign ` +
    `${short(campaign)}: a randomized list of about ${many(noiseVotes)} of ${many(candidates)} ${what}. ` +
    `Any single word you typed changes the probability of what was sent by at most a factor of ` +
    `e^${brief(layer.epsilon)}; all your words together, of which it is about at most ${many(bound)}, by e^${brief(bound * layer.epsilon)}. ` +
    `According to the operator, ${many(cohort - 1)} other devices were asked the same.`
  );
}

/** For a report that was counted. */
export function countedReceipt(day: number, campaign: Uint8Array): string {
  return (
    `On ${date(day)} the service confirmed that the report for the campaign ${short(campaign)} was counted; ` +
    "its bytes were erased from this device."
  );
}

/** For a report that will not be sent again, and of which it is unknown whether it was counted. */
export function abandonedReceipt(day: number, campaign: Uint8Array): string {
  return (
    `On ${date(day)} the report for the campaign ${short(campaign)} was given up without a confirmation ` +
    "that it was counted; its bytes were erased from this device, and no other is made for this campaign."
  );
}

function date(day: number): string {
  return new Date(day * SECONDS_PER_DAY * 1000).toISOString().slice(0, 10);
}

function short(identity: Uint8Array): string {
  return `${hex(identity).slice(0, SHOWN)}…`;
}

/** A number in six digits. */
function brief(value: number): string {
  return String(Number(value.toPrecision(6)));
}
