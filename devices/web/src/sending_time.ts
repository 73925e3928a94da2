/**
 * When a report leaves: at a moment that was drawn before the words were looked at.
 *
 * Making a report takes the longer, the more words there are, and whoever watches the network must not read that from the
 * time between the last fetch and the report. One that is not ready at its moment waits for the next of a sequence that
 * depends on the draws alone.
 */

import { DeviceError } from "./errors";

/** After how many seconds at least, and at most. The least is far above what making a report takes with a full diary. */
export type SendingWindow = readonly [earliest: number, latest: number];

export const USUAL_WINDOW: SendingWindow = [5, 15];
const LONGEST = 3600;

export class SendingTime {
  constructor(readonly window: SendingWindow) {
    const [earliest, latest] = window;
    if (!(earliest >= 0 && earliest < latest && latest <= LONGEST)) {
      throw new DeviceError(
        `a sending window lasts from 0 seconds or more to a later moment within an hour, not from ${earliest} to ${latest}`,
      );
    }
  }

  /** Draw the moment, make what is sent, and wait for that moment. */
  async hide<Made>(make: () => Promise<Made>): Promise<Made> {
    let moment = seconds() + this.#draw();
    const made = await make();
    while (seconds() > moment) moment += this.#draw();
    // A timer may be a little early.
    for (let left = moment - seconds(); left > 0; left = moment - seconds()) {
      await new Promise((resolve) => setTimeout(resolve, 1000 * left));
    }
    return made;
  }

  #draw(): number {
    const [earliest, latest] = this.window;
    return earliest + ((latest - earliest) * crypto.getRandomValues(new Uint32Array(1))[0]!) / 2 ** 32;
  }
}

function seconds(): number {
  return performance.now() / 1000;
}
