/** Rows that are dragged; nothing else moves until one is dropped. */

const SCROLL_PX = 8;
const EDGE_PX = 56;

/**
 * @typedef {object} Draggable
 * @property {HTMLElement} row
 * @property {() => HTMLElement[] | null} flow all rows and the line below the last that has a place; null: not now
 * @property {HTMLElement} line
 * @property {(place: number) => void} drop
 */

/**
 * Arrow buttons and keys do the same.
 * @param {HTMLElement} grip
 * @param {Draggable} what
 */
export function dragBy(grip, what) {
  grip.addEventListener("pointerdown", (event) => {
    const flow = event.button === 0 && event.isPrimary ? what.flow() : null;
    if (!flow) return;
    event.preventDefault();
    grip.setPointerCapture(event.pointerId);
    new Drag(grip, event.clientY, what, flow);
  });
}

class Drag {
  /**
   * @param {HTMLElement} grip
   * @param {number} y
   * @param {Draggable} what
   * @param {HTMLElement[]} flow
   */
  constructor(grip, y, what, flow) {
    this.what = what;
    this.flow = flow;
    this.boxes = flow.map((each) => each.getBoundingClientRect());
    this.from = this.to = flow.indexOf(what.row);
    this.line = flow.indexOf(what.line);
    this.step = this.boxes[this.from].height + parseFloat(getComputedStyle(what.row).marginTop);
    this.first = { y, scroll: scrollY };
    this.y = y;
    what.row.classList.add("dragged");
    this.listen(grip);
    this.frame = requestAnimationFrame(() => this.scroll());
  }

  /** @param {HTMLElement} grip */
  listen(grip) {
    this.stop = new AbortController();
    const { signal } = this.stop;
    grip.addEventListener("pointermove", ({ clientY }) => this.move(clientY), { signal });
    grip.addEventListener("pointerup", () => this.end(true), { signal });
    grip.addEventListener("lostpointercapture", () => this.end(false), { signal });
    const leave = (/** @type {KeyboardEvent} */ { key }) => key === "Escape" && this.end(false);
    document.addEventListener("keydown", leave, { signal });
  }

  /** How far the row has been carried down the page. */
  get carried() {
    const own = this.boxes[this.from];
    const by = this.y - this.first.y + scrollY - this.first.scroll;
    const least = this.boxes[0].top - own.top - this.step / 2;
    const most = this.boxes[this.boxes.length - 1].bottom - own.bottom + this.step / 2;
    return Math.max(least, Math.min(by, most));
  }

  /** Where the row would stand, by its middle. */
  get target() {
    const middle = (/** @type {DOMRect} */ { top, bottom }) => (top + bottom) / 2;
    const own = middle(this.boxes[this.from]) + this.carried;
    const before = this.boxes.findIndex((box, k) => k < this.from && own < middle(box));
    const after = this.boxes.findLastIndex((box, k) => k > this.from && own > middle(box));
    const to = before >= 0 ? before : Math.max(after, this.from);
    if (this.from < this.line) return Math.min(to, this.line - 1);
    return to > this.line ? this.from : to; // without a place among those without one
  }

  /** @param {number} y */
  move(y) {
    this.y = y;
    this.draw();
  }

  /** Those that the row has passed make room. */
  draw() {
    const { flow, from, step } = this;
    const to = (this.to = this.target);
    flow.forEach((each, k) => {
      const up = from < k && k <= to;
      const down = to <= k && k < from;
      const by = k === from ? this.carried : up ? -step : down ? step : 0;
      each.style.translate = by ? `0 ${by}px` : "";
    });
  }

  /** Near its edges the page scrolls along. */
  scroll() {
    const form = this.what.row.closest("form");
    const top = Math.max(0, form?.querySelector(".deck")?.getBoundingClientRect().bottom ?? 0);
    const end = form?.querySelector(".trial-next")?.getBoundingClientRect().top ?? innerHeight;
    const bottom = Math.min(innerHeight, end);
    const gone = scrollY - this.first.scroll;
    const up = this.y < Math.min(top + EDGE_PX, this.first.y) && this.boxes[0].top - gone - this.step < top;
    const last = this.boxes[this.boxes.length - 1].bottom - gone;
    const down = this.y > Math.max(bottom - EDGE_PX, this.first.y) && last > bottom;
    if (up || down) {
      scrollBy({ top: up ? -SCROLL_PX : SCROLL_PX, behavior: "instant" });
      this.draw();
    }
    this.frame = requestAnimationFrame(() => this.scroll());
  }

  /** @param {boolean} dropped */
  end(dropped) {
    const { flow, what, from, to } = this;
    this.stop?.abort();
    cancelAnimationFrame(this.frame);
    for (const each of flow) each.style.translate = "";
    what.row.classList.remove("dragged");
    if (dropped && to !== from) what.drop(to);
  }
}
