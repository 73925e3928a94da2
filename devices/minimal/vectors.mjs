// Holds the device to vectors/, as far as these do not dictate how randomness is drawn.

import { readFileSync } from "node:fs";
import { ExtendedPrefixes } from "./candidates.mjs";
import { heldCandidates } from "./device.mjs";
import { isSigned, learn, path } from "./keys.mjs";
import { Refusal, readKnown, readLayer, sha256 } from "./layer.mjs";
import { checkLayer } from "./policy.mjs";
import { Unary } from "./unary.mjs";
import { countingWords, formOf } from "./words.mjs";

const hex = (text) => Buffer.from(text, "hex");
const canonical = (document) => {
  const sorted = Object.keys(document).sort();
  return Buffer.from(JSON.stringify(Object.fromEntries(sorted.map((name) => [name, document[name]]))));
};

function refuses(reading) {
  try {
    reading();
  } catch (error) {
    if (error instanceof Refusal) return true;
    throw error;
  }
  return false;
}

const CHECKS = {
  *forms(cases) {
    for (const { name, replaced, stripped, words } of cases) {
      for (const { typed, form } of words) yield [`${name} ${typed}`, form, formOf(typed, replaced, stripped)];
    }
  },
  *candidates(cases) {
    for (const one of cases) {
      const symbols = new Map([...one.alphabet].map((character, i) => [character, i + 1]));
      const made = new ExtendedPrefixes(symbols, one.frontier, one.extension);
      yield [one.name, one.size, made.size];
      for (const { word, candidate } of one.words) yield [`${one.name} ${word}`, candidate ?? -1, made.index(word)];
    }
  },
  *unary(cases) {
    for (const one of cases) {
      const unary = new Unary(one.candidates, one.epsilon, one.bound);
      yield [one.name, one.noise, String(unary.noise)];
      yield [one.name, one.remainder_bits, unary.remainderBits];
      yield [one.name, one.usual_bytes, unary.bytes];
      yield [one.name, one.payload, unary.encode(one.positions).toString("hex")];
    }
  },
  *reports(cases) {
    for (const one of cases) {
      const layer = readLayer(canonical(one.layer));
      yield [one.name, one.digest, layer.digest.toString("hex")];
      const counting = countingWords(Object.entries(one.words), layer, new Set(one.known_words));
      const candidates = [...new Set([...counting.keys()].map((word) => layer.candidates.index(word)))];
      yield [one.name, one.prefixes, candidates.filter((each) => each >= 0).sort((a, b) => a - b)];
      yield [one.name, Math.min(one.layer.bound, one.prefixes.length), heldCandidates(counting, layer).length];
    }
  },
  *likely({ layers, reports, refused }) {
    for (const one of layers) {
      const layer = readLayer(canonical(one.layer));
      yield [one.name, one.sizes.reduce((sum, size) => sum + size, 0), layer.size];
      for (const { word, candidate } of one.words) {
        yield [`${one.name} ${word}`, candidate ?? -1, layer.candidates.index(word)];
      }
    }
    yield* CHECKS.reports(reports);
    for (const { name, change } of refused.cases) {
      yield [name, true, refuses(() => readLayer(canonical({ ...refused.layer, ...change })))];
    }
  },
  *closed(cases) {
    for (const one of cases) {
      const layer = readLayer(canonical(one.layer));
      yield [one.name, one.digest, layer.digest.toString("hex")];
      const counting = countingWords(Object.entries(one.words), layer, new Set(one.known_words));
      yield [one.name, one.counting, [...counting.keys()].sort()];
    }
  },
  *counting(cases) {
    for (const one of cases) {
      const layer = readLayer(canonical(one.layer));
      const counting = countingWords(Object.entries(one.words), layer, new Set(one.known_words));
      yield [one.name, Object.entries(one.counting).sort(), [...counting].sort()];
    }
  },
  *refusals({ layers, documents, bytes, known }) {
    for (const { name, base, change } of documents) {
      yield [name, true, refuses(() => readLayer(canonical({ ...layers[base], ...change })))];
    }
    for (const { name, document } of bytes) yield [name, true, refuses(() => readLayer(hex(document)))];
    for (const { name, known_document } of known) yield [name, true, refuses(() => readKnown(hex(known_document)))];
  },
  *policy(cases) {
    for (const one of cases.filter(({ layer }) => layer.randomizer !== "subset-selection")) {
      yield [one.name, one.refused, refuses(() => checkLayer(readLayer(canonical(one.layer)), one.spent, one.unlogged_lists))];
    }
  },
  *documents(cases) {
    for (const one of cases) {
      const [operator, signature, digest] = [hex(one.operator), hex(one.signature), sha256(hex(one.document))];
      const message = Buffer.concat([Buffer.from("neologue invitation v1\0"), hex(one.campaign), digest]);
      yield [one.name, true, isSigned(operator, signature, message)];
      yield [one.name, false, isSigned(operator, hex(one.masked_signature), message)];
      yield [one.name, one.known_digest, sha256(hex(one.known_document)).toString("hex")];
    }
  },
  *succession({ cases }) {
    for (const { name, pinned, recovery, shown } of cases) {
      let history = { successions: {}, revocations: {} };
      for (const { document, refused, path: expected } of shown) {
        yield [name, refused, refuses(() => (history = learn(history, hex(document), pinned, recovery)))];
        yield [name, expected, path(history, pinned, recovery)];
      }
    }
  },
};

/** How many checks of each file passed, and what the others found. */
export function checkVectors(folder) {
  const [passed, failures] = [{}, []];
  for (const [file, check] of Object.entries(CHECKS)) {
    passed[file] = 0;
    for (const [name, expected, got] of check(JSON.parse(readFileSync(`${folder}/${file}.json`, "utf8")))) {
      if (JSON.stringify(expected) === JSON.stringify(got)) passed[file]++;
      else failures.push(`${file}, ${name}: ${JSON.stringify(got)} instead of ${JSON.stringify(expected)}`);
    }
  }
  return { passed, failures };
}
