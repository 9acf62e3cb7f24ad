/** The reviewer's desk: one item after the other, fetched ahead; verdicts kept in this browser until they are stored. */

import { byId, setText } from "../shared/dom.js";
import { Api } from "../rater/api.js";
import { deviceStore } from "../rater/outbox.js";
import { Batches } from "./batches.js";
import { ClipsAhead } from "./clips.js";

/** @import { Reply } from "../rater/api.js" */

/**
 * @typedef {object} Item what the server lets a reviewer see; each kind of review adds its own
 * @property {string} item
 * @property {number} clips
 * @property {boolean} training
 * @property {{who: string, says: string, note: string}[]} others what others said, in a talk only
 *
 * @typedef {Record<string, unknown>} Answer
 *
 * @typedef {object} Kept a verdict on its way
 * @property {string} trial its key
 * @property {{key: string, item: string, answer: Answer, note: string, seconds: number, phase: string}} verdict
 *
 * @typedef {object} Told what the page knows from the start
 * @property {string} reviewer
 * @property {string} kind
 * @property {any} question
 * @property {string} clips an address with a code of zeros
 * @property {boolean} open
 *
 * @typedef {object} Face how a kind of review shows an item and takes an answer
 * @property {(item: any, before: Answer | null) => void} show
 * @property {(key: string, event: KeyboardEvent) => boolean} key whether the face used it
 * @property {(answer: any) => string} say an answer in words
 * @property {(right: any, mine: any) => string} [differs] what one's own answer lacks, and what is too much in it
 * @property {() => number} [place] which clip of the item is chosen
 * @property {(hints: any) => boolean} [hinted] what rules suggest, after one's own answer; whether there is anything
 */

const AHEAD = 40; // items: two minutes at three seconds each
const LOW = 25; // from here on more are asked for
const REMEMBERED = 30; // answers that can be taken back
const AGAIN_MS = 5_000;
const SHUT_S = 60;
const HINTS_MS = 2_500;

/** @returns {Told} */
export function told() {
  return JSON.parse(byId("told").textContent ?? "");
}

export class Desk {
  /** @param {(desk: Desk) => Face} makeFace */
  constructor(makeFace) {
    this.told = told();
    this.api = new Api(location.pathname, {
      "next/": (body) => Array.isArray(body?.items),
      "verdicts/": (body) => Array.isArray(body?.stored),
    });
    this.name = location.pathname;
    this.outbox = new Batches(`review:${this.name}`, deviceStore(), (kept) => this.send(kept));
    this.clips = new ClipsAhead((item, place) => this.clipUrl(item, place));
    /** @type {Item[]} */
    this.queue = [];
    /** @type {{item: Item, answer: Answer, note: string}[]} */
    this.history = this.remembered();
    /** @type {Item | null} */
    this.current = null;
    this.shownAt = 0;
    this.asking = false;
    this.ended = false;
    this.done = 0;
    this.phase = "own";
    /** @type {(item: string, hints: any) => void} */
    this.hinted = () => undefined;
    this.face = makeFace(this);
    this.note = /** @type {HTMLTextAreaElement} */ (byId("note"));
  }

  start() {
    this.outbox.addEventListener("change", () => this.drawSaved());
    this.outbox.addEventListener("settled", (event) => this.settled(/** @type {CustomEvent} */ (event).detail));
    document.addEventListener("keydown", (event) => this.pressed(event));
    byId("take-back").addEventListener("click", () => this.takeBack());
    byId("write-note").addEventListener("click", () => this.writeNote());
    byId("play").addEventListener("click", () => this.play());
    byId("go-on").addEventListener("click", () => this.goOn());
    this.drawSaved();
    this.outbox.flush();
    this.fill();
  }

  // --- What is next ------------------------------------------------------------------------------

  async fill() {
    if (this.asking || this.queue.length >= LOW) return;
    this.asking = true;
    const reply = await this.ask("next", { want: AHEAD });
    this.asking = false;
    const body = /** @type {any} */ (reply.body);
    if (reply.retry || !body?.items) {
      if (!reply.retry && body?.message) this.shut(body.message);
      else window.setTimeout(() => this.fill(), Math.max(AGAIN_MS, reply.waitS * 1000));
      if (!this.current) this.drawWaiting();
      return;
    }
    this.take(body.items);
    this.progress(body.progress);
    this.ended = body.items.length < AHEAD;
    if (body.kept_back) this.shut(body.kept_back);
    if (!body.open) this.shut("The review is closed. Your verdicts are saved.");
    if (!this.current) this.next();
  }

