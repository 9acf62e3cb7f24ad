/** The scales of a task, drawn by the server: answers, number keys, arrow keys and a lock. */

import { cloned } from "../shared/dom.js";
import { ManyScale, Scale, SliderScale, TextScale, TranscriptScale } from "./scales.js";
import { say } from "./strings.js";

/** @import { Criterion as Plan } from "../shared/wire.js" */

/** Words longer than this do not fit on a narrow step: such a scale becomes a list on a phone. */
const SHORT_WORD = 11;

/** More buttons than this do not fit beside each other on a phone. */
const FEW = 3;

/**
 * How the steps lie: "halves" (whole and half steps alternate), "short" (one row), "long" (a list
 * where the screen is narrow).
 * @param {{label: string, text: string}[]} steps
 * @returns {"halves" | "short" | "long"}
 */
export function layoutOf(steps) {
  if (steps.some((step) => step.text.length > SHORT_WORD)) return "long";
  const alternate = steps.every((step, k) => Number.isInteger(Number(step.label)) === (k % 2 === 0));
  if (alternate && steps.length > 5) return "halves";
  return steps.length > 7 ? "long" : "short";
}

/** One criterion answered by one button of several; fires "change" when its answer changes. */
export class Criterion extends Scale {
  /**
   * @param {HTMLFieldSetElement} fieldset
   * @param {Plan} plan
   */
  constructor(fieldset, plan) {
    super(fieldset, plan);
    /** @type {HTMLInputElement[]} */
    this.inputs = [...fieldset.querySelectorAll("input")];
    this.arrange(plan.scale.steps.filter((step) => !step.apart));
    fieldset.addEventListener("change", () => this.changed());
  }

  /** @param {{label: string, text: string}[]} plan */
  arrange(plan) {
    const steps = this.fieldset.querySelector(".steps");
    const choice = this.fieldset.querySelector(".choice");
    if (steps instanceof HTMLElement) steps.dataset.layout = layoutOf(plan);
    if (choice instanceof HTMLElement) {
      const short = plan.every((step) => (step.text || step.label).length <= SHORT_WORD);
      choice.dataset.layout = short && plan.length <= FEW ? "short" : "long";
    }
    for (const number of this.fieldset.querySelectorAll(".step-number")) {
      number.textContent = (number.textContent ?? "").replace("-", "−");
    }
  }

  /** @returns {string} the label chosen, or "" */
  get value() {
    return this.inputs.find((input) => input.checked)?.value ?? "";
  }

  get keyed() {
    return true;
  }

  /** @param {string} label */
  choose(label) {
    const input = this.inputs.find((each) => each.value === label);
    if (!input || this.fieldset.disabled) return false;
    if (!input.checked) {
      input.checked = true;
      this.changed();
    }
    return true;
  }

  /** Restores an answer even while the scale is locked. @param {string} label */
  restore(label) {
    for (const input of this.inputs) input.checked = input.value === label;
  }

  /**
   * @param {string} key
   * @returns {boolean} whether this scale knows the key
   */
  hotkey(key) {
    const input = this.inputs.find((each) => each.dataset.hotkey === key);
    return input ? this.choose(input.value) : false;
  }

  /**
   * One step up (1) or down (-1); from the middle when nothing was chosen.
   * @param {1 | -1} direction
   */
  step(direction) {
    if (this.fieldset.dataset.widget !== "steps") return false;
    const line = this.inputs.filter((input) => input.dataset.apart !== "yes");
    const at = line.findIndex((input) => input.checked);
    const middle = Math.floor((line.length - 1) / 2);
    const next = at < 0 ? middle : at + direction;
    const input = line[Math.max(0, Math.min(line.length - 1, next))];
    return this.choose(input.value);
  }

  focus() {
    const input = this.inputs.find((each) => each.checked) ?? this.inputs[0];
    input?.focus();
  }
}

/** By widget; marks.js and modules of plug-ins add their own where a task needs them. @type {Record<string, typeof Scale>} */
export const kinds = { slider: SliderScale, many: ManyScale, text: TextScale, transcript: TranscriptScale };

/** What a question calls the kind of its clip, such as the type of vocalisation. */
const KIND = "{dimension}";
/** Where a question that the clip brings stands. */
const QUESTION = "{question}";

/**
 * Fills in the alternatives that the clip of a trial brings.
 * @param {DocumentFragment} fragment
 * @param {Plan[]} plans
 * @param {Plan["scale"]["steps"] | undefined} steps
 */
