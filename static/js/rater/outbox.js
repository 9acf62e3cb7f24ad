/** Answers on their way: kept in this browser until the server has acknowledged them, and sent again unchanged. */

import { backoffMs } from "../shared/backoff.js";

/** @import { Reply } from "./api.js" */

/**
 * @typedef {import("../shared/wire.js").Answer | import("../shared/wire.js").Skip} Answer
 * @typedef {{trial: string}} Kept what can be kept: named by its trial, or by a key of its own
 * @typedef {object} Store what localStorage offers, or a stand-in
 * @property {number} length
 * @property {(index: number) => string | null} key
 * @property {(key: string) => string | null} getItem
 * @property {(key: string, value: string) => void} setItem
 * @property {(key: string) => void} removeItem
 */

/** localStorage where the browser allows it, else null. */
export function deviceStore() {
  try {
    const probe = "earnest:probe";
    localStorage.setItem(probe, "1");
    localStorage.removeItem(probe);
    return localStorage;
  } catch {
    return null;
  }
}

/**
 * @template {Kept} A
 * @typedef {{at: number, answer: A}} Entry one answer as this browser keeps it
 */

/** @param {string} text @returns {Partial<Entry<Kept>> | null} */
function parsed(text) {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}

/** @param {Partial<Entry<Kept>> | null} entry @returns {entry is Entry<Kept>} */
function isWhole(entry) {
  return typeof entry?.answer?.trial === "string";
}

/**
 * Fires "change" whenever its size or status changes, "settled" (detail: {answer, reply}) when the
 * server has accepted or refused an answer for good.
 * @template {Kept} [A=Answer]
 */
export class Outbox extends EventTarget {
  /**
   * @param {string} code of the session
   * @param {Store | null} store
   * @param {(answer: A) => Promise<Reply>} send
   * @param {(answers: A[]) => A | null} next which answer may be sent now, if any
   */
  constructor(code, store, send, next = (answers) => answers[0] ?? null) {
    super();
    this.prefix = `earnest:outbox:${code}:`;
    this.store = store;
    this.send = send;
    this.next = next;
    this.durable = store !== null;
    /** @type {A[]} */
    this.answers = this.read();
    /** @type {"idle" | "sending" | "waiting"} */
    this.status = "idle";
    this.paused = false;
    this.tries = 0;
    /** @type {(() => void) | null} ends the wait before the next try */
    this.wake = null;
    window.addEventListener("online", () => this.hurry());
  }

  get size() {
    return this.answers.length;
  }

  /** @param {string} trial */
  has(trial) {
    return this.answers.some((answer) => answer.trial === trial);
  }

  /** @returns {A[]} what this device keeps for the session, oldest first */
  read() {
    const kept = [];
    for (let k = 0; k < (this.store?.length ?? 0); k += 1) {
      const key = this.store?.key(k) ?? "";
      if (key.startsWith(this.prefix)) kept.push(parsed(this.store?.getItem(key) ?? ""));
    }
    const whole = kept.filter(isWhole);
    return whole.sort((a, b) => a.at - b.at).map((entry) => /** @type {A} */ (entry.answer));
  }

  /** One key per answer: two tabs never overwrite each other's. @param {A} answer */
  keep(answer) {
    try {
      const entry = JSON.stringify({ at: Date.now(), answer });
      this.store?.setItem(this.prefix + answer.trial, entry);
    } catch {
      this.durable = false; // the disk is full: the answer lives in this page only
    }
  }

  /**
   * Keeps the answer, then sends it as soon as possible.
   * @param {A} answer
   */
  put(answer) {
    if (this.has(answer.trial)) return;
    this.answers.push(answer);
    this.keep(answer);
    this.changed();
    this.flush();
  }

  /** @param {string} trial */
  remove(trial) {
    this.answers = this.answers.filter((answer) => answer.trial !== trial);
    this.store?.removeItem(this.prefix + trial);
    this.changed();
  }

  /** Reads again what this device keeps: after another tab has worked on it. */
  reload() {
    this.answers = this.read();
    this.changed();
  }

  /** @param {"idle" | "sending" | "waiting"} [status] */
  changed(status = this.status) {
    this.status = status;
    this.dispatchEvent(new Event("change"));
  }

  /** Tries again now instead of later. */
  hurry() {
    this.tries = 0;
    if (this.wake) this.wake();
    else this.flush();
  }

  /** Sends what there is, one after the other, until nothing is left that may be sent. */
  async flush() {
    if (this.status !== "idle") return;
    for (;;) {
      const answer = this.paused ? null : this.next(this.answers);
      if (!answer) break;
      this.changed("sending");
      const reply = await this.send(answer);
      if (reply.retry) {
        await this.rest(reply);
      } else {
        this.tries = 0;
        this.remove(answer.trial);
        this.dispatchEvent(new CustomEvent("settled", { detail: { answer, reply } }));
      }
    }
    this.changed("idle");
  }

  /** @param {Reply} reply */
  async rest(reply) {
    const wait = Math.max(backoffMs(this.tries), reply.waitS * 1000);
    this.tries += 1;
    this.changed("waiting");
    await new Promise((resolve) => {
      const timer = setTimeout(resolve, wait);
      this.wake = () => {
        clearTimeout(timer);
        resolve(undefined);
      };
    });
    this.wake = null;
  }
}
