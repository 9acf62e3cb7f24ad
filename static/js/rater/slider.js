/** A slider that has no value until it is touched, and says its value in words. */

import { setText } from "../shared/dom.js";
import { decimal, say } from "./strings.js";

/**
 * @typedef {{label: string, text: string}} Word one of the words along a scale
 * @typedef {{span: [low: number, high: number, step: number], steps: Word[]}} Span
 */

/**
 * The scale of a slider, which always has a span.
 * @param {import("../shared/wire.js").Scale} scale
 * @returns {Span}
 */
export function spanned({ span, steps }) {
  if (!span) throw new Error("a slider needs a span");
  return { span, steps };
}

/**
 * The word whose place is nearest to the value; "" where the scale has no words.
 * @param {Word[]} words
 * @param {number} value
 */
export function nearestWord(words, value) {
  const distance = (/** @type {Word} */ word) => Math.abs(Number(word.label) - value);
  const told = words.filter((word) => word.text);
  if (!told.length) return "";
  return told.reduce((best, word) => (distance(word) <= distance(best) ? word : best)).text;
}

/** Keys that move a slider, unless it is at its end. */
const MOVING = ["ArrowLeft", "ArrowRight", "ArrowUp", "ArrowDown", "Home", "End"];

const NEIGHBOURS = 12; // letters of two neighbouring words that fit a phone

/** How many Latin letters a word is wide. @param {string} text */
const letters = (text) => [...text].reduce((sum, letter) => sum + (letter > "\u2e7f" ? 2 : 1), 0);

/**
 * Puts the words of a scale at their places; long ones take turns on two lines on a phone.
 * @param {HTMLElement} list
 * @param {Span} scale
 */
export function layWords(list, { span: [low, high], steps }) {
  const told = steps.filter((word) => word.text);
  list.replaceChildren(
    ...told.map(({ label, text }) => {
      const word = document.createElement("span");
      word.textContent = text;
      const share = (Number(label) - low) / (high - low);
      word.style.setProperty("--at", String(share));
      word.dataset.label = label;
      word.dataset.edge = share < 0.04 ? "low" : share > 0.96 ? "high" : "";
      return word;
    }),
  );
  list.hidden = !told.length;
  const isLong = told.some(({ text }, k) => letters(text) + letters(told[k + 1]?.text ?? "") > NEIGHBOURS);
  list.toggleAttribute("data-long", isLong);
}

/** Fires "change" when the rater sets it. */
export class Slider extends EventTarget {
  /**
   * @param {HTMLInputElement} input
   * @param {HTMLElement} output
   * @param {Span} scale
   * @param {string} [name] what it is called before its value: "Clip A"
   */
  constructor(input, output, scale, name = "") {
    super();
    this.input = input;
    this.output = output;
    this.scale = scale;
    this.name = name;
    this.touched = false;
    const [low, high, step] = scale.span;
    Object.assign(input, { min: String(low), max: String(high), step: String(step) });
    input.value = String(this.middle);
    input.addEventListener("input", () => this.touch());
    // A tap on the very middle moves nothing, and counts.
    for (const kind of ["click", "pointerup"]) input.addEventListener(kind, () => this.touch());
    input.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") return;
      if (this.turn(event.key)) event.preventDefault();
      else if (MOVING.includes(event.key) && [low, high].includes(Number(input.value))) this.touch(); // it may not move
    });
    this.draw();
  }

  get middle() {
    const [low, high, step] = this.scale.span;
    return low + step * Math.round((high - low) / 2 / step);
  }

  /** Page keys move by a tenth. @param {string} key */
  turn(key) {
    const [low, high] = this.scale.span;
    const tenth = (high - low) / 10;
    if (key === "PageUp") this.set(Number(this.input.value) + tenth);
    else if (key === "PageDown") this.set(Number(this.input.value) - tenth);
    else return false;
    return true;
  }

  /** @returns {string} the number as the server knows it, "" while untouched */
  get label() {
    return this.touched ? String(Number(Number(this.input.value).toFixed(6))) : "";
  }

  /** @param {number} value */
  set(value) {
    if (this.input.disabled) return false;
    this.input.value = String(value);
    this.touch();
    return true;
  }

  /** One step, from the middle when it was not touched. @param {number} steps */
  nudge(steps) {
    return this.set(Number(this.input.value) + (this.touched ? steps * this.scale.span[2] : 0));
  }

  touch() {
    if (this.input.disabled) return;
    const before = this.output.textContent;
    this.touched = true;
    this.draw();
    if (this.output.textContent !== before) this.dispatchEvent(new Event("change"));
  }

  /** Restores a value even while locked. @param {string} label */
  restore(label) {
    this.touched = label !== "";
    this.input.value = label === "" ? String(this.middle) : label;
    this.draw();
  }

  draw() {
    const { input, scale, label, name } = this;
    const [low, high] = scale.span;
    const value = Number(input.value);
    const word = nearestWord(scale.steps, value);
    input.classList.toggle("unset", !this.touched);
    input.style.setProperty("--share", String((value - low) / (high - low)));
    const decimals = String(scale.span[2]).split(".")[1]?.length ?? 0;
    setText(this.output, this.touched ? decimal(value, decimals) : "–");
    this.output.title = this.touched ? word : "";
    const said = this.touched ? say("slider_says", { value: label, word }) : say("slider_unset");
    input.setAttribute("aria-valuetext", (word || !this.touched ? said : label).trim());
    if (name) input.setAttribute("aria-label", name);
  }
}
