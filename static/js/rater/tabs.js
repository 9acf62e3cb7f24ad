/** Only one tab works on a session: the newest; the older one hears of it and rests. */

export class Tabs extends EventTarget {
  /** @param {string} code of the session */
  constructor(code) {
    super();
    this.key = `earnest:tab:${code}`;
    this.active = true;
    window.addEventListener("storage", ({ key, newValue }) => {
      if (key === this.key && newValue && this.active) this.rest();
    });
  }

  /** This tab takes the session; fires "rest" in all others. */
  take() {
    this.active = true;
    try {
      localStorage.setItem(this.key, `${Date.now()} ${Math.random()}`);
      localStorage.removeItem(this.key); // others have heard it: nothing stays
    } catch {
      // No storage, no word between tabs: the server still keeps the order.
    }
  }

  rest() {
    this.active = false;
    this.dispatchEvent(new Event("rest"));
  }
}
