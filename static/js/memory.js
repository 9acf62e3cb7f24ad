/** What this browser remembers of a session beside unsent answers: the draft of a trial, tasks begun. */

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
  }

  /**
   * @param {string} key
   * @returns {any}
   */
  read(key) {
    try {
      return JSON.parse(this.store?.getItem(key) ?? "null");
    } catch {
      return null;
    }
  }

  /**
   * @param {string} key
   * @param {unknown} value
   */
  write(key, value) {
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

  clear() {
    this.store?.removeItem(this.draft_key);
    this.store?.removeItem(this.begun_key);
  }
}
