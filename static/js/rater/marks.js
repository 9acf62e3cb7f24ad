/** Words of a clip's text that the rater marks, each with a kind of error. */

import { setText } from "../shared/dom.js";
import { kinds } from "./criteria.js";
import { MarkedErrors } from "./markederrors.js";
import { say } from "./strings.js";

/** @import { Criterion as Plan } from "../shared/wire.js" */

/**
 * @typedef {{first: number, last: number, kind: string}} Mark places of words from 0
 */

const MOST_MARKS = 60; // that the server takes

/** @param {string} label @returns {Mark[]} */
export function marksIn(label) {
  return [...label.matchAll(/(\d+)(?:-(\d+))?:([\w-]+)/g)].map(([, first, last, kind]) => ({
    first: Number(first) - 1,
    last: Number(last ?? first) - 1,
    kind,
  }));
}

/**
 * Two words are chosen like the ends of a range: the first, then the last.
 * @extends {MarkedErrors<Mark, import("../shared/views.js").MarksParts>}
 */
export class MarksScale extends MarkedErrors {
  /**
   * @param {HTMLFieldSetElement} fieldset
   * @param {Plan} plan
   */
  constructor(fieldset, plan) {
    super(fieldset, plan);
    this.asks = "missing_marks";
    this.words = plan.words ?? [];
    this.anchor = -1; // of the words chosen now; -1: none
    this.end = -1;
    this.at = 0; // of the focus
    this.buttons = this.words.map((word, k) => this.buttonOf(word, k));
    const words = this.part("words");
    words.replaceChildren(...this.buttons);
    words.addEventListener("keydown", (event) => this.keydown(event));
    this.draw();
  }

  /**
   * @param {string} word
   * @param {number} k
   */
  buttonOf(word, k) {
    const fragment = /** @type {DocumentFragment} */ (this.part("word").content.cloneNode(true));
    const button = /** @type {HTMLButtonElement} */ (fragment.querySelector("button"));
    setText(/** @type {Element} */ (button.firstElementChild), word);
    button.addEventListener("click", () => this.press(k));
    button.addEventListener("focus", () => this.moveTo(k));
    return button;
  }

  get chosen() {
    return this.range !== null;
  }

  /** @param {Mark} mark */
  labelOf({ first, last, kind }) {
    return `${first + 1}${last > first ? `-${last + 1}` : ""}:${kind}`;
  }

  /** @param {string} label */
  restore(label) {
    this.marks = marksIn(label).filter(({ last }) => last < this.words.length);
    this.none.checked = label === this.none.value;
    this.draw();
  }

  focus() {
    if (!this.fieldset.contains(document.activeElement)) this.buttons[this.at]?.focus();
  }

  /** The words chosen now, in the order of the text; null: none. */
  get range() {
    if (this.anchor < 0) return null;
    const [first, last] = [this.anchor, this.end].sort((a, b) => a - b);
    return { first, last };
  }

  /** @param {number} k */
  markAt(k) {
    return this.marks.find(({ first, last }) => first <= k && k <= last);
  }

  /** @param {{first: number, last: number}} range */
  quote({ first, last }) {
    const [from, to] = [this.words[first], this.words[last]];
    return last > first ? say("words_from_to", { from, to }) : say("word_quoted", { word: from });
  }

  /**
   * A word begins a choice, or ends one that holds a single word. A marked word stands for its mark.
   * @param {number} k
   */
  press(k) {
    const single = this.anchor >= 0 && this.anchor === this.end;
    const marked = this.markAt(k);
    if (single && k === this.anchor) this.anchor = this.end = -1;
    else if (single) this.end = k;
    else {
      this.anchor = marked?.first ?? k;
      this.end = marked?.last ?? k;
    }
    this.draw();
  }

  /** @param {number} k */
  moveTo(k) {
    this.at = k;
    this.buttons.forEach((button, place) => (button.tabIndex = place === k ? 0 : -1));
  }

