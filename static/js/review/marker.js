/** Words of a text, marked with the mouse or with arrow keys, and spans of it that have a code. */

/** @typedef {{start: number, end: number}} Place in characters of the text */

export class Marker {
  /** @param {HTMLElement} root whose text is marked */
  constructor(root) {
    this.root = root;
    this.text = "";
    /** @type {Place[]} */
    this.words = [];
    this.from = -1;
    this.to = -1;
    /** @type {(Place & {code: string})[]} */
    this.spans = [];
    /** @type {(code: string) => string} */
    this.label = (code) => code;
  }

  /** Takes the text over that stands there now. */
  read() {
    this.text = this.root.textContent ?? "";
    const language = this.root.lang || undefined;
    const segments = new Intl.Segmenter(language, { granularity: "word" }).segment(this.text);
    this.words = [...segments]
      .filter(({ isWordLike }) => isWordLike)
      .map(({ index, segment }) => ({ start: index, end: index + segment.length }));
    this.from = this.to = -1;
  }

  /**
   * The mark to the next word, or over it too.
   * @param {1 | -1} step
   * @param {boolean} extend
   */
  move(step, extend) {
    const next = this.to < 0 ? (step > 0 ? 0 : this.words.length - 1) : this.to + step;
    if (next < 0 || next >= this.words.length) return;
    this.to = next;
    if (!extend || this.from < 0) this.from = next;
    this.redraw();
  }

  clear() {
    this.from = this.to = -1;
    document.getSelection()?.removeAllRanges();
    this.redraw();
  }

  /** @returns {Place | null} what is marked, which then is marked no more */
  take() {
    const place = this.selected() ?? this.marked();
    if (place) this.clear();
    return place;
  }

  /** @returns {Place | null} */
  marked() {
    const first = this.words[Math.min(this.from, this.to)];
    const last = this.words[Math.max(this.from, this.to)];
    return first && last ? { start: first.start, end: last.end } : null;
  }

  /** @returns {Place | null} what is selected with the mouse */
  selected() {
    const selection = document.getSelection();
    if (!selection || selection.isCollapsed || selection.rangeCount === 0) return null;
    const range = selection.getRangeAt(0);
    if (!this.root.contains(range.startContainer) || !this.root.contains(range.endContainer)) return null;
    const before = range.cloneRange();
    before.selectNodeContents(this.root);
    before.setEnd(range.startContainer, range.startOffset);
    const start = before.toString().length;
    const end = start + range.toString().length;
    return end > start ? { start, end } : null;
  }

  /**
   * @param {(Place & {code: string})[]} spans
   * @param {(code: string) => string} label
   */
  draw(spans, label) {
    this.spans = spans;
    this.label = label;
    this.redraw();
  }

  redraw() {
    const mark = this.marked();
    const edges = new Set([0, this.text.length]);
    for (const { start, end } of mark ? [...this.spans, mark] : this.spans) edges.add(start).add(end);
    const cuts = [...edges].filter((edge) => edge <= this.text.length).sort((a, b) => a - b);
    this.root.replaceChildren(...cuts.slice(1).map((end, n) => this.piece(cuts[n] ?? 0, end, mark)));
  }

  /**
   * @param {number} start
   * @param {number} end
   * @param {Place | null} mark
   */
  piece(start, end, mark) {
    const words = this.text.slice(start, end);
    const codes = this.spans.filter((span) => span.start <= start && end <= span.end).map(({ code }) => code);
    const now = mark !== null && mark.start <= start && end <= mark.end;
    if (codes.length === 0 && !now) return document.createTextNode(words);
    const piece = document.createElement("mark");
    piece.textContent = words;
    piece.className = now ? "desk-mark-now" : "desk-mark";
    piece.title = codes.map((code) => this.label(code)).join(", ");
    return piece;
  }
}
