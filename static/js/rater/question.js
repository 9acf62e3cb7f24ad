/** One question of a questionnaire: its words, its controls, its answer and what is wrong with it. */

import { setText, view } from "../shared/dom.js";
import { layWords, Slider } from "./slider.js";
import { say } from "./strings.js";
import { dress } from "./stylesheet.js";

/** The value that stands for "I prefer not to say". */
export const PREFER_NOT = "prefer_not";

/** Texts up to this length are written on one line. */
const ONE_LINE = 120;

/** Options with at most so many characters stand beside each other where there is room. */
const SHORT_OPTION = 22;

/** More points than these stand in two rows on a phone. */
const FEW_POINTS = 5;

/**
 * @typedef {import("../shared/wire.js").Option} Option
 * @typedef {import("../shared/wire.js").Question} Plan
 * @typedef {import("../shared/wire.js").Given} Given
 * @typedef {import("../shared/views.js").QuestionOptionParts} QuestionOptionParts
 */

/**
 * @template P
 * @typedef {import("../shared/views.js").View<P>} View
 */

/**
 * The questions that these answers lead to; one that is hidden hides what hangs on it.
 * @param {Plan[]} questions
 * @param {Given} answers
 * @returns {Plan[]}
 */
export function visible(questions, answers) {
  /** @type {Plan[]} */
  const shown = [];
  for (const question of questions) {
    const rule = question.show_if;
    const given = [answers[rule?.question ?? ""] ?? []].flat();
    const asked = rule && shown.some((each) => each.key === rule.question);
    if (!rule || (asked && given.some((value) => rule.answers.includes(value)))) {
      shown.push(question);
    }
  }
  return shown;
}

/** @param {Plan} plan */
function limitsOf({ kind, low, high }) {
  if (kind === "birth_date") return say("birth_date_age");
  if (kind !== "number") return "";
  if (low !== null && high !== null) return say("number_between", { low, high });
  if (low !== null) return say("number_low", { low });
  return high !== null ? say("number_high", { high }) : "";
}

/**
 * @param {string} number
 * @returns {View<QuestionOptionParts>}
 */
function stepView(number) {
  const step = view("view-question-step");
  setText(step.part("number"), number.replace("-", "−"));
  return step;
}

/** Fires "change" when the answer changes. */
export class Question extends EventTarget {
  /** @param {Plan} plan */
  constructor(plan) {
    super();
    this.plan = plan;
    this.key = plan.key;
    const { root, part } = view("view-question");
    this.root = /** @type {HTMLFieldSetElement} */ (root);
    this.part = part;
    root.dataset.kind = plan.kind;
    setText(part("question"), plan.question);
    part("optional").hidden = plan.required;
    this.buildHelp();
    /** @type {HTMLInputElement | HTMLTextAreaElement | null} where text or a number is written */
    this.field = ["text", "number", "birth_date"].includes(plan.kind) ? this.buildField() : null;
    this.slider = plan.kind === "slider" ? this.buildSlider(plan.low ?? 0, plan.high ?? 100) : null;
    const chosen = plan.options.filter(({ value }) => !this.slider || value === PREFER_NOT);
    /** @type {HTMLInputElement[]} */
    this.boxes = chosen.map((option) => this.buildOption(option));
    this.arrange();
    this.describe();
    this.listen();
    this.update();
  }

  buildHelp() {
    const { part, plan } = this;
    setText(part("help"), plan.help);
    part("help").hidden = !plan.help;
    const limits = limitsOf(plan);
    setText(part("limits"), limits);
    part("limits").hidden = !limits;
  }

  buildField() {
    const { plan } = this;
    const long = plan.kind === "text" && plan.longest > ONE_LINE;
    const field = document.createElement(long ? "textarea" : "input");
    if (field instanceof HTMLInputElement) field.type = "text";
    else field.rows = 3;
    field.autocomplete = "off";
    if (plan.kind === "birth_date") Object.assign(field, { type: "date", max: new Date().toISOString().slice(0, 10) });
    else if (plan.kind === "text") field.maxLength = plan.longest;
    else field.inputMode = plan.low !== null && plan.low >= 0 ? "decimal" : "text";
    field.setAttribute("aria-labelledby", `question-${this.key}`);
    if (plan.required) field.setAttribute("aria-required", "true");
    this.part("answer").append(field);
    return field;
  }

  /**
   * @param {number} low
   * @param {number} high
   */
  buildSlider(low, high) {
    const { root, part } = view("view-question-slider");
    const words = this.plan.options.filter(({ value }) => value !== PREFER_NOT);
    const steps = words.map(({ value, text }) => ({ label: value, text }));
    /** @type {import("./slider.js").Span} */
    const scale = { span: [low, high, 1], steps };
    layWords(part("words"), scale);
    dress("view-question-slider", root);
    this.part("answer").append(root);
    return new Slider(part("slider"), part("score"), scale, this.plan.question);
  }

