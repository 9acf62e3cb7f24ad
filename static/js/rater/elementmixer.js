/** Clips too long to decode, kept in step as audio elements; the same face as Mixer. */

import { Fader, loopWithin } from "./mixer.js";
import { RateGuard } from "./playbackrate.js";

/** A clip that is not heard is put right when it is off by more than this. */
const DRIFT_S = 0.04;

/** @import { Loop, Span } from "./mixer.js" */

/**
 * An audio element that knows its length.
 * @param {string} source
 * @returns {Promise<HTMLAudioElement>}
 */
export function loadedElement(source) {
  return new Promise((resolve, reject) => {
    const audio = new Audio();
    audio.preload = "auto";
    audio.addEventListener("loadedmetadata", () => resolve(audio), { once: true });
    audio.addEventListener("error", () => reject(audio.error), { once: true });
    audio.src = source;
  });
}

/**
 * @param {AudioContext} sound
 * @param {import("./clips.js").Clip[]} clips
 * @param {() => void} changed
 */
export async function streamed(sound, clips, changed) {
  const elements = await Promise.all(clips.map(({ source }) => loadedElement(source)));
  return new ElementMixer(sound, elements, changed);
}

export class ElementMixer {
  /**
   * @param {AudioContext} context
   * @param {HTMLAudioElement[]} elements with known lengths
   * @param {() => void} [changed] told when another speed is forced on a clip, or no more
   */
  constructor(context, elements, changed = () => undefined) {
    this.kind = "elements";
    this.context = context;
    this.elements = elements;
    this.durations = elements.map((each) => each.duration);
    this.duration = Math.max(...this.durations);
    this.out = context.createGain();
    this.out.channelCount = 2;
    this.out.channelCountMode = "explicit";
    this.out.connect(context.destination);
    this.gains = elements.map((each, track) => {
      const gain = context.createGain();
      gain.gain.value = track === 0 ? 1 : 0;
      context.createMediaElementSource(each).connect(gain).connect(this.out);
      return gain;
    });
    this.rates = elements.map((each) => new RateGuard(each, changed));
    this.fader = new Fader(context);
    this.selected = 0;
    /** @type {Loop} */
    this.loop = { on: true, from: 0, to: this.duration };
    this.playing = false;
    this.wraps = 0;
    /** @type {Span[]} */
    this.spans = [];
    this.seenAt = 0; // of the element heard
    this.seenMs = 0;
  }

  get leader() {
    return this.elements[this.selected];
  }

  get position() {
    return this.leader.currentTime;
  }

  async play() {
    if (this.playing) return;
    for (const rate of this.rates) rate.begin();
    const { on, from, to } = this.loop;
    const place = this.position;
    const outside = place > (on ? to : this.duration) - 0.02 || (on && place < from);
    this.put(outside ? (on ? from : 0) : place);
    this.playing = true;
    await Promise.all(this.elements.map((each) => startOf(each)));
  }

  pause() {
    if (!this.playing) return;
    this.collect();
    this.playing = false;
    for (const each of this.elements) each.pause();
  }

  /** @param {number} place */
  seek(place) {
    const { on, from, to } = this.loop;
    const [low, high] = on ? [from, to] : [0, this.duration];
    this.collect();
    this.put(Math.max(low, Math.min(place, high - 0.05)));
  }

  /** @param {number} place */
  put(place) {
    for (const each of this.elements) {
      each.currentTime = Math.min(place, each.duration);
      if (this.playing && each.paused) startOf(each);
    }
    this.mark(place);
  }

  /** @param {Loop} wish */
  setLoop(wish) {
    this.loop = loopWithin(wish, this.duration);
    const { on, from, to } = this.loop;
    if (on && (this.position < from || this.position >= to)) this.seek(from);
  }

  /** @param {number} track */
  select(track) {
    if (track === this.selected) return;
    this.collect();
    const place = this.position;
    this.fader.cross(this.gains[this.selected], this.gains[track]);
    this.selected = track;
    if (Math.abs(this.position - place) > DRIFT_S) this.leader.currentTime = place;
    this.mark(place);
  }

  /** The track from the start, that of the loop where there is one. @param {number} track */
  restart(track) {
    this.select(track);
    this.seek(0);
  }

  /** @param {number} place from which on hearing is counted */
  mark(place) {
    this.seenAt = place;
    this.seenMs = performance.now();
  }

  collect() {
    if (!this.playing) return;
    const place = this.position;
    const passed = (performance.now() - this.seenMs) / 1000;
    const heard = place - this.seenAt;
    if (heard > 0 && heard <= passed * 1.06 + 0.5) {
      this.spans.push([this.selected, this.seenAt, place]);
    }
    this.mark(place);
  }

  /** To be called a few times a second while it plays. */
  tick() {
    this.collect();
    if (!this.playing) return;
    const { loop, leader } = this;
    const place = this.position;
    if (loop.on && (place >= loop.to - 0.02 || leader.ended)) {
      this.wraps += 1;
      this.put(loop.from);
    } else if (leader.ended) {
      this.playing = false;
      for (const each of this.elements) each.pause();
      this.put(0);
    } else {
      this.align(place);
    }
  }

  /** Puts the silent clips back into step. @param {number} place */
  align(place) {
    this.elements.forEach((each, track) => {
      if (track === this.selected || each.seeking || each.ended) return;
      if (Math.abs(each.currentTime - place) > DRIFT_S) each.currentTime = Math.min(place, each.duration);
    });
  }

  /** @returns {Span[]} what was heard since it was last asked */
  take() {
    return this.spans.splice(0);
  }

  close() {
    this.playing = false;
    for (const each of this.elements) {
      each.pause();
      each.removeAttribute("src");
      each.load();
    }
    this.out.disconnect();
  }
}

/**
 * A clip at its end has nothing more to play, and a pause that comes at once is no failure.
 * @param {HTMLAudioElement} audio
 */
async function startOf(audio) {
  try {
    if (audio.currentTime < audio.duration) await audio.play();
  } catch (error) {
    if (!(error instanceof DOMException && error.name === "AbortError")) throw error;
  }
}
