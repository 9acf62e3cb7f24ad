/** The answers of a parallel trial: a slider for each clip (BS.1534). */

import { Board } from "./board.js";
import { setText } from "../shared/dom.js";
import { layWords, Slider, spanned } from "./slider.js";
import { say } from "./strings.js";

/** @import { Deck, Track } from "./deck.js" */
/** @import { Criterion as Plan, Labels } from "../shared/wire.js" */
/** @import { SlidersParts, SlidersRowParts } from "../shared/views.js" */

/**
 * Whether the words stand in the middle of five equal bands, as in BS.1534.
 * @param {import("./slider.js").Span} scale
 */
function isFifths({ span: [low, high], steps }) {
  const middle = (/** @type {number} */ k) => low + ((2 * k + 1) * (high - low)) / 10;
  return steps.length === 5 && steps.every(({ label }, k) => Number(label) === middle(k));
}

/**
 * One slider for each clip (BS.1534).
 * @extends {Board<SlidersParts, SlidersRowParts>}
 */
export class SlidersBoard extends Board {
  /** @param {ConstructorParameters<typeof Board>} given */
  constructor(...given) {
    super(...given);
    const { fieldset, plan } = this;
    const scale = spanned(plan.scale);
    layWords(this.part("words"), scale);
    if (isFifths(scale)) fieldset.dataset.bands = "5";
    this.sliders = this.rows.map(({ part, button }) => {
      const name = say("clip_score", { name: button.spoken });
      const slider = new Slider(part("slider"), part("score"), scale, name);
      slider.addEventListener("change", () => this.changed());
      return slider;
    });
    this.part("sort").hidden = this.rows.length < 3;
    this.sorted = false;
    this.part("sort").addEventListener("click", () => this.sort());
    this.part("rows").append(...this.rows.map(({ root }) => root));
  }

  get labels() {
    return this.sliders.map((slider) => slider.label);
  }

  get missing() {
    const { open } = this;
    return open.length ? say("missing_scores", { names: open.join(", ") }) : "";
  }

  /** By score, the best first, or back into the order of the letters. */
  sort() {
    this.sorted = !this.sorted;
    const { labels } = this;
    const score = (/** @type {number} */ k) => Number(labels[k] || -1e9);
    const order = [...this.rows.keys()];
    if (this.sorted) order.sort((a, b) => score(b) - score(a)); // equal ones stay in order
    this.part("rows").append(...order.map((k) => this.rows[k].root));
    setText(this.part("sort"), say(this.sorted ? "sort_names" : "sort_scores"));
  }

  /** @param {Labels} answers */
  restore(answers) {
    this.rows.forEach(({ track }, k) => {
      this.sliders[k].restore(answers[`${this.index}.${track.place}`] ?? "");
    });
  }

  /**
   * @param {(track: Track) => boolean} heard
   * @param {(track: Track) => boolean} opened and what it is compared with, too
   */
  draw(heard, opened) {
    this.sliders.forEach(({ input }, k) => {
      input.disabled = !opened(this.rows[k].track);
    });
    this.drawButtons(heard);
  }

  /**
   * @param {Track} track
   * @param {1 | -1} direction
   */
  step(track, direction) {
    const slider = this.sliders[this.rowOf(track)];
    if (!slider || slider.input.disabled) return false;
    slider.nudge(direction);
    slider.input.focus();
    return true;
  }

  /** @param {Track} track */
  focus(track) {
    this.sliders[this.rowOf(track)]?.input.focus();
  }
}
