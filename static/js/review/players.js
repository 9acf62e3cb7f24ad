/** The clips of an item: chosen, heard, seen as waveforms; and a region of one, marked by pointer or keys. */

import { byId, cloned, setText } from "../shared/dom.js";
import { COLUMNS, outline } from "../rater/waveform.js";
import { keyButton } from "./choices.js";

const STEP_S = 0.5;
const SHORTEST_S = 0.02; // a shorter drag is a click

/** @typedef {[number, number] | null} Region from when to when in seconds; null: the whole clip */

export class Players {
  /** @param {import("./desk.js").Desk} desk */
  constructor(desk) {
    this.desk = desk;
    this.audio = desk.clips.audio;
    this.place = 0;
    /** @type {boolean[]} heard to the end */
    this.heard = [];
    /** @type {Region} */
    this.region = null;
    /** @type {Row[]} */
    this.rows = [];
    /** Called when the region or the chosen clip changes. */
    this.changed = () => {};
    for (const event of ["timeupdate", "seeked", "loadedmetadata"]) {
      this.audio.addEventListener(event, () => this.drawNow());
    }
    this.audio.addEventListener("ended", () => {
      this.heard[this.place] = true;
      this.changed();
    });
  }

  /**
   * @param {import("./desk.js").Item & {texts: string[], language: string}} item
   * @param {boolean} known whether it was judged before
   */
  show(item, known) {
    this.heard = item.texts.map(() => known);
    this.region = null;
    this.rows = item.texts.map((words, place) => new Row(this, place, words, item.language));
    byId("players").replaceChildren(...this.rows.map((row) => row.root));
    item.texts.forEach((_, place) => this.load(item.item, place));
    for (const next of this.desk.queue.slice(0, 2)) {
      for (let place = 1; place < next.clips; place += 1) this.desk.clips.fetch(next.item, place).catch(() => "");
    }
    this.choose(0);
  }

  /**
   * @param {string} item
   * @param {number} place
   */
  async load(item, place) {
    const row = this.rows[place];
    try {
      const answer = await fetch(this.desk.clipUrl(item, place), { credentials: "same-origin" });
      const sound = await answer.arrayBuffer();
      row.draw(await new OfflineAudioContext(1, 1, 44_100).decodeAudioData(sound));
    } catch {
      setText(row.time, "No waveform: the clip could not be loaded or is not audio.");
    }
  }

  /** @param {number} place */
  async choose(place) {
    const item = this.desk.clips.item;
    this.place = Math.max(0, Math.min(place, this.rows.length - 1));
    this.desk.clips.stop();
    this.audio.removeAttribute("src");
    for (const row of this.rows) row.chosen(row.place === this.place);
    this.drawNow();
    this.changed();
    const url = await this.desk.clips.fetch(item, this.place).catch(() => "");
    const still = this.desk.clips.item === item && this.rows.length > 0;
    if (url && still && !this.audio.hasAttribute("src")) this.audio.src = url;
  }

  get allHeard() {
    return this.heard.every(Boolean);
  }

  get durationS() {
    return this.rows[this.place]?.durationS || this.audio.duration || 0;
  }

  /**
   * @param {string} key
   * @returns {boolean} whether it was used
   */
  key(key) {
    if (key === "ArrowLeft" || key === "ArrowRight") this.seek(this.audio.currentTime + (key === "ArrowLeft" ? -STEP_S : STEP_S));
    else if (this.rows.length > 1 && key === "ArrowUp") this.choose(this.place - 1);
    else if (this.rows.length > 1 && key === "ArrowDown") this.choose(this.place + 1);
    else return false;
    return true;
  }

  /** @param {number} atS */
  seek(atS) {
    if (this.audio.hasAttribute("src")) this.audio.currentTime = Math.max(0, Math.min(atS, this.durationS));
  }

  /** The region begins at the place that is heard now. */
  beginHere() {
    const atS = rounded(this.audio.currentTime);
    const endS = this.region && this.region[1] > atS ? this.region[1] : rounded(this.durationS);
    this.mark([atS, endS]);
  }

  endHere() {
    const atS = rounded(this.audio.currentTime);
    this.mark([this.region && this.region[0] < atS ? this.region[0] : 0, atS]);
  }

  /** @param {Region} region */
  mark(region) {
    this.region = region && region[1] - region[0] >= SHORTEST_S ? region : null;
    this.rows[this.place]?.drawRegion(this.region);
    this.changed();
  }

  drawNow() {
    for (const row of this.rows) row.drawNow(row.place === this.place ? this.audio.currentTime : 0);
  }
}

