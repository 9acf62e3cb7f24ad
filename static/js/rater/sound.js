/** One clip that sounds: its audio element, the seconds really heard, what went wrong; no looks. */

import { inNextFrame } from "../shared/dom.js";
import { sampleRate } from "./playbackfacts.js";
import { RateGuard } from "./playbackrate.js";
import { Heard } from "./heard.js";

export const MAX_DECODE_ERRORS = 4;
const STALL_LIMIT_MS = 15_000; // of a long clip that is played as it comes: then there is a way on
const NO_OUTPUT_MS = 3_000; // asked to sound, and time has not moved for so long

/** @import { Clip } from "./clips.js" */
/** @import { SoundDraft } from "../shared/wire.js" */

/** @type {Sound | null} only one sounds at a time */
let sounding = null;

/** Fires "draw" (looks may change), "change" (heard more), "play" (asked to start) and "end". */
export class Sound extends EventTarget {
  /** @param {{name: string, clip: Clip, loop?: boolean, draft?: SoundDraft, rewinds?: boolean}} options */
  constructor({ name, clip, loop = false, draft, rewinds = true }) {
    super();
    this.name = name;
    this.clip = clip;
    this.loop = loop;
    this.rewinds = rewinds; // else a play goes on to its end: parts of it cannot be heard again
    this.lastS = 0;
    this.heard = new Heard(draft?.ranges);
    this.plays = draft?.plays ?? 0;
    this.starts = draft?.starts ?? this.plays;
    this.facts = { stalls: 0, stalledMs: 0, blocked: 0, silent: 0, skips: 0, decodeErrors: 0 };
    this.wanted = false; // pressed before the clip was there
    this.blocked = false;
    /** Whether the browser says that it plays while nothing sounds: mostly there is no output. */
    this.silent = false;
    this.silence = 0;
    this.stalledAt = 0;
    this.stuck = false; // it has stalled for long
    /** @type {number | undefined} */
    this.stallTimer = undefined;
    /** @type {{media: number, wall: number} | null} from where and when it sounds, once it does */
    this.mark = null;
    this.firstReadyAt = 0;
    this.frameLater = inNextFrame(() => this.frame());
    this.audio = clip.element();
    this.audio.loop = loop;
    this.rate = new RateGuard(this.audio, () => this.draw());
    this.follow();
    this.onClip = () => this.takeClip();
    clip.addEventListener("change", this.onClip);
    if (this.audio.readyState >= 3) this.firstReadyAt = performance.now();
    this.takeClip();
  }

  follow() {
    const { audio } = this;
    audio.addEventListener("timeupdate", () => this.tick());
    audio.addEventListener("playing", () => this.playing());
    audio.addEventListener("pause", () => this.halted());
    audio.addEventListener("waiting", () => this.waiting());
    audio.addEventListener("seeking", () => this.seeking());
    audio.addEventListener("ended", () => this.ended());
    audio.addEventListener("error", () => this.broken());
    audio.addEventListener("durationchange", () => this.draw());
    audio.addEventListener("canplay", () => this.canPlay());
    audio.addEventListener("volumechange", () => {
      if (audio.muted || audio.volume < 1) [audio.muted, audio.volume] = [false, 1];
    });
  }

  draw() {
    this.dispatchEvent(new Event("draw"));
  }

