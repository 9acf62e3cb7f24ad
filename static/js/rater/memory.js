/** What this browser remembers of a session beside unsent answers: the draft of a trial, tasks begun, the last break. */

/** @import { Store } from "./outbox.js" */
/** @import { Draft } from "../shared/wire.js" */

export class Memory {
  /**
   * @param {string} code of the session
   * @param {Store | null} store
   */
  constructor(code, store) {
    this.store = store;
    this.draftKey = `earnest:draft:${code}`;
    this.begunKey = `earnest:begun:${code}`;
    this.restedKey = `earnest:rested:${code}`;
    /** @type {Map<string, unknown>} where the browser keeps nothing, the page does */
    this.own = new Map();
  }

  /**
   * @param {string} key
   * @returns {unknown}
   */
  read(key) {
    try {
      if (!this.store) return this.own.get(key) ?? null;
      return JSON.parse(this.store.getItem(key) ?? "null");
    } catch {
      return null;
    }
  }

  /**
   * @param {string} key
   * @param {unknown} value
   */
  write(key, value) {
    this.own.set(key, value);
    try {
      this.store?.setItem(key, JSON.stringify(value));
    } catch {
      // A full disk loses a draft, never an answer that was given.
    }
  }

  /**
   * What was kept of the trial or form with this name, by who draws it.
   * @template {Draft} D
   * @param {string} trial
   * @returns {D | null}
   */
  draftOf(trial) {
    const draft = /** @type {D | null} */ (this.read(this.draftKey));
    return draft?.trial === trial ? draft : null;
  }

  /** @param {Draft} draft */
  keepDraft(draft) {
    this.write(this.draftKey, draft);
  }

  /** @returns {number[]} */
  get begun() {
    const begun = this.read(this.begunKey);
    return Array.isArray(begun) ? begun : [];
  }

  /** @param {number} task */
  begin(task) {
    this.write(this.begunKey, [...new Set([...this.begun, task])]);
  }

  /** After how many trials the last break was taken. */
  get rested() {
    return Number(this.read(this.restedKey)) || 0;
  }

  /** @param {number} trials */
  rest(trials) {
    this.write(this.restedKey, trials);
  }

  clear() {
    this.own.clear();
    this.store?.removeItem(this.restedKey);
    this.store?.removeItem(this.draftKey);
    this.store?.removeItem(this.begunKey);
  }
}
