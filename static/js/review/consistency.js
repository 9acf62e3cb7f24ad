/** Groups of clips of one system: one voice, one language, one manner? */

import { byId, setText } from "../shared/dom.js";
import { keyButton } from "./choices.js";
import { Desk } from "./desk.js";
import { ClipFace } from "./players.js";

/** @typedef {{key: string, value: string, label: string, help: string}} Aspect */

const NEXT = /** @type {Record<string, string>} */ ({ same: "differs", differs: "unsure", unsure: "same" });
const SAID = /** @type {Record<string, string>} */ ({ same: "the same", differs: "differs", unsure: "cannot say" });

class Consistency extends ClipFace {
  /** @param {Desk} desk */
  constructor(desk) {
    super(desk);
    /** @type {Aspect[]} */
    this.aspects = desk.told.question.aspects;
    /** @type {Record<string, string>} */
    this.said = {};
    /** @type {Set<number>} */
    this.odd = new Set();
    this.buttons = this.aspects.map((each) => this.button(each));
    byId("aspects").replaceChildren(...this.buttons);
    byId("choices").replaceChildren(this.done);
  }

  /** @param {Aspect} aspect */
  button(aspect) {
    const button = keyButton("", aspect.key, () => this.turn(aspect.value));
    button.title = aspect.help;
    return button;
  }

  /**
   * @param {any} item
   * @param {any} before
   */
  show(item, before) {
    this.said = Object.fromEntries(this.aspects.map(({ value }) => [value, before?.[value] ?? "same"]));
    this.odd = new Set(before?.odd ?? []);
    byId("first").hidden = true;
    const runs = item.part === this.desk.told.question.runs;
    setText(byId("group-of"), runs ? "Several synthesis runs of one text." : "Several texts by one system.");
    this.players.show(item, Boolean(before));
    this.draw();
  }

  /** @param {string} aspect */
  turn(aspect) {
    this.said[aspect] = NEXT[this.said[aspect]];
    this.draw();
  }

  stand() {
    const { place } = this.players;
    if (!this.odd.delete(place)) this.odd.add(place);
    this.draw();
  }

  draw() {
    this.aspects.forEach(({ value, label }, n) => {
      const button = this.buttons[n];
      button.firstChild?.replaceWith(`${label}: ${SAID[this.said[value]]}`);
      button.setAttribute("aria-pressed", String(this.said[value] !== "same"));
    });
    for (const row of this.players.rows) {
      setText(row.name, `Clip ${row.place + 1}${this.odd.has(row.place) ? ", stands out" : ""}`);
    }
    const differs = this.aspects.filter(({ value }) => this.said[value] !== "same").length;
    this.done.firstChild?.replaceWith(differs ? "Next" : "Consistent: next");
  }

  redraw() {
    if (this.players.allHeard) byId("first").hidden = true;
  }

  finish() {
    if (this.players.allHeard) return this.desk.answer({ ...this.said, odd: [...this.odd].sort() });
    const missing = this.players.heard.flatMap((heard, n) => (heard ? [] : [`clip ${n + 1}`]));
    return this.lack(`Play to the end first: ${missing.join(", ")}.`);
  }

  /** @param {string} key */
  key(key) {
    const aspect = this.aspects.find((each) => each.key === key);
    if (aspect) this.turn(aspect.value);
    else if (key === "s") this.stand();
    else if (key === "Enter") this.finish();
    else return this.players.key(key);
    return true;
  }

  /** @param {any} answer */
  say(answer) {
    return this.aspects.map(({ value, label }) => `${label} ${SAID[answer?.[value]] ?? ""}`).join(", ");
  }
}

new Desk((desk) => new Consistency(desk)).start();
