/** Looks that only some stages need: their style sheet comes with the stage. */

const PATIENCE_MS = 1_500;

/**
 * Loads the sheet that a template names (data-sheet) and shows the view once it is there.
 * @param {string} id of the template
 * @param {HTMLElement} root a view that may be focused but is not seen before its sheet has come
 */
export function dress(id, root) {
  wear(document.getElementById(id)?.dataset.sheet, root);
}

/**
 * Loads a sheet and shows the view once it is there.
 * @param {string | undefined} href
 * @param {HTMLElement} root as above
 */
export function wear(href, root) {
  const there = [...document.querySelectorAll("link[rel=stylesheet]")];
  if (!href || there.some((link) => link.getAttribute("href") === href)) return;
  const link = document.createElement("link");
  link.rel = "stylesheet";
  link.href = href;
  root.style.opacity = "0";
  const show = () => root.style.removeProperty("opacity");
  link.addEventListener("load", show);
  link.addEventListener("error", show);
  setTimeout(show, PATIENCE_MS);
  document.head.append(link);
}
