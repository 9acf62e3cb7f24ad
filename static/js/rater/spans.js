/** Spans of the clip's waveform that the rater marks, each with a kind of error. Times are those of the served clip. */

import { setEnabled, setText } from "../shared/dom.js";
import { kinds } from "./criteria.js";
import { MarkedErrors } from "./markederrors.js";
import { decimal, say } from "./strings.js";
import { outline } from "./waveform.js";

/** @import { Criterion as Plan } from "../shared/wire.js" */
/** @import { Sound } from "./sound.js" */

/**
 * @typedef {{from: number, to: number}} Range in seconds
 * @typedef {Range & {kind: string}} ErrorSpan
 */

const MOST_SPANS = 40; // that the server takes
const SHORTEST_S = 0.02; // likewise
const FINE_S = 0.01;
const COARSE_S = 0.1;
const FIRST_S = 0.3; // how long a span is of which only one end was set
const DRAG_PX = 4; // less is a tap
const COLUMNS = 600; // of the picture: the template's viewBox
const COLLAR_S = 0.2; // as listening/methods/error_spans.py has it
const REACH_S = 0.5;
const MOST_FURTHER = 2;

const ENDS = /** @type {const} */ (["start", "end"]);

/** @param {number} seconds */
function toMs(seconds) {
  return Math.round(seconds * 1000) / 1000;
}

/** @param {string} label @returns {ErrorSpan[]} */
export function spansIn(label) {
  return [...label.matchAll(/([\d.]+)-([\d.]+):([\w-]+)/g)].map(([, from, to, kind]) => ({
    from: Number(from),
    to: Number(to),
    kind,
  }));
}

/** @extends {MarkedErrors<ErrorSpan, import("../shared/views.js").SpansParts>} */
export class SpansScale extends MarkedErrors {
  /**
   * @param {HTMLFieldSetElement} fieldset
   * @param {Plan} plan
   */
  constructor(fieldset, plan) {
    super(fieldset, plan);
    this.asks = "missing_spans";
    /** @type {Range | null} */
    this.range = null;
    /** @type {ErrorSpan | null} the mark of which the choice was made */
    this.edited = null;
    /** @type {Sound | null} */
    this.sound = null;
    this.duration = 0;
    /** @type {number | null} where the playing of a span ends */
    this.until = null;
    this.waveless = false; // too long, or not decoded
    /** @type {Blob | null} */
    this.decoded = null;
    this.drawnLength = 0;
    this.listen();
    this.draw();
  }

  listen() {
    const { part } = this;
    for (const end of ENDS) {
      part(end).addEventListener("input", () => this.setEnd(end, Number(part(end).value)));
      part(end).addEventListener("keydown", (event) => this.keydown(event, end));
      part(`${end}-here`).addEventListener("click", () => this.setHere(end));
      part(`${end}-earlier`).addEventListener("click", () => this.nudge(end, -FINE_S));
      part(`${end}-later`).addEventListener("click", () => this.nudge(end, FINE_S));
    }
    part("play").addEventListener("click", () => this.playRange(this.range));
    part("clear").addEventListener("click", () => this.clear());
    part("wave").addEventListener("pointerdown", (event) => this.press(event));
  }

  /** @param {Sound} sound */
  useSound(sound) {
    this.sound = sound;
    sound.addEventListener("draw", () => this.watch());
    sound.audio.addEventListener("seeked", () => this.watch());
    sound.audio.addEventListener("pause", () => (this.until = null));
    sound.clip.addEventListener("change", () => this.show());
    this.show();
  }

  /** Draws the waveform once the clip is here: it is decoded in this browser. */
  async show() {
    const { clip } = /** @type {Sound} */ (this.sound);
    const isDecoded = !clip.blob || this.decoded === clip.blob;
    this.waveless = clip.streamed;
    if (isDecoded) return this.draw();
    this.decoded = clip.blob;
    try {
      const content = await /** @type {Blob} */ (clip.blob).arrayBuffer();
      const buffer = await new OfflineAudioContext(1, 1, 44_100).decodeAudioData(content);
      this.duration = buffer.duration;
      this.part("path").setAttribute("d", outline(buffer, COLUMNS));
    } catch {
      this.waveless = true;
    }
    this.draw();
  }

  get length() {
    return this.duration || this.sound?.duration || 0;
  }

  get chosen() {
    return this.range !== null;
  }

  /** @param {ErrorSpan} span */
  labelOf({ from, to, kind }) {
    return `${from.toFixed(3)}-${to.toFixed(3)}:${kind}`;
  }

