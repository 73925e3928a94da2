/**
 * The device's one database in the browser: a record of its owner's will, a diary, an account, receipts, a library.
 *
 * There is none before the owner opts in. What a turn writes is on the disk when it has resolved, unless it says that
 * this need not be waited for.
 */

import { DeviceError } from "./errors";

export type Name = "owner" | "diary" | "answers" | "reports" | "receipts" | "library";
export const STORES: readonly Name[] = ["owner", "diary", "answers", "reports", "receipts", "library"];

const VERSION = 1;

/** One transaction: nothing but its own requests may be awaited in it. */
export type Turn = (name: Name) => IDBObjectStore;

export class Store {
  #closed = false;

  private constructor(readonly database: IDBDatabase) {
    // Another tab erases the database, or the browser does: it is not made anew without its owner.
    database.onversionchange = () => this.close();
    database.onclose = () => (this.#closed = true);
  }

  /** The database; null if there is none and none is to be made. */
  static open(name: string, create: boolean): Promise<Store | null> {
    return new Promise((resolve, reject) => {
      let request: IDBOpenDBRequest;
      try {
        request = indexedDB.open(name, VERSION);
      } catch (error) {
        reject(unusable(error));
        return;
      }
      let absent = false;
      request.onupgradeneeded = () => {
        if (create) {
          build(request.result);
        } else {
          absent = true;
          // Leaves nothing behind, not even an empty database.
          request.transaction!.abort();
        }
      };
      request.onsuccess = () => resolve(new Store(request.result));
      request.onerror = (event) => {
        event.preventDefault();
        if (absent) resolve(null);
        else reject(unusable(request.error));
      };
    });
  }

  get closed(): boolean {
    return this.#closed;
  }

  close(): void {
    this.#closed = true;
    this.database.close();
  }

  /** One exclusive transaction on some stores; whatever it throws undoes it. */
  async turn<Result>(
    names: readonly Name[],
    work: (turn: Turn) => Promise<Result>,
    durability: IDBTransactionDurability = "strict",
  ): Promise<Result> {
    try {
      const transaction = this.database.transaction(names, "readwrite", { durability });
      const done = new Promise<void>((resolve, reject) => {
        transaction.oncomplete = () => resolve();
        transaction.onabort = () => reject(transaction.error ?? new Error("aborted"));
      });
      try {
        const result = await work((name) => transaction.objectStore(name));
        // Only what has come to its end is written.
        await done;
        return result;
      } catch (error) {
        done.catch(() => undefined);
        try {
          transaction.abort();
        } catch {
          // It is over already.
        }
        throw error;
      }
    } catch (error) {
      throw error instanceof DeviceError ? error : unusable(error);
    }
  }
}

/** What a request comes to. */
export function asked<Result>(request: IDBRequest<Result>): Promise<Result> {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

/** All that a cursor goes over, one after the other. */
export async function each<Cursor extends IDBCursor>(
  request: IDBRequest<Cursor | null>,
  visit: (cursor: Cursor) => boolean | void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    request.onerror = () => reject(request.error);
    request.onsuccess = () => {
      const cursor = request.result;
      if (cursor === null || visit(cursor) === false) resolve();
      else cursor.continue();
    };
  });
}

function build(database: IDBDatabase): void {
  database.createObjectStore("owner"); // one record under the key "owner": see membership.ts
  const diary = database.createObjectStore("diary", { keyPath: "id", autoIncrement: true });
  diary.createIndex("word", "word", { unique: true });
  diary.createIndex("first", "first"); // the oldest day of use, by which words expire
  diary.createIndex("place", ["last", "total", "id"]); // who has to go first when there are too many
  database.createObjectStore("answers", { keyPath: "campaign" });
  database.createObjectStore("reports", { keyPath: "campaign" });
  database.createObjectStore("receipts", { autoIncrement: true });
  const library = database.createObjectStore("library", { keyPath: "id", autoIncrement: true });
  library.createIndex("path", "path", { unique: true });
}

function unusable(error: unknown): DeviceError {
  // The name of the error alone: the rest could quote what was stored.
  const name = error instanceof Error || error instanceof DOMException ? error.name : "unknown error";
  return new DeviceError(
    `the browser's storage for this device can't be used (${name}): free some space, leave private browsing or use a ` +
      "newer browser",
  );
}
