/** What checks one field of a layer document; layer_document.ts says which field has which. */

export type FieldCheck = (value: unknown) => boolean;

export const text: FieldCheck = (value) => typeof value === "string";

export const wholeNumber =
  (least: number, most: number): FieldCheck =>
  (value) =>
    Number.isInteger(value) && (value as number) >= least && (value as number) <= most;

export const matching =
  (pattern: RegExp): FieldCheck =>
  (value) =>
    typeof value === "string" && pattern.test(value);

export const equal =
  (constant: number): FieldCheck =>
  (value) =>
    value === constant;

export const listOf =
  (check: FieldCheck): FieldCheck =>
  (value) =>
    Array.isArray(value) && value.every((item) => check(item));

export const nullable =
  (check: FieldCheck): FieldCheck =>
  (value) =>
    value === null || check(value);

export const decimal: FieldCheck = (value) =>
  typeof value === "string" && /^[0-9.e+-]{1,32}$/.test(value) && shortestDecimal(Number(value)) === value;

/** A number as documents write it: the shortest decimal that reads back as the same, as Python prints it. */
export function shortestDecimal(value: number): string {
  if (!Number.isFinite(value)) return "";
  const [digits, exponent] = value.toExponential().split("e") as [string, string];
  const power = Number(exponent);
  if (power >= -4 && power < 16) {
    // Of these, JavaScript writes only those below 10^-6 with an exponent.
    return Number.isInteger(value) ? `${value}.0` : `${value}`;
  }
  return `${digits}e${power < 0 ? "-" : "+"}${String(Math.abs(power)).padStart(2, "0")}`;
}
