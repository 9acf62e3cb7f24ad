/** The reason in words: guidance while it is typed, and how it was typed (keys, pasted text, time). */

import { fillList, setText, view } from "../shared/dom.js";
import { say } from "./strings.js";

const PAUSE_MS = 2_000; // a longer pause between two keys is thinking, not typing

/** @import { JustificationRules as Plan, Reason } from "../shared/wire.js" */

/**
 * Characters that count: white space at the ends and repeated blanks do not.
 * @param {string} text
 * @returns {number}
 */
export function counted(text) {
  return [...text.trim().replace(/\s+/g, " ")].length;
}

/** Reasons of this session that were sent, as they are compared. @type {Set<string>} */
const earlier = new Set();

/** Whose examples the rater has seen. @type {Set<string>} */
const shownBefore = new Set();

/**
 * How reasons are compared: letters and digits alone.
 * @param {string} text
 * @returns {string[]}
 */
function wordsOf(text) {
  return text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
}

/**
 * "xxxxxxxxxx", or one word again and again.
 * @param {string} text
 */
export function repeatsOneWord(text) {
  const words = wordsOf(text);
  const letters = words.join("");
  const few = new Set(letters).size <= 2 && letters.length > 3;
  return few || (words.length > 1 && new Set(words).size === 1);
}

/** Fires "change" whenever the text changes. */
export class Justification extends EventTarget {
  /**
   * @param {Plan} plan
   * @param {Reason | null} [draft]
   */
  constructor(plan, draft) {
    super();
    const { root, part } = view("view-justification");
    this.root = root;
    this.part = part;
    this.plan = plan;
    this.keystrokes = draft?.keystrokes ?? 0;
    this.pastedChars = draft?.pasted_chars ?? 0;
    this.typingMs = draft?.typing_ms ?? 0;
    this.lastKeyAt = 0;
    this.asked = false;
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
    const told = [...good, ...poor].join("\n");
    this.part("examples").hidden = !told;
    this.part("examples").open = !shownBefore.has(told);
    shownBefore.add(told);
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
      this.pastedChars += text.length;
      return;
    }
    this.keystrokes += 1;
    const pause = now - this.lastKeyAt;
    if (this.lastKeyAt && pause < PAUSE_MS) this.typingMs += pause;
    this.lastKeyAt = now;
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
    const least = this.plan.min_chars;
    const enough = this.length >= least && this.length > 0 && !repeatsOneWord(this.area.value);
    const full = this.area.value.length >= this.area.maxLength;
    const text = full ? say("reason_full", { max: this.area.maxLength }) : enough ? say("reason_enough") : say("reason_count", { n: this.length, min: least });
    setText(this.part("count"), least || full ? text : "");
    this.part("count").classList.toggle("enough", enough && !full);
    this.part("count").classList.toggle("full", full);
  }

  focus() {
    this.area.focus();
  }

  /** What speaks against sending this reason, asked once; who insists is believed. */
  doubt() {
    const text = this.area.value;
    if (this.asked || !text.trim()) return "";
    const repeated = repeatsOneWord(text) ? "reason_one_word" : "";
    const before = earlier.has(wordsOf(text).join(" ")) ? "reason_earlier" : "";
    if (!repeated && !before) return "";
    this.asked = true;
    return say(repeated || before);
  }

  sent() {
    if (this.area.value.trim()) earlier.add(wordsOf(this.area.value).join(" "));
  }

  /** @returns {Reason} */
  get reason() {
    return {
      text: this.area.value.trim(),
      keystrokes: this.keystrokes,
      pasted_chars: this.pastedChars,
      typing_ms: Math.round(this.typingMs),
    };
  }
}