class Row {
  /**
   * @param {Players} players
   * @param {number} place
   * @param {string} words
   * @param {string} language
   */
  constructor(players, place, words, language) {
    this.players = players;
    this.place = place;
    this.durationS = 0;
    this.root = /** @type {HTMLElement} */ (cloned("player-view").firstElementChild);
    const part = (/** @type {string} */ name) => /** @type {HTMLElement} */ (this.root.querySelector(`[data-part=${name}]`));
    this.name = part("choose");
    this.time = part("time");
    this.wave = /** @type {SVGSVGElement} */ (/** @type {unknown} */ (part("wave")));
    setText(this.name, `Clip ${place + 1}`);
    setText(part("words"), words);
    part("words").lang = language;
    part("words").hidden = words === "";
    this.name.addEventListener("click", () => this.pressed());
    this.drags();
  }

  async pressed() {
    if (this.players.place !== this.place) await this.players.choose(this.place);
    this.players.desk.play();
  }

  /** @param {boolean} yes */
  chosen(yes) {
    this.root.classList.toggle("desk-clip-chosen", yes);
    this.name.hidden = this.players.rows.length < 2;
    if (yes) this.name.setAttribute("aria-current", "true");
    else this.name.removeAttribute("aria-current");
  }

  /** @param {AudioBuffer} sound */
  draw(sound) {
    this.durationS = sound.duration;
    this.wave.querySelector("path")?.setAttribute("d", outline(sound, COLUMNS));
    this.drawNow(0);
  }

  /** @param {number} atS */
  drawNow(atS) {
    if (!this.durationS) return;
    const x = String((COLUMNS * atS) / this.durationS);
    const now = this.wave.querySelector("line");
    now?.setAttribute("x1", x);
    now?.setAttribute("x2", x);
    setText(this.time, `${atS.toFixed(1)} of ${this.durationS.toFixed(1)} s`);
  }

  /** @param {Region} region */
  drawRegion(region) {
    const rect = this.wave.querySelector("rect");
    const [startS, endS] = region ?? [0, 0];
    const scale = this.durationS ? COLUMNS / this.durationS : 0;
    rect?.setAttribute("x", String(startS * scale));
    rect?.setAttribute("width", String((endS - startS) * scale));
  }

  /** A drag marks a region, a click goes to its place. */
  drags() {
    /** @type {number | null} */
    let start = null;
    const at = (/** @type {PointerEvent} */ event) => {
      const box = this.wave.getBoundingClientRect();
      return rounded(Math.max(0, Math.min(1, (event.clientX - box.left) / box.width)) * this.durationS);
    };
    this.wave.addEventListener("pointerdown", (event) => {
      if (this.players.place !== this.place || !this.durationS) return;
      start = at(event);
      this.wave.setPointerCapture(event.pointerId);
    });
    this.wave.addEventListener("pointermove", (event) => {
      if (start !== null) this.players.mark([Math.min(start, at(event)), Math.max(start, at(event))]);
    });
    this.wave.addEventListener("pointerup", (event) => {
      if (start !== null && Math.abs(at(event) - start) < SHORTEST_S) this.players.seek(at(event));
      start = null;
    });
  }
}

/** @param {number} seconds */
function rounded(seconds) {
  return Math.round(seconds * 100) / 100;
}

/**
 * A region in words.
 * @param {Region} region
 */
export function regionWords(region) {
  return region ? `${region[0].toFixed(1)} to ${region[1].toFixed(1)} s` : "whole clip";
}

/** What the desks of clips share: players, the button that goes on, and how they say what is missing. */
export class ClipFace {
  /** @param {import("./desk.js").Desk} desk */
  constructor(desk) {
    this.desk = desk;
    this.players = new Players(desk);
    this.players.changed = () => this.redraw();
    this.done = keyButton("", "Enter", () => this.finish());
    this.done.classList.add("button-primary", "button-large");
  }

  /** The region, the chosen clip or what was heard has changed. */
  redraw() {}

  /** Sends the answer, or says what is missing. */
  finish() {}

  /** Offers to go on, or to say nothing of this item. @param {() => void} cannotSay */
  offer(cannotSay) {
    const unsure = keyButton("Cannot say", "0", cannotSay);
    unsure.classList.add("button-large");
    byId("choices").replaceChildren(this.done, unsure);
  }

  /** What is missing. @param {string} words */
  lack(words) {
    setText(byId("first"), words);
    byId("first").hidden = false;
  }

  place() {
    return this.players.place;
  }

  /**
   * The keys of regions and players.
   * @param {string} key
   */
  playerKey(key) {
    if (key === "b") this.players.beginHere();
    else if (key === "e") this.players.endHere();
    else if (key === "x") this.players.mark(null);
    else return this.players.key(key);
    return true;
  }
}

/**
 * A line of a list with a button that removes it.
 * @param {string} words
 * @param {() => void} remove
 */
export function removable(words, remove) {
  const line = document.createElement("li");
  const button = document.createElement("button");
  button.type = "button";
  button.className = "button button-quiet";
  button.textContent = "Remove";
  button.setAttribute("aria-label", `Remove ${words}`);
  button.addEventListener("click", () => {
    remove();
    byId("item").focus({ preventScroll: true });
  });
  line.append(`${words} `, button);
  return line;
}
