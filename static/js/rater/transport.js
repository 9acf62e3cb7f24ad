/** The face of a deck: play and pause, the time line, the part that repeats, and what is in the way. */

import { inNextFrame, reserve, setEnabled, setText } from "../shared/dom.js";
import { SHORTEST_LOOP_S } from "./mixer.js";
import { clock, say } from "./strings.js";
import { namesOf } from "./board.js";

/** @import { Deck } from "./deck.js" */
/** @import { Line } from "../shared/wire.js" */

/**
 * @typedef {import("../shared/views.js").Finder<import("../shared/views.js").ParallelParts>} Finder
 */

const HANDLES = /** @type {const} */ (["loop-from", "loop-to"]);

export class Transport {
  /**
   * @param {Finder} part finds places in the view
   * @param {Deck} deck
   * @param {import("../shared/wire.js").Part[]} parts of the trial
   */
  constructor(part, deck, parts) {
    this.part = part;
    this.deck = deck;
    this.parts = parts;
    this.dragging = false;
    this.marked = -1;
    this.followLater = inNextFrame(() => this.follow());
    part("toggle").addEventListener("click", () => deck.toggle());
    part("retry").addEventListener("click", () => deck.retry());
    part("repeat").addEventListener("click", () => deck.setLoop({ ...deck.loop, on: !deck.loop.on }));
    part("clear").addEventListener("click", () => this.clear());
    this.listenSeek(part("seek"));
    for (const name of HANDLES) {
      part(name).addEventListener("input", () => this.limit(name));
      part(name).addEventListener("change", () => this.setLoop());
    }
    deck.addEventListener("change", () => this.draw());
    part("words-box").hidden = !parts.some(({ lines }) => hasContext(lines));
    reserve(part("words"), parts.flatMap(({ lines }) => [...lines, undefined].map((now) => wordsOf(lines, now))));
    this.draw();
  }

  /** @param {HTMLInputElement} seek */
  listenSeek(seek) {
    seek.addEventListener("input", () => {
      this.dragging = true;
      this.drawTime(Number(seek.value));
    });
    seek.addEventListener("change", () => {
      this.dragging = false;
      this.deck.seek(Number(seek.value));
    });
  }

  /** Keeps the handles apart. @param {(typeof HANDLES)[number]} name */
  limit(name) {
    const [from, to] = this.ends;
    const gap = Math.min(Math.max(SHORTEST_LOOP_S, this.deck.duration / 50), this.deck.duration);
    if (name === "loop-from" && from > to - gap) this.part(name).value = String(to - gap);
    if (name === "loop-to" && to < from + gap) this.part(name).value = String(from + gap);
    this.drawLoop();
  }

  get ends() {
    return HANDLES.map((name) => Number(this.part(name).value));
  }

  /** @param {boolean} [on] */
  setLoop(on = this.deck.loop.on) {
    const { deck } = this;
    const [from, to] = this.ends;
    const whole = deck.duration - to < 0.06; // the handle moves in steps
    deck.setLoop({ on, from, to: whole ? deck.duration : to });
  }

  /** The part that repeats begins or ends where the ear is. @param {(typeof HANDLES)[number]} name */
  mark(name) {
    const { deck } = this;
    if (!deck.duration) return false;
    this.part(name).value = String(deck.position);
    this.limit(name);
    this.setLoop(true);
    return true;
  }

  /** All of it repeats again. */
  clear() {
    const { deck } = this;
    if (!deck.duration) return false;
    deck.setLoop({ on: true, from: 0, to: deck.duration });
    return true;
  }

  draw() {
    const { part, deck } = this;
    const { state, playing, tracks, selected, duration } = deck;
    part("deck").dataset.state = state;
    const { spoken } = namesOf(tracks[selected]);
    setText(part("toggle-name"), say(playing || deck.wanted ? "pause" : "play"));
    setEnabled(part("toggle"), state !== "failed");
    setText(part("now"), spoken);
    setText(part("status"), this.status);
    part("seek").max = String(duration || 1);
    part("seek").disabled = part("loop-from").disabled = part("loop-to").disabled = !duration;
    part("repeat").setAttribute("aria-pressed", String(deck.loop.on));
    part("loop").hidden = !deck.loop.on || !duration;
    this.putLoop();
    this.drawMarks();
    this.drawProblem(state);
    this.follow();
  }

