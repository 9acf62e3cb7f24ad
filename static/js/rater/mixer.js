/** Clips that play together on one clock: switching, looping and seeking without a click. */

/** Every switch, start, stop and loop seam fades for this long. */
export const FADE_S = 0.01;

/** From a command to its first sample: time enough to set all sources up. */
const LEAD_S = 0.02;

/** A hidden page's timers run once a second: loops are laid out this far ahead. */
const AHEAD_S = 2.5;

export const SHORTEST_LOOP_S = 0.3;

const POINTS = 65;
const phase = (/** @type {number} */ k) => (Math.PI / 2) * (k / (POINTS - 1));
const RISE = Float32Array.from({ length: POINTS }, (_, k) => (k === POINTS - 1 ? 1 : Math.sin(phase(k))));
const FALL = RISE.slice().reverse();

/**
 * @typedef {{on: boolean, from: number, to: number}} Loop
 * @typedef {{at: number, from: number, to: number}} Pass one way through the material: when, and which part
 * @typedef {{out: GainNode, gains: GainNode[], sources: AudioBufferSourceNode[], passes: Pass[], begun: number}} Run
 * @typedef {[track: number, from: number, to: number]} Span what was heard of a track
 */

/** Lets one gain fall and another rise at equal power; fades queue up, so that none is cut short. */
export class Fader {
  /** @param {BaseAudioContext} context */
  constructor(context) {
    this.context = context;
    this.freeAt = 0;
  }

  /**
   * @param {GainNode} falling
   * @param {GainNode} rising
   */
  cross(falling, rising) {
    const { currentTime, sampleRate } = this.context;
    const at = Math.max(currentTime + LEAD_S, this.freeAt); // a busy machine hears of it late
    falling.gain.setValueCurveAtTime(FALL, at, FADE_S);
    rising.gain.setValueCurveAtTime(RISE, at, FADE_S);
    this.freeAt = at + FADE_S + 128 / sampleRate;
  }
}

/**
 * The loop within a material of this length; the whole where the wish is too short.
 * @param {Loop} wish
 * @param {number} durationS
 * @returns {Loop}
 */
export function loopWithin({ on, from, to }, durationS) {
  const start = Math.max(0, Math.min(from, durationS));
  const end = Math.max(0, Math.min(to, durationS));
  const shortest = Math.min(SHORTEST_LOOP_S, durationS);
  return end - start < shortest - 1e-6 ? { on, from: 0, to: durationS } : { on, from: start, to: end };
}

/** Decoded clips on one clock. All of them always run; the gains decide which one is heard. */
export class Mixer {
  /**
   * @param {BaseAudioContext} context
   * @param {AudioBuffer[]} buffers
   */
  constructor(context, buffers) {
    this.kind = "buffers";
    /** @type {import("./playbackrate.js").RateGuard[]} nothing forces a speed on decoded clips */
    this.rates = [];
    this.context = context;
    this.buffers = buffers;
    this.durations = buffers.map((buffer) => buffer.duration);
    this.duration = Math.max(...this.durations);
    this.out = context.createGain();
    this.out.channelCount = 2; // mono goes to both ears
    this.out.channelCountMode = "explicit";
    this.out.connect(context.destination);
    this.fader = new Fader(context);
    this.selected = 0;
    /** @type {Loop} */
    this.loop = { on: true, from: 0, to: this.duration };
    this.rest = 0; // where it stands while it does not play
    this.wraps = 0;
    /** @type {Run | null} */
    this.run = null;
    /** @type {Span[]} */
    this.spans = [];
    this.seenAt = 0; // what was heard before this time is in the spans
  }

  get playing() {
    return this.run !== null;
  }

  /** Where the ear is, in seconds of the material. */
  get position() {
    const { context } = this;
    const late = context instanceof AudioContext ? context.outputLatency || 0 : 0;
    return this.run ? this.placeAt(context.currentTime - late) : this.rest;
  }

  /** @param {number} time of the context, moved to a whole sample */
  grid(time) {
    return Math.round(time * this.context.sampleRate) / this.context.sampleRate;
  }

  get soon() {
    return this.grid(this.context.currentTime + LEAD_S);
  }

  /** @param {number} time */
  placeAt(time) {
    if (!this.run) return this.rest;
    const begun = this.run.passes.filter((pass) => pass.at <= time);
    const pass = begun[begun.length - 1] ?? this.run.passes[0];
    return Math.max(pass.from, Math.min(pass.to, pass.from + time - pass.at));
  }

  async play() {
    if (this.run) return;
    const { on, from, to } = this.loop;
    const end = on ? to : this.duration;
    const outside = this.rest > end - 0.02 || (on && this.rest < from);
    this.begin(outside ? (on ? from : 0) : this.rest, this.soon);
  }

  pause() {
    if (!this.run) return;
    this.collect();
    const at = this.soon;
    this.rest = this.placeAt(at + FADE_S / 2);
    this.halt(at);
  }

  /** @param {number} place */
  seek(place) {
    const { on, from, to } = this.loop;
    const [low, high] = on ? [from, to] : [0, this.duration];
    const target = Math.max(low, Math.min(place, Math.max(low, high - 0.05)));
    this.collect();
    if (!this.run) this.rest = target;
    else this.jump(target);
  }

