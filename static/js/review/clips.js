/** Clips of the items that come next, fetched ahead so that they play at once, and for a while without a network. */

import { byId, setText } from "../shared/dom.js";

const AHEAD = 8; // items whose clips are fetched

/** @import { Item } from "./desk.js" */

export class ClipsAhead {
  /** @param {(item: string, place: number) => string} urlOf */
  constructor(urlOf) {
    this.urlOf = urlOf;
    /** @type {Map<string, Promise<string>>} */
    this.ready = new Map();
    this.audio = /** @type {HTMLAudioElement} */ (byId("clip"));
    this.item = "";
    for (const event of ["play", "pause", "ended"]) this.audio.addEventListener(event, () => this.draw());
    this.audio.addEventListener("error", () => {
      if (this.audio.hasAttribute("src")) setText(byId("play-words"), "The clip could not be loaded. Try again");
    });
  }

  /** @param {Item[]} items in their order */
  want(items) {
    for (const each of items.slice(0, AHEAD)) if (each.clips > 0) this.fetch(each.item, 0);
  }

  /**
   * @param {string} item
   * @param {number} place
   * @returns {Promise<string>}
   */
  fetch(item, place) {
    const url = this.urlOf(item, place);
    const known = this.ready.get(url);
    if (known) return known;
    const coming = fetch(url, { credentials: "same-origin" })
      .then((answer) => (answer.ok ? answer.blob() : Promise.reject(new Error(String(answer.status)))))
      .then((blob) => URL.createObjectURL(blob));
    coming.catch(() => this.ready.delete(url));
    this.ready.set(url, coming);
    return coming;
  }

  /** @param {Item} item */
  show({ item, clips }) {
    this.stop();
    this.audio.removeAttribute("src");
    this.item = clips > 0 ? item : "";
    this.draw();
  }

  async toggle(place = 0) {
    if (!this.audio.paused) return this.audio.pause();
    const item = this.item;
    if (!this.audio.hasAttribute("src")) {
      setText(byId("play-words"), "Loading…");
      const url = await this.fetch(item, place).catch(() => "");
      if (item !== this.item) return undefined;
      if (!url) return setText(byId("play-words"), "The clip could not be loaded. Try again");
      this.audio.src = url;
    }
    return this.audio.play().catch(() => this.draw());
  }

  stop() {
    this.audio.pause();
  }

  draw() {
    setText(byId("play-words"), this.audio.paused ? "Play the clip" : "Pause");
  }
}
