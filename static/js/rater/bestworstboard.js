/** The best and the worst of the clips on a screen. */

import { Board, namesOf } from "./board.js";
import { setText } from "../shared/dom.js";
import { say } from "./strings.js";

/** @import { Deck, Track } from "./deck.js" */
/** @import { Criterion as Plan, Labels } from "../shared/wire.js" */
/** @import { BestWorstParts, BestWorstRowParts } from "../shared/views.js" */

/**
 * @typedef {"best" | "worst"} End
 */

/** @type {End[]} */
const ENDS = ["best", "worst"];

/**
 * One clip is the best and another the worst; all others are neither.
 * @extends {Board<BestWorstParts, BestWorstRowParts>}
 */
export class BestWorstBoard extends Board {
  /** @param {ConstructorParameters<typeof Board>} given */
  constructor(...given) {
    super(...given);
    /** @type {Record<End, Track | null>} */
    this.chosen = { best: null, worst: null };
    this.locked = true;
    for (const { track, part, button } of this.rows) {
      for (const end of ENDS) {
        setText(part(`${end}-clip`), `${button.spoken}: `);
        setText(part(`${end}-name`), this.nameOf(end));
        part(end).addEventListener("click", () => this.choose(track, end));
      }
    }
    this.part("rows").append(...this.rows.map(({ root }) => root));
    this.drawChoices();
  }

  /** What the study calls the best or the worst. @param {End} end */
  nameOf(end) {
    return this.plan.scale.steps.find(({ label }) => label === end)?.text || end;
  }

  /** @returns {string[]} */
  get labels() {
    const { best, worst } = this.chosen;
    const others = best && worst ? "neither" : "";
    return this.rows.map(({ track }) => ENDS.find((end) => this.chosen[end] === track) ?? others);
  }

  get missing() {
    const open = ENDS.filter((end) => !this.chosen[end]).map((end) => this.nameOf(end));
    return open.length ? say("missing_ends", { names: open.join(", ") }) : "";
  }

  /**
   * A clip cannot be both: what is chosen last holds.
   * @param {Track} track
   * @param {End} end
   */
  choose(track, end) {
    if (this.locked) return false;
    const other = end === "best" ? "worst" : "best";
    this.chosen[end] = track;
    if (this.chosen[other] === track) this.chosen[other] = null;
    this.drawChoices();
    setText(this.part("said"), say("end_said", { name: namesOf(track).spoken, end: this.nameOf(end) }));
    this.changed();
    return true;
  }

  drawChoices() {
    this.fieldset.classList.toggle("locked", this.locked);
    for (const { track, part } of this.rows) {
      for (const end of ENDS) {
        part(end).disabled = this.locked;
        part(end).setAttribute("aria-pressed", String(this.chosen[end] === track));
      }
    }
  }

  /** @param {Labels} answers */
  restore(answers) {
    for (const end of ENDS) {
      const row = this.rows.find(({ track }) => answers[`${this.index}.${track.place}`] === end);
      this.chosen[end] = row?.track ?? null;
    }
    this.drawChoices();
  }

  /** @param {(track: Track) => boolean} heard */
  draw(heard) {
    const locked = !this.deck.tracks.every(heard);
    if (locked !== this.locked) {
      this.locked = locked;
      this.drawChoices();
    }
    this.drawButtons(heard);
  }

  /**
   * The right arrow says that a clip is the best, the left one that it is the worst.
   * @param {Track} track
   * @param {1 | -1} direction
   */
  step(track, direction) {
    const end = direction === 1 ? "best" : "worst";
    if (this.rowOf(track) < 0 || !this.choose(track, end)) return false;
    this.rows[this.rowOf(track)].part(end).focus();
    return true;
  }

  /** @param {Track} track */
  focus(track) {
    const row = this.rows[this.rowOf(track)];
    const open = ENDS.find((end) => !this.chosen[end]);
    if (row && !this.locked) (open ? row.part(open) : row.button.root).focus();
  }
}