  /** @param {Loop} wish */
  setLoop(wish) {
    this.collect();
    this.loop = loopWithin(wish, this.duration);
    const { on, from, to } = this.loop;
    const place = this.placeAt(this.soon);
    const inside = !on || (place >= from && place < to - 2 * FADE_S);
    if (this.run) this.jump(inside ? place : from);
    else if (!inside) this.rest = from;
  }

  /** @param {number} track */
  select(track) {
    if (track === this.selected) return;
    this.collect();
    if (this.run) this.fader.cross(this.run.gains[this.selected], this.run.gains[track]);
    this.selected = track;
  }

  /** The track from the start, that of the loop where there is one. @param {number} track */
  restart(track) {
    this.collect();
    this.selected = track;
    this.rest = this.loop.on ? this.loop.from : 0;
    if (this.run) this.jump(this.rest);
  }

  /** @param {number} place */
  jump(place) {
    const at = this.soon;
    this.halt(at);
    this.begin(place, at);
  }

  /**
   * @param {number} place
   * @param {number} at
   */
  begin(place, at) {
    const out = this.context.createGain();
    out.connect(this.out);
    const gains = this.buffers.map((_, track) => {
      const gain = this.context.createGain();
      gain.gain.value = track === this.selected ? 1 : 0;
      gain.connect(out);
      return gain;
    });
    this.run = { out, gains, sources: [], passes: [], begun: 1 };
    this.seenAt = Math.max(this.seenAt, at);
    this.addPass(place, at);
    this.extend();
  }

  /**
   * Lays out one way through the material: a source for each clip, faded at both ends.
   * @param {number} place
   * @param {number} at
   */
  addPass(place, at) {
    const run = /** @type {Run} */ (this.run);
    const to = this.grid(this.loop.on ? this.loop.to : this.duration);
    const from = Math.min(this.grid(place), to);
    run.passes.push({ at, from, to });
    this.buffers.forEach((buffer, track) => {
      const length = Math.min(to, buffer.duration) - from;
      if (length <= 0) return;
      const source = this.context.createBufferSource();
      const shape = this.context.createGain();
      source.buffer = buffer;
      source.connect(shape).connect(run.gains[track]);
      envelope(shape.gain, at, length);
      source.start(at, from, length);
      source.onended = () => {
        shape.disconnect();
        run.sources = run.sources.filter((each) => each !== source);
        if (!run.sources.length && run !== this.run) run.out.disconnect();
      };
      run.sources.push(source);
    });
  }

  /** Adds the next ways through a loop, each fading in while the one before fades out. */
  extend() {
    const { run, loop, context } = this;
    if (!run || !loop.on) return;
    for (;;) {
      const last = run.passes[run.passes.length - 1];
      const end = last.at + last.to - last.from;
      if (end > context.currentTime + AHEAD_S) return;
      this.addPass(loop.from, this.grid(end - FADE_S));
    }
  }

  /** @param {number} at */
  halt(at) {
    const run = /** @type {Run} */ (this.run);
    run.out.gain.setValueAtTime(1, at);
    run.out.gain.linearRampToValueAtTime(0, at + FADE_S);
    for (const source of run.sources) source.stop(at + 2 * FADE_S);
    this.run = null;
  }

  /** Notes what has been heard since the last time. */
  collect() {
    const now = this.context.currentTime;
    const { run } = this;
    if (!run || now <= this.seenAt) return;
    run.passes.forEach((pass, k) => {
      const end = Math.min(now, pass.at + pass.to - pass.from, run.passes[k + 1]?.at ?? Infinity);
      const start = Math.max(this.seenAt, pass.at);
      if (end <= start) return;
      this.spans.push([this.selected, pass.from + start - pass.at, pass.from + end - pass.at]);
    });
    const begun = run.passes.filter((pass) => pass.at <= now).length;
    this.wraps += Math.max(0, begun - run.begun);
    run.begun = Math.max(run.begun, begun);
    this.seenAt = now;
    this.prune(run, now);
  }

  /**
   * @param {Run} run
   * @param {number} now
   */
  prune(run, now) {
    while (run.passes.length > 1 && run.passes[1].at < now - 1) {
      run.passes.shift();
      run.begun -= 1;
    }
  }

  /** To be called a few times a second while it plays. */
  tick() {
    this.collect();
    this.extend();
    const last = this.run?.passes[this.run.passes.length - 1];
    if (!last || this.loop.on || this.context.currentTime < last.at + last.to - last.from) return;
    this.halt(this.context.currentTime);
    this.rest = 0;
  }

  /** @returns {Span[]} what was heard since it was last asked */
  take() {
    return this.spans.splice(0);
  }

  close() {
    if (this.run) this.halt(this.soon);
    setTimeout(() => this.out.disconnect(), 200);
  }
}

/**
 * Up at the start, down at the end.
 * @param {AudioParam} gain
 * @param {number} at
 * @param {number} length
 */
function envelope(gain, at, length) {
  const fade = Math.min(FADE_S, length / 2);
  gain.setValueAtTime(0, at);
  gain.linearRampToValueAtTime(1, at + fade);
  gain.setValueAtTime(1, at + length - fade);
  gain.linearRampToValueAtTime(0, at + length);
}
