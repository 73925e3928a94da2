/**
 * Receipts: what leaves a device and what it can reveal, in plain words for its owner.
 *
 * A receipt of a report is filed when the report is made, before any of it is sent, so it says what was made and for whom.
 * Limits are rounded up and what is left is rounded down.
 */

import type { Layer } from "./layer";
import { hex } from "./octets";
import { many } from "./policy";
import { noiseVotes } from "./randomizer";

export const SECONDS_PER_DAY = 86_400;
const SHOWN = 16;

/**
 * For a report of so many bytes: who gets it, and what it can reveal at most. `spent` is the device's ε with this report,
 * of its lifetime's. Every word holds for any layer that can be sent.
 */
export function reportReceipt(
  day: number,
  campaign: Uint8Array,
  operator: Uint8Array,
  layer: Layer,
  size: number,
  spent: number,
  lifetime: number,
): string {
  const { bound, cohort } = layer.document;
  const { candidates } = layer.randomizer;
  const what = layer.closed
    ? "words that the operator chose, and some that stand for all other words"
    : "beginnings of words and whole words that the operator chose";
  const targets = layer.targets
    ? `Only words of a list of ${many(layer.targets.size)} that the operator made can be among yours. `
    : "";
  return (
    `On ${date(day)} this device made a report of ${many(size)} bytes for the operator ${short(operator)} and the campaign ` +
    `${short(campaign)}: randomized votes on ${many(candidates)} candidates, ${what}. ${targets}${noiseSentence(noiseVotes(layer.randomizer, candidates))} ` +
    `Any single word you typed changes the probability of what it says by at most a factor of ` +
    `e^${atMost(layer.epsilon)}; all your words together, of which it is about at most ${many(bound)}, by e^${atMost(bound * layer.epsilon)}. ` +
    `According to the operator, ${many(cohort - 1)} other devices were asked the same. ` +
    `With this report the device has spent an ε of ${atMost(spent)} of the ${atLeast(lifetime)} in its lifetime: ` +
    `${atLeast(Math.max(lifetime - spent, 0))} is left. ` +
    "Once the campaign's release is published, this device can tell whether what it was asked is in it " +
    "(neologue device check, or checkRelease)."
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

/** How many votes are noise, on average. */
function noiseSentence(noise: number): string {
  const votes =
    noise >= 10
      ? `about ${many(Math.round(noise))}`
      : noise >= 0.01
        ? `about ${Number(noise.toPrecision(2))}`
        : "less than 0.01";
  const hides = noise < 1 ? " So little hides hardly anything: whoever reads a vote may take it for yours." : "";
  return `Chance alone gives ${votes} of such votes, whatever you typed.${hides}`;
}

function date(day: number): string {
  return new Date(day * SECONDS_PER_DAY * 1000).toISOString().slice(0, 10);
}

function short(identity: Uint8Array): string {
  return `${hex(identity).slice(0, SHOWN)}…`;
}

/** A number in six digits, rounded up. */
function atMost(value: number): string {
  const near = sixDigits(value);
  return String(near < value ? sixDigits(near + lastDigit(value)) : near);
}

/** A number in six digits, rounded down. */
function atLeast(value: number): string {
  const near = sixDigits(value);
  return String(near > value ? sixDigits(near - lastDigit(value)) : near);
}

function sixDigits(value: number): number {
  return Number(value.toPrecision(6));
}

function lastDigit(value: number): number {
  return 10 ** (Math.floor(Math.log10(value)) - 5);
}
