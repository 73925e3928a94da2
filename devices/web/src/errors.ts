/**
 * What this module raises on purpose. A message names the value and the remedy, and never anything that was typed.
 *
 * DeviceError        the app gave something that can't be used, or the browser can't hold what a device needs
 * ├── RefusalError   the owner's policy, or a document that is not what was promised: nothing is answered
 * └── LaterError     no usable answer from the service: the same may be asked again
 *     └── OversizeError   one that is longer than is read
 */

export class DeviceError extends Error {
  override name = "DeviceError";
}

export class RefusalError extends DeviceError {
  override name = "RefusalError";
}

/** A document of which some part is not what a layer has; nothing of it is quoted. */
export function unusable(what: string): RefusalError {
  return new RefusalError(`the document describes no layer: its ${what} can't be used`);
}

export class LaterError extends DeviceError {
  override name = "LaterError";

  constructor(
    message: string,
    readonly retryAfter: number | null = null,
  ) {
    super(message);
  }
}

export class OversizeError extends LaterError {
  override name = "OversizeError";
}
