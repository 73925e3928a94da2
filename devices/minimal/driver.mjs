// The driver of the conformance kit (docs/conformance.md), which also runs the vectors: node driver.mjs

import { createInterface } from "node:readline";
import { Device } from "./device.mjs";
import { checkVectors } from "./vectors.mjs";

const OWNER = { "opt out": "optOut", "opt in": "optIn", "forget me": "forgetMe", leave: "leave" };
let device = null;

const commands = {
  open({ folder, server, operator, credential, words, window, patience }) {
    device = new Device(folder, server, operator, window, patience);
    device.optIn();
    device.join(credential);
    device.typed(words);
    return null;
  },
  tick: () => device.tick(),
  owner({ says }) {
    device[OWNER[says]]();
    return null;
  },
  close: () => null,
  vectors: ({ folder }) => checkVectors(folder),
};

for await (const line of createInterface({ input: process.stdin })) {
  const given = JSON.parse(line);
  let told;
  try {
    told = given.trust
      ? { unsupported: "this device looks at no logs" }
      : { result: await commands[given.do](given) };
  } catch (error) {
    told = { error: String(error.stack) };
  }
  console.log(JSON.stringify(told));
}
