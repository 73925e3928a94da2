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
import { hex, unhex } from "./octets";

export const KEY_BYTES = 32;
const SMALLEST_EPSILON = 0.001;
const LARGEST_EPSILON = 20;
const MOST_EPSILON = 1_000_000;

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
};

const RANGES: Readonly<Record<string, [least: number, most: number]>> = {
  smallestLayerSize: [1, 1 << 30],
  longestWord: [1, 64],
  largestLayer: [1, LARGEST_LAYER],
  largestReport: [100, 1 << 30],
  mostVotes: [1, LARGEST_LAYER],
};

export const SWITCHED_OFF =
  "this device answers no campaign: its owner has switched that off, and can switch it on (enabled)";

export class Policy {
  readonly limits: Limits;
  readonly #operators: ReadonlySet<string>;

  constructor(operators: readonly string[], limits: Partial<Limits>) {
    if (!Array.isArray(operators) || !operators.every((key) => unhex(key, KEY_BYTES))) {
      throw new DeviceError("operators must be a list of public keys, each of 64 lower-case hexadecimal digits");
    }
    this.#operators = new Set(operators);
    this.limits = { ...DEFAULTS, ...limits };
    for (const [name, value] of Object.entries(this.limits)) {
      const range = RANGES[name];
      const right = range
        ? Number.isInteger(value) && value >= range[0] && value <= range[1]
        : name === "enabled"
          ? typeof value === "boolean"
          : name in DEFAULTS && typeof value === "number" && value > 0 && value <= MOST_EPSILON;
      if (!right)
        throw new DeviceError(`the limit ${name} can't be ${String(value)}; docs/device-policy.md has the limits`);
    }
  }

  /** Refuse unless this operator may ask at all: what a device wants to know before it fetches. */
  checkOperator(operator: Uint8Array): void {
    if (!this.limits.enabled) throw new RefusalError(SWITCHED_OFF);
    if (!this.#operators.has(hex(operator))) {
      throw new RefusalError(
        `the operator with the public key ${hex(operator)} is not one of the ${this.#operators.size} that this device ` +
          "answers; its owner can add the key to operators",
      );
    }
  }

  /** Refuse a layer that asks for too much, whoever asks. */
  checkLayer(layer: Layer): void {
    for (const complaint of this.#complaints(layer)) throw new RefusalError(complaint);
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
  }
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

/** A whole number as people read it. */
export function many(value: number): string {
  return value.toLocaleString("en-US");
}

function beyond(what: string, limit: string): string {
  return `${what} that this device accepts; its owner can change ${limit}`;
}