  /** @param {Option} option */
  buildOption(option) {
    const apart = option.value === PREFER_NOT;
    const step = this.plan.kind === "scale" && !apart;
    const { root, part } = step ? stepView(option.value) : view("view-question-option");
    const box = part("box");
    box.type = ["one", "scale"].includes(this.plan.kind) ? "radio" : "checkbox";
    box.name = `question-${this.key}`;
    box.value = option.value;
    setText(part("text"), option.text);
    if (apart) root.classList.add("apart");
    this.part(apart ? "apart" : "answer").append(root);
    return box;
  }

  /** How the options lie, and the words at the ends of a scale. */
  arrange() {
    const { plan, part } = this;
    const own = plan.options.filter((option) => option.value !== PREFER_NOT);
    const short = own.every((option) => option.text.length <= SHORT_OPTION);
    part("answer").dataset.layout = short && own.length > 2 ? "short" : "long";
    part("apart").hidden = !part("apart").childElementCount;
    if (plan.kind === "scale") this.arrangeScale(own);
  }

  /** @param {Option[]} own its points */
  arrangeScale(own) {
    const { part } = this;
    const rows = own.length > FEW_POINTS ? 2 : 1;
    part("answer").dataset.layout = "scale";
    part("answer").style.setProperty("--points", String(own.length));
    part("answer").style.setProperty("--half", String(Math.ceil(own.length / rows)));
    const between = own.slice(1, -1).some((option) => option.text);
    part("answer").dataset.words = between ? "each" : "ends";
    part("ends").hidden = between || !own.some((option) => option.text);
    setText(part("low-end"), own[0]?.text ?? "");
    setText(part("high-end"), own[own.length - 1]?.text ?? "");
  }

  /** Names for screen readers. */
  describe() {
    const { root, part, plan, key } = this;
    const described = [];
    for (const name of /** @type {const} */ (["help", "limits", "error"])) {
      part(name).id = `${name}-${key}`;
      if (name === "error" || !part(name).hidden) described.push(part(name).id);
    }
    part("question").id = `question-${key}`;
    if (["one", "scale"].includes(plan.kind)) root.setAttribute("role", "radiogroup");
    if (plan.required && root.role === "radiogroup") root.setAttribute("aria-required", "true");
    (this.control ?? root).setAttribute("aria-describedby", described.join(" "));
  }

  listen() {
    this.root.addEventListener("input", (event) => {
      if (event.target !== this.slider?.input) this.changed(event.target);
    });
    this.slider?.addEventListener("change", () => this.changed(null));
    this.part("clear").addEventListener("click", () => {
      this.restore(undefined);
      this.focus();
      this.changed(null);
    });
  }

  /** @param {EventTarget | null} target */
  changed(target) {
    if (target instanceof HTMLInputElement && target.type === "checkbox" && target.checked) {
      const declined = target.value === PREFER_NOT;
      const others = this.boxes.filter((box) => box !== target);
      for (const box of others) if (declined || box.value === PREFER_NOT) box.checked = false;
    }
    this.complain("");
    this.update();
    this.dispatchEvent(new Event("change"));
  }

  update() {
    const { field, plan, part } = this;
    if (field) field.disabled = this.boxes.some((box) => box.checked);
    if (field?.disabled) field.value = "";
    if (this.slider) this.slider.input.disabled = this.boxes.some((box) => box.checked);
    if (this.slider?.input.disabled) this.slider.restore("");
    const stays = ["one", "scale", "slider"].includes(plan.kind);
    part("clear").hidden = plan.required || !stays || this.value === "";
  }

  /** @returns {string | string[]} */
  get value() {
    const chosen = this.boxes.filter((box) => box.checked).map((box) => box.value);
    if (this.plan.kind === "many") return chosen;
    return chosen[0] ?? this.field?.value ?? this.slider?.label ?? "";
  }

  /** @param {string | string[] | undefined} value as it was given once */
  restore(value) {
    const given = [value ?? []].flat().map(String);
    for (const box of this.boxes) box.checked = given.includes(box.value);
    if (this.field) this.field.value = given[0] ?? "";
    if (given[0] !== PREFER_NOT) this.slider?.restore(given[0] ?? "");
    this.update();
  }

  /** The one control in which the answer is written or set, if there is one. */
  get control() {
    return this.field ?? this.slider?.input ?? null;
  }

  get empty() {
    const { value } = this;
    return typeof value === "string" ? !value.trim() : !value.length;
  }

  /** What is missing, in words; "" when nothing is. */
  get missing() {
    return this.plan.required && this.empty ? say("question_missing") : "";
  }

  /** Says what is wrong with the answer; "" takes it away. @param {string} text */
  complain(text) {
    const { root, part } = this;
    setText(part("error-text"), text);
    part("error").hidden = !text;
    root.classList.toggle("wrong", text !== "");
    for (const each of this.control ? [this.control] : root.role === "radiogroup" ? [root] : this.boxes) {
      if (text) each.setAttribute("aria-invalid", "true");
      else each.removeAttribute("aria-invalid");
    }
  }

  /** @param {boolean} shown */
  show(shown) {
    this.root.hidden = !shown;
    this.root.disabled = !shown;
  }

  focus() {
    const box = this.boxes.find((each) => each.checked) ?? this.boxes[0];
    const control = this.control?.disabled ? null : this.control;
    (control ?? box)?.focus();
  }
}
