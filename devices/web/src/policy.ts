/**
 * What the owner of a device accepts, whatever a server says; docs/device-policy.md has the reasons for the defaults.
 *
 * A layer may be hostile: all checks are a few steps of arithmetic and come before anything that grows with its
 * candidates. None of them looks at a word.
 */

import { HEADER_BYTES } from "./contribution";
import { DeviceError, RefusalError } from "./errors";
import { grains, roundUp } from "./exact";
import { shortestDecimal } from "./field_checks";
import { LARGEST_LAYER, type Layer } from "./layer";
import { count, hex, unhex } from "./octets";
import { noiseVotes, quotient } from "./randomizer";
import { type KeyHistory, type Pins, isRevoked, path } from "./succession";

export const KEY_BYTES = 32;
const SMALLEST_EPSILON = 0.001;
const LARGEST_EPSILON = 20;
const MOST_EPSILON = 1_000_000;
const MOST_RATIO = 1e9;
const LINE_BREAK = 0x0a;

export interface Limits {
  enabled: boolean;
  largestEpsilon: number;
  largestUserEpsilon: number;
  lifetimeEpsilon: number;
  smallestLayerSize: number;
  longestWord: number;
  largestLayer: number;
  largestReport: number;
  mostVotes: number;
  largestVoteRatio: number;
  largestClosedVoteRatio: number;
  largestSilenceRatio: number;
  fewestNoiseVotes: number;
  allowTargets: boolean;
  allowUnloggedLists: boolean;
  mostKnownWords: number;
  largestKnown: number;
  logs: readonly string[];
  witnesses: readonly string[];
  quorum: number;
}

const DEFAULTS: Limits = {
  enabled: true,
  largestEpsilon: 10,
  largestUserEpsilon: 600,
  lifetimeEpsilon: 20,
  smallestLayerSize: 100,
  longestWord: 32,
  largestLayer: 1 << 24,
  largestReport: 10_000,
  mostVotes: 1 << 20,
  largestVoteRatio: 22_100,
  largestClosedVoteRatio: 50,
  largestSilenceRatio: 4,
  fewestNoiseVotes: 3,
  allowTargets: false,
  allowUnloggedLists: false,
  mostKnownWords: 1 << 20,
  largestKnown: 1 << 24,
  logs: [],
  witnesses: [],
  quorum: 0,
};

const WHOLE_NUMBERS: Readonly<Record<string, [least: number, most: number]>> = {
  smallestLayerSize: [1, 1 << 30],
  longestWord: [1, 64],
  largestLayer: [1, LARGEST_LAYER],
  largestReport: [100, 1 << 30],
  mostVotes: [1, LARGEST_LAYER],
  mostKnownWords: [0, 1 << 30],
  largestKnown: [0, 1 << 30],
  quorum: [0, 1 << 10],
};

const NUMBERS: Readonly<Record<string, [least: number, most: number]>> = {
  largestEpsilon: [Number.MIN_VALUE, MOST_EPSILON],
  largestUserEpsilon: [Number.MIN_VALUE, MOST_EPSILON],
  lifetimeEpsilon: [Number.MIN_VALUE, MOST_EPSILON],
  largestVoteRatio: [1, MOST_RATIO],
  largestClosedVoteRatio: [1, MOST_RATIO],
  largestSilenceRatio: [1, MOST_RATIO],
  fewestNoiseVotes: [0, LARGEST_LAYER],
};

export const SWITCHED_OFF =
  "this device answers no campaign: its owner has switched that off, and can switch it on (enabled)";

export class Policy {
  readonly limits: Limits;
  /** The operators' keys, each with the digest of its recovery key if it has one. */
  readonly pins: Pins;

  constructor(operators: readonly string[], limits: Partial<Limits>) {
    const pins = Array.isArray(operators) ? operators.map((text) => String(text).split(":")) : [[]];
    if (!pins.every((parts) => (parts.length === 1 || parts.length === 2) && parts.every((part) => unhex(part, KEY_BYTES)))) {
      throw new DeviceError(
        "operators must be a list of public keys, each of 64 lower-case hexadecimal digits, perhaps with a colon and the " +
          "digest of the recovery key",
      );
    }
    this.pins = new Map(pins.map(([key, recovery]) => [key!, recovery ?? null]));
    this.limits = { ...DEFAULTS, ...limits };
    for (const [name, value] of Object.entries(this.limits)) {
      const whole = WHOLE_NUMBERS[name];
      const range = whole ?? NUMBERS[name];
      const right = range
        ? typeof value === "number" && value >= range[0] && value <= range[1] && (!whole || Number.isInteger(value))
        : name in DEFAULTS && (Array.isArray(value) ? areKeys(value) : typeof value === "boolean");
      if (!right)
        throw new DeviceError(`the limit ${name} can't be ${String(value)}; docs/device-policy.md has the limits`);
    }
    const { logs, witnesses, quorum } = this.limits;
    if (quorum > witnesses.length || (quorum > 0 && logs.length === 0)) {
      throw new DeviceError(`a quorum of ${quorum} needs as many witnesses, and a log: add their keys to witnesses and logs`);
    }
  }

