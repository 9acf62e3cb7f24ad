/** The reason in words: guidance while it is typed, and how it was typed (keys, pasted text, time). */

import { fillList, setText, view } from "../shared/dom.js";
import { say } from "./strings.js";

const PAUSE_MS = 2_000; // a longer pause between two keys is thinking, not typing

/**
 * @typedef {{required: boolean, min_chars: number, prompt: string, good: string[], poor: string[]}} Plan
 * @typedef {{text: string, keystrokes: number, pasted_chars: number, typing_ms: number}} Reason
 */

/**
 * Characters that count: white space at the ends and repeated blanks do not.
 * @param {string} text
 * @returns {number}
 */
export function counted(text) {
  return [...text.trim().replace(/\s+/g, " ")].length;
}

/** Fires "change" whenever the text changes. */
export class Justification extends EventTarget {
  /**
   * @param {Plan} plan
   * @param {Reason} [draft]
   */
  constructor(plan, draft) {
    super();
    const { root, part } = view("view-justification");
    this.root = root;
    this.part = part;
    this.plan = plan;
    this.keystrokes = draft?.keystrokes ?? 0;
    this.pasted_chars = draft?.pasted_chars ?? 0;
    this.typing_ms = draft?.typing_ms ?? 0;
    this.last_key_at = 0;
    /** @type {HTMLTextAreaElement} */
    this.area = part("text");
    this.area.value = draft?.text ?? "";
    this.area.required = plan.required;
    const prompt = plan.prompt || say("reason_prompt");
    setText(part("prompt"), plan.required ? prompt : `${prompt} ${say("reason_optional")}`);
    this.examples();
    this.listen();
    this.draw();
  }

  examples() {
    const { good = [], poor = [] } = this.plan;
    this.part("examples").hidden = !good.length && !poor.length;
    this.part("good-box").hidden = !good.length;
    this.part("poor-box").hidden = !poor.length;
    fillList(this.part("good"), good);
    fillList(this.part("poor"), poor);
  }

  listen() {
    this.area.addEventListener("beforeinput", (event) => this.typed(event));
    this.area.addEventListener("input", () => {
      this.draw();
      this.dispatchEvent(new Event("change"));
    });
  }

  /** @param {InputEvent} event */
  typed(event) {
    const now = performance.now();
    if (event.inputType === "insertFromPaste" || event.inputType === "insertFromDrop") {
      const text = event.data ?? event.dataTransfer?.getData("text/plain") ?? "";
      this.pasted_chars += text.length;
      return;
    }
    this.keystrokes += 1;
    const pause = now - this.last_key_at;
    if (this.last_key_at && pause < PAUSE_MS) this.typing_ms += pause;
    this.last_key_at = now;
  }

  /** @param {boolean} locked */
  lock(locked) {
    const fieldset = this.part("fieldset");
    if (fieldset.disabled !== locked) fieldset.disabled = locked;
  }

  get length() {
    return counted(this.area.value);
  }

  /** What is still missing, in words; "" when nothing is. */
  get missing() {
    const short = this.plan.min_chars - this.length;
    if (!this.plan.required && this.length === 0) return "";
    if (this.length === 0) return say("missing_reason");
    return short > 0 ? say("missing_chars") : "";
  }

  draw() {
    const { min_chars } = this.plan;
    const enough = this.length >= min_chars && this.length > 0;
    const text = enough ? say("reason_enough") : say("reason_count", { n: this.length, min: min_chars });
    setText(this.part("count"), min_chars ? text : "");
    this.part("count").classList.toggle("enough", enough);
  }

  focus() {
    this.area.focus();
  }

  /** @returns {Reason} */
  get reason() {
    const { keystrokes, pasted_chars } = this;
    const typing_ms = Math.round(this.typing_ms);
    return { text: this.area.value.trim(), keystrokes, pasted_chars, typing_ms };
  }
}
