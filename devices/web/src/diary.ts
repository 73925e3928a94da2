/** The diary: which words were typed in this browser lately, and on which days. */

import { DeviceError } from "./errors";
import { normalised } from "./spelling";
import { type Turn, asked, each } from "./store";

const MOST_TIMES = 2 ** 31 - 1;
const HALF_A_PAIR = /\p{Cs}/u;

interface Entry {
  id?: number;
  word: string;
  /** How often on which day, days since 1970-01-01. */
  uses: [day: number, times: number][];
  first: number;
  last: number;
  total: number;
}

export interface DiaryLimits {
  days: number;
  capacity: number;
  longest: number;
}

/** A word typed on day d is remembered through day d + days - 1, and days that the clock has not reached are kept. */
export class Diary {
  constructor(readonly limits: DiaryLimits) {
    for (const [name, value] of Object.entries(limits)) {
      if (!Number.isInteger(value) || (value as number) < 1) {
        throw new DeviceError(`${name} is ${String(value)}; a diary needs ${name} of at least 1`);
      }
    }
  }

  /** The word as the diary would keep it; empty if it would not. A long string is likelier a secret than a word. */
  form(word: string): string {
    const form = normalised(word);
    return HALF_A_PAIR.test(form) || [...form].length > this.limits.longest ? "" : form;
  }

  async typed(turn: Turn, today: number, word: string, times: number): Promise<void> {
    await this.expire(turn, today);
    const form = this.form(word);
    if (form === "") return;
    const diary = turn("diary");
    const entry = (await asked(diary.index("word").get(form))) as Entry | undefined;
    if (!entry) await this.#makeRoom(turn);
    const uses = entry?.uses ?? [];
    const use = uses.find(([day]) => day === today);
    if (use) use[1] = Math.min(use[1] + times, MOST_TIMES);
    else uses.push([today, Math.min(times, MOST_TIMES)]);
    diary.put(written({ ...entry, word: form, uses }));
  }

  async words(turn: Turn, today: number): Promise<Map<string, number>> {
    await this.expire(turn, today);
    const entries = (await asked(turn("diary").getAll())) as Entry[];
    return new Map(entries.map(({ word, total }) => [word, total]));
  }

  async forget(turn: Turn, word: string): Promise<void> {
    const diary = turn("diary");
    const id = await asked(diary.index("word").getKey(normalised(word)));
    if (id !== undefined) diary.delete(id);
  }

  async expire(turn: Turn, today: number): Promise<void> {
    const due = IDBKeyRange.upperBound(today - this.limits.days);
    await each(turn("diary").index("first").openCursor(due), (cursor) => {
      const entry = cursor.value as Entry;
      const uses = entry.uses.filter(([day]) => day > today - this.limits.days);
      if (uses.length === 0) cursor.delete();
      else cursor.update(written({ ...entry, uses }));
    });
  }

  /** Evict the words with the oldest last use, of these the least typed, of these the first noted. */
  async #makeRoom(turn: Turn): Promise<void> {
    const diary = turn("diary");
    let surplus = (await asked(diary.count())) + 1 - this.limits.capacity;
    if (surplus > 0) {
      await each(diary.index("place").openCursor(), (cursor) => {
        cursor.delete();
        return --surplus > 0;
      });
    }
  }
}

/** An entry with what its uses add up to. */
function written(entry: Omit<Entry, "first" | "last" | "total">): Entry {
  const days = entry.uses.map(([day]) => day);
  const total = entry.uses.reduce((sum, [, times]) => Math.min(sum + times, MOST_TIMES), 0);
  return { ...entry, first: Math.min(...days), last: Math.max(...days), total };
}
