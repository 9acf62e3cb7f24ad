// The results page while an analysis runs: looks again, and adds each part as it comes. Without this file the page reloads.

import { setText } from "../shared/dom.js";
import { pageAt } from "./look.js";

const place = document.querySelector("#state");
const form = document.querySelector("#run-title ~ form");
let touched = false;

/**
 * Words and bar follow; nothing is replaced that may have the focus.
 * @param {Element} shown
 * @param {Element} news
 */
function follow(shown, news) {
  shown.setAttribute("data-grown", grownOf(news));
  for (const name of ["p", "progress"]) {
    const [old, fresh] = [shown.querySelector(name), news.querySelector(name)];
    if (!old || !fresh) continue;
    setText(old, fresh.textContent ?? "");
    if (old instanceof HTMLProgressElement && fresh instanceof HTMLProgressElement) {
      old.value = fresh.value;
    }
  }
}

/** The end: the new results at once, or a link to them for who is filling in the form. */
function end() {
  if (!touched) {
    location.reload();
    return;
  }
  const told = document.createElement("div");
  told.className = "notice notice-good";
  told.setAttribute("role", "status");
  const link = document.createElement("a");
  link.href = location.pathname;
  link.textContent = "Show the results";
  const text = document.createElement("p");
  text.append("The analysis has finished. ", link, " (this discards your changes in the form).");
  told.append(text);
  place?.replaceChildren(told);
}

/** @param {Element} part */
const nameOf = (part) => part.id || (part.getAttribute("aria-labelledby") ?? "");

/** @param {Element | null} state */
const grownOf = (state) => state?.getAttribute("data-grown") ?? "";

/**
 * New parts in their places; what stands is left alone, and so is where the reader is. False where the page is loaded
 * anew: the answer has come to a page that had none.
 * @returns {Promise<boolean>}
 */
async function grow() {
  const report = document.querySelector("[data-report][data-growing]");
  if (!report && !touched) {
    location.reload();
    return false;
  }
  const found = await pageAt(location.href);
  let last = null;
  for (const part of found?.querySelectorAll("[data-report] > .report-part") ?? []) {
    const name = nameOf(part);
    const there = [...report?.querySelectorAll(":scope > .report-part") ?? []].find((each) => nameOf(each) === name);
    if (!there && last) last.after(part);
    else if (there instanceof HTMLDetailsElement && !there.open && name.startsWith("section-")) there.replaceWith(part);
    last = document.contains(part) ? part : (there ?? part);
  }
  for (const list of document.querySelectorAll(".contents")) {
    const fresh = found?.querySelector(`.${list.className.split(" ").join(".")} ul`);
    if (fresh && !list.contains(document.activeElement)) list.querySelector("ul")?.replaceWith(fresh);
  }
  return true;
}

async function look() {
  if (!(place instanceof HTMLElement)) return;
  const found = document.hidden ? null : await pageAt(place.dataset.url ?? "");
  if (found) {
    const [shown, news] = [place.querySelector("[data-state]"), found.querySelector("[data-state]")];
    if (!news) {
      end();
      return;
    }
    if (grownOf(news) !== grownOf(shown) && !(await grow())) return;
    if (shown?.getAttribute("data-state") === news.getAttribute("data-state")) follow(shown, news);
    else place.replaceChildren(...found.body.children);
  }
  setTimeout(look, 1000 * Number(place.dataset.every));
}

if (place instanceof HTMLElement && Number(place.dataset.every)) {
  form?.addEventListener("input", () => {
    touched = true;
  });
  setTimeout(look, 1000 * Number(place.dataset.every));
}