  /** @param {Range} range */
  quote({ from, to }) {
    return say("span_times", { from: decimal(from, 2), to: decimal(to, 2) });
  }

  /** @param {string} label */
  restore(label) {
    this.marks = spansIn(label);
    this.none.checked = label === this.none.value;
    this.draw();
  }

  focus() {
    if (!this.fieldset.contains(document.activeElement)) this.part("start-here").focus();
  }

  // --- The choice ------------------------------------------------------------------------------

  /** @param {number} from @param {number} to */
  choose(from, to) {
    const last = this.length || Infinity;
    const start = Math.max(0, Math.min(from, last - SHORTEST_S));
    this.range = { from: toMs(start), to: toMs(Math.max(Math.min(to, last), start + SHORTEST_S)) };
    this.draw();
  }

  /** @param {(typeof ENDS)[number]} end @param {number} atS */
  setEnd(end, atS) {
    const { from, to } = this.range ?? { from: Math.max(0, atS - FIRST_S), to: atS + FIRST_S };
    if (end === "start") this.choose(atS, to > atS + SHORTEST_S ? to : atS + FIRST_S);
    else this.choose(from < atS - SHORTEST_S ? from : atS - FIRST_S, atS);
  }

  /** The span starts or ends where the clip is. @param {(typeof ENDS)[number]} end */
  setHere(end) {
    this.setEnd(end, this.sound?.audio.currentTime ?? 0);
  }

  /** @param {(typeof ENDS)[number]} end @param {number} byS */
  nudge(end, byS) {
    const { range } = this;
    if (!range) return this.setHere(end);
    if (end === "start") this.choose(Math.min(range.from + byS, range.to - SHORTEST_S), range.to);
    else this.choose(range.from, Math.max(range.to + byS, range.from + SHORTEST_S));
  }

  clear() {
    this.range = this.edited = null;
    this.draw();
  }

  /** @param {KeyboardEvent} event @param {(typeof ENDS)[number]} end */
  keydown(event, end) {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const step = event.shiftKey ? COARSE_S : FINE_S;
    const later = { ArrowRight: 1, ArrowUp: 1, PageUp: 1, ArrowLeft: -1, ArrowDown: -1, PageDown: -1 }[event.key];
    if (!later) return;
    event.preventDefault();
    this.nudge(end, later * (event.key.startsWith("Page") ? COARSE_S : step));
  }

  /** A drag chooses a span, a tap goes to its place. @param {PointerEvent} event */
  press(event) {
    const { length } = this;
    if (this.fieldset.disabled || !length || event.button > 0) return;
    const wave = this.part("wave");
    const box = wave.getBoundingClientRect();
    const at = (/** @type {number} */ x) => Math.max(0, Math.min(1, (x - box.left) / box.width)) * length;
    const begin = event.clientX;
    let dragging = false;
    const move = (/** @type {PointerEvent} */ { clientX }) => {
      dragging ||= Math.abs(clientX - begin) > DRAG_PX;
      if (dragging) this.choose(Math.min(at(begin), at(clientX)), Math.max(at(begin), at(clientX)));
    };
    const stop = new AbortController();
    const release = () => stop.abort();
    wave.setPointerCapture(event.pointerId);
    wave.addEventListener("pointermove", move, { signal: stop.signal });
    wave.addEventListener("pointercancel", release, { signal: stop.signal });
    wave.addEventListener("pointerup", () => {
      if (!dragging && this.sound) this.sound.audio.currentTime = at(begin);
      release();
    }, { signal: stop.signal });
  }

  // --- Keys, playing and marks -----------------------------------------------------------------

  /** @param {string} key */
  hotkey(key) {
    if (this.fieldset.disabled) return false;
    /** @type {Record<string, () => void>} */
    const meanings = {
      b: () => this.setHere("start"),
      e: () => this.setHere("end"),
      v: () => this.playRange(this.range),
      Escape: () => this.clear(),
    };
    if (key in meanings) {
      meanings[key]();
      return true;
    }
    if ((key === "Delete" || key === "Backspace") && this.edited) {
      this.unmark(this.edited);
      return true;
    }
    return super.hotkey(key);
  }

  /** @param {Range | null} range */
  playRange(range) {
    const { sound } = this;
    if (!range || !sound) return this.prompt(say("spans_choose"));
    sound.audio.currentTime = range.from;
    sound.play().then(() => (this.until = range.to));
  }

  /** Follows the sound, and stops it where a span that is played ends. */
  watch() {
    const { sound, length } = this;
    if (!sound || !this.part("now").isConnected) return;
    const at = sound.audio.currentTime;
    if (this.until !== null && at >= this.until) sound.stop();
    this.part("now").style.setProperty("--at", String(length ? Math.min(1, at / length) : 0));
    setText(this.part("time"), length ? say("span_at", { at: decimal(at, 2), total: decimal(length, 2) }) : "");
    if (!this.drawnLength && length) this.draw();
  }

