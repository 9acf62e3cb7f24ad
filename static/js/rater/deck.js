/** The clips of a parallel trial and the mixer that plays them: loading, waking, counting what is heard. */

import { Heard, joined } from "./heard.js";
import { Mixer } from "./mixer.js";
import { awake, decode, fitsMemory, output } from "./audiooutput.js";

/** Where a task asks for no share of a clip, so much must have been heard; the server asks for it too. */
const ENOUGH_S = 2;
const HAIR_S = 0.1;
const TICK_MS = 80;
const MAX_DECODE_ERRORS = 3;

/** @import { Clip } from "./clips.js" */
/** @import { ElementMixer } from "./elementmixer.js" */
/** @import { DeckDraft, DeckPlayback, SoundDraft as TrackDraft } from "../shared/wire.js" */

/** One clip: what it is for, and what of it was heard. */
export class Track {
  /**
   * @param {{place: number, name: string, role: string, clip: Clip, draft?: TrackDraft}} options
   */
  constructor({ place, name, role, clip, draft }) {
    this.place = place;
    this.name = name;
    this.role = role;
    this.clip = clip;
    this.heard = new Heard(draft?.ranges);
    this.plays = draft?.plays ?? 0;
    this.duration = 0;
    /** @type {import("./playbackrate.js").RateGuard | undefined} */
    this.rate = undefined;
    this.facts = { stalls: 0, stalledMs: 0, blocked: 0, silent: 0, skips: 0, decodeErrors: 0 };
  }

  /** @returns {TrackDraft} */
  get draft() {
    return { ranges: this.heard.ranges, plays: this.plays };
  }

  get fraction() {
    return this.heard.fraction(this.duration);
  }

  /** @param {number | null} share that the task asks for */
  enough(share) {
    const { heard, duration } = this;
    if (share !== null) return this.fraction >= share;
    return duration > 0 && heard.seconds >= Math.min(ENOUGH_S, duration - HAIR_S);
  }
}

/** Fires "change" (state, what is heard, selection), "tick" (a little further on), "barred" (not yet). */
export class Deck extends EventTarget {
  /**
   * @param {Track[]} tracks
   * @param {DeckDraft} [draft]
   */
  constructor(tracks, draft = {}) {
    super();
    this.tracks = tracks;
    this.selected = 0;
    this.switches = draft.switches ?? 0;
    this.loops = draft.loops ?? 0;
    this.wishedLoop = draft.loop ?? null;
    this.referenceMs = draft.reference_ms; // the page's time when the reference was heard enough
    this.ratedMs = draft.rated_ms; // and when a rated clip first sounded
    this.restarts = false; // does pressing a clip start it at the beginning?
    /** Which clips must not be played yet. @type {(place: number) => boolean} */
    this.barred = () => false;
    /** @type {Mixer | ElementMixer | null} */
    this.mixer = null;
    /** @type {Promise<void> | null} */
    this.preparing = null;
    this.wanted = false; // play was asked for before all was there
    this.blocked = false;
    /** What was pressed while the sound device took too long to open. @type {Track | null} */
    this.late = null;
    this.decodeErrors = 0;
    this.broken = false;
    this.closed = false;
    this.readyAt = 0;
    this.onClip = () => this.prepare();
    for (const { clip } of tracks) clip.addEventListener("change", this.onClip);
    this.stop = new AbortController();
    for (const kind of ["pointerdown", "keydown"]) {
      const options = { signal: this.stop.signal, capture: true };
      document.addEventListener(kind, () => this.touched(), options);
    }
    this.timer = window.setInterval(() => this.tick(), TICK_MS);
    this.prepare();
  }

  /** The first tap anywhere wakes the sound, so that decoding can begin. */
  touched() {
    if (this.mixer || !output(true)) return;
    this.prepare();
  }

  get arrived() {
    return this.tracks.every(({ clip }) => clip.status === "ready");
  }

  /** @returns {"failed" | "loading" | "playing" | "ready"} */
  get state() {
    if (this.broken || this.tracks.some(({ clip }) => clip.status === "failed" || clip.lost)) return "failed";
    if (!this.arrived || this.preparing) return "loading";
    return this.playing ? "playing" : "ready";
  }

  /** Of all the clips, 0 to 100. */
  get percent() {
    const sum = this.tracks.reduce(
      (all, { clip }) => all + (clip.status === "ready" ? 100 : clip.percent),
      0,
    );
    return Math.floor(sum / this.tracks.length);
  }

  get playing() {
    return this.mixer?.playing ?? false;
  }

  get duration() {
    return this.mixer?.duration ?? 0;
  }

  get position() {
    return this.mixer?.position ?? 0;
  }

  get loop() {
    return this.mixer?.loop ?? { on: true, from: 0, to: 0 };
  }

  changed() {
    if (!this.closed) this.dispatchEvent(new Event("change"));
  }

  /** Makes the mixer as soon as all clips are here and the sound may be made. */
  prepare() {
    const sound = output();
    if (this.arrived && !this.mixer && !this.preparing && !this.broken && sound && !this.closed) {
      this.preparing = this.assemble(sound)
        .catch(() => this.undecodable())
        .finally(() => {
          this.preparing = null;
          this.prepare();
        });
    }
    if (this.arrived) this.readyAt ||= performance.now();
    this.changed();
  }

