/** What marking errors has in common, on words and on the waveform: kinds, the list, “no errors”. */

import { partsOf, setEnabled, setText } from "../shared/dom.js";
import { Scale } from "./scales.js";
import { say } from "./strings.js";

/** @import { Criterion as Plan } from "../shared/wire.js" */
/** @import { ErrorParts } from "../shared/views.js" */

/**
 * @template {{kind: string}} M what a mark is
 * @template {ErrorParts} P the places of the widget
 */
export class MarkedErrors extends Scale {
  /**
   * @param {HTMLFieldSetElement} fieldset
   * @param {Plan} plan
   */
  constructor(fieldset, plan) {
    super(fieldset, plan);
    this.steps = plan.scale.steps;
    /** @type {import("../shared/views.js").Finder<P>} */
    this.part = partsOf(fieldset);
    /** @type {M[]} */
    this.marks = [];
    /** @type {HTMLButtonElement[]} */
    this.kinds = [...this.part("kinds").querySelectorAll("button")];
    for (const button of this.kinds) button.addEventListener("click", () => this.mark(button.value));
    this.none = this.part("none");
    this.none.addEventListener("change", () => this.answered());
  }

  get value() {
    if (this.marks.length) return this.marks.map((mark) => this.labelOf(mark)).join(" ");
    return this.none.checked ? this.none.value : "";
  }

  get keyed() {
    return true;
  }

  /** Whether something is chosen that can be marked. */
  get chosen() {
    return false;
  }

  /** @param {M} _mark @returns {string} the mark as answers write it */
  labelOf(_mark) {
    return "";
  }

  /** @param {M} _mark @returns {string} where it is, in words */
  quote(_mark) {
    return "";
  }

  /** Marks what is chosen. @param {string} _kind */
  mark(_kind) {}

  /** @param {M} _mark */
  unmark(_mark) {}

  /** Shows marks and choice. */
  draw() {
    for (const button of this.kinds) setEnabled(button, this.chosen);
    this.none.disabled = this.marks.length > 0;
    const list = this.part("list");
    list.replaceChildren(...this.marks.map((mark) => this.entryOf(mark)));
    list.hidden = !this.marks.length;
  }

  /** @param {string} kind */
  nameOf(kind) {
    const step = this.steps.find((each) => each.label === kind);
    return step?.text || kind;
  }

  /**
   * The digits of the kinds mark what is chosen; 0: no errors.
   * @param {string} key
   */
  hotkey(key) {
    const step = this.steps.find((each) => each.hotkey === key);
    if (!step || this.fieldset.disabled) return false;
    if (!step.apart) this.mark(step.label);
    else if (!this.none.disabled) {
      this.none.checked = !this.none.checked;
      this.answered();
    }
    return true;
  }

  /** @param {string} [said] */
  answered(said) {
    this.draw();
    if (said) this.prompt(said);
    this.changed();
  }

  /** @param {string} text */
  prompt(text) {
    setText(this.part("prompt"), text);
  }

  /** @param {M} mark */
  entryOf(mark) {
    const fragment = /** @type {DocumentFragment} */ (this.part("entry").content.cloneNode(true));
    const entry = /** @type {HTMLElement} */ (fragment.firstElementChild);
    const button = /** @type {HTMLButtonElement} */ (entry.lastElementChild);
    const words = this.quote(mark);
    setText(/** @type {Element} */ (entry.firstElementChild), say("mark_of", { words, kind: this.nameOf(mark.kind) }));
    setText(/** @type {Element} */ (button.lastElementChild), say("mark_delete", { words }));
    button.addEventListener("click", () => this.unmark(mark));
    return entry;
  }
}
