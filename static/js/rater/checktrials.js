/** A check of several sounds: one after the other, each heard to its end, then all answers at once. */

import { flash, setEnabled, setText, view } from "../shared/dom.js";
import { ChoiceEntry, DigitsEntry } from "./checkanswers.js";
import { Player } from "./player.js";
import { dress } from "./stylesheet.js";
import { say } from "./strings.js";

/** @import { Check, CheckDraft } from "../shared/wire.js" */

/** Fires "answer" (detail: {answers, attempt}) after the last sound. */
class TrialsCheck extends EventTarget {
  /** @type {typeof ChoiceEntry | typeof DigitsEntry} */
  static entry = ChoiceEntry;

  /**
   * @param {Check} check
   * @param {import("./clips.js").ClipStore} clips
   * @param {import("./memory.js").Memory} memory
   */
  constructor(check, clips, memory) {
    super();
    const { root, part } = view("view-check-trials");
    this.root = root;
    this.part = part;
    this.check = check;
    this.clips = clips;
    this.memory = memory;
    this.name = `check:${check.key}:${check.attempt}`;
    this.sent = false;
    dress("view-check-trials", root);
    this.introduce();
    /** @type {CheckDraft | null} */
    const draft = memory.draftOf(this.name);
    /** @type {string[]} */
    this.answers = this.usable(draft?.answers);
    root.addEventListener("submit", (event) => {
      event.preventDefault();
      this.next();
    });
    this.show();
  }

  introduce() {
    const { part, check } = this;
    setText(part("title"), check.title);
    setText(part("text"), check.text);
    setText(part("text-again"), check.text);
    const again = check.attempts > 1 && check.attempt > 1;
    part("attempt").hidden = !again;
    setText(part("attempt"), say("check_attempt", { n: check.attempt, total: check.attempts }));
    part("feedback").hidden = !check.feedback;
    setText(part("feedback-text"), check.feedback);
  }

  /**
   * Answers kept before a reload, as far as they fit; the last sound is always heard once more.
   * @param {unknown} answers
   */
  usable(answers) {
    const { trials } = this.check;
    if (!Array.isArray(answers)) return [];
    const bad = answers.findIndex((answer, k) => !trials[k] || !this.kind.fits(trials[k], answer));
    return answers.slice(0, bad < 0 ? answers.length : bad).slice(0, trials.length - 1);
  }

  get kind() {
    return /** @type {typeof TrialsCheck} */ (this.constructor).entry;
  }

  get total() {
    return this.check.trials.length;
  }

  /** The sound whose turn it is. */
  show() {
    const { part, check, total } = this;
    const at = this.answers.length;
    const trial = check.trials[at];
    const name = say("check_sound", { n: at + 1, total });
    this.player?.destroy();
    this.player = new Player({ name, clip: this.clips.get(trial.clip) });
    this.player.addEventListener("change", () => this.update());
    this.entry = new this.kind(trial, at);
    this.entry.addEventListener("change", () => this.update());
    this.player.root.tabIndex = -1;
    part("player").replaceChildren(this.player.root);
    part("entry").replaceChildren(this.entry.root);
    part("text").hidden = at > 0;
    part("text-fold").hidden = at === 0 || !check.text;
    this.heard = false;
    this.update();
  }

  get missing() {
    if (!this.player?.complete) return say("missing_hear");
    return this.entry?.missing ?? "";
  }

  update() {
    const { part, missing, entry } = this;
    const heard = Boolean(this.player?.complete);
    entry?.lock(!heard || this.sent);
    if (heard && !this.heard) entry?.heard();
    this.heard = heard;
    part("lock").classList.toggle("over", heard); // it keeps its place: answers must not jump
    part("lock").ariaHidden = String(heard);
    setEnabled(part("next"), !missing && !this.sent);
    setText(part("missing"), this.sent ? say("saving") : missing);
  }

  next() {
    if (this.sent) return;
    if (this.missing) {
      flash(this.part("missing"));
      if (this.heard) this.entry?.focus();
      else this.player?.part("toggle").focus();
      return;
    }
    const answers = [...this.answers, this.entry?.value ?? ""];
    if (answers.length < this.total) this.goOn(answers);
    else this.send(answers);
  }

  /** @param {string[]} answers */
  goOn(answers) {
    this.answers = answers;
    const draft = { trial: this.name, answers };
    this.memory.keepDraft(draft);
    this.show();
    this.player?.root.focus(); // not its button: there Enter would play instead of going on
  }

  /** @param {string[]} answers */
  send(answers) {
    this.sent = true;
    this.player?.stop();
    this.update();
    const { attempt } = this.check; // so that sending it again cannot use up the next one
    this.dispatchEvent(new CustomEvent("answer", { detail: { answers, attempt } }));
  }

  /** The server refused: the rater may press again. */
  reopen() {
    this.sent = false;
    this.update();
  }

  /** @returns {import("./keys.js").KeyDoors} */
  get keys() {
    return {
      play: () => this.player?.toggle(),
      again: () => this.player?.again(),
      choose: (key) => this.entry?.hotkey(key) ?? false,
      step: () => false,
      write: () => false,
      next: () => this.next(),
    };
  }

  destroy() {
    this.player?.destroy();
  }
}

export class ChoicesCheck extends TrialsCheck {
  static entry = ChoiceEntry;
}

export class DigitsCheck extends TrialsCheck {
  static entry = DigitsEntry;
}
