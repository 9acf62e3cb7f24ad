/** Clips put into an order. */

import { Board, namesOf } from "./board.js";
import { reserve, setText } from "../shared/dom.js";
import { say } from "./strings.js";

/** @import { Deck, Track } from "./deck.js" */
/** @import { Criterion as Plan, Labels } from "../shared/wire.js" */
/** @import { RankingParts, RankingRowParts } from "../shared/views.js" */

/**
 * Nothing is placed until the rater places it.
 * @extends {Board<RankingParts, RankingRowParts>}
 */
export class RankingBoard extends Board {
  /** @param {ConstructorParameters<typeof Board>} given */
  constructor(...given) {
    super(...given);
    /** @type {Track[]} the best first */
    this.order = [];
    this.locked = true;
    this.fetching = false;
    for (const { track, part } of this.rows) {
      part("up").addEventListener("click", () => this.move(track, -1, "up"));
      part("down").addEventListener("click", () => this.move(track, 1, "down"));
    }
    reserve(this.part("best"), [say("rank_first"), say("rank_best")]);
    this.lay();
  }

  /** Fetched while clips are heard; without it arrows and keys still work. */
  async fetchDragging() {
    this.fetching = true;
    const { dragBy } = await import("./rowdrag.js");
    const line = this.part("open");
    for (const { track, root, part } of this.rows) {
      const drop = (/** @type {number} */ place) => this.put(track, place);
      dragBy(part("grip"), { row: root, flow: () => this.flow, line, drop });
    }
  }

  /** What stands below each other; null while nothing may be moved. */
  get flow() {
    if (this.locked) return null;
    const [placed, pool] = /** @type {const} */ (["rows", "pool"]).map((name) => this.part(name).children);
    return /** @type {HTMLElement[]} */ ([...placed, this.part("open"), ...pool]);
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
    this.part("open").classList.toggle("over", !pool.length); // it keeps its place: nothing jumps
    this.drawMoves();
  }

  drawMoves() {
    const begins = !this.locked && !this.order.length;
    setText(this.part("best"), say(begins ? "rank_first" : "rank_best"));
    this.fieldset.classList.toggle("locked", this.locked);
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
    if (!this.fetching && this.deck.tracks.some(heard)) this.fetchDragging().catch(() => (this.fetching = false));
    if (locked !== this.locked) {
      this.locked = locked;
      this.drawMoves();
    }
    this.drawButtons(heard);
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