  /** @param {KeyboardEvent} event */
  keydown(event) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const backwards = getComputedStyle(this.part("words")).direction === "rtl";
    const last = this.words.length - 1;
    /** @type {Record<string, number>} */
    const places = {
      ArrowRight: this.at + (backwards ? -1 : 1),
      ArrowLeft: this.at + (backwards ? 1 : -1),
      Home: 0,
      End: last,
    };
    if (event.key in places) {
      const to = Math.max(0, Math.min(last, places[event.key]));
      if (event.shiftKey) {
        if (this.anchor < 0) this.anchor = this.at;
        this.end = to;
      }
      this.buttons[to].focus();
      this.draw();
    } else if (event.key === "Delete" || event.key === "Backspace") this.unmark(this.markAt(this.at));
    else if (event.key === "Escape") {
      this.anchor = this.end = -1;
      this.draw();
    } else return;
    event.preventDefault();
  }

  /**
   * The digits of the kinds, for the chosen words or the one that has the focus.
   * @param {string} key
   */
  hotkey(key) {
    const focused = document.activeElement === this.buttons[this.at];
    const names = this.steps.some((step) => step.hotkey === key && !step.apart);
    if (names && focused && !this.range && !this.fieldset.disabled) this.anchor = this.end = this.at;
    return super.hotkey(key);
  }

  /** Marks the chosen words; it takes the place of marks on the same words. @param {string} kind */
  mark(kind) {
    const { range } = this;
    if (!range) {
      this.buttons[this.at]?.focus();
      return this.prompt(say("marks_choose_words"));
    }
    const others = this.marks.filter(({ first, last }) => last < range.first || first > range.last);
    if (others.length >= MOST_MARKS) return this.prompt(say("marks_full", { n: MOST_MARKS }));
    this.marks = [...others, { ...range, kind }].sort((a, b) => a.first - b.first);
    this.none.checked = false;
    this.anchor = this.end = -1;
    this.buttons[range.first].focus();
    this.answered(say("mark_of", { words: this.quote(range), kind: this.nameOf(kind) }));
  }

  /** @param {Mark | undefined} mark */
  unmark(mark) {
    if (!mark) return;
    this.marks = this.marks.filter((each) => each !== mark);
    this.anchor = this.end = -1;
    this.buttons[mark.first].focus();
    this.answered(say("mark_deleted", { words: this.quote(mark) }));
  }

  draw() {
    const { range } = this;
    this.buttons.forEach((button, k) => this.drawWord(button, k, range));
    this.moveTo(this.at);
    this.prompt(range ? say("marks_choose_kind", { words: this.quote(range) }) : say("marks_choose_words"));
    super.draw();
  }

  /**
   * @param {HTMLButtonElement} button
   * @param {number} k
   * @param {{first: number, last: number} | null} range
   */
  drawWord(button, k, range) {
    const mark = this.markAt(k);
    const [, badge, words] = button.children;
    const chosen = range !== null && range.first <= k && k <= range.last;
    button.setAttribute("aria-pressed", String(chosen));
    if (mark) button.dataset.kind = mark.kind;
    else delete button.dataset.kind;
    const step = this.steps.find((each) => each.label === mark?.kind);
    setText(badge, mark?.last === k ? (step?.hotkey ?? "") : "");
    setText(words, mark ? `, ${this.nameOf(mark.kind)}` : "");
  }
}

kinds.marks = MarksScale;

/**
 * Whether an answer of practice finds the expected errors: a word of each, and few marks elsewhere.
 * The server judges by the same rule (listening/methods/marks.py); previews have no server.
 * @param {string} label
 * @param {string[]} expected
 */
export function findsMarks(label, expected) {
  const marks = marksIn(label);
  const meets = (/** @type {Mark} */ a, /** @type {Mark} */ b) => a.first <= b.last && b.first <= a.last;
  return expected.some((each) => {
    const known = marksIn(each);
    if (!known.length) return !marks.length;
    const further = marks.filter((mark) => !known.some((other) => meets(mark, other)));
    return known.every((other) => marks.some((mark) => meets(mark, other))) && further.length <= 2;
  });
}
