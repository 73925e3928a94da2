/** A neologue device in a browser: see docs/browser.md. */

export { Device } from "./device";
export { DeviceError } from "./errors";
export { carry } from "./handover";
