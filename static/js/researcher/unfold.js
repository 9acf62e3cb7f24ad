// Pieces of a page that are asked for when they are unfolded for the first time.

/**
 * @param {HTMLDetailsElement} fold
 * @param {string} address
 */
async function fill(fold, address) {
  const words = /** @type {HTMLElement} */ (fold.querySelector("[role=status]"));
  try {
    const answer = await fetch(address, { redirect: "error" });
    if (!answer.ok) throw new Error(`${answer.status}`);
    const piece = new DOMParser().parseFromString(await answer.text(), "text/html").body;
    words.replaceWith(...piece.childNodes);
  } catch {
    words.textContent = "This could not be loaded. Close and open it to try again.";
    fold.addEventListener("toggle", () => fold.open && fill(fold, address), { once: true });
  }
}

for (const fold of /** @type {NodeListOf<HTMLDetailsElement>} */ (document.querySelectorAll("details[data-box]"))) {
  fold.addEventListener("toggle", () => fill(fold, fold.dataset.box ?? ""), { once: true });
}
