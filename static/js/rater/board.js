/** The answers of a parallel trial: a slider for each clip, or the clips put into an order. */

import { partsOf, setText, view } from "../shared/dom.js";
import { layWords, Slider, spanned } from "./slider.js";
import { say } from "./strings.js";

/**
 * @typedef {import("./deck.js").Deck} Deck
 * @typedef {import("./deck.js").Track} Track
 * @typedef {import("../shared/wire.js").Criterion} Plan
 * @typedef {import("../shared/wire.js").Labels} Labels
 * @typedef {import("../shared/views.js").SlidersParts} SlidersParts
 * @typedef {import("../shared/views.js").SlidersRowParts} SlidersRowParts
 * @typedef {import("../shared/views.js").RankingParts} RankingParts
 * @typedef {import("../shared/views.js").RankingRowParts} RankingRowParts
 */

/**
 * How a clip is called aloud ("Clip A"), and on its button ("A").
 * @param {Track} track
 */
export function namesOf({ name }) {
  const letter = name.match(/(?:^|\s)(\S{1,2})$/)?.[1];
  return { short: letter ?? name, spoken: name === letter ? say("clip_named", { name }) : name };
}

/** The button that lets a clip be heard; it shows whether it is, and whether it was. */
export class ClipButton {
  /**
   * @param {Deck} deck
   * @param {number} index of the track in the deck
   */
  constructor(deck, index) {
    const { root, part } = view("view-clip-button");
    this.root = root;
    this.part = part;
    this.deck = deck;
    this.index = index;
    const { short, spoken } = namesOf(deck.tracks[index]);
    this.spoken = spoken;
    setText(part("letter"), short);
    root.classList.toggle("clip-word", short.length > 2);
    root.addEventListener("click", () => deck.choose(index));
  }

  /** @param {boolean} heard enough of it */
  draw(heard) {
    const { deck, root } = this;
    const selected = deck.selected === this.index;
    const playing = selected && deck.playing;
    root.classList.toggle("selected", selected);
    root.classList.toggle("sounding", playing);
    root.classList.toggle("heard", heard);
    const says = say("toggle_of", { action: say(playing ? "pause" : "play"), name: this.spoken });
    setText(this.part("says"), heard ? says : `${says}, ${say("clip_unheard")}`);
  }
}

/**
 * What both boards share; fires "change" when an answer changes.
 * @template P its places
 * @template {{button: HTMLElement}} R the places of a row
 */
class Board extends EventTarget {
  /**
   * @param {HTMLFieldSetElement} fieldset
   * @param {Plan} plan
   * @param {Deck} deck
   * @param {Track[]} rated
   */
  constructor(fieldset, plan, deck, rated) {
    super();
    this.fieldset = fieldset;
    this.index = plan.index;
    this.plan = plan;
    this.deck = deck;
    /** @type {import("../shared/views.js").Finder<P>} */
    this.part = partsOf(fieldset);
    const template = /** @type {HTMLTemplateElement} */ (fieldset.querySelector("template"));
    this.rows = rated.map((track) => {
      const copy = /** @type {DocumentFragment} */ (template.content.cloneNode(true));
      const root = /** @type {HTMLElement} */ (copy.firstElementChild);
      /** @type {import("../shared/views.js").Finder<R>} */
      const part = partsOf(root);
      const button = new ClipButton(deck, deck.tracks.indexOf(track));
      part("button").replaceWith(button.root);
      return { track, root, part, button };
    });
  }

  changed() {
    this.dispatchEvent(new Event("change"));
  }

  /** @returns {string[]} a label for each row, "" where there is none */
  get labels() {
    return [];
  }

  /** @returns {Labels} */
  get answers() {
    const { labels } = this;
    return Object.fromEntries(
      this.rows.map(({ track }, k) => [`${this.index}.${track.place}`, labels[k]]),
    );
  }

  /** The names of the clips without an answer. */
  get open() {
    const { labels } = this;
    return this.rows.filter((_, k) => !labels[k]).map(({ track }) => namesOf(track).short);
  }

  /** @param {Track} track */
  rowOf(track) {
    return this.rows.findIndex((row) => row.track === track);
  }
}

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
  /**
   * @param {HTMLFieldSetElement} fieldset
   * @param {Plan} plan
   * @param {Deck} deck
   * @param {Track[]} rated
   */
  constructor(fieldset, plan, deck, rated) {
    super(fieldset, plan, deck, rated);
    const scale = spanned(plan.scale);
    layWords(this.part("words"), scale);
    if (isFifths(scale)) fieldset.dataset.bands = "5";
    this.sliders = this.rows.map(({ part, button }) => {
      const name = say("clip_score", { name: button.spoken });
      const slider = new Slider(part("slider"), part("score"), scale, name);
      slider.addEventListener("change", () => this.changed());
      return slider;
    });
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
    const score = (/** @type {number} */ k) => (this.labels[k] ? Number(this.labels[k]) : -Infinity);
    const order = this.rows.map((_, k) => k);
    if (this.sorted) order.sort((a, b) => score(b) - score(a) || a - b);
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
    this.rows.forEach(({ track, root, button }, k) => {
      this.sliders[k].input.disabled = !opened(track);
      root.classList.toggle("selected", this.deck.selected === button.index);
      button.draw(heard(track));
    });
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

  /** @returns {boolean} digits choose clips here */
  digit() {
    return false;
  }
}

