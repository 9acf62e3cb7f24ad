/** Verdicts on their way: all that wait go in one request, and each is told apart in its reply. */

import { Outbox } from "../rater/outbox.js";

const MOST = 40; // in one request
const LONGEST = 40_000; // characters: browsers refuse more than 64 kB of what outlives its page

/** @import { Reply } from "../rater/api.js" */
/** @import { Kept } from "./desk.js" */

/** @extends {Outbox<Kept>} */
export class Batches extends Outbox {
  /**
   * @param {string} code
   * @param {import("../rater/outbox.js").Store | null} store
   * @param {(kept: Kept[]) => Promise<Reply>} sendAll
   */
  constructor(code, store, sendAll) {
    super(code, store, (kept) => sendAll([kept]));
    this.sendAll = sendAll;
    this.most = MOST;
  }

  /** The oldest ones, as many as one request takes: one at least. */
  waiting() {
    let length = 0;
    return this.answers.slice(0, this.most).filter((kept, place) => {
      length += JSON.stringify(kept.verdict).length;
      return place === 0 || length <= LONGEST;
    });
  }

  /** Sends what waits until nothing is left. "settled" says how each request came out. */
  async flush() {
    if (this.status !== "idle") return;
    for (;;) {
      const batch = this.paused ? [] : this.waiting();
      if (batch.length === 0) break;
      this.changed("sending");
      const reply = await this.sendAll(batch);
      if (reply.retry) {
        await this.rest(reply);
        continue;
      }
      if (this.settle(batch, reply)) this.tries = 0;
      else await this.rest(reply);
    }
    this.changed("idle");
  }

  /**
   * What the reply names is settled. A request refused as a whole is sent again one by one, so that
   * one verdict that cannot be taken hinders no other.
   * @param {Kept[]} batch
   * @param {Reply} reply
   * @returns {boolean} false where the reply names none of them: they stay, and are sent later
   */
  settle(batch, reply) {
    const { stored = null, refused = [] } = /** @type {any} */ (reply.body) ?? {};
    if (!stored && batch.length > 1) {
      this.most = 1;
      return true;
    }
    const named = new Set([...(stored ?? []), ...refused.map((/** @type {any} */ each) => each.key)]);
    const settled = batch.filter(({ trial }) => !stored || named.has(trial));
    for (const { trial } of settled) this.remove(trial);
    if (this.size === 0) this.most = MOST;
    this.dispatchEvent(new CustomEvent("settled", { detail: { reply } }));
    return settled.length > 0;
  }
}
