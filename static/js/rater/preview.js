/** A session that goes nowhere: the pages as a rater sees them, while nothing is sent or stored. */

import { byId, setText } from "../shared/dom.js";
import { findsMarks } from "./marks.js";
import { findsSpans } from "./spans.js";
import { say } from "./strings.js";

const AHEAD = 3;

/** @import { Reply } from "./api.js" */
/** @import { Answer, Body, End, Posts, PreviewStage as Stage, PreviewState, Skip, State } from "../shared/wire.js" */

/** The same face as Api; it walks through `preview_stages` and `preview_trials` in this page alone. */
export class PreviewApi {
  /** @param {PreviewState} state with all stages, trials and the end of the preview */
  constructor(state) {
    this.given = state;
    this.trials = state.preview_trials;
    this.refused = () => undefined;
    /** @type {Stage[]} */
    this.stages = [...state.preview_stages, { stage: "end" }];
    this.place = 0;
    this.done = 0;
  }

  /** @returns {Stage} */
  get stage() {
    return this.stages[this.place];
  }

  /** @returns {State} */
  get now() {
    const { stage, check, questionnaire } = this.stage;
    const progress = { done: this.done, total: this.trials.length };
    const shared = { ...this.given, progress, trials: [], check: null, questionnaire: null, end: null };
    if (stage === "check" && check) return { ...shared, stage, check };
    if (stage === "questionnaire" && questionnaire) return { ...shared, stage, questionnaire };
    if (stage === "end") return { ...shared, stage, end: this.end };
    const trials = this.trials.slice(this.done, this.done + AHEAD);
    const free = this.until - this.done; // what comes after them waits for questions
    return { ...shared, stage: "trial", trials: trials.map((trial, k) => ({ ...trial, held: k >= free })) };
  }

  /** How many trials are done when this stage ends. */
  get until() {
    return this.stage.until ?? this.trials.length;
  }

  /** @returns {End} */
  get end() {
    const { text, ...end } = this.given.preview_end;
    return { ...end, text: [text, say("preview_end")].filter(Boolean).join("\n\n") };
  }

  async state() {
    return replyOf(this.now);
  }

  /**
   * @param {keyof Posts} door
   * @param {Posts[keyof Posts]} body
   */
  async post(door, body) {
    if ("trial" in body) return this.answered(body);
    if (door === "comments") {
      return replyOf({ error: "preview", message: say("preview_end"), state: null }, 409);
    }
    setText(byId("preview-said"), "answer" in body ? this.judged(body.answer) : "");
    if (door === "checks" || door === "questionnaires") this.place += 1;
    return replyOf(this.now);
  }

  /**
   * What a check's answers would have come to; the preview goes on whatever they were.
   * @param {Posts["checks"]["answer"]} answer
   */
  judged(answer) {
    const answers = "answers" in answer ? answer.answers : [];
    const { truths = [], pass_at_least: least = 0 } = this.stage;
    if (!truths.length) return "";
    const right = truths.filter((truth, k) => truth === answers[k]).length;
    return say(right >= least ? "preview_passed" : "preview_failed", { right, total: truths.length });
  }

  /** @param {Answer | Skip} body */
  answered(body) {
    const place = this.trials.findIndex((trial) => trial.id === body.trial);
    const judged = this.trials[place]?.judged;
    const label = "answers" in body ? body.answers["0"] : undefined;
    this.done = Math.max(this.done, place + 1);
    if (this.stage.stage === "trial" && this.done >= this.until) this.place += 1;
    const criterion = this.given.tasks[this.trials[place].task].criteria[0];
    /** @type {Record<string, typeof findsMarks>} */
    const finders = { marks: findsMarks, spans: findsSpans };
    const finds = finders[criterion.scale.widget];
    const passes = (/** @type {string} */ given) =>
      finds ? finds(given, judged?.labels ?? []) : judged?.labels.includes(given);
    const right = label !== undefined && passes(label);
    const feedback = judged && "answers" in body ? judged[right ? "right" : "wrong"] : null;
    return replyOf({ stored: false, repeat: false, state: this.now, feedback });
  }
}

/**
 * @param {Body} body
 * @param {number} status
 * @returns {Reply}
 */
function replyOf(body, status = 200) {
  return { status, body, retry: false, waitS: 0 };
}
