/** The kinds of questions of a questionnaire: words, controls, the answer and what is wrong with it. */

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

/** @import { AnswerToQuestion as Answer, Given, Option, Question as Plan } from "../shared/wire.js" */
/** @import { QuestionOptionParts, View } from "../shared/views.js" */

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
    if (!rule || (asked && given.some((value) => rule.answers.includes(String(value))))) {
      shown.push(question);
    }
  }
  return shown;
}

/**
 * @param {string} number
 * @returns {View<QuestionOptionParts>}
 */
export function stepView(number) {
  const step = view("view-question-step");
  setText(step.part("number"), number.replace("-", "−"));
  return step;
}

/** A question with the part that all kinds have; a kind builds its controls. Fires "change" when the answer changes. */
export class Question extends EventTarget {
  /** @param {Plan} plan */
  constructor(plan) {
    super();
    this.plan = plan;
    this.key = plan.key;
    const { root, part } = view("view-question");
    this.root = /** @type {HTMLFieldSetElement} */ (root);
    this.part = part;
    /** @type {HTMLInputElement | HTMLTextAreaElement | null} the one control in which the answer is written or set */
    this.control = null;
    /** @type {HTMLInputElement[]} of options, the last perhaps of "I prefer not to say" */
    this.boxes = [];
    root.dataset.kind = plan.kind;
    setText(part("question"), plan.question);
    part("optional").hidden = plan.required;
    this.buildHelp();
    this.build(plan.options.filter(({ value }) => value !== PREFER_NOT));
    const apart = plan.options.find(({ value }) => value === PREFER_NOT);
    if (apart) this.boxes.push(this.buildOption(apart, part("apart")));
    part("apart").hidden = !apart;
    this.describe();
    this.listen();
    this.update();
  }

  /** Builds the controls. @param {Option[]} _own the options but for "I prefer not to say" */
  build(_own) {}

  /** @returns {Answer} what the controls hold */
  get own() {
    return this.control?.value ?? "";
  }

  /** Sets the controls; "" clears them. @param {Answer} value */
  set own(value) {
    if (this.control) this.control.value = String(value);
  }

  /** The type of the boxes of options. */
  get box() {
    return "checkbox";
  }

  /** Whether the answer can only be taken back by a button. */
  get stays() {
    return [this.control, ...this.boxes].some((each) => ["radio", "range"].includes(each?.type ?? ""));
  }

  /** What may be answered, in words. */
  get limits() {
    return "";
  }

  buildHelp() {
    const { part, plan, limits } = this;
    setText(part("help"), plan.help);
    part("help").hidden = !plan.help;
    setText(part("limits"), limits);
    part("limits").hidden = !limits;
  }

  /**
   * @param {Option} option
   * @param {HTMLElement} list
   */
  buildOption({ value, text }, list, { root, part } = view("view-question-option")) {
    const box = part("box");
    box.type = this.box;
    box.name = `question-${this.key}`;
    box.value = value;
    setText(part("text"), text);
    if (value === PREFER_NOT) root.classList.add("apart");
    list.append(root);
    return box;
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
    if (this.box === "radio") root.setAttribute("role", "radiogroup");
    if (plan.required && root.role === "radiogroup") root.setAttribute("aria-required", "true");
    (this.control ?? root).setAttribute("aria-describedby", described.join(" "));
  }

  listen() {
    this.root.addEventListener("input", (event) => this.changed(event.target));
    this.part("clear").addEventListener("click", () => {
      this.restore("");
      this.focus();
      this.changed(null);
    });
  }

  /** @param {EventTarget | null} target */
  changed(target) {
    if (target instanceof HTMLInputElement && this.boxes.includes(target) && target.checked) {
      const declined = target.value === PREFER_NOT;
      const others = this.boxes.filter((box) => box !== target);
      for (const box of others) if (declined || box.value === PREFER_NOT) box.checked = false;
    }
    this.complain("");
    this.update();
    this.dispatchEvent(new Event("change"));
  }

  /** Whether the rater prefers not to say. */
  get declined() {
    return this.boxes.some((box) => box.checked && box.value === PREFER_NOT);
  }

  update() {
    const { declined, control } = this;
    if (declined) this.own = "";
    if (control) control.disabled = declined;
    this.part("clear").hidden = this.plan.required || !this.stays || this.empty;
  }

