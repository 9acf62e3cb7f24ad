/** What is context and what is rated along the clips of a trial, in time and in words. */

import { setText, view } from "../shared/dom.js";
import { say } from "./strings.js";

/**
 * @typedef {{role: "context" | "rated", start_s: number, end_s: number, text: string | null}} Line
 * @typedef {{name: string, role: string, lines: Line[]}} Part
 */

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
  }

  /**
   * The line of a clip that is heard at this second.
   * @param {number} place
   * @param {number} at_s
   */
  lineAt(place, at_s) {
    const { lines } = this.parts[place];
    return lines.findIndex((line) => at_s >= line.start_s - LOOSE_S && at_s < line.end_s);
  }

  /**
   * @param {number} place
   * @param {number} at_s
   * @returns {string} "context", "rated", or "" between the two and where nothing is marked
   */
  roleAt(place, at_s) {
    if (!this.marked) return "";
    const { lines, role } = this.parts[place];
    if (!lines.length) return role === "rated" || role === "context" ? role : "";
    return lines[this.lineAt(place, at_s)]?.role ?? "";
  }

  /**
   * Shows the words of a clip's lines, the one that is heard marked.
   * @param {number} place
   * @param {number} at_s
   * @param {boolean} playing
   */
  draw(place, at_s, playing) {
    if (this.shown !== place) this.write(place);
    const now = playing ? this.lineAt(place, at_s) : -1;
    for (const row of this.list.children) {
      const is_now = row instanceof HTMLElement && row.dataset.line === String(now);
      row.classList.toggle("now", is_now);
    }
  }

  /** @param {number} place */
  write(place) {
    this.shown = place;
    const { lines } = this.parts[place];
    const rows = lines.flatMap((line, k) => (line.text ? [rowOf(line, k, this.marked)] : []));
    this.list.replaceChildren(...rows);
    this.list.hidden = !rows.length;
  }

  /**
   * Where the rated lines lie on a clip's bar, as shares of its length.
   * @param {number} place
   * @param {number} duration_s
   * @returns {[number, number][]}
   */
  marks(place, duration_s) {
    if (!this.marked || !duration_s) return [];
    const rated = this.parts[place].lines.filter((line) => line.role === "rated");
    return rated.map(({ start_s, end_s }) => [
      Math.min(1, start_s / duration_s),
      Math.min(1, end_s / duration_s),
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