  /** Refuse unless this operator may ask at all: what a device wants to know before it fetches. */
  checkOperator(operator: Uint8Array, history: KeyHistory): void {
    if (!this.limits.enabled) throw new RefusalError(SWITCHED_OFF);
    const replaced = this.replaced(operator, history);
    if (replaced) throw new RefusalError(replaced);
    if (![...this.pins].some((pin) => path(history, ...pin).at(-1) === hex(operator))) {
      throw new RefusalError(
        `the operator with the public key ${hex(operator)} is not one of the ${this.pins.size} that this device ` +
          "answers; its owner can add the key to operators",
      );
    }
  }

  /** What is wrong with an operator's key that another one has replaced; null if none has. */
  replaced(operator: Uint8Array, history: KeyHistory): string | null {
    const key = hex(operator);
    const paths = [...this.pins].map((pin) => path(history, ...pin));
    if (paths.some((keys) => keys.at(-1) === key)) return null;
    if (isRevoked(history, key)) {
      return `the operator's key ${key} was revoked, and this device never trusts it again: the service must use its successor`;
    }
    const keys = paths.find((each) => each.includes(key));
    return keys
      ? `the operator's key ${key} was replaced by ${keys.at(-1)}, and this device does not go back: the service must use that one`
      : null;
  }

  /** Refuse a layer that asks for too much, whoever asks. */
  checkLayer(layer: Layer): void {
    for (const complaint of this.#complaints(layer)) throw new RefusalError(complaint);
  }

  /** Refuse a list of known words that is too long, before it is parsed. */
  checkKnown(content: Uint8Array): void {
    const { largestKnown, mostKnownWords } = this.limits;
    const words = count(content, LINE_BREAK) + (content.length > 0 ? 1 : 0);
    if (content.length > largestKnown || words > mostKnownWords) throw this.knownRefusal();
  }

  knownRefusal(): RefusalError {
    const { largestKnown, mostKnownWords } = this.limits;
    return new RefusalError(
      beyond(
        `the known words of the layer are more than the ${many(mostKnownWords)} words or the ${many(largestKnown)} bytes`,
        "mostKnownWords and largestKnown",
      ),
    );
  }

  /** Refuse what would take the sum of all ε above the lifetime's, exactly. */
  checkLifetime(cost: number, spent: readonly number[]): void {
    const total = grains(cost) + sumOf(spent);
    if (total <= grains(this.limits.lifetimeEpsilon)) return;
    throw new RefusalError(
      beyond(
        `${shortestDecimal(sum(spent))} of ε spent before and ${shortestDecimal(cost)} now make ${shortestDecimal(sum([...spent, cost]))}, ` +
          `above the ${shortestDecimal(this.limits.lifetimeEpsilon)} in a lifetime`,
        "lifetimeEpsilon",
      ),
    );
  }

  *#complaints(layer: Layer): Generator<string> {
    const { limits } = this;
    const { bound, cohort, depth } = layer.document;
    const { epsilon } = layer;
    if (!(epsilon >= SMALLEST_EPSILON && epsilon <= LARGEST_EPSILON)) {
      yield `the layer's ε is no number from ${SMALLEST_EPSILON} to ${LARGEST_EPSILON}; no policy permits that`;
    }
    if (!layer.knowsRandomizer) {
      yield "the layer's randomizer is not one of unary, subset-selection, the ones that this device can answer for; " +
        "a newer neologue may know it";
    }
    if (layer.size < 1) yield "the layer asks about no string at all; no policy permits that";
    if (epsilon > limits.largestEpsilon) {
      yield beyond(
        `the layer's ε is ${shortestDecimal(epsilon)}, above the ${shortestDecimal(limits.largestEpsilon)}`,
        "largestEpsilon",
      );
    }
    if (BigInt(bound) * grains(epsilon) > grains(limits.largestUserEpsilon)) {
      yield beyond(
        `${many(bound)} words with an ε of ${shortestDecimal(epsilon)} each are above the ` +
          `${shortestDecimal(limits.largestUserEpsilon)} for one report`,
        "largestUserEpsilon",
      );
    }
    if (cohort < limits.smallestLayerSize) {
      yield beyond(`the layer asks ${many(cohort)} users, below the ${many(limits.smallestLayerSize)}`, "smallestLayerSize");
    }
    const longest = Math.max(depth, layer.width);
    if (longest > limits.longestWord) {
      yield beyond(
        `the layer asks for words of ${many(longest)} characters, above the ${limits.longestWord}`,
        "longestWord",
      );
    }
    if (layer.targets && !limits.allowTargets) {
      yield `only words of a list of ${many(layer.targets.size)} that the operator made would count, and this device ` +
        "answers no such question; its owner can allow it (allowTargets)";
    }
    if (layer.size > limits.largestLayer) {
      yield beyond(`the layer has more than the ${many(limits.largestLayer)} candidates`, "largestLayer");
    }
    if (bound > limits.mostVotes) {
      yield beyond(`a report has room for ${many(bound)} words, above the ${many(limits.mostVotes)}`, "mostVotes");
    }
    // Only now is it safe to work out what the randomizer does.
    const { randomizer } = layer;
    const size = HEADER_BYTES + randomizer.payloadBytes;
    if (size > limits.largestReport) {
      yield beyond(`a report has ${many(size)} bytes, above the ${many(limits.largestReport)}`, "largestReport");
    }
    if (randomizer.votes > limits.mostVotes) {
      yield beyond(`a report has ${many(randomizer.votes)} votes, above the ${many(limits.mostVotes)}`, "mostVotes");
    }
    if (!randomizer.keepsEpsilon) yield "the layer's thresholds do not keep its ε; no policy permits that";
    yield* this.#answerComplaints(layer);
  }

