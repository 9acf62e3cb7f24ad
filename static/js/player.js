/** One clip with its button, its progress and its facts: plays, stalls, seconds really heard. */

import { setText, view } from "./dom.js";
import { Heard } from "./heard.js";
import { drawPlayer } from "./playerface.js";
import { say } from "./strings.js";

export const MAX_DECODE_ERRORS = 4;

/**
 * @typedef {import("./clips.js").Clip} Clip
 * @typedef {object} PlayerDraft
 * @property {[number, number][]} ranges
 * @property {number} plays
 */

/** Fires "change" (heard more, finished), "play" (started) and "problem" (detail: kind). */
export class Player extends EventTarget {
  /**
   * @param {{name: string, clip: Clip, loop?: boolean, draft?: PlayerDraft}} options
   */
  constructor({ name, clip, loop = false, draft }) {
    super();
    const { root, part } = view("view-player");
    this.root = root;
    this.part = part;
    this.name = name;
    this.clip = clip;
    this.loop = loop;
    this.heard = new Heard(draft?.ranges);
    this.plays = draft?.plays ?? 0;
    this.facts = { stalls: 0, stalled_ms: 0, blocked: 0, skips: 0, decode_errors: 0 };
    this.locked = "";
    this.wanted = false; // pressed before the clip was there
    this.blocked = false;
    this.stalled_at = 0;
    this.first_ready_at = 0;
    /** @type {HTMLAudioElement} */
    this.audio = part("audio");
    this.audio.loop = loop;
    this.build();
    this.onClip = () => this.takeClip();
    clip.addEventListener("change", this.onClip);
    this.takeClip();
  }

  build() {
    const { part, audio } = this;
    this.root.setAttribute("aria-label", this.name);
    setText(part("name"), this.name);
    part("progress").setAttribute("aria-label", say("playback_of", { name: this.name }));
    setText(part("again-name"), say("toggle_of", { action: say("again"), name: this.name }));
    part("again").title = say("again");
    part("again").hidden = this.loop;
    part("toggle").addEventListener("click", () => this.toggle());
    part("again").addEventListener("click", () => this.again());
    part("retry").addEventListener("click", () => this.retry());
    const tick = () => this.tick();
    audio.addEventListener("timeupdate", tick);
    audio.addEventListener("playing", () => this.playing());
    audio.addEventListener("pause", () => this.halted());
    audio.addEventListener("waiting", () => this.waiting());
    audio.addEventListener("seeking", () => this.seeking());
    audio.addEventListener("ended", () => this.ended());
    audio.addEventListener("error", () => this.broken());
    audio.addEventListener("durationchange", () => this.draw());
    audio.addEventListener("canplay", () => this.canPlay());
    audio.addEventListener("ratechange", () => {
      if (audio.playbackRate !== 1) audio.playbackRate = 1;
    });
  }

  get duration() {
    return Number.isFinite(this.audio.duration) ? this.audio.duration : 0;
  }

  get complete() {
    return this.heard.complete(this.audio.duration);
  }

  get fraction() {
    return this.heard.fraction(this.audio.duration);
  }

  /** @returns {PlayerDraft} */
  get draft() {
    return { ranges: this.heard.ranges, plays: this.plays };
  }

  /** The clip has moved on: put it into the audio element once it is here. */
  takeClip() {
    const { clip, audio } = this;
    if (clip.status === "ready" && audio.dataset.source !== clip.source) {
      audio.dataset.source = clip.source;
      audio.src = clip.source;
      audio.load();
      if (this.wanted) this.play();
    }
    this.draw();
  }

  canPlay() {
    this.first_ready_at ||= performance.now();
    this.draw();
    this.dispatchEvent(new Event("change"));
  }

  /** @param {string} reason why this clip may not be played yet; "" when it may */
  lock(reason) {
    this.locked = reason;
    this.draw();
  }

  toggle() {
    if (this.locked) return;
    if (!this.audio.paused) this.audio.pause();
    else if (this.wanted && this.clip.status !== "ready") this.wanted = false;
    else this.play();
    this.draw();
  }

  again() {
    if (this.locked) return;
    this.audio.currentTime = 0;
    this.play();
  }

  /** Must be called from a tap, a click or a key, or the browser may hold the sound back. */
  async play() {
    this.wanted = true;
    if (this.clip.status !== "ready") {
      this.clip.load();
      return;
    }
    this.dispatchEvent(new Event("play"));
    try {
      await this.audio.play();
      this.blocked = false;
    } catch (error) {
      if (error instanceof DOMException && error.name === "NotAllowedError") {
        this.blocked = true;
        this.facts.blocked += 1;
      }
    }
    this.wanted = false;
    this.draw();
  }

  stop() {
    this.wanted = false;
    this.audio.pause();
  }

  retry() {
    if (this.facts.decode_errors >= MAX_DECODE_ERRORS) this.facts.decode_errors = 0;
    this.clip.load();
  }

  playing() {
    if (this.audio.currentTime < 0.25) this.plays += 1;
    if (this.stalled_at) this.facts.stalled_ms += Math.round(performance.now() - this.stalled_at);
    this.stalled_at = 0;
    this.heard.begin(this.audio.currentTime, performance.now());
    this.frame();
    this.draw();
  }

  /** Follows the clip smoothly while it plays; timeupdate does it coarsely, in a hidden tab too. */
  frame() {
    if (this.audio.paused || this.audio.ended) return;
    this.heard.advance(this.audio.currentTime, performance.now());
    this.draw();
    requestAnimationFrame(() => this.frame());
  }

  tick() {
    if (this.audio.paused || this.audio.seeking) return;
    this.heard.advance(this.audio.currentTime, performance.now());
    this.dispatchEvent(new Event("change"));
    this.draw();
  }

  halted() {
    this.heard.advance(this.audio.currentTime, performance.now());
    this.heard.end();
    this.dispatchEvent(new Event("change"));
    this.draw();
  }

  waiting() {
    if (this.audio.seeking || this.audio.paused) return;
    this.heard.end();
    this.facts.stalls += 1;
    this.stalled_at = performance.now();
    this.draw();
  }

  /** Media keys may jump: back is fine, forward only over what was heard. */
  seeking() {
    this.heard.end();
    const limit = this.complete ? Infinity : this.heard.frontier + 0.3;
    if (!this.loop && this.audio.currentTime > limit) {
      this.facts.skips += 1;
      this.audio.currentTime = this.heard.frontier;
    }
  }

  ended() {
    this.heard.advance(this.duration, performance.now());
    this.heard.end();
    this.dispatchEvent(new Event("change"));
    this.draw();
  }

  broken() {
    if (!this.audio.getAttribute("src")) return;
    this.facts.decode_errors += 1;
    this.audio.removeAttribute("src");
    delete this.audio.dataset.source;
    if (this.facts.decode_errors < MAX_DECODE_ERRORS) this.clip.undecodable();
    this.draw();
  }

  /** @returns {string} the one word that the looks depend on */
  get state() {
    const { audio, clip } = this;
    if (this.locked) return "locked";
    if (clip.status === "failed" || this.facts.decode_errors >= MAX_DECODE_ERRORS) return "failed";
    if (clip.status !== "ready" || audio.readyState < 1) return "loading";
    if (!audio.paused && !audio.ended) return this.stalled_at ? "buffering" : "playing";
    if (this.complete) return "heard";
    return audio.currentTime > 0 && !audio.ended ? "paused" : "ready";
  }

  draw() {
    drawPlayer(this);
  }

  destroy() {
    this.clip.removeEventListener("change", this.onClip);
    this.stop();
    this.audio.removeAttribute("src");
    this.audio.load();
  }
}