  /** @param {Item[]} items those that this page does not have yet, and that are not answered */
  take(items) {
    const known = new Set([...this.queue, this.current].map((each) => each?.item));
    for (const { verdict } of this.outbox.answers) known.add(verdict.item);
    this.queue.push(...items.filter((each) => !known.has(each.item)));
    this.clips.want(this.queue);
  }

  next() {
    this.current = this.queue.shift() ?? null;
    this.draw(null, "");
    if (!this.current && this.outbox.size === 0) this.ended = false; // a talk may have begun by now
    this.fill();
  }

  /**
   * @param {Answer | null} before
   * @param {string} note
   */
  draw(before, note) {
    const item = this.current;
    this.phase = "own";
    byId("item").hidden = !item;
    byId("nothing").hidden = Boolean(item);
    byId("feedback").hidden = true;
    byId("answers").hidden = false;
    this.note.value = note;
    byId("note-box").hidden = note === "";
    if (!item) return this.drawWaiting();
    byId("training").hidden = !item.training;
    byId("play-row").hidden = item.clips === 0;
    this.drawOthers(item);
    this.clips.show(item);
    this.face.show(item, before);
    byId("take-back").toggleAttribute("disabled", this.history.length === 0);
    this.shownAt = performance.now();
    byId("item").focus({ preventScroll: true });
  }

  /** @param {Item} item */
  drawOthers(item) {
    byId("others").hidden = item.others.length === 0;
    byId("others-list").replaceChildren(
      ...item.others.map(({ who, says, note }) => {
        const line = document.createElement("li");
        line.textContent = `${who}: ${says}${note ? ` – ${note}` : ""}`;
        return line;
      }),
    );
  }

  drawWaiting() {
    const waiting = this.asking || !this.ended;
    setText(byId("nothing-title"), waiting ? "Waiting for the next items" : "No more items for now");
    const kept = "Your verdicts are saved in this browser and sent when the connection is back.";
    const over = "Thank you. More items may follow while others are still reviewing. Reload this page later.";
    setText(byId("nothing-text"), waiting ? kept : over);
  }

  /** @param {string} words */
  shut(words) {
    this.ended = true;
    setText(byId("notice-text"), words);
    byId("notice").hidden = false;
  }

  // --- Answers -----------------------------------------------------------------------------------

  /** @param {Answer} answer */
  answer(answer) {
    const item = this.current;
    if (!item || !byId("feedback").hidden || byId("answers").hidden) return;
    const note = this.note.value.trim();
    const seconds = Math.round(performance.now() - this.shownAt) / 1000;
    const key = crypto.randomUUID();
    this.outbox.put({ trial: key, verdict: { key, item: item.item, answer, note, seconds, phase: this.phase } });
    if (this.phase === "own") this.history.push({ item, answer, note });
    this.remember();
    this.clips.stop();
    if (item.training) this.waitForFeedback();
    else if (this.told.question.hints && this.phase === "own") this.waitForHints(item);
    else this.next();
  }

  /** Suggestions come with the reply; where none comes soon, one goes on without. @param {Item} item */
  waitForHints(item) {
    byId("answers").hidden = true;
    const timer = window.setTimeout(() => this.hinted(item.item, null), HINTS_MS);
    this.hinted = (of, hints) => {
      if (of !== item.item || this.current !== item) return;
      window.clearTimeout(timer);
      this.hinted = () => undefined;
      byId("answers").hidden = false;
      if (hints && this.face.hinted?.(hints)) {
        this.phase = "hinted";
        this.shownAt = performance.now();
      } else this.next();
    };
  }

  waitForFeedback() {
    byId("answers").hidden = true;
    byId("feedback").hidden = false;
    setText(byId("feedback-text"), "Sent. Feedback follows in a moment.");
    byId("go-on").focus();
  }

  goOn() {
    if (!byId("feedback").hidden) this.next();
  }

  takeBack() {
    const last = this.history.pop();
    if (!last) return;
    this.remember();
    if (this.current) this.queue.unshift(this.current);
    this.current = last.item;
    this.draw(last.answer, last.note);
  }

  writeNote() {
    byId("note-box").hidden = false;
    this.note.focus();
  }

