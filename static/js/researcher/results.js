// The results page while an analysis runs: looks again every few seconds, in place. Without this file the page reloads.

import { setText } from "../shared/dom.js";
import { bringReportToLife } from "./report.js";

const place = document.querySelector("#state");
const form = document.querySelector("#run-title ~ form");
let touched = false;

/**
 * What the server says of the newest analysis now; null when it does not answer.
 * @param {string} url
 * @returns {Promise<Document | null>}
 */
async function asked(url) {
  try {
    const answer = await fetch(url, { headers: { Accept: "text/html" } });
    if (!answer.ok || answer.redirected) return null;
    return new DOMParser().parseFromString(await answer.text(), "text/html");
  } catch {
    return null;
  }
}

/**
 * Words and bar follow; nothing is replaced that may have the focus.
 * @param {Element} shown
 * @param {Element} news
 */
function follow(shown, news) {
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
  link.textContent = "Show what came out";
  const text = document.createElement("p");
  text.append("The analysis has come to an end. ", link, " (what you changed in the form is lost then).");
  told.append(text);
  place?.replaceChildren(told);
}

async function look() {
  if (!(place instanceof HTMLElement)) return;
  const found = document.hidden ? null : await asked(place.dataset.url ?? "");
  if (found) {
    const [shown, news] = [place.querySelector("[data-state]"), found.querySelector("[data-state]")];
    if (!news) {
      end();
      return;
    }
    if (shown?.getAttribute("data-state") === news.getAttribute("data-state")) follow(shown, news);
    else place.replaceChildren(...found.body.children);
  }
  setTimeout(look, 1000 * Number(place.dataset.every));
}

/** What scrolls sideways can be reached and scrolled with the keyboard, and says what it is. */
function reachable() {
  for (const box of document.querySelectorAll(".table-wrap")) {
    if (box.scrollWidth <= box.clientWidth && box.scrollHeight <= box.clientHeight) continue;
    const name = box.querySelector("caption")?.textContent
      ?? box.closest("details")?.querySelector("summary strong")?.textContent
      ?? box.closest("section")?.querySelector("h2")?.textContent;
    box.setAttribute("tabindex", "0");
    box.setAttribute("role", "group"); // no landmark: there are many
    box.setAttribute("aria-label", `Table: ${name ?? "numbers"}`);
  }
}

/** Files that are being made come by themselves, and may then be fetched. */
async function lookForFiles() {
  const waiting = () => document.querySelectorAll("#files [data-making]").length;
  const before = waiting();
  if (!before) return;
  const found = document.hidden ? null : await asked(location.href);
  const fresh = found?.querySelector("#files");
  if (fresh && fresh.querySelectorAll("[data-making]").length < before) {
    document.querySelector("#files")?.replaceWith(fresh);
  }
  setTimeout(lookForFiles, 2000);
}

bringReportToLife();
setTimeout(lookForFiles, 2000);
reachable();
document.addEventListener("toggle", reachable, { capture: true });
addEventListener("resize", reachable);

if (place instanceof HTMLElement && Number(place.dataset.every)) {
  form?.addEventListener("input", () => {
    touched = true;
  });
  setTimeout(look, 1000 * Number(place.dataset.every));
}
