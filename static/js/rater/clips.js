/** Clips fetched ahead of time: the current one first, with progress, and again when the network fails. */

import { backoffMs } from "../shared/backoff.js";

const STREAM_ABOVE_BYTES = 12 * 1024 * 1024;
const SILENCE_LIMIT_MS = 15_000;

/** After so many tries in a row the rater is offered to go on without the clip. */
const MAX_TRIES = 5;
const MAX_TRIES_GONE = 3;

/** One clip on its way into this browser; fires "change" whenever something about it changes. */
export class Clip extends EventTarget {
  /** @param {string} url */
  constructor(url) {
    super();
    this.url = url;
    /** @type {"waiting" | "loading" | "ready" | "failed"} */
    this.status = "waiting";
    /** What the audio element plays: an object URL, or the address itself for a long clip. */
    this.source = "";
    /** @type {Blob | null} the bytes, where they are here */
    this.blob = null;
    this.streamed = false;
    this.loaded = 0;
    this.total = 0;
    this.failures = 0;
    this.tries = 0; // failed in a row
    this.dropped = false;
    this.afresh = false; // from the server, not from what this browser has kept of it
    this.gone = false; // the server does not know this address any more
    this.never = false; // the server says that the clip will not come
    this.stalled = false; // nothing has come for a while
    /** @type {HTMLAudioElement | null} made before the clip is played */
    this.primed = null;
    this.taken = false;
    this.retryAt = 0;
    /** @type {number | undefined} */
    this.timer = undefined;
    /** @type {AbortController | null} */
    this.stop = null;
    /** @type {Promise<void>} */
    this.coming = Promise.resolve();
  }

  changed() {
    this.dispatchEvent(new Event("change"));
  }

  /** Whether trying on by itself is no use, as far as anyone can tell. */
  get lost() {
    if (this.status === "ready" || !navigator.onLine) return false;
    if (this.stalled) return true; // also while it is tried again
    if (this.status !== "failed") return false;
    return this.never || this.tries >= (this.gone ? MAX_TRIES_GONE : MAX_TRIES);
  }

  get percent() {
    return this.total ? Math.floor((100 * this.loaded) / this.total) : 0;
  }

  /** Loads the clip unless it is here; resolves when this try, or the one on its way, is over. */
  load() {
    if (this.status !== "ready" && this.status !== "loading") this.coming = this.tryOnce();
    return this.coming;
  }

  /** Loads it now, in place of a transfer that has stalled. */
  again() {
    if (this.status !== "loading" || !this.stalled) return void this.load();
    this.stop?.abort();
    this.coming.then(() => this.load());
  }

  async tryOnce() {
    clearTimeout(this.timer);
    this.status = "loading";
    this.loaded = 0;
    this.changed();
    this.stop = new AbortController();
    try {
      await this.fetchOnce(this.stop);
      this.status = "ready";
      this.tries = 0;
      if (!this.taken) this.prime();
      this.changed();
    } catch {
      this.failed();
    }
  }

