/**
 * Whether a published release speaks of the layer that this device answered, and says of it what the device was told.
 *
 * Everything is checked here, for the owner alone; nothing is sent anywhere.
 */

import { DeviceError } from "./errors";
import type { Answer } from "./membership";
import { type Octets, joined, sha256, unhex } from "./octets";
import { KEY_BYTES } from "./policy";
import { signedBy } from "./signature";

const FORMAT = 3;
const SIGNATURE_BYTES = 64;
const ENCODER = new TextEncoder();
const PURPOSE = ENCODER.encode("neologue release v1\0");

interface Row {
  digest?: unknown;
}

/** What the device looks at; everything else is covered by the signature all the same. */
interface Release {
  campaign: unknown;
  layers: Row[];
  measurement: Row | null;
  parameters: { epsilon: unknown; words_per_user: unknown };
  exposure: { masked: unknown };
  signature?: { value?: unknown };
}

/** What a device says of a release. */
export interface ReleaseCheck {
  /** What is wrong with it, in sentences; none if it has the layer that was answered, as it was told. */
  objections: string[];
  /** What was told and is not recorded, so that nothing shows whether the release says the same. */
  notCompared: string[];
}

/** Whether a release has the layer that was answered, as this device was told. */
export async function checkRelease(
  text: string,
  answers: readonly Answer[],
  signersOf: (operator: string | undefined) => readonly string[],
): Promise<ReleaseCheck> {
  const release = read(text);
  const answer = answers.find(({ campaign }) => campaign === release.campaign);
  if (!answer) {
    return { objections: ["this device has answered nothing in the campaign that the release is of"], notCompared: [] };
  }
  const objections: string[] = [];
  const signature = unhex(release.signature?.value, SIGNATURE_BYTES);
  const message = await signedMessage(release);
  const keys = signersOf(answer.operator).map((key) => unhex(key, KEY_BYTES)!);
  const signed = await Promise.all(keys.map((key) => signature !== null && signedBy(key, signature, message)));
  if (!signed.includes(true)) objections.push("the release is not signed by the operator who asked this device");
  if (![...release.layers, release.measurement].some((row) => row?.digest === answer.layer)) {
    objections.push(`the layer that this device answered, ${answer.layer.slice(0, 16)}…, is not among those of the release`);
  }
  const { epsilon, words_per_user: words } = release.parameters;
  // Reports to later layers may speak of fewer words than the most of the campaign, which the release states.
  if (epsilon !== answer.epsilon || typeof words !== "number" || (answer.bound ?? words) > words) {
    objections.push("the release states another ε, or fewer words per user, than this device was told");
  }
  if (release.exposure.masked !== null) objections.push("the release states masks, and this device was promised none");
  return { objections, notCompared: answer.operator ? [] : ["who asked", "B"] };
}

async function signedMessage(release: Release): Promise<Octets> {
  const said = Object.fromEntries(Object.entries(release).filter(([name]) => name !== "digest" && name !== "signature"));
  return joined(PURPOSE, await sha256(Uint8Array.from(ENCODER.encode(canonical(said)))));
}

/** RFC 8785: as JavaScript writes JSON, with names in its own order. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const fields = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return `{${fields.map(([name, inner]) => `${JSON.stringify(name)}:${canonical(inner)}`).join(",")}}`;
}

function read(text: string): Release {
  try {
    const release = JSON.parse(text) as Release & { format?: unknown };
    const { epsilon } = release.parameters;
    const complete = release.format === FORMAT && Array.isArray(release.layers) && epsilon && "masked" in release.exposure;
    if (complete && namesIn(release) === namesWritten(text)) return release;
  } catch {
    // it is none
  }
  throw new DeviceError(
    `the text is no release of format ${FORMAT}, which has the digests of layers, and no name twice in one object: ` +
      "give a release.json",
  );
}

/** How many names the objects in a value have. Of equal ones, JSON.parse keeps the last, and another reader may take another. */
function namesIn(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  const own = Array.isArray(value) ? 0 : Object.keys(value).length;
  return Object.values(value).reduce((total: number, inner) => total + namesIn(inner), own);
}

/** How many names a JSON text has: outside strings, a colon follows each name and stands nowhere else. */
function namesWritten(text: string): number {
  return text.replace(/"[^"\\]*(?:\\.[^"\\]*)*"/g, "").split(":").length - 1;
}
