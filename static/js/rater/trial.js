/** A trial whose clips are heard one after the other: its player, and keys for its answers. */

import { flash, setText } from "../shared/dom.js";
import { trimKeys } from "./keys.js";
import { Sequence, clipKeys } from "./sequence.js";
import { say } from "./strings.js";
import { Timeline } from "./timeline.js";
import { TrialScreen } from "./trialscreen.js";

/** @import { Skip, SoundDraft, Trial } from "../shared/wire.js" */

/** Whether the rater has started a clip since the page was loaded: before it, browsers play none. */
let hasStarted = false;

/**
 * @param {Trial} trial
 * @param {number} total
 */
export function titleOf({ training, position }, total) {
  return training ? say("practice", training) : say("trial_title", { n: position, total });
}

/** @extends {TrialScreen<"view-trial">} */
export class TrialView extends TrialScreen {
  /** @param {import("./trialscreen.js").TrialOptions} options */
  constructor(options) {
    super("view-trial", options);
    const { trial, task, total, language, clips, draft } = options;
    const { part } = this;
    setText(part("title"), titleOf(trial, total));
    part("practice").hidden = !trial.training;
    setText(part("practice"), part("title").textContent);
    part("instructions-fold").hidden = false;
    const kept = Array.isArray(draft?.players) ? draft.players : [];
    this.player = this.buildPlayer(clips, kept, language);
    this.players = [this.player];
    const rated = trial.parts.findIndex(({ role }) => role === "rated");
    for (const each of this.criteria.list) each.useSound(this.player.sounds[Math.max(rated, 0)]);
    trimKeys(this.root, { ...task, criteria: this.plans }, this.player.keys);
    this.listen();
    this.update();
    const goesOn = task.autoplay && hasStarted && !draft;
    if (goesOn) queueMicrotask(() => this.root.isConnected && this.player.resume());
  }

  /**
   * @param {import("./clips.js").ClipStore} clips
   * @param {SoundDraft[]} drafts
   * @param {string} language
   */
  buildPlayer(clips, drafts, language) {
    const { trial, task } = this;
    const player = new Sequence({
      parts: trial.parts,
      clips: trial.clips.map((url) => clips.get(url)),
      drafts,
      keys: clipKeys(trial.parts, task.criteria),
      inOrder: task.heard_out,
      most: task.playback.plays,
      timeline: new Timeline(trial.parts, this.part("lines"), language),
    });
    this.part("players").replaceChildren(player.root);
    return player;
  }

  listen() {
    this.player.addEventListener("change", () => this.update());
    this.player.addEventListener("play", () => (hasStarted = true));
    this.player.addEventListener("pause", () => this.kept());
    this.player.addEventListener("skip", (event) => {
      this.skip(/** @type {CustomEvent<Skip["reason"]>} */ (event).detail);
    });
    this.part("criteria").addEventListener("focusin", () => this.markActive());
  }

  /** What must have sounded before the answer: all of it, or at least a start of each clip. */
  get heard() {
    const { sounds } = this.player;
    return sounds.every((sound) => (this.task.heard_out ? sound.complete : sound.plays > 0));
  }

  get missing() {
    if (!this.heard) return this.missingSound;
    const { list, missing } = this.criteria;
    const answered = list.filter((each) => each.value).length;
    if (missing && list.length > 2 && answered > 0) {
      return say("answered_of", { n: answered, total: list.length });
    }
    return super.missing;
  }

  /** The same words until all is heard: a screen reader must not talk into the clips. */
  get missingSound() {
    const many = this.player.sounds.length > 1;
    if (!this.task.heard_out) return say(many ? "missing_play_all" : "missing_play");
    return say(many ? "missing_hear_all" : "missing_hear");
  }

  get lockText() {
    if (!this.task.heard_out) return this.missingSound;
    return say(this.player.sounds.length > 1 ? "lock_many" : "lock_one");
  }

  update() {
    if (this.player.firstReadyAt) this.facts.ready();
    super.update();
    this.root.classList.toggle("locked", !this.heard);
    this.markActive();
  }

  /** Shows where number keys go, when there are several places for them. */
  markActive() {
    const { list, active, missing } = this.criteria;
    const several = list.length > 1 && this.heard;
    for (const each of list) {
      each.fieldset.classList.toggle("active", several && each === active && missing !== "");
    }
  }

  focusMissing() {
    if (!this.heard) this.player.part("toggle").focus();
    else super.focusMissing();
  }

  /** @returns {import("./keys.js").KeyDoors} */
  get keys() {
    return {
      play: () => this.player.toggle(),
      again: () => this.player.again(),
      sound: (key) => this.player.playKey(key),
      choose: (key) => this.choose(key),
      step: (direction) => this.criteria.active.step(direction),
      write: () => this.write(),
      next: () => this.next(),
    };
  }

  /** The focus follows, so that Enter goes on instead of playing again. @param {string} key */
  choose(key) {
    const { active } = this.criteria;
    const known = this.plans.some(({ scale }) => scale.steps.some((step) => step.hotkey === key));
    if (!this.heard && known) return this.tooEarly();
    if (!active.hotkey(key)) return false;
    const next = this.criteria.unanswered;
    (next?.keyed ? next : active).focus(); // keys would write into a text
    return true;
  }

  /** A key of an answer that is still locked: the line that says why flashes. */
  tooEarly() {
    flash(this.part("lock"));
    return true;
  }

  write() {
    if (!this.heard && this.justification) return this.tooEarly();
    if (!this.justification) return false;
    this.justification.focus();
    return true;
  }

  get playback() {
    return this.facts.playback(this.player.sounds);
  }

  get listening() {
    return { plays: this.player.plays, heard_fraction: this.player.fraction };
  }

  get playersDraft() {
    return this.player.sounds.map((sound) => sound.draft);
  }

  destroy() {
    super.destroy();
    this.player.destroy();
  }
}

/** The module of a task in which errors are marked, or of a plug-in's scale. @param {import("../shared/wire.js").Task} task */
export function scaleModule({ criteria, script }) {
  if (script) return import(script);
  if (criteria.some(({ scale }) => scale.widget === "marks")) return import("./marks.js");
  return criteria.some(({ scale }) => scale.widget === "spans") ? import("./spans.js") : null;
}

/** @param {import("../shared/wire.js").Task} task whether its clips are on one screen */
export function isParallel(task) {
  return task.screen === "parallel" || task.several;
}
