/** What is context and what is rated along the clips of a trial, in time and in words. */

import { setText, view } from "../shared/dom.js";
import { say } from "./strings.js";

/** @import { Line, Part } from "../shared/wire.js" */

const LOOSE_S = 0.05; // the clock of an audio element is this imprecise

export class Timeline {
  /**
   * @param {Part[]} parts
   * @param {HTMLElement} list where lines with words are shown
   * @param {string} language
   */
  constructor(parts, list, language) {
    this.parts = parts;
    this.list = list;
    this.list.lang = language;
    this.shown = -1;
    /** Whether the rater has to tell context from what is rated. */
    this.marked = parts.some(
      (part) => part.role === "context" || part.lines.some((line) => line.role === "context"),
    );
    /** The words of each clip lie upon each other: the room is that of the longest. */
    this.sheets = parts.map((_, place) => this.sheetOf(place));
    list.replaceChildren(...this.sheets);
    list.hidden = this.sheets.every((sheet) => !sheet.childElementCount);
  }

  /**
   * The line of a clip that is heard at this second; where two overlap, the rated one.
   * @param {number} place
   * @param {number} atS
   */
  lineAt(place, atS) {
    const { lines } = this.parts[place];
    const rated = lines.findIndex(
      (line) => line.role === "rated" && atS >= line.start_s && atS < line.end_s,
    );
    if (rated >= 0) return rated;
    return lines.findIndex((line) => atS >= line.start_s - LOOSE_S && atS < line.end_s);
  }

  /**
   * @param {number} place
   * @param {number} atS
   * @returns {string} "context", "rated", or "" between the two and where nothing is marked
   */
  roleAt(place, atS) {
    if (!this.marked) return "";
    const { lines, role } = this.parts[place];
    if (!lines.length) return role === "rated" || role === "context" ? role : "";
    return lines[this.lineAt(place, atS)]?.role ?? "";
  }

  /**
   * Shows the words of a clip's lines, the one that is heard marked.
   * @param {number} place
   * @param {number} atS
   * @param {boolean} playing
   */
  draw(place, atS, playing) {
    if (this.shown !== place) this.show(place);
    const now = playing ? this.lineAt(place, atS) : -1;
    for (const row of this.sheets[place].children) {
      const isNow = row instanceof HTMLElement && row.dataset.line === String(now);
      row.classList.toggle("now", isNow);
    }
  }

  /** @param {number} place */
  show(place) {
    this.shown = place;
    this.sheets.forEach((sheet, k) => sheet.classList.toggle("over", k !== place));
  }

  /** @param {number} place */
  sheetOf(place) {
    const sheet = document.createElement("ol");
    sheet.className = "lines";
    const { lines } = this.parts[place];
    sheet.append(...lines.flatMap((line, k) => (line.text ? [rowOf(line, k, this.marked)] : [])));
    return sheet;
  }

  /**
   * Where the rated lines lie on a clip's bar, as shares of its length.
   * @param {number} place
   * @param {number} durationS
   * @returns {[number, number][]}
   */
  marks(place, durationS) {
    if (!this.marked || !durationS) return [];
    const rated = this.parts[place].lines.filter((line) => line.role === "rated");
    return rated.map((line) => [
      Math.min(1, line.start_s / durationS),
      Math.min(1, line.end_s / durationS),
    ]);
  }
}

/**
 * @param {Line} line
 * @param {number} k
 * @param {boolean} marked
 */
function rowOf(line, k, marked) {
  const { root, part } = view("view-line");
  root.dataset.line = String(k);
  root.dataset.role = line.role;
  const silent = line.end_s <= line.start_s;
  part("role").hidden = !marked;
  setText(part("role"), say(silent ? "line_read" : `line_${line.role}`));
  setText(part("words"), line.text ?? "");
  return root;
}
