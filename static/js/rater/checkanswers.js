/** How the sounds of a check are answered: by one of a few options, or by typed digits. */

import { setText, view } from "../shared/dom.js";
import { say } from "./strings.js";

const DIGITS = 3;
const WRITTEN = "零一二三四五六七八九"; // digits as Chinese keyboards may write them

/** Options with at most so many characters stand beside each other on a phone too. */
const SHORT_OPTION = 11;
const FEW = 3;

/** @import { CheckTrial } from "../shared/wire.js" */

/** One of a few options; fires "change". */
export class ChoiceEntry extends EventTarget {
  /**
   * @param {CheckTrial} trial
   * @param {number} at
   */
  constructor(trial, at) {
    super();
    const { root, part } = view("view-check-choice");
    this.root = /** @type {HTMLFieldSetElement} */ (root);
    setText(part("question"), trial.question);
    /** @type {Map<string, HTMLInputElement>} by their keys */
    this.hotkeys = new Map();
    /** @type {HTMLInputElement[]} */
    this.inputs = trial.options.map((option) => this.build(option, at, part("options")));
    const short = trial.options.every((option) => option.text.length <= SHORT_OPTION);
    part("options").dataset.layout = short && trial.options.length <= FEW ? "short" : "long";
    root.addEventListener("change", () => this.dispatchEvent(new Event("change")));
  }

  /**
   * @param {CheckTrial["options"][number]} option
   * @param {number} at
   * @param {Element} place
   */
  build(option, at, place) {
    const { root, part } = view("view-check-option");
    const input = part("input");
    input.name = `check-${at}`;
    input.value = option.value;
    setText(part("text"), option.text);
    setText(part("key"), option.hotkey);
    part("key").hidden = !option.hotkey;
    if (option.hotkey) this.hotkeys.set(option.hotkey, input);
    place.append(root);
    return input;
  }

  /**
   * @param {CheckTrial} trial
   * @param {unknown} answer
   */
  static fits(trial, answer) {
    return trial.options.some((option) => option.value === answer);
  }

  get value() {
    return this.inputs.find((input) => input.checked)?.value ?? "";
  }

  get missing() {
    return this.value ? "" : say("missing_answer");
  }

  /** @param {boolean} locked */
  lock(locked) {
    if (this.root.disabled !== locked) this.root.disabled = locked;
  }

  /** The sound is over; the keys choose without the focus. */
  heard() {}

  /** @param {string} key */
  hotkey(key) {
    const input = this.hotkeys.get(key);
    if (!input || this.root.disabled) return false;
    input.checked = true;
    this.dispatchEvent(new Event("change"));
    return true;
  }

  focus() {
    (this.inputs.find((input) => input.checked) ?? this.inputs[0])?.focus();
  }
}

/** Three digits, typed; fires "change". */
export class DigitsEntry extends EventTarget {
  /**
   * @param {CheckTrial} trial
   * @param {number} at
   */
  constructor(trial, at) {
    super();
    const { root, part } = view("view-check-digits");
    this.root = /** @type {HTMLFieldSetElement} */ (root);
    this.field = part("field");
    this.field.name = `check-${at}`;
    setText(part("question"), trial.question);
    this.field.addEventListener("input", (event) => {
      if (!(event instanceof InputEvent && event.isComposing)) this.typed();
    });
    this.field.addEventListener("compositionend", () => this.typed());
  }

  /** Only digits stay, full-width and Chinese ones as 0 to 9. */
  typed() {
    const plain = [...this.field.value.normalize("NFKC").replaceAll("〇", "零")];
    const read = plain.map((c) => (WRITTEN.includes(c) ? String(WRITTEN.indexOf(c)) : c));
    const clean = read.filter((c) => c >= "0" && c <= "9").slice(0, DIGITS).join("");
    if (this.field.value !== clean) this.field.value = clean;
    this.dispatchEvent(new Event("change"));
  }

  /**
   * @param {CheckTrial} _trial
   * @param {unknown} answer
   */
  static fits(_trial, answer) {
    return typeof answer === "string" && new RegExp(`^\\d{${DIGITS}}$`).test(answer);
  }

  get value() {
    return this.field.value;
  }

  get missing() {
    return this.value.length === DIGITS ? "" : say("check_digits");
  }

  /** @param {boolean} locked */
  lock(locked) {
    if (this.root.disabled !== locked) this.root.disabled = locked;
  }

  /** The sound is over: the digits can be typed at once. */
  heard() {
    this.focus();
  }

  /** Digits pressed elsewhere on the page are meant for the field. @param {string} key */
  hotkey(key) {
    if (this.root.disabled || key < "0" || key > "9") return false;
    this.field.value += key;
    this.typed();
    this.focus();
    return true;
  }

  focus() {
    this.field.focus();
  }
}
