/** What every trial's screen has: its texts, its questions, the lock, the reason and the way on. */

import { flash, setEnabled, setText, view } from "../shared/dom.js";
import { Facts } from "./playbackfacts.js";
import { Justification } from "./justification.js";
import { say } from "./strings.js";
import { Criteria, askedOf } from "./criteria.js";

/** @import { Answer, Skip, Task, Trial, TrialDraft } from "../shared/wire.js" */

/**
 * @typedef {object} TrialOptions
 * @property {Trial} trial
 * @property {Task} task
 * @property {number} total
 * @property {string} language
 * @property {import("./clips.js").ClipStore} clips
 * @property {TrialDraft | null} draft
 */

/**
 * Fires "answer" (detail: the body to send), "skip" (detail: the same, for a clip that does not
 * come) and "draft" (something worth keeping has changed). A subclass has the clips, and knows what
 * was heard of them.
 * @template {"view-trial" | "view-parallel"} V
 */
export class TrialScreen extends EventTarget {
  /**
   * @param {V} id of the template
   * @param {TrialOptions} options
   */
  constructor(id, { trial, task, language, draft }) {
    super();
    this.trial = trial;
    this.task = task;
    const { root, part } = view(id);
    this.root = root;
    this.part = part;
    this.facts = new Facts(draft?.facts);
    this.complaint = draft?.complaint ?? "";
    for (const name of /** @type {const} */ (["caption", "text", "instructions", "criteria"])) {
      part(name).lang = language;
    }
    part("caption-box").hidden = !trial.caption;
    setText(part("caption"), trial.caption ?? "");
    part("text").hidden = !trial.text;
    setText(part("text"), trial.text ?? "");
    setText(part("instructions"), task.instructions);
    const { fragment, plans } = askedOf(task, trial);
    this.plans = plans;
    part("criteria").append(...fragment.querySelectorAll("fieldset"));
    this.criteria = new Criteria(part("criteria"), plans.filter((plan) => !this.hasBoard(plan)));
    this.criteria.restore(draft?.answers ?? {});
    const { justification } = task;
    this.justification = justification ? new Justification(justification, draft?.justification) : null;
    if (this.justification) part("justification").append(this.justification.root);
    for (const each of [this.criteria, this.justification]) this.follow(each);
    root.addEventListener("submit", (event) => {
      event.preventDefault();
      this.next();
    });
  }

  /** Whether a criterion is answered for all clips at once. @param {Task["criteria"][number]} _plan */
  hasBoard(_plan) {
    return false;
  }

  /** Redraws and keeps what has changed. @param {EventTarget | null} part that holds answers */
  follow(part) {
    part?.addEventListener("change", () => {
      this.complaint = "";
      this.update();
      this.kept();
    });
  }

  kept() {
    this.dispatchEvent(new Event("draft"));
  }

  /** Whether all sounded that must before the answer. */
  get heard() {
    return false;
  }

  /** What is still missing of the answers, in words; "" when they can go. */
  get missing() {
    return this.criteria.missing || this.justification?.missing || "";
  }

  /** What opens the answers. */
  get lockText() {
    return "";
  }

  update() {
    const { part, heard, missing, complaint } = this;
    this.criteria.lock(!heard);
    this.justification?.lock(!heard);
    part("lock").classList.toggle("over", heard); // it keeps its place: answers must not jump
    part("lock").ariaHidden = String(heard);
    setText(part("lock-text"), this.lockText);
    setEnabled(part("next"), !missing);
    setText(part("missing"), complaint || missing || say("complete"));
    part("missing").classList.toggle("all-set", !missing && !complaint);
    part("missing").classList.toggle("complaint", complaint !== "");
  }

  /** Shows why the server refused the answer, until the rater changes it. @param {string} text */
  complain(text) {
    this.complaint = text;
    this.update();
  }

  next() {
    if (this.missing) {
      flash(this.part("missing"));
      return this.focusMissing();
    }
    const doubt = this.justification?.doubt();
    if (doubt) {
      this.complain(doubt);
      this.justification?.focus();
      return flash(this.part("missing"));
    }
    this.justification?.sent();
    this.stop();
    this.dispatchEvent(new CustomEvent("answer", { detail: this.answer }));
  }

  /** The focus goes to what is missing. */
  focusMissing() {
    if (this.criteria.unanswered) this.criteria.unanswered.focus();
    else this.justification?.focus();
  }

  /** @param {Skip["reason"]} reason why the rater goes on without a clip */
  skip(reason) {
    /** @type {Skip} */
    const detail = { trial: this.trial.id, reason, playback: this.playback };
    this.dispatchEvent(new CustomEvent("skip", { detail }));
  }

  /** Nothing sounds any more. */
  stop() {}

  /** @returns {Answer["answers"]} */
  get answers() {
    return this.criteria.answers;
  }

  /** How the clips were listened to. @returns {Answer["playback"]} */
  get playback() {
    return this.facts.playback([]);
  }

  /** How often clips were played, and the least share of one that was heard. */
  get listening() {
    return { plays: 0, heard_fraction: 0 };
  }

  /** @returns {Answer} */
  get answer() {
    return {
      trial: this.trial.id,
      answers: this.answers,
      justification: this.justification?.reason ?? null,
      latency_ms: this.facts.latencyMs,
      ...this.listening,
      playback: this.playback,
    };
  }

  /** What to go on from after a reload of the page. @returns {TrialDraft["players"]} */
  get playersDraft() {
    return [];
  }

  /** @returns {TrialDraft} */
  get draft() {
    return {
      trial: this.trial.id,
      answers: this.answers,
      justification: this.justification?.reason,
      players: this.playersDraft,
      facts: this.facts.draft,
    };
  }

  destroy() {
    this.facts.end();
  }
}