/**
 * The clips in an order, the best first; nothing is placed until the rater places it.
 * @extends {Board<RankingParts, RankingRowParts>}
 */
export class RankingBoard extends Board {
  /**
   * @param {HTMLFieldSetElement} fieldset
   * @param {Plan} plan
   * @param {Deck} deck
   * @param {Track[]} rated
   */
  constructor(fieldset, plan, deck, rated) {
    super(fieldset, plan, deck, rated);
    /** @type {Track[]} the best first */
    this.order = [];
    this.locked = true;
    for (const { track, part } of this.rows) {
      part("up").addEventListener("click", () => this.move(track, -1, "up"));
      part("down").addEventListener("click", () => this.move(track, 1, "down"));
    }
    this.lay();
  }

  get labels() {
    return this.rows.map(({ track }) => {
      const place = this.order.indexOf(track);
      return place < 0 ? "" : String(place + 1);
    });
  }

  get missing() {
    const { open } = this;
    return open.length ? say("missing_places", { names: open.join(", ") }) : "";
  }

  /**
   * @param {Track} track
   * @param {1 | -1} way
   * @param {"up" | "down"} [button] that keeps the focus
   */
  move(track, way, button) {
    const place = this.order.indexOf(track);
    const target = place < 0 ? this.order.length : place + way;
    return this.put(track, target, button);
  }

  /**
   * @param {Track} track
   * @param {number} place from 0
   * @param {"up" | "down"} [button]
   */
  put(track, place, button) {
    if (this.locked || this.rowOf(track) < 0) return false;
    const others = this.order.filter((each) => each !== track);
    const target = Math.max(0, Math.min(place, others.length));
    others.splice(target, 0, track);
    this.order = others;
    this.lay();
    const values = { name: namesOf(track).spoken, n: target + 1, total: this.rows.length };
    setText(this.part("said"), say("rank_said", values));
    if (button) this.refocus(track, button);
    this.changed();
    return true;
  }

  /**
   * The button that was pressed has moved; at the edge the other one takes over.
   * @param {Track} track
   * @param {"up" | "down"} button
   */
  refocus(track, button) {
    const { part } = this.rows[this.rowOf(track)];
    const pressed = part(button);
    const other = part(button === "up" ? "down" : "up");
    (pressed.disabled ? other : pressed).focus();
  }

  /** Puts the rows where they belong. */
  lay() {
    const pool = this.rows.filter(({ track }) => !this.order.includes(track));
    const placed = this.order.map((track) => this.rows[this.rowOf(track)]);
    this.part("rows").replaceChildren(...placed.map(({ root }) => root));
    this.part("pool").replaceChildren(...pool.map(({ root }) => root));
    this.part("best").hidden = !placed.length;
    this.part("open").hidden = !pool.length;
    this.drawMoves();
  }

  drawMoves() {
    for (const { track, part, button } of this.rows) {
      const place = this.order.indexOf(track);
      const name = button.spoken;
      setText(part("place"), place < 0 ? "–" : String(place + 1));
      part("up").disabled = this.locked || place === 0;
      part("down").hidden = place < 0;
      part("down").disabled = this.locked || place === this.order.length - 1;
      setText(part("up-name"), say(place < 0 ? "rank_put" : "rank_up", { name }));
      setText(part("down-name"), say("rank_down", { name }));
    }
  }

  /** @param {Labels} answers */
  restore(answers) {
    const place = (/** @type {Track} */ track) => Number(answers[`${this.index}.${track.place}`]);
    const known = this.rows.map(({ track }) => track).filter((track) => place(track) > 0);
    this.order = known.sort((a, b) => place(a) - place(b));
    this.lay();
  }

  /** @param {(track: Track) => boolean} heard */
  draw(heard) {
    const locked = !this.deck.tracks.every(heard);
    if (locked !== this.locked) {
      this.locked = locked;
      this.drawMoves();
    }
    for (const { track, root, button } of this.rows) {
      root.classList.toggle("selected", this.deck.selected === button.index);
      button.draw(heard(track));
    }
  }

  /**
   * The right arrow makes a clip better: one place up.
   * @param {Track} track
   * @param {1 | -1} direction
   */
  step(track, direction) {
    return this.move(track, direction === 1 ? -1 : 1);
  }

  /** @param {Track} track */
  focus(track) {
    const row = this.rows[this.rowOf(track)];
    if (row && !this.locked) row.part("up").focus();
  }

  /**
   * @param {Track} track
   * @param {number} place from 1
   */
  digit(track, place) {
    return place >= 1 && place <= this.rows.length && this.put(track, place - 1);
  }
}

/** @typedef {SlidersBoard | RankingBoard} AnyBoard */

/**
 * @param {DocumentFragment} fragment the server's markup of the task
 * @param {Plan} plan
 * @param {Deck} deck
 * @param {Track[]} rated
 * @returns {AnyBoard}
 */
export function boardFor(fragment, plan, deck, rated) {
  const place = `fieldset[data-criterion="${plan.index}"]`;
  const fieldset = /** @type {HTMLFieldSetElement} */ (fragment.querySelector(place));
  const kind = plan.scale.widget === "ranking" ? RankingBoard : SlidersBoard;
  return new kind(fieldset, plan, deck, rated);
}
