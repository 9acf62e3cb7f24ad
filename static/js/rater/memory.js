/** What this browser remembers of a session beside unsent answers: the draft of a trial, tasks begun, the last break. */

/** @typedef {import("./outbox.js").Store} Store */

export class Memory {
  /**
   * @param {string} code of the session
   * @param {Store | null} store
   */
  constructor(code, store) {
    this.store = store;
    this.draft_key = `earnest:draft:${code}`;
    this.begun_key = `earnest:begun:${code}`;
    this.rested_key = `earnest:rested:${code}`;
    /** @type {Map<string, unknown>} where the browser keeps nothing, the page does */
    this.own = new Map();
  }

  /**
   * @param {string} key
   * @returns {any}
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

  /** @param {string} trial */
  draftOf(trial) {
    const draft = this.read(this.draft_key);
    return draft?.trial === trial ? draft : null;
  }

  /** @param {{trial: string}} draft */
  keepDraft(draft) {
    this.write(this.draft_key, draft);
  }

  /** @returns {number[]} */
  get begun() {
    const begun = this.read(this.begun_key);
    return Array.isArray(begun) ? begun : [];
  }

  /** @param {number} task */
  begin(task) {
    this.write(this.begun_key, [...new Set([...this.begun, task])]);
  }

  /** After how many trials the last break was taken. */
  get rested() {
    return Number(this.read(this.rested_key)) || 0;
  }

  /** @param {number} trials */
  rest(trials) {
    this.write(this.rested_key, trials);
  }

  clear() {
    this.own.clear();
    this.store?.removeItem(this.rested_key);
    this.store?.removeItem(this.draft_key);
    this.store?.removeItem(this.begun_key);
  }
}