  /** What was answered last survives a reload, so that it can be taken back. */
  remember() {
    this.history = this.history.slice(-REMEMBERED);
    try {
      sessionStorage.setItem(`earnest:desk:${this.name}`, JSON.stringify(this.history));
    } catch {
      // Without storage the last answers can be taken back until the page is loaded again.
    }
  }

  remembered() {
    try {
      return JSON.parse(sessionStorage.getItem(`earnest:desk:${this.name}`) ?? "[]");
    } catch {
      return [];
    }
  }

  // --- To the server -----------------------------------------------------------------------------

  /**
   * @param {string} door
   * @param {object} body
   * @returns {Promise<Reply>}
   */
  ask(door, body) {
    return this.api.post(/** @type {any} */ (door), /** @type {any} */ (body));
  }

  /**
   * A desk that is shut takes nothing, and nothing is thrown away for that.
   * @param {Kept[]} kept
   * @returns {Promise<Reply>}
   */
  async send(kept) {
    const reply = await this.ask("verdicts", { verdicts: kept.map(({ verdict }) => verdict) });
    if (reply.status === 409 || reply.status === 404 || reply.status === 403) {
      const { message = "" } = /** @type {any} */ (reply.body) ?? {};
      this.shut(message || "This review link is closed. Verdicts not sent yet are saved in this browser.");
      return { ...reply, retry: true, waitS: SHUT_S };
    }
    return reply;
  }

  /** @param {{reply: Reply}} settled */
  settled({ reply }) {
    const body = /** @type {any} */ (reply.body);
    const refused = body?.refused ?? [];
    const lost = body?.stored ? refused.length : 1;
    const words = lost === 1 ? "One verdict was rejected" : `${lost} verdicts were rejected`;
    if (lost) this.shut(`${words}: ${refused[0]?.message ?? body?.message ?? reply.status}`);
    if (!body?.stored) return;
    this.progress(body.progress);
    for (const { item, hints } of body.hints) this.hinted(item, hints);
    const last = this.history.at(-1)?.item.item;
    const lesson = body.training.find((/** @type {any} */ each) => each.item === last);
    if (lesson && !byId("feedback").hidden) this.teach(lesson);
  }

  /** @param {{answer: Answer, because: string}} lesson */
  teach({ answer, because }) {
    const mine = this.history.at(-1)?.answer;
    const right = this.face.say(answer) === this.face.say(mine);
    const more = right ? "" : (this.face.differs?.(answer, mine) ?? "");
    const words = right ? "Correct." : `The expected answer is: ${this.face.say(answer)}.${more}`;
    setText(byId("feedback-text"), because ? `${words} ${because}` : words);
  }

  /** @param {{done: number}} progress */
  progress({ done }) {
    this.done = done;
    this.drawSaved();
  }

  drawSaved() {
    const { size, durable } = this.outbox;
    const kept = durable ? "saved in this browser, not sent yet" : "not sent yet; keep this page open";
    setText(byId("saved"), size ? `${size} ${kept}` : "All saved");
    setText(byId("done"), `${(this.done + size).toLocaleString("en")} judged by you`);
  }

  // --- Keys and sound ----------------------------------------------------------------------------

  /** @param {KeyboardEvent} event */
  pressed(event) {
    if (event.defaultPrevented || event.isComposing || event.repeat) return;
    const target = event.target instanceof HTMLElement ? event.target : null;
    if (target?.matches("textarea, input:not([type=checkbox]):not([type=radio]), select")) {
      if (event.key === "Escape" || (event.key === "Enter" && !event.shiftKey)) {
        target.blur();
        event.preventDefault();
      }
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (target?.matches("button, a[href], summary") && (event.key === " " || event.key === "Enter")) return;
    if (this.used(event)) event.preventDefault();
  }

  /** @param {KeyboardEvent} event */
  used(event) {
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    if (!byId("feedback").hidden) {
      if (key === "Enter" || key === " ") this.goOn();
      return key === "Enter" || key === " ";
    }
    if (key === "u") this.takeBack();
    else if (!this.current) return false;
    else if (key === "n") this.writeNote();
    else if (key === " ") this.play();
    else return this.face.key(key, event);
    return true;
  }

  play() {
    if (this.current && this.current.clips > 0) this.clips.toggle(this.face.place?.());
  }

  /**
   * @param {string} item
   * @param {number} place
   */
  clipUrl(item, place) {
    return this.told.clips.replace(/[0-]{36}\/0$/, `${item}/${place}`);
  }
}