function withAlternatives(fragment, plans, steps) {
  if (!steps) return plans;
  for (const model of fragment.querySelectorAll("template")) {
    const options = steps.map(({ label, text, hotkey }) => {
      const option = /** @type {DocumentFragment} */ (model.content.cloneNode(true));
      const [input, words, key] = option.querySelectorAll("input, span, kbd");
      Object.assign(/** @type {HTMLInputElement} */ (input), { value: label }).dataset.hotkey = hotkey;
      /** @type {Element} */ (words).textContent = text;
      /** @type {Element} */ (key).textContent = hotkey;
      return option;
    });
    model.replaceWith(...options);
  }
  const brought = (/** @type {Plan} */ { scale }) => scale.widget === "alternatives";
  return plans.map((plan) => (brought(plan) ? { ...plan, scale: { ...plan.scale, steps } } : plan));
}

/**
 * The server's markup of a task and its criteria, with the trial's kind where questions name it and
 * with its alternatives and words.
 * @param {import("../shared/wire.js").Task} task
 * @param {import("../shared/wire.js").Trial} trial
 */
export function askedOf(task, { dimension, alternatives, question, words }) {
  const fragment = cloned(`task-${task.index}`);
  const brought = withAlternatives(fragment, task.criteria, alternatives);
  const criteria = words ? brought.map((plan) => ({ ...plan, words })) : brought;
  if (dimension === undefined && question === undefined) return { fragment, plans: criteria };
  const named = (/** @type {string} */ text) =>
    text.replaceAll(KIND, () => dimension ?? KIND).replaceAll(QUESTION, () => question ?? QUESTION);
  for (const element of fragment.querySelectorAll("legend, .field-help")) {
    for (const node of element.childNodes) {
      if (node instanceof Text) node.data = named(node.data);
    }
  }
  const plans = criteria.map((plan) => ({ ...plan, question: named(plan.question), help: named(plan.help) }));
  return { fragment, plans };
}

/** The criteria of one trial; number and arrow keys go to the one that is next to be answered. */
export class Criteria extends EventTarget {
  /**
   * @param {Element} root holds the server's markup of the task
   * @param {Plan[]} plans of those that this class knows; another widget's fieldset is left alone
   */
  constructor(root, plans) {
    super();
    this.list = plans.map((plan) => {
      const place = `fieldset[data-criterion="${plan.index}"]`;
      const fieldset = /** @type {HTMLFieldSetElement} */ (root.querySelector(place));
      return new (kinds[plan.scale.widget] ?? Criterion)(fieldset, plan);
    });
    /** @type {Scale | null} */
    this.touched = null;
    /** @type {Scale | null} where the focus came by pointer and not by key */
    this.pointed = null;
    for (const criterion of this.list) {
      const { fieldset } = criterion;
      fieldset.addEventListener("pointerdown", () => (this.pointed = criterion));
      fieldset.addEventListener("focusin", ({ target }) => {
        if (target instanceof Element && target.matches(":focus-visible")) this.pointed = null;
      });
      criterion.addEventListener("change", () => {
        this.touched = criterion;
        this.dispatchEvent(new Event("change"));
      });
    }
  }

  /**
   * Where keys go: after an answer by pointer to the next question, not to the answered one again.
   * @returns {Scale}
   */
  get active() {
    const keyed = this.list.filter((each) => each.keyed);
    const at = document.activeElement;
    const here = keyed.find((each) => each.fieldset.contains(at));
    const focused = here === this.pointed && here?.value ? undefined : here;
    const open = keyed.find((each) => !each.value);
    const touched = this.touched?.keyed ? this.touched : undefined;
    return focused ?? open ?? touched ?? keyed[0] ?? this.list[0];
  }

  get unanswered() {
    return this.list.find((each) => !each.value) ?? null;
  }

  /** @returns {Record<string, string>} */
  get answers() {
    return Object.fromEntries(this.list.map((each) => [String(each.index), each.value]));
  }

  /** @param {boolean} locked */
  lock(locked) {
    for (const each of this.list) each.lock(locked);
  }

  /** @param {Record<string, string>} answers */
  restore(answers) {
    for (const each of this.list) each.restore(answers[String(each.index)] ?? "");
  }

  /** What is still missing, in words; "" when nothing is. */
  get missing() {
    const open = this.unanswered;
    if (!open) return "";
    return this.list.length === 1
      ? say(open.asks)
      : say("missing_answer_of", { question: open.question });
  }
}
