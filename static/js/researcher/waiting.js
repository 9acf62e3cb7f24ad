// A page with pieces that wait for a job: these are fetched anew, forms and what was typed or chosen stay.

import { pageAt } from "./look.js";

const EVERY_MS = 2000;

/** @param {Document} page */
function waits(page) {
  return page.querySelector("[data-waits]") !== null;
}

async function look() {
  const fresh = await pageAt(location.pathname + location.search);
  for (const piece of document.querySelectorAll("[data-piece]")) {
    const newer = fresh?.getElementById(piece.id);
    if (!newer || newer.isEqualNode(piece)) continue;
    if (piece instanceof HTMLSelectElement) {
      const chosen = piece.value;
      piece.replaceChildren(...newer.children);
      piece.value = chosen;
    } else piece.replaceWith(newer);
  }
  if (waits(document)) setTimeout(look, EVERY_MS);
}

if (waits(document)) setTimeout(look, EVERY_MS);