  /** Marks the chosen span; spans of one kind that overlap become one. @param {string} kind */
  mark(kind) {
    const { range, edited } = this;
    if (!range) return this.prompt(say("spans_choose"));
    const span = { ...range, kind };
    const others = this.marks.filter((each) => each !== edited);
    const apart = others.filter((each) => each.kind !== kind || each.to <= span.from || each.from >= span.to);
    for (const each of others) {
      if (apart.includes(each)) continue;
      span.from = Math.min(span.from, each.from);
      span.to = Math.max(span.to, each.to);
    }
    if (apart.length >= MOST_SPANS) return this.prompt(say("marks_full", { n: MOST_SPANS }));
    this.marks = [...apart, span].sort((a, b) => a.from - b.from || a.to - b.to || (a.kind < b.kind ? -1 : 1));
    this.none.checked = false;
    this.range = this.edited = null;
    this.part("start-here").focus();
    this.answered(say("mark_of", { words: this.quote(span), kind: this.nameOf(kind) }));
  }

  /** @param {ErrorSpan} mark */
  unmark(mark) {
    this.marks = this.marks.filter((each) => each !== mark);
    this.range = this.edited = null;
    this.part("start-here").focus();
    this.answered(say("mark_deleted", { words: this.quote(mark) }));
  }

  draw() {
    const { part, range, length } = this;
    this.drawnLength = length;
    for (const end of ENDS) {
      const at = range ? (end === "start" ? range.from : range.to) : 0;
      part(end).max = String(length || 1);
      part(end).value = String(at);
      const text = range ? say("seconds", { n: decimal(at, 2) }) : "–";
      part(end).setAttribute("aria-valuetext", text);
      setText(part(`${end}-time`), text);
      for (const way of /** @type {const} */ (["earlier", "later"])) setEnabled(part(`${end}-${way}`), range !== null);
    }
    setEnabled(part("play"), range !== null);
    setEnabled(part("clear"), range !== null);
    part("chosen").hidden = !range;
    if (range) this.put(part("chosen"), range);
    part("marks").replaceChildren(
      ...this.marks.map((mark) => {
        const box = document.createElement("i");
        box.textContent = this.steps.find((step) => step.label === mark.kind)?.hotkey ?? "";
        this.put(box, mark);
        return box;
      }),
    );
    super.draw();
    const idle = say(this.waveless ? "spans_no_wave" : "spans_choose");
    this.prompt(range ? say("marks_choose_kind", { words: this.quote(range) }) : idle);
  }

  /** @param {HTMLElement} box @param {Range} range */
  put(box, { from, to }) {
    const share = (/** @type {number} */ at) => String(this.length ? Math.min(1, at / this.length) : 0);
    box.style.setProperty("--from", share(from));
    box.style.setProperty("--to", share(to));
  }

  /** An entry can be played and chosen again, too. @param {ErrorSpan} mark */
  entryOf(mark) {
    const entry = super.entryOf(mark);
    const words = this.quote(mark);
    const [again, change] = entry.querySelectorAll("button");
    setText(/** @type {Element} */ (again.lastElementChild), say("span_play", { words }));
    setText(/** @type {Element} */ (change.lastElementChild), say("span_change", { words }));
    again.addEventListener("click", () => this.playRange(mark));
    change.addEventListener("click", () => {
      this.edited = mark;
      this.choose(mark.from, mark.to);
      this.part("start").focus();
    });
    return entry;
  }
}

kinds.spans = SpansScale;

/**
 * Whether an answer of practice finds the expected errors, by the rule of listening/methods/error_spans.py.
 * @param {string} label
 * @param {string[]} expected
 */
export function findsSpans(label, expected) {
  const spans = spansIn(label);
  const finds = (/** @type {ErrorSpan} */ span, /** @type {ErrorSpan} */ known) => {
    const near = span.from <= known.to + COLLAR_S + 1e-6 && span.to >= known.from - COLLAR_S - 1e-6;
    return near && Math.max(known.from - span.from, span.to - known.to) <= REACH_S + 1e-6;
  };
  return expected.some((each) => {
    const known = spansIn(each);
    if (!known.length) return !spans.length;
    const further = spans.filter((span) => !known.some((other) => finds(span, other)));
    return known.every((other) => spans.some((span) => finds(span, other))) && further.length <= MOST_FURTHER;
  });
}
