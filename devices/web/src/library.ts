/** Layers and lists of known words by their digest, fetched and checked once, and a few of them kept. */

import { OversizeError, RefusalError } from "./errors";
import { LARGEST_DOCUMENT, type Layer, describeLayer } from "./layer";
import { type Octets, hex, sha256 } from "./octets";
import type { Policy } from "./policy";
import { type Turn, asked, each } from "./store";

const FILES = 4;

interface Document {
  path: string;
  content: Octets;
}

/** Gives the bytes at a path of the service, at most so many. */
export type Fetch = (path: string, most: number) => Promise<Octets>;
/** Runs a turn on the store of documents; or gives undefined if nothing may be stored. */
export type Shelf = <Result>(work: (turn: Turn) => Promise<Result>) => Promise<Result | undefined>;

export class Library {
  #layer: Layer | null = null;

  constructor(
    readonly shelf: Shelf,
    readonly fetch: Fetch,
    readonly shipped: Octets | null,
  ) {}

  /** The layer with a digest, if it is admitted: only then are its known words fetched. */
  async layer(digest: string, policy: Policy, admit: (layer: Layer) => void): Promise<Layer> {
    if (this.#layer && hex(this.#layer.digest) === digest) {
      admit(this.#layer);
      return this.#layer;
    }
    const layer = await describeLayer(await this.#content("layers", digest, LARGEST_DOCUMENT));
    admit(layer);
    await layer.learn(await this.#known(layer.document.known, policy));
    return (this.#layer = layer);
  }

  /** The digest of the layer that was fetched last, if it is still here. */
  async last(): Promise<string | null> {
    if (this.#layer) return hex(this.#layer.digest);
    const newest = await this.shelf(async (turn) => {
      let [id, digest]: [number, string | null] = [0, null];
      const layers = IDBKeyRange.bound("/v1/layers/", "/v1/layers/g");
      await each(turn("library").index("path").openKeyCursor(layers), (cursor) => {
        if ((cursor.primaryKey as number) > id) [id, digest] = [cursor.primaryKey as number, cursor.key as string];
      });
      return digest as string | null;
    });
    return newest?.split("/")[3] ?? null;
  }

  clear(): void {
    this.#layer = null;
  }

  async #known(digest: string, policy: Policy): Promise<Octets> {
    try {
      const content = await this.#content("known", digest, policy.limits.largestKnown);
      policy.checkKnown(content);
      return content;
    } catch (error) {
      throw error instanceof OversizeError ? policy.knownRefusal() : error;
    }
  }

  /** The bytes with a digest, from here or from the service. */
  async #content(kind: string, digest: string, most: number): Promise<Octets> {
    if (kind === "known" && this.shipped && hex(await sha256(this.shipped)) === digest) return this.shipped;
    const path = `/v1/${kind}/${digest}`;
    const here = await this.shelf(async (turn) => {
      const found = (await asked(turn("library").index("path").get(path))) as Document | undefined;
      return found?.content;
    });
    if (here && hex(await sha256(here)) === digest) return here;
    const content = await this.fetch(path, most);
    if (hex(await sha256(content)) !== digest) {
      throw new RefusalError(`what the service gave for ${kind}/${digest} has another digest; nothing of it is used`);
    }
    await this.shelf(async (turn) => {
      const library = turn("library");
      const stale = await asked(library.index("path").getKey(path));
      if (stale !== undefined) library.delete(stale);
      library.add({ path, content } satisfies Document);
      const keys = await asked(library.getAllKeys());
      for (const key of keys.slice(0, -FILES)) library.delete(key);
    });
    return content;
  }
}
