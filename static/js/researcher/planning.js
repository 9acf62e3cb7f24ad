// The planning page while a job is at work: the pieces that wait are fetched anew, the form is left alone.

import { byId } from "../shared/dom.js";

const EVERY_MS = 3000;
const PIECES = ["plan", "pilot"];

/** @param {Document} page */
function waits(page) {
  return page.querySelector("[data-waits]") !== null;
}

/**
 * New sources to choose from, with the choice that was made.
 * @param {Document} fresh
 */
function offer(fresh) {
  const select = /** @type {HTMLSelectElement} */ (byId("source"));
  const chosen = select.value;
  select.replaceChildren(...(fresh.getElementById("source")?.children ?? []));
  select.value = chosen;
}

async function look() {
  try {
    const answer = await fetch(location.pathname + location.search, { redirect: "error" });
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
    const pieces = PIECES.flatMap((id) => fresh.getElementById(id) ?? []);
    if (pieces.length === PIECES.length) {
      for (const piece of pieces) byId(piece.id).replaceWith(piece);
      offer(fresh);
    }
  } catch {
    // the server is away for a moment; the next look may find it
  }
  if (waits(document)) setTimeout(look, EVERY_MS);
}

if (waits(document)) setTimeout(look, EVERY_MS);
