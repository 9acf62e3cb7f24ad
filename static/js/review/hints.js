/** What programs noticed of a clip: asked for once the reviewer's own verdict is stored, never before. */

import { byId, fillList, setText } from "../shared/dom.js";

const WAIT_MS = 400;
const TRIES = 10;

export class Hints {
  /**
   * @param {import("./desk.js").Desk} desk
   * @param {(answer: any) => string} say
   */
  constructor(desk, say) {
    this.desk = desk;
    this.say = say;
    this.open = false;
    /** @type {any} */
    this.answered = null;
    byId("hints-go").addEventListener("click", () => this.goOn());
    byId("hints-change").addEventListener("click", () => this.change());
  }

  hide() {
    this.open = false;
    byId("hints").hidden = true;
    byId("answers").hidden = false;
  }

  /**
   * @param {import("./desk.js").Item} item
   * @param {any} answer
   * @returns {boolean} whether there is something to wait for
   */
  after(item, answer) {
    if (!this.desk.told.question.hints || this.desk.phase === "hinted") {
      this.desk.phase = "own";
      return false;
    }
    this.open = true;
    this.answered = answer;
    setText(byId("hints-own"), this.say(answer));
    setText(byId("hints-words"), "What programs noticed comes in a moment.");
    fillList(byId("hints-list"), []);
    byId("hints").hidden = false;
    byId("answers").hidden = true;
    byId("hints-go").focus();
    this.ask(item, TRIES);
    return true;
  }

  /**
   * @param {import("./desk.js").Item} item
   * @param {number} tries
   */
  async ask(item, tries) {
    const reply = await this.desk.ask("hints", { item: item.item });
    if (!this.open || this.desk.current !== item) return;
    const body = /** @type {any} */ (reply.body);
    if (body?.hints) {
      fillList(byId("hints-list"), body.hints);
      setText(byId("hints-words"), body.hints.length ? "Programs noticed:" : "Programs noticed nothing.");
    } else if (tries > 0) window.setTimeout(() => this.ask(item, tries - 1), WAIT_MS);
    else setText(byId("hints-words"), "What programs noticed cannot be fetched just now. Your verdict is kept.");
  }

  goOn() {
    this.hide();
    this.desk.next();
  }

  /** The same clip once more; what is said now is counted apart. */
  change() {
    this.desk.phase = "hinted";
    this.hide();
    this.desk.draw(this.answered, "");
  }

  /** @param {string} key */
  key(key) {
    if (!this.open) return false;
    if (key === "Enter") this.goOn();
    else if (key === "c") this.change();
    return true;
  }
}
