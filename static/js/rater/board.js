/** What the boards of parallel trials share: a row for each clip, and the button that lets it be heard. */

import { partsOf, setEnabled, setText, view } from "../shared/dom.js";
import { say } from "./strings.js";

/** @import { Deck, Track } from "./deck.js" */
/** @import { Criterion as Plan, Labels } from "../shared/wire.js" */

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
    setEnabled(root, !deck.barred(this.index));
    const says = say("toggle_of", { action: say(playing ? "pause" : "play"), name: this.spoken });
    setText(this.part("says"), heard ? says : `${says}, ${say("clip_unheard")}`);
  }
}

/**
 * What both boards share; fires "change" when an answer changes.
 * @template P its places
 * @template {{button: HTMLElement}} R the places of a row
 */
export class Board extends EventTarget {
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

  /** @param {(track: Track) => boolean} heard */
  drawButtons(heard) {
    for (const { track, root, button } of this.rows) {
      root.classList.toggle("selected", this.deck.selected === button.index);
      button.draw(heard(track));
    }
  }

  /** @param {Track} track */
  rowOf(track) {
    return this.rows.findIndex((row) => row.track === track);
  }
}