  /** @param {AbortController} stop */
  async fetchOnce(stop) {
    const giveUp = () => {
      this.stalled = true;
      stop.abort();
    };
    let watch = setTimeout(giveUp, SILENCE_LIMIT_MS);
    try {
      const response = await fetch(this.url, {
        signal: stop.signal,
        credentials: "same-origin",
        cache: this.afresh ? "reload" : "default",
      });
      this.gone = [403, 404, 410].includes(response.status);
      this.never = response.status === 410;
      const type = response.headers.get("Content-Type") ?? "";
      // a page comes from a portal that asks for a login, say
      if (!response.ok || !response.body || type.startsWith("text/html")) throw new Error("empty");
      this.total = Number(response.headers.get("Content-Length")) || 0;
      if (this.total > STREAM_ABOVE_BYTES) {
        this.stream();
        stop.abort();
        return;
      }
      const parts = [];
      const reader = response.body.getReader();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) break;
        clearTimeout(watch);
        watch = setTimeout(giveUp, SILENCE_LIMIT_MS);
        this.stalled = false;
        parts.push(value);
        this.loaded += value.byteLength;
        this.changed();
      }
      if (!this.loaded) throw new Error("empty");
      this.blob = new Blob(parts, { type });
      this.source = URL.createObjectURL(this.blob);
    } finally {
      clearTimeout(watch);
    }
  }

  failed() {
    if (this.dropped) return;
    const wait = backoffMs(Math.min(this.failures, 4));
    this.failures += 1;
    this.tries += 1;
    this.status = "failed";
    this.retryAt = Date.now() + wait;
    this.timer = window.setTimeout(() => this.load(), wait);
    this.changed();
  }

  /** Puts the clip into an audio element. @param {HTMLAudioElement} audio */
  fill(audio) {
    audio.preload = "auto";
    audio.dataset.source = this.source;
    audio.src = this.source;
    audio.load();
  }

  /** Has the browser decode the start ahead of time, so that the first sound follows the tap at once. */
  prime() {
    if (this.streamed || this.primed) return;
    this.primed = new Audio();
    this.fill(this.primed);
  }

  /** @returns {HTMLAudioElement} an element to play the clip with; filled already when there was time */
  element() {
    const audio = this.primed ?? new Audio();
    this.primed = null;
    this.taken = true;
    return audio;
  }

  /** Plays straight from the address: for long clips, and when the copy here would not play. */
  stream() {
    this.release();
    this.source = this.url;
    this.streamed = true;
    this.status = "ready";
  }

  /** The copy here did not play: another try, first from the address itself, then fetched anew. */
  undecodable() {
    this.failures += 1;
    if (this.streamed) {
      this.streamed = false;
      this.source = "";
      this.status = "waiting";
      this.load();
    } else {
      this.stream();
      this.changed();
    }
  }

  release() {
    clearTimeout(this.timer);
    this.primed?.removeAttribute("src");
    this.primed = null;
    if (this.source.startsWith("blob:")) URL.revokeObjectURL(this.source);
    this.source = "";
    this.blob = null;
    this.status = "waiting";
  }

  drop() {
    this.dropped = true;
    this.stop?.abort();
    this.release();
  }
}

/** The clips of the present trial and of the next ones; fires "gone" when an address has died. */
export class ClipStore extends EventTarget {
  constructor() {
    super();
    /** @type {Map<string, Clip>} */
    this.clips = new Map();
    this.round = 0;
    window.addEventListener("online", () => {
      for (const clip of this.clips.values()) if (clip.status === "failed") clip.load();
    });
  }

  /**
   * @param {string} url
   * @returns {Clip}
   */
  get(url) {
    let clip = this.clips.get(url);
    if (!clip) {
      const fresh = new Clip(url);
      fresh.addEventListener("change", () => {
        if (fresh.gone && fresh.status === "failed") this.dispatchEvent(new Event("gone"));
      });
      this.clips.set(url, fresh);
      clip = fresh;
    }
    return clip;
  }

  /** Forgets what is here of these clips: the server has not sent them. @param {string[]} urls */
  renew(urls) {
    for (const url of urls) {
      this.clips.get(url)?.drop();
      this.clips.delete(url);
      this.get(url).afresh = true;
    }
  }

  /**
   * Keeps these clips and loads them one after the other; forgets all others.
   * @param {string[]} urls in the order in which they are needed
   */
  async want(urls) {
    this.round += 1;
    const round = this.round;
    for (const [url, clip] of this.clips) {
      if (!urls.includes(url)) {
        this.clips.delete(url);
        clip.drop();
      }
    }
    for (const url of urls) {
      if (round !== this.round) return;
      const clip = this.get(url);
      if (clip.status !== "failed") await clip.load(); // else its own clock tries again
    }
  }
}