  get status() {
    const { state, percent, tracks, wanted } = this.deck;
    if (state === "failed") return "";
    if (state === "loading") return percent < 100 ? say("loading_percent", { percent }) : say("loading");
    if (state === "playing") return say("playing");
    if (wanted) return say("loading");
    return tracks.some((track) => track.plays) ? say("paused") : say("deck_touch");
  }

  /** @param {string} state */
  drawProblem(state) {
    const { part, deck } = this;
    const late = navigator.onLine ? "load_retrying" : "load_offline";
    const failed = deck.broken ? say("undecodable") : say(late);
    const { forcedRate: rate } = deck;
    const forced = rate === 1 ? "" : say("rate_forced", { rate });
    const text = state === "failed" ? failed : deck.blocked ? say("deck_blocked") : forced;
    part("problem").hidden = !text;
    part("retry").hidden = state !== "failed";
    part("skip").hidden = !deck.lost;
    setText(part("problem-text"), deck.lost === "load" ? say("load_lost") : text);
  }

  /** Follows the sound smoothly while it plays. */
  follow() {
    const { deck } = this;
    if (!this.dragging) {
      this.part("seek").value = String(deck.position);
      this.drawTime(deck.position);
    }
    if (deck.playing) this.followLater();
  }

  /** @param {number} at */
  drawTime(at) {
    const { part, deck } = this;
    const { duration } = deck;
    const share = duration ? Math.min(1, at / duration) : 0;
    part("line").style.setProperty("--share", share.toFixed(4));
    const floor = clock(Math.floor(at + 0.05));
    const text = duration ? say("deck_at", { at: floor, total: clock(duration) }) : "";
    setText(part("time"), text);
    if (part("seek").getAttribute("aria-valuetext") !== floor) {
      part("seek").setAttribute("aria-valuetext", floor);
    }
    this.drawWords(at);
  }

  /** The deck's loop, shown by the handles. */
  putLoop() {
    const { duration, loop } = this.deck;
    if (!duration || this.part("loop").matches(":active")) return;
    HANDLES.forEach((name, k) => {
      this.part(name).max = String(Math.ceil(duration * 20) / 20);
      this.part(name).value = String([loop.from, loop.to][k]);
    });
    this.drawLoop();
  }

  drawLoop() {
    const { part } = this;
    const duration = this.deck.duration || 1;
    const [from, to] = this.ends;
    part("body").style.setProperty("--from", String(Math.min(1, from / duration)));
    part("body").style.setProperty("--to", String(Math.min(1, to / duration)));
    part("clear").hidden = !this.deck.loop.on || (from === 0 && to >= this.deck.duration);
    part("loop-from").setAttribute("aria-valuetext", `${from.toFixed(1)} s`);
    part("loop-to").setAttribute("aria-valuetext", `${to.toFixed(1)} s`);
  }

  get lines() {
    return this.parts[this.deck.tracks[this.deck.selected].place].lines;
  }

  /** What is rated of a clip that holds context too, on the time line. */
  drawMarks() {
    const { deck, lines } = this;
    if (!deck.duration || this.marked === deck.selected) return;
    this.marked = deck.selected;
    const rated = hasContext(lines) ? lines.filter((line) => line.role === "rated") : [];
    const marks = rated.map((line) => {
      const mark = document.createElement("span");
      mark.style.setProperty("--from", String(Math.min(1, line.start_s / deck.duration)));
      mark.style.setProperty("--to", String(Math.min(1, line.end_s / deck.duration)));
      return mark;
    });
    this.part("marks").replaceChildren(...marks);
  }

  /** The line that is heard just now. @param {number} at */
  drawWords(at) {
    const { part, lines } = this;
    const now = lines.find((line) => at >= line.start_s && at < line.end_s);
    part("words-box").dataset.role = now?.role ?? "";
    setText(part("words"), wordsOf(lines, now));
  }
}

/** @param {Line[]} lines */
function hasContext(lines) {
  return lines.some((line) => line.role === "context");
}

/**
 * The context that is read, and what is heard now; "" of a clip without context.
 * @param {Line[]} lines
 * @param {Line | undefined} now
 */
function wordsOf(lines, now) {
  if (!hasContext(lines)) return "";
  const role = now ? say(`line_${now.role}`) : "";
  const heard = now?.text ? `${role}: ${now.text}` : role || "…";
  const read = lines.filter((line) => line.role === "context" && line.end_s <= line.start_s);
  const words = read.map((line) => `${say("line_context")}: ${line.text}`);
  return [...words, heard].join(" · ");
}