  changed() {
    this.dispatchEvent(new Event("change"));
    this.draw();
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

  /** @returns {SoundDraft} */
  get draft() {
    return { ranges: this.heard.ranges, plays: this.plays, starts: this.starts };
  }

  /** The clip has moved on: put it into the audio element once it is here. */
  takeClip() {
    const { clip, audio } = this;
    if (clip.status === "ready" && audio.dataset.source !== clip.source) {
      clip.fill(audio);
      if (this.wanted) this.play();
    } else if (audio.error) {
      this.broken();
    }
    this.draw();
  }

  canPlay() {
    this.firstReadyAt ||= performance.now();
    this.changed();
  }

  toggle() {
    if (!this.audio.paused) this.audio.pause();
    else if (this.wanted && this.clip.status !== "ready") this.wanted = false;
    else this.play();
    this.draw();
  }

  again() {
    this.audio.currentTime = 0;
    this.play();
  }

  /** Must be called from a tap, a click or a key, or the browser may hold the sound back. */
  async play() {
    this.wanted = true;
    this.rate.begin();
    if (this.clip.status !== "ready") {
      this.clip.load();
      return;
    }
    if (sounding !== this) sounding?.stop();
    sounding = this;
    this.dispatchEvent(new Event("play"));
    this.setMark();
    this.watchTime();
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

  /** Without an output some browsers wait for ever, and say nothing. */
  watchTime() {
    const { audio } = this;
    const from = audio.ended ? 0 : audio.currentTime;
    clearTimeout(this.silence);
    this.silence = window.setTimeout(() => {
      const moved = audio.ended || Math.abs(audio.currentTime - from) > 0.01;
      if (!audio.paused && !moved && !this.stalledAt) this.noOutput();
    }, NO_OUTPUT_MS);
  }

  noOutput() {
    this.silent = true;
    this.facts.silent += 1;
    this.draw();
  }

  /** iOS lets an element play later, without a tap of its own, when a tap has loaded it once. */
  unlock() {
    if (this.clip.status === "ready" && this.audio.paused && !this.starts) this.audio.load();
  }

  stop() {
    this.wanted = false;
    this.audio.pause();
  }

  retry() {
    if (this.facts.decodeErrors >= MAX_DECODE_ERRORS) this.facts.decodeErrors = 0;
    if (this.stuck) {
      this.flows();
      this.audio.load();
      this.play();
    }
    this.clip.again();
  }

  setMark() {
    const { audio } = this;
    this.mark = { media: audio.ended ? 0 : audio.currentTime, wall: performance.now() };
  }

  /** A busy device tells late that it sounds: what was heard by then counts from the mark on. */
  playing() {
    const now = performance.now();
    const from = this.mark ?? { media: this.audio.currentTime, wall: now };
    this.mark = null;
    this.starts += 1;
    if (from.media < 0.25) this.plays += 1;
    if (this.stalledAt) this.facts.stalledMs += Math.round(now - this.stalledAt);
    this.flows();
    this.heard.begin(from.media, from.wall);
    this.count();
    sampleRate();
    this.frame();
    this.draw();
  }

  /** Counts what was heard since the last look, unless at a speed that is not ours. */
  count(mediaS = this.audio.currentTime) {
    const now = performance.now();
    this.lastS = mediaS;
    if (this.audio.playbackRate === 1) this.heard.advance(mediaS, now);
    else if (this.heard.start) this.heard.begin(mediaS, now);
  }

  /** Follows the clip smoothly while it plays; timeupdate does it coarsely, in a hidden tab too. */
  frame() {
    if (this.audio.paused || this.audio.ended) return;
    this.count();
    this.draw();
    this.frameLater();
  }

  tick() {
    if (this.audio.paused || this.audio.seeking) return;
    if (this.audio.currentTime > 0) this.silent = false;
    this.count();
    this.changed();
  }

  halted() {
    clearTimeout(this.silence);
    this.silent = false;
    this.count();
    this.heard.end();
    this.changed();
  }

  waiting() {
    if (this.audio.seeking || this.audio.paused) return;
    this.count();
    this.heard.end();
    this.setMark();
    this.facts.stalls += 1;
    this.stalledAt = performance.now();
    clearTimeout(this.stallTimer);
    this.stallTimer = window.setTimeout(() => {
      this.stuck = this.stalledAt > 0;
      this.draw();
    }, STALL_LIMIT_MS);
    this.draw();
  }

  /** It goes on. */
  flows() {
    this.stalledAt = 0;
    this.stuck = false;
    clearTimeout(this.stallTimer);
  }

  /** Media keys may jump: back is fine, forward only over what was heard. */
  seeking() {
    this.heard.end();
    const { currentTime } = this.audio;
    if (!this.rewinds && currentTime > 0.25 && currentTime < this.lastS - 0.3) {
      this.facts.skips += 1;
      this.audio.currentTime = this.lastS;
    }
    const limit = this.complete ? Infinity : this.heard.frontier + 0.3;
    if (!this.loop && this.audio.currentTime > limit) {
      this.facts.skips += 1;
      this.audio.currentTime = this.heard.frontier;
    }
  }

  ended() {
    this.count(this.duration);
    this.heard.end();
    this.changed();
    this.dispatchEvent(new Event("end"));
  }

  broken() {
    if (!this.audio.getAttribute("src")) return;
    if (this.audio.error?.message.includes("AudioError")) { // Firefox, where no output opens
      this.clip.fill(this.audio);
      return this.noOutput();
    }
    this.facts.decodeErrors += 1;
    this.audio.removeAttribute("src");
    delete this.audio.dataset.source;
    if (this.facts.decodeErrors < MAX_DECODE_ERRORS) this.clip.undecodable();
    this.changed();
  }

  /** @returns {"" | "load" | "decode"} why this clip is given up after several tries */
  get lost() {
    if (this.facts.decodeErrors >= MAX_DECODE_ERRORS) return "decode";
    return this.stuck || this.clip.lost ? "load" : "";
  }

  /** @returns {string} the one word that the looks depend on */
  get state() {
    const { audio, clip } = this;
    if (clip.status === "failed" || this.lost) return "failed";
    if (clip.status !== "ready" || audio.readyState < 1) return "loading";
    if (!audio.paused && !audio.ended) return this.stalledAt ? "buffering" : "playing";
    if (this.complete) return "heard";
    return audio.currentTime > 0 && !audio.ended ? "paused" : "ready";
  }

  destroy() {
    this.clip.removeEventListener("change", this.onClip);
    this.stop();
    clearTimeout(this.silence);
    clearTimeout(this.stallTimer);
    if (sounding === this) sounding = null;
    this.audio.removeAttribute("src");
    this.audio.load();
  }
}