  /** @param {AudioContext} sound */
  async assemble(sound) {
    const clips = this.tracks.map(({ clip }) => clip);
    const mixer = (await fitsMemory(clips))
      ? new Mixer(sound, await Promise.all(clips.map((clip) => decode(/** @type {Blob} */ (clip.blob), sound))))
      : await import("./elementmixer.js").then(({ streamed }) => streamed(sound, clips, () => this.changed())); // few need it
    if (this.closed) return mixer.close();
    this.tracks.forEach((track, k) => {
      track.duration = mixer.durations[k];
      track.rate = mixer.rates[k];
    });
    mixer.select(this.selected);
    if (this.wishedLoop) mixer.setLoop(this.wishedLoop);
    this.mixer = mixer;
    sound.addEventListener("statechange", () => this.stateChanged(sound), { signal: this.stop.signal });
    this.stateChanged(sound);
    if (this.wanted) await this.start(mixer);
  }

  /** A clip is no sound that this browser knows: fetched anew a few times, then given up. */
  undecodable() {
    this.decodeErrors += 1;
    this.tracks[0].facts.decodeErrors = this.decodeErrors;
    this.broken = this.decodeErrors >= MAX_DECODE_ERRORS;
    if (!this.broken) for (const { clip } of this.tracks) clip.undecodable();
  }

  /** The speed that something forces on the clip that is heard; 1 where nothing does. */
  get forcedRate() {
    const { rate } = this.tracks[this.selected];
    return rate?.isForced ? rate.forced : 1;
  }

  /** Why trying on is no use, as far as anyone can tell. @returns {"" | "load" | "decode"} */
  get lost() {
    if (this.broken) return "decode";
    return this.tracks.some(({ clip }) => clip.lost) ? "load" : "";
  }

  retry() {
    this.broken = false;
    this.decodeErrors = 0;
    for (const { clip } of this.tracks) clip.again();
    this.prepare();
  }

  /** Must be called from a tap, a click or a key, or the browser may hold the sound back. */
  async play() {
    this.wanted = true;
    const sound = output(true);
    const running = sound ? awake(sound) : Promise.resolve(false);
    this.prepare();
    if (!(await running)) {
      this.late = this.tracks[this.selected];
      return this.held();
    }
    if (this.mixer && this.wanted) await this.start(this.mixer);
  }

  /** @param {Mixer | ElementMixer} mixer */
  async start(mixer) {
    this.wanted = false;
    this.blocked = false;
    this.late = null;
    if (!mixer.playing) this.tracks[this.selected].plays += 1;
    try {
      await mixer.play();
    } catch {
      this.held();
    }
    this.changed();
  }

  /** The browser or another programme holds the sound back: a tap more may free it. */
  held() {
    this.mixer?.pause();
    this.wanted = false;
    this.blocked = true;
    this.tracks[this.selected].facts.blocked += 1;
    this.changed();
  }

  /**
   * Sound that falls asleep is held back; a device that opened late plays what was asked of it.
   * @param {AudioContext} sound
   */
  stateChanged(sound) {
    if (sound.state !== "running") {
      if (this.playing) this.held();
    } else if (this.late && this.mixer) {
      this.late.facts.blocked -= 1; // it was slow, and nothing held it back
      this.start(this.mixer);
    }
  }

  pause() {
    this.wanted = false;
    this.late = null;
    this.mixer?.pause();
    this.take();
    this.changed();
  }

  toggle() {
    if (this.playing || this.wanted) this.pause();
    else this.play();
  }

  /** Selects a clip and lets it be heard; the one that is heard pauses. @param {number} place */
  choose(place) {
    if (this.barred(place)) return void this.dispatchEvent(new Event("barred"));
    if (place === this.selected && this.playing) return this.pause();
    this.select(place);
    if (this.restarts) this.mixer?.restart(place);
    else this.mixer?.select(place);
    if (!this.playing) this.play();
  }

  /** @param {number} place */
  select(place) {
    if (place === this.selected) return;
    this.selected = place;
    this.switches += 1;
    if (this.playing) this.tracks[place].plays += 1;
    this.changed();
  }

  /** @param {number} position */
  seek(position) {
    this.mixer?.seek(position);
    this.changed();
  }

  /** @param {import("./mixer.js").Loop} loop */
  setLoop(loop) {
    this.wishedLoop = loop;
    this.mixer?.setLoop(loop);
    this.changed();
  }

  tick() {
    if (!this.mixer?.playing) return;
    this.mixer.tick();
    this.take();
    if (this.mixer.playing) this.dispatchEvent(new Event("tick"));
    else this.changed();
  }

  /** Notes what the mixer says was heard. */
  take() {
    for (const [place, from, to] of this.mixer?.take() ?? []) {
      const track = this.tracks[place];
      const end = Math.min(to, track.duration);
      if (end > from) track.heard.ranges = joined(track.heard.ranges, [from, end]);
    }
    if (!this.mixer?.wraps) return;
    this.loops += this.mixer.wraps;
    this.mixer.wraps = 0;
  }

  /** What the answer tells about the listening, beside what each track tells. @returns {DeckPlayback} */
  get facts() {
    const { from, to } = this.loop;
    const { switches, loops } = this;
    const region = [from, to].map((place) => Math.round(1000 * place) / 1000);
    const order = { reference_heard_ms: this.referenceMs, first_rated_ms: this.ratedMs };
    return { mixer: this.mixer?.kind ?? "", switches, loops, loop_s: region, ...order };
  }

  /** @returns {DeckDraft} */
  get draft() {
    const { switches, loops } = this;
    const tracks = this.tracks.map((track) => track.draft);
    const loop = this.mixer?.loop ?? this.wishedLoop ?? undefined;
    const order = { reference_ms: this.referenceMs, rated_ms: this.ratedMs };
    return { tracks, switches, loops, loop, ...order };
  }

  close() {
    this.closed = true;
    clearInterval(this.timer);
    this.stop.abort();
    for (const { clip } of this.tracks) clip.removeEventListener("change", this.onClip);
    this.mixer?.close();
    this.mixer = null;
  }
}
