/** Only one tab works on a session: the newest; the older one hears of it and rests. */

export class Tabs extends EventTarget {
  /** @param {string} code of the session */
  constructor(code) {
    super();
    this.key = `earnest:tab:${code}`;
    this.id = Math.random().toString(36).slice(2);
    this.active = true;
    this.channel = typeof BroadcastChannel === "function" ? new BroadcastChannel(this.key) : null;
    this.channel?.addEventListener("message", (event) => this.heard(event.data));
    window.addEventListener("storage", (event) => {
      if (event.key === this.key) this.heard(event.newValue?.split(" ")[0]);
    });
  }

  /** This tab takes the session; fires "rest" in all others. */
  take() {
    this.active = true;
    if (this.channel) this.channel.postMessage(this.id);
    else this.shout();
  }

  /** For browsers without channels. */
  shout() {
    try {
      localStorage.setItem(this.key, `${this.id} ${Date.now()}`);
    } catch {
      // No storage, no word between tabs: the server still keeps the order.
    }
  }

  /** @param {unknown} other */
  heard(other) {
    if (typeof other !== "string" || other === this.id || !this.active) return;
    this.active = false;
    this.dispatchEvent(new Event("rest"));
  }
}
