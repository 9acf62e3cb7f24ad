// A report on the page: contents that follow, links that open folds, figures that answer, tables that are copied.

/** Opens the folds around what the address names, and goes there. */
function openTarget() {
  const id = decodeURIComponent(location.hash.slice(1));
  const target = id ? document.getElementById(id) : null;
  if (!target) return;
  for (let at = /** @type {Element | null} */ (target); at; at = at.parentElement) {
    if (at instanceof HTMLDetailsElement) at.open = true;
  }
  const inside = target.querySelector(":scope > details");
  if (inside instanceof HTMLDetailsElement) inside.open = true;
  target.scrollIntoView();
}

/** The contents mark the part that is being read. */
function followReader() {
  const links = [...document.querySelectorAll(".contents a")];
  /** @param {string} id */
  const mark = (id) => {
    for (const link of links) {
      if (link.getAttribute("href") === `#${id}`) link.setAttribute("aria-current", "true");
      else link.removeAttribute("aria-current");
    }
  };
  const parts = [...document.querySelectorAll(".report > .card")];
  const seen = new Set();
  const watch = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (isIntersecting) seen.add(target);
      else seen.delete(target);
    }
    const first = parts.find((part) => seen.has(part));
    if (first) mark(first.id || (first.getAttribute("aria-labelledby") ?? ""));
  }, { rootMargin: "-10% 0px -60% 0px" });
  for (const part of parts) watch.observe(part);
}

/**
 * The rows of a table as lines with a tab between cells, as spreadsheets take them. `textContent`, since a table
 * in a closed fold is not rendered and so has no `innerText`; blanks and breaks within a cell become one blank.
 * @param {HTMLTableElement} table
 */
function asText(table) {
  const text = (/** @type {HTMLTableCellElement} */ cell) => (cell.textContent ?? "").replace(/\s+/g, " ").trim();
  return [...table.rows].map((row) => [...row.cells].map(text).join("\t")).join("\n");
}

/** @param {Element} source */
async function copy(source) {
  const text = source instanceof HTMLTableElement ? asText(source) : (source.textContent ?? "").trim();
  const kinds = { "text/plain": new Blob([text], { type: "text/plain" }) };
  if (source instanceof HTMLTableElement && typeof ClipboardItem === "function") {
    const html = new Blob([new XMLSerializer().serializeToString(source)], { type: "text/html" });
    await navigator.clipboard.write([new ClipboardItem({ ...kinds, "text/html": html })]);
  } else {
    await navigator.clipboard.writeText(text);
  }
}

/** Buttons that copy: shown where the browser can, and told when it is done. */
function copyButtons() {
  if (!navigator.clipboard) return;
  for (const button of document.querySelectorAll("button[data-copy]")) {
    if (!(button instanceof HTMLElement)) continue;
    const source = document.querySelector(button.dataset.copy ?? "");
    if (!source) continue;
    const words = button.textContent;
    button.hidden = false;
    button.addEventListener("click", () => {
      copy(source).then(
        () => { button.textContent = "Copied"; },
        () => { button.textContent = "The browser did not allow it"; },
      );
      setTimeout(() => { button.textContent = words; }, 2000);
    });
  }
}

/** One line under a figure that says the numbers of the mark under the pointer or the focus. */
class Readout {
  /** @param {Element} chart */
  constructor(chart) {
    this.marks = [...chart.querySelectorAll("g.plot-line")].filter((mark) => mark.querySelector("title"));
    this.line = document.createElement("p");
    this.line.className = "readout small";
    this.line.setAttribute("role", "status");
    if (!this.marks.length) return;
    chart.querySelector("figcaption")?.before(this.line);
    this.rest();
    for (const mark of this.marks) {
      mark.addEventListener("pointerenter", () => this.show(mark));
      mark.addEventListener("click", () => this.show(mark));
      mark.addEventListener("focus", () => this.show(mark));
      mark.addEventListener("keydown", (event) => this.move(mark, /** @type {KeyboardEvent} */ (event)));
      mark.setAttribute("tabindex", "-1");
      mark.setAttribute("role", "img");
      mark.setAttribute("aria-label", mark.querySelector("title")?.textContent ?? "");
    }
    this.marks.filter((mark) => mark.getClientRects().length)[0]?.setAttribute("tabindex", "0");
    chart.addEventListener("pointerleave", () => this.rest());
  }

  rest() {
    this.line.textContent = "";
    for (const mark of this.marks) mark.classList.remove("is-read");
  }

  /** @param {Element} mark */
  show(mark) {
    this.rest();
    mark.classList.add("is-read");
    this.line.textContent = mark.querySelector("title")?.textContent ?? "";
    const place = document.querySelector("[data-clips]");
    const clips = place instanceof HTMLElement ? place.dataset.clips : "";
    const key = mark.getAttribute("data-key");
    if (!clips || !key) return;
    const link = document.createElement("a");
    link.href = `${clips}${clips.includes("?") ? "&" : "?"}condition=${encodeURIComponent(key)}`;
    link.textContent = "Listen to its clips";
    this.line.append(" ", link);
  }

  /**
   * @param {Element} mark
   * @param {KeyboardEvent} event
   */
  move(mark, event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (!step) return;
    const there = this.marks.filter((each) => each.getClientRects().length);
    const next = there[there.indexOf(mark) + step];
    if (!(next instanceof SVGElement)) return;
    event.preventDefault();
    mark.setAttribute("tabindex", "-1");
    next.setAttribute("tabindex", "0");
    next.focus();
  }
}

export function bringReportToLife() {
  openTarget();
  addEventListener("hashchange", openTarget);
  followReader();
  copyButtons();
  for (const chart of document.querySelectorAll(".chart")) new Readout(chart);
}
