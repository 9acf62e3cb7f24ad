/** Vocalisations of a clip: their types, and where among the words, or when, they are heard. */

import { byId, setText } from "../shared/dom.js";
import { Desk } from "./desk.js";
import { ClipFace, regionWords, removable } from "./players.js";

/** @typedef {{type: string, position: number | null, seconds: import("./players.js").Region}} Event */

class Events extends ClipFace {
  /** @param {Desk} desk */
  constructor(desk) {
    super(desk);
    /** @type {Event[]} */
    this.events = [];
    /** @type {string[]} */
    this.units = [];
    this.caret = 0;
    this.type = /** @type {HTMLInputElement} */ (byId("type"));
    this.offer(() => this.desk.answer({ events: [], unsure: true }));
    byId("add").addEventListener("click", () => this.add());
    this.type.addEventListener("keydown", (event) => this.typed(event));
  }

  /**
   * @param {any} item
   * @param {any} before
   */
  show(item, before) {
    this.events = before?.events ? [...before.events] : [];
    this.units = item.units;
    this.language = item.language;
    this.caret = 0;
    this.type.value = "";
    byId("first").hidden = true;
    byId("types").replaceChildren(...item.types.map((/** @type {string} */ name) => new Option(name, name)));
    this.players.show(item, Boolean(before));
    this.draw();
  }

  draw() {
    const gaps = Array.from({ length: this.units.length + 1 }, (_, place) => this.gap(place));
    const pieces = this.units.flatMap((unit, place) => [gaps[place], this.unit(unit)]);
    byId("units").replaceChildren(...pieces, gaps[this.units.length]);
    byId("units").hidden = this.units.length === 0;
    byId("marks").replaceChildren(...this.events.map((event, place) => removable(this.words(event), () => this.remove(place))));
    const count = this.events.length;
    this.done.firstChild?.replaceWith(count ? `${count} marked: next` : "No vocalisation: next");
    this.redraw();
  }

  /** @param {string} words */
  unit(words) {
    const shown = document.createElement("span");
    shown.textContent = words;
    shown.lang = this.language ?? "";
    return shown;
  }

  /** A place between two words. @param {number} place */
  gap(place) {
    const button = document.createElement("button");
    const here = this.events.filter((event) => event.position === place).map((event) => event.type);
    button.type = "button";
    button.className = "desk-gap";
    button.textContent = here.length ? `[${here.join(", ")}]` : "·";
    button.setAttribute("aria-label", `${this.placeWords(place)}${here.length ? `: ${here.join(", ")}` : ""}`);
    button.setAttribute("aria-pressed", String(place === this.caret));
    button.addEventListener("click", () => this.move(place));
    return button;
  }

  /** @param {number | null} place */
  placeWords(place) {
    if (place === null) return "no position";
    return place === 0 ? "before the first word" : `after “${this.units[place - 1]}”`;
  }

  /** @param {number} place */
  move(place) {
    this.caret = Math.max(0, Math.min(place, this.units.length));
    this.draw();
  }

  /** @param {KeyboardEvent} event */
  typed(event) {
    if (event.key !== "Enter" || event.isComposing) return;
    event.preventDefault();
    this.add();
  }

  add() {
    const name = this.type.value.trim().toLowerCase();
    const { region } = this.players;
    if (!name) return this.lack("Choose or enter a type.");
    if (this.units.length === 0 && !region) return this.lack("This clip has no words. Mark the time with b and e.");
    this.events.push({ type: name, position: this.units.length ? this.caret : null, seconds: region });
    this.events.sort((a, b) => (a.position ?? 0) - (b.position ?? 0));
    this.type.value = "";
    byId("first").hidden = true;
    this.players.mark(null);
    this.draw();
    return byId("item").focus({ preventScroll: true });
  }

  redraw() {
    const where = this.units.length ? `Position: ${this.placeWords(this.caret)}` : "";
    const when = this.players.region ? `time: ${regionWords(this.players.region)}` : "";
    setText(byId("region"), [where, when].filter(Boolean).join("; "));
  }

  /** @param {number} place */
  remove(place) {
    this.events.splice(place, 1);
    this.draw();
  }

  /** @param {Event} event */
  words({ type, position, seconds }) {
    const when = seconds ? `, ${regionWords(seconds)}` : "";
    return `${type}${position === null ? "" : `, ${this.placeWords(position)}`}${when}`;
  }

  finish() {
    if (!this.players.allHeard) return this.lack("Play the clip to the end first.");
    return this.desk.answer({ events: [...this.events], unsure: false });
  }

  /** @param {string} key */
  key(key) {
    if (key === "j") this.move(this.caret - 1);
    else if (key === "l") this.move(this.caret + 1);
    else if (key === "t") this.type.focus();
    else if (key === "0") this.desk.answer({ events: [], unsure: true });
    else if (key === "Enter") this.finish();
    else return this.playerKey(key);
    return true;
  }

  /** @param {any} answer */
  say(answer) {
    if (answer?.unsure) return "Cannot say";
    return (answer?.events ?? []).map((/** @type {Event} */ event) => this.words(event)).join("; ") || "No vocalisation";
  }
}

new Desk((desk) => new Events(desk)).start();
