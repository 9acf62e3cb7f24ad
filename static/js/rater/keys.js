/** The keys of the session page, the same on every trial. */

/** @import { Task } from "../shared/wire.js" */

/**
 * @typedef {object} KeyDoors what the keys may do just now
 * @property {() => void} play
 * @property {() => void} again
 * @property {(key: string) => boolean} [sound] plays the clip that has this key
 * @property {(key: string) => boolean} choose
 * @property {(direction: 1 | -1) => boolean} step
 * @property {() => boolean} write
 * @property {() => void} next
 */

const ALONG_SCALES = ["steps", "sliders", "ranking", "bestWorst"];
/** @type {Record<string, string>} */
const MIRRORED = { "←": "→", "→": "←" };

/** Scales run as the page is read: from right to left, the left arrow leads up. */
const isRightToLeft = () => document.documentElement.dir === "rtl";

/**
 * @param {EventTarget | null} target
 * @returns {"text" | "radio" | "range" | "button" | ""} what the key already means where it was pressed
 */
function placeOf(target) {
  if (!(target instanceof HTMLElement)) return "";
  if (target.matches("input[type=range]")) return "range";
  if (target.matches("input[type=radio]")) return "radio";
  if (target.matches("textarea, input:not([type=checkbox]), select")) return "text";
  return target.matches("button, a[href], summary, input") ? "button" : "";
}

/** Pressing these again changes nothing. */
const CHOSEN = "[type=radio]:checked, .extreme-choice[aria-pressed=true]";

const KEPT = "earnest-single-keys";

/** Whether letters, digits and signs are shortcuts; kept in this browser where it keeps anything. */
let singleKeys = true;
try {
  singleKeys = localStorage.getItem(KEPT) !== "off";
} catch {
  // A browser that keeps nothing: they are on after each load.
}

/** Shows and takes the rater's choice whether single keys are shortcuts. @param {HTMLInputElement} box */
export function offerSingleKeys(box) {
  box.checked = singleKeys;
  box.addEventListener("change", () => {
    singleKeys = box.checked;
    try {
      localStorage.setItem(KEPT, singleKeys ? "on" : "off");
    } catch {
      // It holds until the page is loaded again.
    }
  });
}

/** Touch keyboards have an Enter of their own: there it makes a new line, where the field does not send. */
const hasKeyboard = () => matchMedia("(any-hover: hover) and (any-pointer: fine)").matches;

/**
 * @param {KeyboardEvent} event
 * @param {KeyDoors} doors
 * @returns {boolean} whether the key was used
 */
function inText(event, doors) {
  const target = /** @type {HTMLElement} */ (event.target);
  if (event.key === "Escape") {
    target.blur();
    return true;
  }
  if (event.key !== "Enter" || event.shiftKey) return false;
  const sends = hasKeyboard() || target.hasAttribute("enterkeyhint");
  if (!sends && !event.ctrlKey && !event.metaKey) return false;
  doors.next();
  return true;
}

/**
 * @param {KeyboardEvent} event
 * @param {KeyDoors} doors
 * @returns {boolean}
 */
function onPage(event, doors) {
  const place = placeOf(event.target);
  const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
  const chosen = place && /** @type {HTMLElement} */ (event.target).matches(CHOSEN);
  if (key === " " && place !== "" && place !== "range" && !chosen) return false;
  if (key === "Enter" && place === "button" && !chosen) return false;
  if (key === "ArrowLeft" || key === "ArrowRight") {
    if (place === "radio" || place === "range") return false;
    return doors.step((key === "ArrowRight") === isRightToLeft() ? -1 : 1);
  }
  if (!singleKeys && key.length === 1 && key !== " ") return false;
  if (doors.sound?.(key)) return true;
  /** @type {Record<string, () => boolean | void>} */
  const meanings = {
    " ": doors.play,
    p: doors.play,
    r: doors.again,
    w: doors.write,
    Enter: doors.next,
  };
  const meaning = meanings[key];
  if (meaning) return meaning() !== false;
  return doors.choose(key);
}

/**
 * @param {KeyboardEvent} event
 * @param {KeyDoors} doors
 */
export function handleKey(event, doors) {
  if (event.defaultPrevented || event.isComposing || event.repeat) return;
  if (document.querySelector("dialog[open]")) return;
  const text = placeOf(event.target) === "text";
  if (!text && (event.ctrlKey || event.metaKey || event.altKey)) return;
  if (text ? inText(event, doors) : onPage(event, doors)) event.preventDefault();
}

/**
 * Leaves only those keys in the list that do something in this task.
 * @param {Element} root
 * @param {Task} task
 * @param {string[]} clipKeys of the clips, one each
 */
export function trimKeys(root, task, clipKeys) {
  const steps = task.criteria.flatMap((each) => each.scale.steps);
  const keys = steps.map((step) => step.hotkey).filter(Boolean).sort();
  /** @type {Record<string, boolean>} */
  const shown = {
    clips: clipKeys.length > 1,
    choose: keys.length > 0,
    steps: task.criteria.some((each) => each.scale.widget === "steps"),
    marks: task.criteria.some((each) => each.scale.widget === "marks"),
    spans: task.criteria.some((each) => each.scale.widget === "spans"),
    justification: task.justification !== null,
  };
  for (const place of root.querySelectorAll("[data-keys-clips]")) {
    place.replaceChildren(...clipKeys.flatMap((key) => [kbd(key.toUpperCase()), " "]));
  }
  for (const edge of root.querySelectorAll("[data-keys-edge]")) {
    const last = edge instanceof HTMLElement && edge.dataset.keysEdge === "last";
    edge.textContent = (last ? keys.at(-1) : keys[0]) ?? "";
  }
  leave(root, shown);
}

/**
 * Leaves only those keys in the list of a parallel task that do something in it.
 * @param {Element} root
 * @param {Task} task
 * @param {import("../shared/wire.js").Part[]} parts
 */
export function trimParallelKeys(root, task, parts) {
  const rated = parts.filter(({ role }) => role === "rated");
  const letters = rated.map(({ name }) => name.match(/(\S{1,2})$/)?.[1] ?? name);
  const has = (/** @type {string} */ widget) => task.criteria.some((each) => each.scale.widget === widget);
  const reference = parts.some(({ role }) => role === "reference");
  /** @type {Record<string, string | undefined>} */
  const edges = { first: letters[0], last: letters.at(-1), number: String(Math.min(9, rated.length)) };
  for (const edge of root.querySelectorAll("[data-keys-edge]")) {
    if (edge instanceof HTMLElement) edge.textContent = edges[edge.dataset.keysEdge ?? ""] ?? "";
  }
  const justification = task.justification !== null;
  const [ranking, bestWorst] = [has("ranking"), has("best_worst")];
  const numbers = has("sliders") || bestWorst; // they choose a clip
  leave(root, { reference, start: !reference, numbers, sliders: has("sliders"), ranking, bestWorst, justification });
}

/**
 * @param {Element} root
 * @param {Record<string, boolean>} shown
 */
function leave(root, shown) {
  for (const entry of root.querySelectorAll("[data-keys-for]")) {
    if (!(entry instanceof HTMLElement)) continue;
    const { keysFor = "" } = entry.dataset;
    entry.hidden = !shown[keysFor];
    if (!isRightToLeft() || !ALONG_SCALES.includes(keysFor)) continue;
    for (const key of entry.querySelectorAll("kbd")) key.textContent = MIRRORED[key.textContent] ?? key.textContent;
  }
}

/** @param {string} text */
function kbd(text) {
  const key = document.createElement("kbd");
  key.textContent = text;
  return key;
}
