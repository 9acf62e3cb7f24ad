/** A session that goes nowhere: the pages as a rater sees them, while nothing is sent or stored. */

import { say } from "./strings.js";

const AHEAD = 3;

/** The same face as Api; it walks through `preview_trials` in this page alone. */
export class PreviewApi {
  /** @param {any} state with `preview_trials`: every trial of the preview */
  constructor(state) {
    this.given = state;
    /** @type {any[]} */
    this.trials = state.preview_trials ?? state.trials;
    this.done = 0;
    this.stage = state.stage;
    /** @type {"complete" | "withdrawn"} */
    this.outcome = "complete";
  }

  get next() {
    const over = this.stage === "end" || (this.stage === "trial" && this.done >= this.trials.length);
    const stage = over ? "end" : this.stage;
    return {
      ...this.given,
      stage,
      progress: { done: this.done, total: this.trials.length },
      check: stage === "check" ? this.given.check : null,
      questionnaire: stage === "questionnaire" ? this.given.questionnaire : null,
      trials: stage === "trial" ? this.trials.slice(this.done, this.done + AHEAD) : [],
      end: over ? this.end : null,
    };
  }

  get end() {
    const { given, outcome } = this;
    const end = { outcome, code: "", return_url: null, debrief: "", comment: false, ...given.end };
    return { ...end, text: say("preview_end") };
  }

  async state() {
    return replyOf(this.next);
  }

  /**
   * @param {string} door
   * @param {any} body
   */
  async post(door, body) {
    if (door === "withdraw") this.leave("withdrawn");
    else if (door === "checks" || door === "questionnaires") this.goOn();
    else if (door === "answers" || door === "skips") return this.answered(body.trial);
    return replyOf(this.next);
  }

  /** @param {"complete" | "withdrawn"} outcome */
  leave(outcome) {
    this.stage = "end";
    this.outcome = outcome;
  }

  /** A preview shows one question sheet or check, then its trials if it has some. */
  goOn() {
    this.stage = this.trials.length ? "trial" : "end";
  }

  /** @param {string} code */
  answered(code) {
    const place = this.trials.findIndex((trial) => trial.id === code);
    this.done = Math.max(this.done, place + 1);
    const feedback = this.trials[place]?.feedback ?? null;
    return replyOf({ stored: false, repeat: false, state: this.next, feedback });
  }
}

/** @param {any} body */
function replyOf(body) {
  return { status: 200, body, retry: false, wait_s: 0 };
}
