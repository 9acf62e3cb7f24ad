/** The player of a trial: its clips are segments of one thing that plays in order, or one alone. */

import { reserve, setText, view } from "../shared/dom.js";
import { drawPlayer, drawSegment } from "./playerview.js";
import { Sound } from "./sound.js";
import { say } from "./strings.js";

const GAP_MS = 500; // of silence between two clips

/** @import { Part, SoundDraft } from "../shared/wire.js" */

/**
 * @typedef {import("../shared/views.js").View<import("../shared/views.js").SegmentParts>} Segment
 */

/**
 * One key per clip: their one-letter names, else F and S for two, else digits that no scale uses.
 * @param {Part[]} parts
 * @param {import("../shared/wire.js").Criterion[]} criteria
 * @returns {string[]}
 */
export function clipKeys(parts, criteria) {
  if (parts.length < 2) return [];
  const names = parts.map((part) => part.name.toLowerCase());
  if (new Set(names).size === names.length && names.every((name) => /^[a-eg-oqt-vxyz]$/.test(name))) {
    return names;
  }
  if (parts.length === 2) return ["f", "s"];
  const steps = criteria.flatMap((each) => each.scale.steps);
  const digits = parts.map((_, k) => String(k + 1));
  const taken = parts.length > 9 || steps.some((step) => digits.includes(step.hotkey));
  return taken ? [] : digits;
}

/** Fires "change" (heard more) and "skip" (detail: why): the rater goes on without a lost clip. */
export class Sequence extends EventTarget {
  /**
   * @param {{parts: Part[], clips: import("./clips.js").Clip[], drafts: SoundDraft[], keys: string[],
   *          inOrder: boolean, most: number | undefined, timeline: import("./timeline.js").Timeline}} options
   */
  constructor({ parts, clips, drafts, keys, inOrder, most, timeline }) {
    super();
    const { root, part } = view("view-player");
    this.root = root;
    this.part = part;
    this.parts = parts;
    this.keys = keys;
    this.inOrder = inOrder;
    this.most = most;
    this.timeline = timeline;
    this.skippable = true;
    this.skipped = false;
    this.loop = false;
    this.at = 0;
    /** Whether the next clip follows by itself. */
    this.goesOn = false;
    /** @type {number | undefined} between two clips */
    this.gap = undefined;
    this.role = "";
    this.sounds = parts.map((each, k) => this.soundOf(each.name, clips[k], drafts[k]));
    /** @type {Segment[]} */
    this.segments = parts.length > 1 ? parts.map((_, k) => this.segmentOf(k)) : [];
    this.build();
    this.draw();
  }

  /**
   * @param {string} name
   * @param {import("./clips.js").Clip} clip
   * @param {SoundDraft | undefined} draft
   */
  soundOf(name, clip, draft) {
    const sound = new Sound({ name, clip, draft, rewinds: this.most === undefined });
    sound.addEventListener("draw", () => this.draw());
    sound.addEventListener("change", () => this.dispatchEvent(new Event("change")));
    sound.addEventListener("end", () => this.ended(sound));
    sound.audio.addEventListener("pause", () => this.dispatchEvent(new Event("pause")));
    this.root.append(sound.audio);
    return sound;
  }

  /** @param {number} k */
  segmentOf(k) {
    const segment = view("view-segment");
    setText(segment.part("name"), this.parts[k].name);
    setText(segment.part("key"), this.keys[k]?.toUpperCase() ?? "");
    segment.part("key").hidden = !this.keys[k];
    segment.root.addEventListener("click", () => this.playAt(k));
    return segment;
  }

  build() {
    const { part, root, name, segments } = this;
    root.setAttribute("aria-label", name);
    part("segments").append(...segments.map((segment) => segment.root));
    part("segments").hidden = !segments.length;
    part("progress-box").hidden = segments.length > 0;
    part("progress").setAttribute("aria-label", say("playback_of", { name }));
    setText(part("again-name"), say("toggle_of", { action: say("again"), name }));
    part("again").title = say("again");
    part("now").hidden = !this.timeline.marked;
    const roles = ["line_context", "line_rated", "line_idle"].map((role) => say(role));
    if (this.timeline.marked) reserve(part("now"), roles);
    part("toggle").addEventListener("click", () => this.toggle());
    part("again").addEventListener("click", () => this.again());
    part("retry").addEventListener("click", () => this.retry());
    part("skip").addEventListener("click", () => this.skip());
  }

  get sound() {
    return this.sounds[this.at];
  }

  get name() {
    return this.parts.length > 1 ? say("all_clips") : this.parts[0].name;
  }

  /** What stands beside the button: the clip that is present. */
  get title() {
    return this.parts[this.at].name;
  }

  get audio() {
    return this.sound.audio;
  }

  get duration() {
    return this.sound.duration;
  }

  get plays() {
    return this.sounds.reduce((sum, sound) => sum + sound.plays, 0);
  }

  get blocked() {
    return this.sound.blocked;
  }

  get silent() {
    return this.sound.silent;
  }

  get rate() {
    return this.sound.rate;
  }

  get wanted() {
    return this.sound.wanted;
  }

  /** How often it may still be played; undefined: as often as one likes. */
  get playsLeft() {
    return this.most === undefined ? undefined : Math.max(0, this.most - this.sound.plays);
  }

