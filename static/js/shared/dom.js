/** Templates of the page cloned into views, and places in them found by name. */

/** @import { Finder, View, Views } from "./views.js" */

/**
 * @param {string} id
 * @returns {HTMLElement}
 */
export function byId(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page lacks #${id}`);
  return found;
}

/**
 * What the template with this id holds, as one fresh element (or a fragment of several).
 * @param {string} id
 * @returns {DocumentFragment}
 */
export function cloned(id) {
  const template = byId(id);
  if (!(template instanceof HTMLTemplateElement)) throw new Error(`#${id} is no template`);
  return /** @type {DocumentFragment} */ (template.content.cloneNode(true));
}

/**
 * A view: the template's one element and a finder for its data-part places.
 * @template {keyof Views} V
 * @param {V} id
 * @returns {View<Views[V]>}
 */
export function view(id) {
  const root = cloned(id).firstElementChild;
  if (!(root instanceof HTMLElement)) throw new Error(`#${id} is empty`);
  return { root, part: partsOf(root) };
}

/**
 * @template P
 * @param {Element} root
 * @returns {Finder<P>}
 */
export function partsOf(root) {
  return (name) => {
    const place = `[data-part="${name}"]`;
    /** @type {unknown} */
    const found = root.matches(place) ? root : root.querySelector(place);
    if (!found) throw new Error(`the view lacks the part ${name}`);
    return /** @type {P[typeof name]} */ (found);
  };
}

/**
 * Sets text only when it changes, so that screen readers hear each change once.
 * @param {Element} element
 * @param {string} text
 */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/**
 * Greys a button out but leaves it reachable, so that pressing it can say what is missing.
 * @param {Element} button
 * @param {boolean} enabled
 */
export function setEnabled(button, enabled) {
  const disabled = String(!enabled);
  if (button.getAttribute("aria-disabled") !== disabled) button.setAttribute("aria-disabled", disabled);
}

/**
 * @param {Element} list
 * @param {string[]} texts
 */
export function fillList(list, texts) {
  list.replaceChildren(
    ...texts.map((text) => {
      const entry = document.createElement("li");
      entry.textContent = text;
      return entry;
    }),
  );
}

/**
 * Keeps as much room around an element as the longest of these texts takes, so that what stands
 * below stays in its place whichever of them is shown. Its parent has the class `steady`.
 * @param {Element} element
 * @param {string[]} texts
 */
export function reserve(element, texts) {
  const ghosts = [...new Set(texts)].map((text) => {
    const ghost = document.createElement("span");
    ghost.dataset.ghost = text;
    ghost.ariaHidden = "true";
    return ghost;
  });
  for (const old of element.parentElement?.querySelectorAll(":scope > [data-ghost]") ?? []) old.remove();
  element.before(...ghosts);
}

const BETWEEN_FRAMES_MS = 30;

/**
 * What asks for a redraw: in a frame to come, a little later, and once however often it is asked
 * until then. So what redraws itself while a clip plays makes one run, whatever starts it again.
 * @param {() => void} redraw
 * @param {number} [pauseMs] before the frame
 * @returns {() => void}
 */
export function inNextFrame(redraw, pauseMs = BETWEEN_FRAMES_MS) {
  let pending = false;
  const draw = () => {
    pending = false;
    redraw();
  };
  return () => {
    if (pending) return;
    pending = true;
    setTimeout(() => requestAnimationFrame(draw), pauseMs);
  };
}

/**
 * Draws the eye to a line that says what to do.
 * @param {HTMLElement} element
 */
export function flash(element) {
  element.classList.remove("nudge");
  requestAnimationFrame(() => element.classList.add("nudge"));
}
