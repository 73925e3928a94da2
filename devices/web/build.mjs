// Writes the module that is shipped, its types, and the bundle of the tests. Each begins with the digest of the sources, so
// that a test without npm can tell whether they are of today.
import { build } from "esbuild";
import { createHash } from "node:crypto";
import { copyFileSync, readFileSync, readdirSync } from "node:fs";

const here = new URL(".", import.meta.url).pathname;
const shipped = `${here}../../src/neologue/web/static/neologue-device.js`;
const tests = `${here}../../tests/web/device_internals.js`;

const sources = ["src", "test"]
  .flatMap((folder) => readdirSync(here + folder).map((name) => `${folder}/${name}`))
  .sort();
const hash = createHash("sha256");
for (const name of sources)
  hash
    .update(`${name}\0`)
    .update(readFileSync(here + name))
    .update("\0");
const banner = { js: `/* neologue device, Apache-2.0, built from devices/web: sources ${hash.digest("hex")} */` };

const options = { bundle: true, format: "esm", target: "es2022", charset: "utf8", legalComments: "none", banner };
await build({ ...options, entryPoints: [`${here}src/index.ts`], outfile: shipped, minify: true });
await build({ ...options, entryPoints: [`${here}test/internals.ts`], outfile: tests });
copyFileSync(`${here}neologue-device.d.ts`, shipped.replace(/\.js$/, ".d.ts"));
