/** Clips: was each synthesised well? Defects are marked by what and where. */

import { byId, fillList, setText } from "../shared/dom.js";
import { keyButton } from "./choices.js";
import { Desk } from "./desk.js";
import { ClipFace, regionWords, removable } from "./players.js";

/**
 * @typedef {{key: string, value: string, label: string, help: string}} Defect
 * @typedef {{what: string, seconds: import("./players.js").Region}} Mark
 */

class Validate extends ClipFace {
  /** @param {Desk} desk */
  constructor(desk) {
    super(desk);
    this.own = "";
    /** @type {Defect[]} */
    this.defects = desk.told.question.defects;
    /** @type {Mark[]} */
    this.marks = [];
    this.buttons = this.defects.map((each) => this.button(each));
    byId("defects").replaceChildren(...this.buttons);
    this.offer(() => this.answer("unsure"));
    byId("region-begin").addEventListener("click", () => this.players.beginHere());
    byId("region-end").addEventListener("click", () => this.players.endHere());
    byId("region-clear").addEventListener("click", () => this.players.mark(null));
  }

  /** @param {Defect} defect */
  button(defect) {
    const button = keyButton(defect.label, defect.key, () => this.toggle(defect.value));
    button.title = defect.help;
    button.dataset.value = defect.value;
    return button;
  }

  /**
   * @param {any} item
   * @param {any} before
   */
  show(item, before) {
    byId("hints").hidden = true;
    this.marks = before?.defects ? [...before.defects] : [];
    byId("first").hidden = true;
    this.players.show(item, Boolean(before));
    this.draw();
  }

  /** Marked where the region lies; pressed again without another region, the mark goes. @param {string} what */
  toggle(what) {
    const seconds = this.players.region;
    const same = this.marks.findIndex((mark) => mark.what === what && String(mark.seconds) === String(seconds));
    if (same >= 0) this.marks.splice(same, 1);
    else this.marks.push({ what, seconds });
    this.draw();
  }

  draw() {
    for (const button of this.buttons) {
      button.setAttribute("aria-pressed", String(this.marks.some((mark) => mark.what === button.dataset.value)));
    }
    byId("marks").replaceChildren(...this.marks.map((mark, place) => removable(this.words(mark), () => this.remove(place))));
    const many = this.marks.length === 1 ? "One defect" : `${this.marks.length} defects`;
    this.done.firstChild?.replaceWith(this.marks.length ? `${many}: next` : "Synthesised well: next");
    this.redraw();
  }

  /** @param {number} place */
  remove(place) {
    this.marks.splice(place, 1);
    this.draw();
  }

  redraw() {
    const region = this.players.region;
    setText(byId("region"), region ? `Marked: ${regionWords(region)}` : "Defects apply to the whole clip");
    if (this.players.allHeard) byId("first").hidden = true;
  }

  /** @param {Mark} mark */
  words({ what, seconds }) {
    return `${this.name(what)}, ${regionWords(seconds)}`;
  }

  /** @param {string} what */
  name(what) {
    return this.defects.find((each) => each.value === what)?.label ?? what;
  }

  finish() {
    if (this.desk.phase === "hinted" && JSON.parse(this.own).verdict === "unsure" && !this.marks.length) return this.desk.next();
    if (this.marks.length) return this.answer("flawed");
    if (this.players.allHeard) return this.answer("ok");
    return this.lack("Play the clip to the end first. A defect may occur late.");
  }

  /** @param {string} verdict */
  answer(verdict) {
    const answer = { verdict, defects: verdict === "flawed" ? [...this.marks] : [] };
    const same = JSON.stringify(answer) === this.own;
    if (this.desk.phase === "hinted" && same) this.desk.next();
    else {
      if (this.desk.phase === "own") this.own = JSON.stringify(answer);
      this.desk.answer(answer);
    }
  }

  /** What programs noticed, after one's own verdict was stored. @param {string[]} hints */
  hinted(hints) {
    fillList(byId("hints-list"), hints);
    byId("hints").hidden = false;
    return hints.length > 0;
  }

  /** @param {string} key */
  key(key) {
    const defect = this.defects.find((each) => each.key === key);
    if (defect) this.toggle(defect.value);
    else if (key === "Enter") this.finish();
    else if (key === "0") this.answer("unsure");
    else return this.playerKey(key);
    return true;
  }

  /** @param {any} answer */
  say(answer) {
    const marks = (answer?.defects ?? []).map((/** @type {Mark} */ mark) => this.words(mark));
    return [this.desk.told.question.verdicts[answer?.verdict] ?? "", ...marks].join("; ");
  }
}

new Desk((desk) => new Validate(desk)).start();