  /** @returns {Answer} */
  get value() {
    return this.declined ? PREFER_NOT : this.own;
  }

  /** @param {Answer} value as it was given once */
  restore(value) {
    for (const box of this.boxes) box.checked = box.value === PREFER_NOT && value === PREFER_NOT;
    this.own = value === PREFER_NOT ? "" : value;
    this.update();
  }

  get empty() {
    const { value } = this;
    return typeof value === "string" ? !value.trim() : !Object.keys(value).length;
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

class Many extends Question {
  /** @param {Option[]} own */
  build(own) {
    this.boxes = own.map((option) => this.buildOption(option, this.part("answer")));
    const short = own.every((option) => option.text.length <= SHORT_OPTION);
    this.part("answer").dataset.layout = short && own.length > 2 ? "short" : "long";
  }

  /** @returns {Answer} */
  get value() {
    return this.boxes.filter((box) => box.checked).map((box) => box.value);
  }

  /** @param {Answer} value */
  restore(value) {
    const given = [value].flat().map(String);
    for (const box of this.boxes) box.checked = given.includes(box.value);
    this.update();
  }
}

class One extends Many {
  get box() {
    return "radio";
  }

  /** @returns {Answer} */
  get value() {
    return this.boxes.find((box) => box.checked)?.value ?? "";
  }
}

class Scale extends One {
  /** @param {Option[]} own its points */
  build(own) {
    const { part } = this;
    this.boxes = own.map((option) => this.buildOption(option, part("answer"), stepView(option.value)));
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
}

class SliderQuestion extends Question {
  /** @param {Option[]} own its points with words */
  build(own) {
    const { root, part } = view("view-question-slider");
    const { low, high, question } = this.plan;
    const steps = own.map(({ value, text }) => ({ label: value, text }));
    /** @type {import("./slider.js").Span} */
    const scale = { span: [low ?? 0, high ?? 100, 1], steps };
    layWords(part("words"), scale);
    dress("view-question-slider", root);
    this.part("answer").append(root);
    this.slider = new Slider(part("slider"), part("score"), scale, question);
    this.slider.addEventListener("change", () => this.changed(null));
    this.control = this.slider.input;
  }

  /** @returns {Answer} */
  get own() {
    return this.slider?.label ?? "";
  }

  /** @param {Answer} value */
  set own(value) {
    this.slider?.restore(String(value));
  }

  /** @param {EventTarget | null} target the slider itself says when its value changes */
  changed(target) {
    if (target !== this.control) super.changed(target);
  }
}

class Written extends Question {
  build() {
    const { plan } = this;
    const field = this.field();
    field.autocomplete = "off";
    field.setAttribute("aria-labelledby", `question-${this.key}`);
    if (plan.required) field.setAttribute("aria-required", "true");
    this.part("answer").append(field);
    this.control = field;
  }

  /** @returns {HTMLInputElement | HTMLTextAreaElement} */
  field() {
    return Object.assign(document.createElement("input"), { type: "text" });
  }
}

class Text extends Written {
  field() {
    const { longest } = this.plan;
    const field = longest > ONE_LINE ? document.createElement("textarea") : super.field();
    if (field instanceof HTMLTextAreaElement) field.rows = 3;
    field.maxLength = longest;
    return field;
  }
}

class Numeral extends Written {
  get limits() {
    const { low, high } = this.plan;
    if (low !== null && high !== null) return say("number_between", { low, high });
    if (low !== null) return say("number_low", { low });
    return high !== null ? say("number_high", { high }) : "";
  }

  field() {
    const { low } = this.plan;
    return Object.assign(super.field(), { inputMode: low !== null && low >= 0 ? "decimal" : "text" });
  }
}

class BirthDate extends Written {
  get limits() {
    return say("birth_date_age");
  }

  field() {
    return Object.assign(super.field(), { type: "date", max: new Date().toISOString().slice(0, 10) });
  }
}

/** By kind; modules of plug-ins add their own. @type {Record<string, typeof Question>} */
export const kinds = {
  ...{ one: One, many: Many, scale: Scale, slider: SliderQuestion, number: Numeral, text: Text },
  ["birth_date"]: BirthDate,
};
