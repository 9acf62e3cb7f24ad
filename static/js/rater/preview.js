/** A session that goes nowhere: the pages as a rater sees them, while nothing is sent or stored. */

import { byId, setText } from "../shared/dom.js";
import { say } from "./strings.js";

const AHEAD = 3;

/**
 * @typedef {{stage: string, check?: any, questionnaire?: any, truths?: string[], pass_at_least?: number}} Stage
 */

/** The same face as Api; it walks through `preview_stages` and `preview_trials` in this page alone. */
export class PreviewApi {
  /** @param {any} state with all stages, trials and the end of the preview */
  constructor(state) {
    this.given = state;
    /** @type {any[]} */
    this.trials = state.preview_trials;
    /** @type {Stage[]} */
    this.stages = [...state.preview_stages, { stage: "end" }];
    this.place = 0;
    this.done = 0;
  }

  /** @returns {Stage} */
  get stage() {
    return this.stages[this.place];
  }

  get now() {
    const { stage, check = null, questionnaire = null } = this.stage;
    return {
      ...this.given,
      stage,
      check,
      questionnaire,
      progress: { done: this.done, total: this.trials.length },
      trials: stage === "trial" ? this.trials.slice(this.done, this.done + AHEAD) : [],
      end: stage === "end" ? this.end : null,
    };
  }

  get end() {
    const { text, ...end } = this.given.preview_end;
    return { ...end, text: [text, say("preview_end")].filter(Boolean).join("\n\n") };
  }

  async state() {
    return replyOf(this.now);
  }

  /**
   * @param {string} door
   * @param {any} body
   */
  async post(door, body) {
    if (door === "answers" || door === "skips") return this.answered(body);
    if (door === "comments") return replyOf({ message: say("preview_end") }, 409);
    setText(byId("preview-said"), door === "checks" ? this.judged(body.answer) : "");
    if (door === "checks" || door === "questionnaires") this.place += 1;
    return replyOf(this.now);
  }

  /**
   * What a check's answers would have come to; the preview goes on whatever they were.
   * @param {{answers?: string[]}} answer
   */
  judged({ answers = [] }) {
    const { truths = [], pass_at_least = 0 } = this.stage;
    if (!truths.length) return "";
    const right = truths.filter((truth, k) => truth === answers[k]).length;
    return say(right >= pass_at_least ? "preview_passed" : "preview_failed", { right, total: truths.length });
  }

  /** @param {any} body */
  answered(body) {
    const place = this.trials.findIndex((trial) => trial.id === body.trial);
    const { judged } = this.trials[place] ?? {};
    this.done = Math.max(this.done, place + 1);
    if (this.stage.stage === "trial" && this.done >= this.trials.length) this.place += 1;
    const right = judged?.labels.includes(body.answers?.["0"]);
    const feedback = judged && body.answers ? judged[right ? "right" : "wrong"] : null;
    return replyOf({ stored: false, repeat: false, state: this.now, feedback });
  }
}

/**
 * @param {any} body
 * @param {number} status
 */
function replyOf(body, status = 200) {
  return { status, body, retry: false, wait_s: 0 };
}
