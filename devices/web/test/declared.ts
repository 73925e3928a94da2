/** The declarations that users get are those of the code: this file compiles only if they are. */

import * as declared from "../neologue-device";
import * as built from "../src/index";

type Same<A, B> = [A] extends [B] ? ([B] extends [A] ? true : false) : false;
type Members<T> = { [K in keyof T]: T[K] };

export const module: Pick<typeof declared, "DeviceError"> & { Device: typeof declared.Device } = built;
export const names: Same<keyof typeof declared, keyof typeof built> = true;
export const device: Same<Members<declared.Device>, Members<built.Device>> = true;
export const options: Same<declared.Options, Parameters<typeof built.Device.open>[0]> = true;
export const tick: declared.Tick["state"] = null as unknown as Awaited<ReturnType<built.Device["tick"]>>["state"];
