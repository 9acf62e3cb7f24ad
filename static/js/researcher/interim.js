// What a running study may say so far: a piece of the study's page, looked at again when raters finish.

import { byId } from "../shared/dom.js";

const AT_MOST_EVERY_MS = 10_000;

const box = byId("so-far");
const finished = document.querySelector('[data-live="sessions/finished"]');

let asked = 0;

/** @type {number | undefined} */
let later;

async function look() {
  clearTimeout(later);
  const wait = asked + AT_MOST_EVERY_MS - Date.now();
  if (wait > 0) {
    later = window.setTimeout(look, wait);
    return;
  }
  asked = Date.now();
  try {
    const answer = await fetch(box.dataset.box + location.search, { redirect: "error" });
    if (!answer.ok && answer.status !== 400) return;
    show(new DOMParser().parseFromString(await answer.text(), "text/html").body);
  } catch {
    // the link to the page of its own stays, or the bounds of the last look
  }
}

/**
 * The new piece in place of the old one, unless somebody types there; what is unfolded stays so.
 * @param {HTMLElement} fresh
 */
function show(fresh) {
  const typing = document.activeElement;
  if (typing?.matches("input") && box.contains(typing)) return;
  const unfolded = box.querySelector("details[open]") !== null;
  box.replaceChildren(...fresh.childNodes);
  if (unfolded) box.querySelector("details")?.setAttribute("open", "");
}

look();
if (finished) {
  new MutationObserver(look).observe(finished, { childList: true, characterData: true, subtree: true });
}
