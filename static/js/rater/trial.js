/** One trial on the screen: its clips, scales, reason and the way on. */

import { flash, setEnabled, setText, view } from "../shared/dom.js";
import { Facts } from "./playbackfacts.js";
import { Justification } from "./justification.js";
import { trimKeys } from "./keys.js";
import { Sequence, clipKeys } from "./sequence.js";
import { say } from "./strings.js";
import { Timeline } from "./timeline.js";
import { Criteria, askedOf } from "./criteria.js";

/**
 * @typedef {import("./clips.js").ClipStore} ClipStore
 * @typedef {import("../shared/wire.js").Answer} Answer
 * @typedef {import("../shared/wire.js").Reason} Reason
 * @typedef {import("../shared/wire.js").Skip} Skip
 * @typedef {import("../shared/wire.js").SoundDraft} SoundDraft
 * @typedef {import("../shared/wire.js").Task} Task
 * @typedef {import("../shared/wire.js").Trial} Trial
 * @typedef {import("../shared/wire.js").TrialDraft} TrialDraft
 *
 * @typedef {object} TrialOptions
 * @property {Trial} trial
 * @property {Task} task
 * @property {number} total
 * @property {string} language
 * @property {ClipStore} clips
 * @property {TrialDraft | null} draft
 */

/** Whether the rater has started a clip since the page was loaded: before it, browsers play none. */
let hasStarted = false;

/**
 * @param {Trial} trial
 * @param {number} total
 */
export function titleOf({ training, position }, total) {
  return training ? say("practice", training) : say("trial_title", { n: position, total });
}

/**
 * Fires "answer" (detail: the body to send), "skip" (detail: the same, for a clip that cannot be
 * played) and "draft" (something worth keeping has changed).
 */
export class TrialView extends EventTarget {
  /** @param {TrialOptions} options */
  constructor({ trial, task, total, language, clips, draft }) {
    super();
    this.trial = trial;
    this.task = task;
    const { root, part } = view("view-trial");
    this.root = root;
    this.part = part;
    this.facts = new Facts(draft?.facts);
    this.complaint = "";
    setText(part("title"), titleOf(trial, total));
    const kept = Array.isArray(draft?.players) ? draft.players : [];
    this.player = this.buildPlayer(clips, kept, language);
    this.players = [this.player];
    this.buildText(language);
    const { fragment, plans } = askedOf(task, trial);
    this.criteria = new Criteria(fragment, plans);
    this.criteria.restore(draft?.answers ?? {});
    part("criteria").append(...this.criteria.list.map((each) => each.fieldset));
    part("criteria").lang = language;
    this.justification = this.buildJustification(draft?.justification);
    this.listen();
    this.update();
    const goesOn = task.autoplay && hasStarted && !draft;
    if (goesOn) queueMicrotask(() => this.root.isConnected && this.player.resume());
  }

  /** @param {string} language */
  buildText(language) {
    const { part, trial, task } = this;
    part("caption-box").hidden = !trial.caption;
    part("caption").lang = language;
    setText(part("caption"), trial.caption ?? "");
    part("text").hidden = !trial.text;
    part("text").lang = language;
    setText(part("text"), trial.text ?? "");
    part("practice").hidden = !trial.training;
    setText(part("practice"), part("title").textContent);
    part("instructions-fold").hidden = false;
    part("instructions").lang = language;
    setText(part("instructions"), task.instructions);
    trimKeys(this.root, task, this.player.keys);
  }

  /**
   * @param {ClipStore} clips
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
      timeline: new Timeline(trial.parts, this.part("lines"), language),
    });
    this.part("players").replaceChildren(player.root);
    return player;
  }

  /** @param {Reason | null} [draft] */
  buildJustification(draft) {
    if (!this.task.justification) return null;
    const justification = new Justification(this.task.justification, draft);
    this.part("justification").append(justification.root);
    return justification;
  }

