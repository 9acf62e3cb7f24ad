/** The scales that are not one button of several: a slider, several choices, words of one's own. */

import { partsOf, setText } from "../shared/dom.js";
import { layWords, Slider, spanned } from "./slider.js";
import { say } from "./strings.js";

/** @import { Criterion as Plan } from "../shared/wire.js" */

/** What all scales have in common; fires "change" when the answer changes. */
export class Scale extends EventTarget {
  /**
   * @param {HTMLFieldSetElement} fieldset
   * @param {Plan} plan
   */
  constructor(fieldset, plan) {
    super();
    this.fieldset = fieldset;
    this.index = plan.index;
    this.question = plan.question;
    this.asks = "missing_answer";
  }

  changed() {
    this.dispatchEvent(new Event("change"));
  }

  /** @returns {string} the label, "" without an answer */
  get value() {
    return "";
  }

  /** Whether keys of the page can answer it. */
  get keyed() {
    return false;
  }

  /** @param {boolean} locked */
  lock(locked) {
    if (this.fieldset.disabled !== locked) this.fieldset.disabled = locked;
  }

  /** Restores an answer even while the scale is locked. @param {string} _label */
  restore(_label) {}

  /**
   * @param {string} _key
   * @returns {boolean} whether this scale knows the key
   */
  hotkey(_key) {
    return false;
  }

  /**
   * One step up (1) or down (-1).
   * @param {1 | -1} _direction
   * @returns {boolean}
   */
  step(_direction) {
    return false;
  }

  /** Takes the sound of the clip that is rated, where answers name its times. @param {import("./sound.js").Sound} _sound */
  useSound(_sound) {}

  focus() {
    const place = this.fieldset.querySelector("input, textarea");
    if (place instanceof HTMLElement) place.focus();
  }
}

/** A number on a line, with words along it. */
export class SliderScale extends Scale {
  /**
   * @param {HTMLFieldSetElement} fieldset
   * @param {Plan} plan
   */
  constructor(fieldset, plan) {
    super(fieldset, plan);
    this.asks = "missing_slider";
    /** @type {import("../shared/views.js").Finder<import("../shared/views.js").SliderParts>} */
    const part = partsOf(fieldset);
    const scale = spanned(plan.scale);
    this.slider = new Slider(part("slider"), part("score"), scale, plan.question);
    layWords(part("words"), scale);
    this.slider.addEventListener("change", () => this.changed());
  }

  get value() {
    return this.slider.label;
  }

  get keyed() {
    return true;
  }

  /** @param {string} label */
  restore(label) {
    this.slider.restore(label);
  }

  /** @param {1 | -1} direction */
  step(direction) {
    if (this.fieldset.disabled) return false;
    this.slider.nudge(direction);
    this.focus();
    return true;
  }
}

/** Some of several; a step apart ("none of these") excludes the others. */
export class ManyScale extends Scale {
  /**
   * @param {HTMLFieldSetElement} fieldset
   * @param {Plan} plan
   */
  constructor(fieldset, plan) {
    super(fieldset, plan);
    this.asks = "missing_many";
    this.labels = plan.scale.steps.map((step) => step.label);
    /** @type {HTMLInputElement[]} */
    this.inputs = [...fieldset.querySelectorAll("input")];
    fieldset.addEventListener("change", (event) => {
      this.exclude(/** @type {HTMLInputElement} */ (event.target));
      this.changed();
    });
  }

  /** @param {HTMLInputElement} input that was ticked */
  exclude(input) {
    if (!input.checked) return;
    const apart = input.dataset.apart === "yes";
    for (const other of this.inputs) {
      if (other !== input && (apart || other.dataset.apart === "yes")) other.checked = false;
    }
  }

  get value() {
    const chosen = new Set(this.inputs.filter((each) => each.checked).map((each) => each.value));
    return this.labels.filter((label) => chosen.has(label)).join("|");
  }

  get keyed() {
    return this.inputs.some((each) => each.dataset.hotkey);
  }

  /** @param {string} label */
  restore(label) {
    const chosen = label.split("|");
    for (const input of this.inputs) input.checked = label !== "" && chosen.includes(input.value);
  }

  /** @param {string} key */
  hotkey(key) {
    const input = this.inputs.find((each) => each.dataset.hotkey === key);
    if (!input || this.fieldset.disabled) return false;
    input.checked = !input.checked;
    this.exclude(input);
    this.changed();
    return true;
  }
}

/** Words of the rater's own. */
export class TextScale extends Scale {
  /**
   * @param {HTMLFieldSetElement} fieldset
   * @param {Plan} plan
   */
  constructor(fieldset, plan) {
    super(fieldset, plan);
    this.asks = "missing_text";
    this.text = /** @type {HTMLTextAreaElement} */ (fieldset.querySelector("textarea"));
    this.count = /** @type {HTMLElement} */ (fieldset.querySelector("[data-part=count]"));
    this.longest = plan.scale.longest || 2000;
    this.text.maxLength = this.longest;
    this.text.addEventListener("input", () => {
      this.draw();
      this.changed();
    });
    this.draw();
  }

  draw() {
    setText(this.count, say("text_left", { n: this.longest - this.text.value.length }));
  }

  get value() {
    return this.text.value.trim();
  }

  /** @param {string} label */
  restore(label) {
    this.text.value = label;
    this.draw();
  }
}

/** The words of a clip, or a box that says that none was understood. */
export class TranscriptScale extends TextScale {
  /**
   * @param {HTMLFieldSetElement} fieldset
   * @param {Plan} plan
   */
  constructor(fieldset, plan) {
    super(fieldset, plan);
    this.asks = "missing_transcript";
    this.nothing = /** @type {HTMLInputElement} */ (fieldset.querySelector("input"));
    this.nothing.addEventListener("change", () => {
      if (this.nothing.checked) this.text.value = "";
      this.draw();
      this.changed();
    });
    this.text.addEventListener("input", () => {
      if (this.text.value.trim()) this.nothing.checked = false;
    });
  }

  get value() {
    return super.value || (this.nothing.checked ? this.nothing.value : "");
  }

  /** @param {string} label */
  restore(label) {
    this.nothing.checked = label === this.nothing.value;
    super.restore(this.nothing.checked ? "" : label);
  }
}
