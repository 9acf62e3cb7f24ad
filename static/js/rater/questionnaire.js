/** A questionnaire before or after the trials: branches, a draft that survives a reload, errors in place. */

import { setEnabled, setText, view } from "../shared/dom.js";
import { kinds, visible } from "./question.js";
import { dress, wear } from "./stylesheet.js";
import { say } from "./strings.js";

/** @import { Given, Questionnaire as Plan, QuestionnaireDraft } from "../shared/wire.js" */

/** Fires "draft" (something worth keeping) and "answer" (detail: the answers to send). */
export class Questionnaire extends EventTarget {
  /**
   * @param {Plan} plan
   * @param {{language: string, draft: Given | undefined}} options
   */
  constructor(plan, { language, draft }) {
    super();
    const { root, part } = view("view-questionnaire");
    this.root = root;
    this.part = part;
    this.sending = false;
    dress("view-questionnaire", root);
    for (const { style } of plan.questions) if (style) wear(style, root);
    root.lang = language;
    root.dir = "auto";
    setText(part("title"), plan.title);
    setText(part("text"), plan.text);
    part("text").hidden = !plan.text;
    this.questions = plan.questions.map((each) => new kinds[each.kind](each));
    part("questions").append(...this.questions.map((each) => each.root));
    for (const question of this.questions) {
      question.restore(draft?.[question.key] ?? "");
      question.addEventListener("change", () => this.changed());
    }
    root.addEventListener("submit", (event) => {
      event.preventDefault();
      this.send();
    });
    root.addEventListener("keydown", (event) => this.enter(event));
    this.branch();
  }

  /** Everything that was given, on hidden questions too. @returns {Given} */
  get given() {
    const filled = this.questions.filter((each) => !each.empty);
    return Object.fromEntries(filled.map((each) => [each.key, each.value]));
  }

  get asked() {
    const plans = visible(this.questions.map((each) => each.plan), this.given);
    return this.questions.filter((each) => plans.includes(each.plan));
  }

  branch() {
    const { asked } = this;
    for (const question of this.questions) question.show(asked.includes(question));
  }

  changed() {
    this.branch();
    const wrong = this.asked.filter((each) => each.root.classList.contains("wrong"));
    this.say(wrong.length);
    this.dispatchEvent(new Event("draft"));
  }

  /** Enter on one line goes to the next question: a form half filled in is not sent by mistake. */
  enter(/** @type {KeyboardEvent} */ event) {
    const { target } = event;
    if (event.key !== "Enter" || event.isComposing || !(target instanceof HTMLInputElement)) return;
    event.preventDefault();
    const { asked } = this;
    const at = asked.findIndex((each) => each.root.contains(target));
    if (asked[at + 1]) asked[at + 1].focus();
    else this.part("send").focus();
  }

  send() {
    if (this.sending) return;
    const { asked, given } = this;
    const missing = Object.fromEntries(asked.map((each) => [each.key, each.missing]));
    if (this.showErrors(missing)) return;
    const answers = Object.fromEntries(
      asked.filter((each) => each.key in given).map((each) => [each.key, given[each.key]]),
    );
    this.busy(true);
    this.dispatchEvent(new CustomEvent("answer", { detail: answers }));
  }

  /**
   * Shows what is wrong beside each question and goes to the first of them.
   * @param {Record<string, string>} sentences one for each question, "" where all is well
   * @returns {boolean} whether anything is wrong
   */
  showErrors(sentences) {
    for (const question of this.questions) question.complain(sentences[question.key] ?? "");
    const wrong = this.asked.filter((each) => sentences[each.key]);
    this.say(wrong.length);
    wrong[0]?.focus();
    wrong[0]?.root.scrollIntoView({ block: "nearest" });
    return wrong.length > 0;
  }

  /** @param {number} wrong */
  say(wrong) {
    setText(this.part("missing"), wrong ? say("questions_open", { n: wrong }) : "");
    this.part("missing").classList.toggle("complaint", wrong > 0);
  }

  /** @param {boolean} sending */
  busy(sending) {
    this.sending = sending;
    setEnabled(this.part("send"), !sending);
    setText(this.part("missing"), sending ? say("saving") : "");
  }

  /** The server has answered: the rater may press again. */
  reopen() {
    this.busy(false);
  }

  /**
   * The server found something to correct.
   * @param {Partial<import("../shared/wire.js").Refusal>} body
   * @returns {boolean} whether the questions themselves say what
   */
  refused(body) {
    return this.showErrors(body.fields ?? {});
  }
}

/**
 * @param {import("./session.js").SessionPage} page
 * @param {Plan} plan
 * @returns {Promise<Questionnaire>} once the modules of plug-ins' kinds of questions are there
 */
export async function questionnaireStage(page, plan) {
  await Promise.all(plan.questions.map(({ script }) => script && import(script)));
  const name = `questionnaire:${plan.key}`;
  const { language } = page.state.study;
  /** @type {QuestionnaireDraft | null} */
  const draft = page.memory.draftOf(name);
  const shown = new Questionnaire(plan, { language, draft: draft?.answers });
  shown.addEventListener("draft", () => {
    page.memory.keepDraft({ trial: name, answers: shown.given });
  });
  return shown;
}