  /** Whether it was played as often as it may be: a play that was begun goes on, also after a reload. */
  get spent() {
    const midway = this.audio.currentTime > 0 && !this.audio.ended;
    return this.playsLeft === 0 && !midway && this.sound.complete;
  }

  get complete() {
    return this.sounds.every((sound) => sound.complete);
  }

  get fraction() {
    return Math.min(...this.sounds.map((sound) => sound.fraction));
  }

  /** The first sound that does not come, or else the present one. */
  get troubled() {
    return this.sounds.find((sound) => sound.state === "failed") ?? this.sound;
  }

  get clip() {
    return this.troubled.clip;
  }

  get lost() {
    return this.troubled.lost;
  }

  get firstReadyAt() {
    return this.sounds[0].firstReadyAt;
  }

  get playing() {
    return this.gap !== undefined || !this.audio.paused;
  }

  /** @returns {string} */
  get state() {
    if (this.troubled.state === "failed") return "failed";
    if (this.gap !== undefined) return "playing";
    const { state } = this.sound;
    if (state !== "heard") return state;
    return this.complete ? "heard" : "paused";
  }

  /**
   * Why a clip may not be played yet; "" when it may.
   * @param {number} place
   */
  lockOf(place) {
    if (!this.inOrder) return "";
    const before = this.sounds.slice(0, place).find((sound) => !sound.complete);
    return before ? say("after_first", { name: before.name }) : "";
  }

  toggle() {
    if (this.spent) return;
    if (this.playing) this.stop();
    else if (this.wanted && this.sound.clip.status !== "ready") this.sound.wanted = false;
    else this.resume();
    this.draw();
  }

  /** Goes on where it stopped, else with the first clip not yet heard, else from the start. */
  resume() {
    const { audio } = this;
    if (audio.currentTime > 0 && !audio.ended) return this.start(this.at, true);
    const open = this.sounds.findIndex((sound) => !sound.complete);
    return this.start(Math.max(0, open), true);
  }

  again() {
    if (this.playsLeft === 0) return;
    this.start(0, true, true);
  }

  /** @param {number} place */
  playAt(place) {
    if (!this.sounds[place] || this.lockOf(place)) return;
    const present = place === this.at;
    if (present && this.playing) this.stop();
    else this.start(place, false, !(present && this.sound.state === "paused"));
  }

  /** @param {string} key */
  playKey(key) {
    const place = this.keys.indexOf(key);
    if (place < 0) return false;
    this.playAt(place);
    return true;
  }

  /**
   * @param {number} place
   * @param {boolean} goesOn
   * @param {boolean} [anew] from the clip's start
   */
  start(place, goesOn, anew = false) {
    this.stop();
    this.at = place;
    this.goesOn = goesOn;
    if (anew && this.audio.currentTime > 0) this.audio.currentTime = 0;
    this.sound.play();
    for (const sound of this.sounds) if (sound !== this.sound) sound.unlock();
    this.dispatchEvent(new Event("play"));
    this.draw();
  }

  stop() {
    clearTimeout(this.gap);
    this.gap = undefined;
    this.sound.stop();
  }

  /** @param {Sound} sound that has come to its end */
  ended(sound) {
    if (sound !== this.sound || !this.goesOn || this.at + 1 >= this.sounds.length) return;
    this.at += 1;
    if (this.audio.currentTime > 0) this.audio.currentTime = 0;
    this.gap = window.setTimeout(() => {
      this.gap = undefined;
      this.sound.play();
    }, GAP_MS);
    this.draw();
  }

  retry() {
    for (const sound of this.sounds) if (sound.state === "failed") sound.retry();
  }

  skip() {
    if (!this.lost || this.skipped) return;
    this.skipped = true;
    this.dispatchEvent(new CustomEvent("skip", { detail: this.lost }));
  }

  draw() {
    if (!this.sounds || !this.segments) return; // a clip may be faster than this constructor
    drawPlayer(this);
    if (this.lost && this.clip.never) queueMicrotask(() => this.skip());
    this.segments.forEach((segment, k) => drawSegment(this, segment, k));
    const { at, playing, timeline } = this;
    timeline.draw(at, this.audio.currentTime, playing && this.gap === undefined);
    if (timeline.marked) this.drawRole();
  }

  /** Says which part is to be rated: seen all the time, spoken once when it begins. */
  drawRole() {
    const { part, timeline, at } = this;
    const playing = this.playing && this.gap === undefined;
    const role = playing ? timeline.roleAt(at, this.audio.currentTime) : "";
    part("now").dataset.role = role;
    const lined = timeline.parts[at].lines.length > 0;
    setText(part("now"), role ? say(`line_${role}`) : lined ? say("line_idle") : "");
    if (role !== this.role) setText(part("said"), role === "rated" ? say("line_rated") : "");
    this.role = role;
    this.drawMarks();
  }

  drawMarks() {
    const { part, timeline, at, duration } = this;
    const key = `${at}:${duration}`;
    if (part("marks").dataset.key === key) return;
    part("marks").dataset.key = key;
    part("marks").replaceChildren(
      ...timeline.marks(at, duration).map(([from, to]) => {
        const mark = document.createElement("i");
        mark.style.insetInlineStart = `${100 * from}%`;
        mark.style.inlineSize = `${100 * (to - from)}%`;
        return mark;
      }),
    );
  }


  destroy() {
    clearTimeout(this.gap);
    for (const sound of this.sounds) sound.destroy();
  }
}