  listen() {
    this.player.addEventListener("change", () => this.update());
    this.player.addEventListener("play", () => (hasStarted = true));
    this.player.addEventListener("pause", () => this.kept());
    this.player.addEventListener("skip", (event) => this.skip(event));
    for (const part of [this.criteria, this.justification]) {
      part?.addEventListener("change", () => {
        this.complaint = "";
        this.update();
        this.kept();
      });
    }
    this.part("criteria").addEventListener("focusin", () => this.markActive());
    this.root.addEventListener("submit", (event) => {
      event.preventDefault();
      this.next();
    });
  }

  kept() {
    this.dispatchEvent(new Event("draft"));
  }

  /** What must have sounded before the answer: all of it, or at least a start of each clip. */
  get heard() {
    const { sounds } = this.player;
    return sounds.every((sound) => (this.task.heard_out ? sound.complete : sound.plays > 0));
  }

  /** What is still missing, in words; "" when the answer can go. */
  get missing() {
    if (!this.heard) return this.missingSound;
    const { list, missing } = this.criteria;
    const answered = list.filter((each) => each.value).length;
    if (missing && list.length > 2 && answered > 0) {
      return say("answered_of", { n: answered, total: list.length });
    }
    return missing || this.justification?.missing || "";
  }

  /** The same words until all is heard: a screen reader must not talk into the clips. */
  get missingSound() {
    const many = this.player.sounds.length > 1;
    if (!this.task.heard_out) return say(many ? "missing_play_all" : "missing_play");
    return say(many ? "missing_hear_all" : "missing_hear");
  }

  update() {
    const { part, player, heard, missing } = this;
    if (player.firstReadyAt) this.facts.ready();
    this.criteria.lock(!heard);
    this.justification?.lock(!heard);
    part("lock").classList.toggle("over", heard); // it keeps its place: answers must not jump
    part("lock").ariaHidden = String(heard);
    const many = player.sounds.length > 1;
    const whole = many ? "lock_many" : "lock_one";
    setText(part("lock-text"), this.task.heard_out ? say(whole) : this.missingSound);
    this.root.classList.toggle("locked", !heard);
    setEnabled(part("next"), !missing);
    setText(part("missing"), this.complaint || missing || say("complete"));
    part("missing").classList.toggle("all-set", !missing && !this.complaint);
    part("missing").classList.toggle("complaint", this.complaint !== "");
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

  /** Shows why the server refused the answer, until the rater changes it. @param {string} text */
  complain(text) {
    this.complaint = text;
    this.update();
  }

  next() {
    if (!this.missing) {
      const doubt = this.justification?.doubt();
      if (doubt) {
        this.complain(doubt);
        this.justification?.focus();
        return flash(this.part("missing"));
      }
      this.justification?.sent();
      this.dispatchEvent(new CustomEvent("answer", { detail: this.answer }));
      return;
    }
    flash(this.part("missing"));
    if (!this.heard) this.player.part("toggle").focus();
    else if (this.criteria.unanswered) this.criteria.unanswered.focus();
    else this.justification?.focus();
  }

  /** @param {Event} event the reason is its detail */
  skip(event) {
    const { trial, facts, player } = this;
    const { detail: reason } = /** @type {CustomEvent<Skip["reason"]>} */ (event);
    /** @type {Skip} */
    const detail = { trial: trial.id, reason, playback: facts.playback(player.sounds) };
    this.dispatchEvent(new CustomEvent("skip", { detail }));
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
    const known = this.task.criteria.some(({ scale }) => scale.steps.some((step) => step.hotkey === key));
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

  /** @returns {Answer} */
  get answer() {
    const { trial, criteria, justification, player, facts } = this;
    return {
      trial: trial.id,
      answers: criteria.answers,
      justification: justification?.reason ?? null,
      latency_ms: facts.latencyMs,
      plays: player.plays,
      heard_fraction: player.fraction,
      playback: facts.playback(player.sounds),
    };
  }

  /** @returns {TrialDraft} */
  get draft() {
    return {
      trial: this.trial.id,
      answers: this.criteria.answers,
      justification: this.justification?.reason,
      players: this.player.sounds.map((sound) => sound.draft),
      facts: this.facts.draft,
    };
  }

  destroy() {
    this.facts.end();
    this.player.destroy();
  }
}

/** @param {import("../shared/wire.js").Task} task whether its clips are on one screen */
export function isParallel(task) {
  return task.screen === "parallel" || task.several;
}
