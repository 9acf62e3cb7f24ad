// The live page of one study: numbers and bars follow the server's ticks; without this file the page stands still.

import { backoffMs } from "../shared/backoff.js";
import "./copying.js";
import { byId, setText } from "../shared/dom.js";

const HEARTBEAT_LIMIT_MS = 40_000; // the server speaks at least every 15 s
const LONGEST_WAIT_MS = 30_000;
const REASONS = new Map([
  [4403, "You were logged out. Log in again to watch."],
  [4404, "You no longer have access to this study."],
  [4429, "Too many windows are open. Close some, then reload this page."],
]);
const KEYS = ["key", "condition", "kind"]; // what names a member of each list in the message

/** @import { Json } from "../shared/wire.js" */

/**
 * @typedef {Map<string, string | number | boolean | null>} Values the leaves of a message by their paths
 */

const live = byId("live");
const spoken = byId("spoken");
const number = new Intl.NumberFormat("en-US");

/**
 * Every number and word of the message under its path, like tasks/mos/conditions/human/rated.
 * @param {Json} value
 * @param {string} [path]
 * @param {Values} [found]
 * @returns {Values}
 */
function flatten(value, path = "", found = new Map()) {
  if (Array.isArray(value)) {
    for (const member of value) {
      const name = nameOf(member);
      flatten(member, path ? `${path}/${name}` : name, found);
    }
  } else if (value !== null && typeof value === "object") {
    for (const [key, member] of Object.entries(value)) {
      flatten(member, path ? `${path}/${key}` : key, found);
    }
  } else {
    found.set(path, value);
  }
  return found;
}

/**
 * @param {Json} member of a list in the message
 * @returns {string}
 */
function nameOf(member) {
  if (member === null || typeof member !== "object" || Array.isArray(member)) return String(member);
  return String(KEYS.map((key) => member[key]).find((name) => name !== undefined));
}

/**
 * @param {string} selector
 * @returns {NodeListOf<HTMLElement>}
 */
function all(selector) {
  return document.querySelectorAll(selector);
}

/**
 * @param {Values} values
 * @param {string | undefined} path
 * @returns {number | undefined}
 */
function numberAt(values, path) {
  const value = values.get(path ?? "");
  return typeof value === "number" ? value : undefined;
}

/**
 * @param {"waiting" | "live" | "over"} state
 * @param {string} text
 */
function show(state, text) {
  live.hidden = false;
  live.dataset.liveState = state;
  setText(live, text);
}

/**
 * @param {number} part
 * @param {number} whole
 */
function percent(part, whole) {
  return whole > 0 ? Math.round((100 * part) / whole) : 0;
}

/** @param {Values} values */
function draw(values) {
  for (const element of all("[data-live]")) {
    const value = numberAt(values, element.dataset.live);
    if (value === undefined) continue;
    if (element instanceof HTMLProgressElement) {
      element.max = Math.max(numberAt(values, element.dataset.liveMax) ?? element.max, 1);
      element.value = value;
    } else {
      setText(element, number.format(value));
    }
  }
  for (const element of all("[data-live-percent]")) {
    const part = numberAt(values, element.dataset.livePercent);
    const whole = numberAt(values, element.dataset.of);
    if (part !== undefined && whole !== undefined) {
      element.textContent = `${percent(part, whole)} %`;
    }
  }
  for (const element of all("[data-live-shown]")) {
    element.hidden = !values.get(element.dataset.liveShown ?? "");
  }
}

/** @type {number | null} */
let toldTenth = null;

/**
 * Screen readers hear a sentence when another tenth is done, not every tick.
 * @param {Values} values
 */
function tell(values) {
  const rated = numberAt(values, "total/rated") ?? 0;
  const planned = numberAt(values, "total/planned") ?? 0;
  const tenth = Math.floor(percent(rated, planned) / 10);
  if (toldTenth !== null && tenth !== toldTenth) {
    spoken.textContent = `${number.format(rated)} of ${number.format(planned)} ratings.`;
  }
  toldTenth = tenth;
}

/**
 * A new task, condition, trap or state needs the whole page: reload unless someone is typing.
 * @param {Values} values
 */
function outgrown(values) {
  if (values.get("state") !== live.dataset.shown) return true;
  const drawn = new Set();
  for (const element of all("[data-live]")) drawn.add(element.dataset.live);
  const counted = /^tasks\/.*\/(conditions|traps)\/.*\/(rated|passed)$/;
  return [...values.keys()].some((path) => counted.test(path) && !drawn.has(path));
}

let outdated = false;
function reloadWhenIdle() {
  outdated = true;
  const busy = document.querySelector("details[open]") || document.activeElement?.matches("[popover] *, input");
  if (!busy) {
    location.reload();
    return;
  }
  show("waiting", "The study has changed: reload the page");
  setTimeout(reloadWhenIdle, 1000);
}

/** @param {import("../shared/wire.js").MonitorMessage} message */
function receive(message) {
  if (outdated) return;
  if (message.type === "heartbeat" && !message.counting) {
    show("waiting", "Waiting for the database");
    return;
  }
  show("live", "Live");
  if (message.type !== "progress") return;
  const values = flatten(message.progress);
  if (outgrown(values)) {
    reloadWhenIdle();
    return;
  }
  draw(values);
  tell(values);
}

function watch(attempt = 0) {
  const address = new URL(live.dataset.monitor ?? "", location.href);
  address.protocol = location.protocol === "https:" ? "wss:" : "ws:";
  const socket = new WebSocket(address);
  let tries = attempt;
  /** @type {number | undefined} */
  let silence;
  const listen = () => {
    clearTimeout(silence);
    silence = window.setTimeout(() => socket.close(), HEARTBEAT_LIMIT_MS);
  };
  socket.addEventListener("open", listen);
  socket.addEventListener("message", (event) => {
    listen();
    tries = 0;
    receive(JSON.parse(event.data));
  });
  socket.addEventListener("close", (event) => {
    clearTimeout(silence);
    const reason = REASONS.get(event.code);
    if (reason) {
      show("over", reason);
      spoken.textContent = reason;
      return;
    }
    if (!outdated) show("waiting", "Reconnecting…");
    setTimeout(() => watch(tries + 1), backoffMs(tries, Math.random(), LONGEST_WAIT_MS));
  });
}

watch();