  /** What is wrong with how much a report says of one word. */
  *#answerComplaints(layer: Layer): Generator<string> {
    const { limits } = this;
    const { held, other, of, contributions } = layer.randomizer.channel;
    const limit = layer.closed ? "largestClosedVoteRatio" : "largestVoteRatio";
    if (isAbove(held, other, limits[limit])) {
      yield beyond(
        `a vote would multiply the odds that a word is held by ${digits(quotient(held, other))}, above the ` +
          `${digits(limits[limit])} for a ${layer.closed ? "list of words" : "layer"}`,
        limit,
      );
    }
    if (isAbove(of - other, of - held, limits.largestSilenceRatio)) {
      yield beyond(
        `a missing vote would divide the odds that a word is held by ${digits(quotient(of - other, of - held))}, above ` +
          `the ${digits(limits.largestSilenceRatio)}`,
        "largestSilenceRatio",
      );
    }
    // What stands for words outside a closed list hides none of those on it.
    const asked = layer.closed ? layer.document.words.length : layer.randomizer.candidates;
    if (isBelow(BigInt(contributions) * BigInt(asked) * other, of, limits.fewestNoiseVotes)) {
      yield beyond(
        `${many(asked)} candidates are so few that chance gives ${digits(noiseVotes(layer.randomizer, asked), 3)} votes, ` +
          `below the ${digits(limits.fewestNoiseVotes)}`,
        "fewestNoiseVotes",
      );
    }
    if (layer.closed && limits.quorum === 0 && !limits.allowUnloggedLists) {
      yield `nothing shows that others can see the list of ${many(asked)} words that the operator asks about: its owner can ` +
        "demand a log that witnesses co-sign (quorum), or allow such lists (allowUnloggedLists)";
    }
  }
}

/** Whether these are different public keys. */
function areKeys(values: readonly unknown[]): boolean {
  return values.every((value) => unhex(value, KEY_BYTES)) && new Set(values).size === values.length;
}

/** The smallest double at or above the exact sum of some. */
export function sum(epsilons: readonly number[]): number {
  return roundUp(
    sumOf(epsilons),
    epsilons.reduce((total, epsilon) => total + epsilon, 0),
  );
}

function sumOf(epsilons: readonly number[]): bigint {
  return epsilons.reduce((total, epsilon) => total + grains(epsilon), 0n);
}

/** Whether a quotient is above a limit, exactly. */
function isAbove(numerator: bigint, denominator: bigint, limit: number): boolean {
  return numerator * grains(1) > denominator * grains(limit);
}

/** Whether a quotient is below a limit, exactly. */
function isBelow(numerator: bigint, denominator: bigint, limit: number): boolean {
  return numerator * grains(1) < denominator * grains(limit);
}

/** A number in a few digits. */
function digits(value: number, precision = 6): string {
  return value.toLocaleString("en-US", { maximumSignificantDigits: precision });
}

/** A whole number as people read it. */
export function many(value: number): string {
  return value.toLocaleString("en-US");
}

function beyond(what: string, limit: string): string {
  return `${what} that this device accepts; its owner can change ${limit}`;
}
