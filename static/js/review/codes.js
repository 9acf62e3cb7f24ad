/** Codes: which attributes a reason names, and by which of its words. */

import { byId, setText } from "../shared/dom.js";
import { keyButton } from "./choices.js";
import { Desk } from "./desk.js";
import { Marker } from "./marker.js";
import { drawReason } from "./reason.js";

/**
 * @typedef {{key: string, value: string, label: string, family: string, words: string}} Code
 * @typedef {{code: string, start: number, end: number}} Span
 */

const NONE = "none";

class Codes {
  /** @param {Desk} desk */
  constructor(desk) {
    this.desk = desk;
    /** @type {Code[]} */
    this.codes = desk.told.question.codes;
    /** @type {Set<string>} */
    this.chosen = new Set();
    /** @type {Span[]} */
    this.spans = [];
    /** @type {string[]} */
    this.suggested = [];
    this.marker = new Marker(byId("reason"));
    this.done = keyButton("Done", "Enter", () => this.send());
    this.done.className = "button button-primary";
    /** @type {Map<string, HTMLButtonElement>} */
    this.buttons = new Map(this.codes.map((code) => [code.value, this.button(code)]));
    const families = [...new Set(this.codes.map((code) => code.family))];
    byId("choices").className = "desk-families";
    byId("choices").replaceChildren(...families.map((family) => this.family(family)), this.done);
  }

  /** @param {string} family */
  family(family) {
    const group = document.createElement("div");
    const title = document.createElement("p");
    title.className = "muted small";
    title.textContent = family;
    const mine = this.codes.filter((code) => code.family === family);
    group.append(title, ...mine.map((code) => /** @type {HTMLElement} */ (this.buttons.get(code.value))));
    return group;
  }

  /** @param {Code} code */
  button({ key, value, label, words }) {
    const button = document.createElement("button");
    const shown = document.createElement("kbd");
    button.type = "button";
    button.className = "button desk-code";
    button.title = words;
    shown.textContent = key;
    button.append(shown, " ", label);
    button.addEventListener("click", () => this.choose(value));
    return button;
  }

  /**
   * @param {import("./reason.js").ReasonItem} item
   * @param {any} before
   */
  show(item, before) {
    drawReason(item);
    this.marker.read();
    this.chosen = new Set(before?.codes ?? []);
    this.spans = before?.spans ?? [];
    this.suggested = [];
    byId("hints").hidden = true;
    byId("missing").hidden = true;
    this.draw();
  }

  /** @param {string} code */
  choose(code) {
    const place = this.marker.take();
    if (place) {
      this.spans.push({ code, ...place });
      this.chosen.add(code);
    } else if (this.chosen.delete(code)) {
      this.spans = this.spans.filter((span) => span.code !== code);
    } else {
      this.chosen.add(code);
    }
    if (code === NONE && this.chosen.has(NONE)) this.chosen = new Set([NONE]);
    else this.chosen.delete(NONE);
    this.spans = this.spans.filter((span) => this.chosen.has(span.code));
    byId("missing").hidden = true;
    this.draw();
  }

  draw() {
    for (const [code, button] of this.buttons) {
      button.setAttribute("aria-pressed", String(this.chosen.has(code)));
      button.classList.toggle("desk-suggested", this.suggested.includes(code));
    }
    this.marker.draw(this.spans, (code) => this.label(code));
  }

  send() {
    byId("missing").hidden = this.chosen.size > 0;
    if (this.chosen.size === 0) return;
    const answer = { codes: [...this.chosen].sort(), spans: this.spans };
    if (this.desk.phase === "hinted" && !this.changed) this.desk.next();
    else this.desk.answer(answer);
  }

  /** Whether something was chosen or left out since one's own answer. */
  get changed() {
    return JSON.stringify([...this.chosen].sort()) !== JSON.stringify(this.own);
  }

  /**
   * What rules and a model suggest, after one's own answer was stored; whether there is something new in it.
   * @param {{rules: string[], judge: string[]}} hints
   */
  hinted({ rules, judge }) {
    this.own = [...this.chosen].sort();
    this.suggested = [...new Set([...rules, ...judge])].filter((code) => !this.chosen.has(code));
    if (this.suggested.length === 0) return false;
    for (const [id, codes] of /** @type {[string, string[]][]} */ ([["rules", rules], ["judge", judge]])) {
      const more = codes.filter((code) => !this.chosen.has(code));
      byId(`hints-${id}`).hidden = more.length === 0;
      setText(byId(`hints-${id}-words`), more.map((code) => this.label(code)).join(", "));
    }
    byId("hints").hidden = false;
    this.draw();
    return true;
  }

  /** @param {string} code */
  label(code) {
    return this.codes.find(({ value }) => value === code)?.label ?? code;
  }

  /**
   * @param {string} key
   * @param {KeyboardEvent} event
   */
  key(key, event) {
    if (key === "Enter") this.send();
    else if (key === "Escape") this.marker.clear();
    else if (key === "ArrowRight" || key === "ArrowLeft") this.marker.move(key === "ArrowRight" ? 1 : -1, event.shiftKey);
    else {
      const code = this.codes.find((each) => each.key === key);
      if (!code) return false;
      this.choose(code.value);
    }
    return true;
  }

  /**
   * @param {{codes: string[]}} right
   * @param {{codes: string[]}} mine
   */
  differs(right, mine) {
    const labels = (/** @type {string[]} */ codes) => codes.map((code) => this.label(code)).join(", ");
    const missed = right.codes.filter((code) => !mine.codes.includes(code));
    const more = mine.codes.filter((code) => !right.codes.includes(code));
    return (missed.length ? ` You missed: ${labels(missed)}.` : "") + (more.length ? ` Not expected: ${labels(more)}.` : "");
  }

  /** @param {any} answer */
  say(answer) {
    return (answer?.codes ?? []).map((/** @type {string} */ code) => this.label(code)).join(", ");
  }
}

new Desk((desk) => new Codes(desk)).start();
