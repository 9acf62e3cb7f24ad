/** Requests that must come through: repeated until the server has really answered. */

import { backoffMs } from "../shared/backoff.js";
import { tell } from "./sessionframe.js";
import { say } from "./strings.js";

/** Between two looks at the state: an address that has died makes no storm. */
const REFRESH_MS = 3_000;

/** @import { Reply } from "./api.js" */

/**
 * Asks until there is an answer; from the second failure on it says so above the stage.
 * @param {() => Promise<Reply>} ask
 * @returns {Promise<Reply>}
 */
export async function insist(ask) {
  for (let tries = 0; ; tries += 1) {
    const reply = await ask();
    if (!reply.retry) {
      if (tries > 1) tell("", "");
      return reply;
    }
    if (tries > 0) tell("warn", say("state_retry"));
    const wait = Math.max(backoffMs(tries), reply.waitS * 1000);
    await new Promise((resolve) => setTimeout(resolve, wait));
  }
}

/** Fetches the state anew when asked to, but not more often than is good for the server. */
export class Refresher {
  /**
   * @param {() => Promise<Reply>} ask
   * @param {(reply: Reply) => void} take
   */
  constructor(ask, take) {
    this.ask = ask;
    this.take = take;
    this.busy = false;
    this.again = false;
  }

  /** What is on the screen stays until the answer comes. */
  async refresh() {
    this.again = this.busy;
    if (this.busy) return;
    this.busy = true;
    const reply = await insist(this.ask);
    setTimeout(() => {
      this.busy = false;
      if (this.again) this.refresh();
    }, REFRESH_MS);
    this.take(reply);
  }
}
