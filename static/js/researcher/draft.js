// A draft: fields are saved as one types; who is late, logged out or offline is told, and loses nothing.

import { csrfField, csrfToken } from "../shared/csrf.js";
import { byId } from "../shared/dom.js";
import { ask, Refused } from "./asking.js";
import { collide, undecided } from "./collisions.js";

/** @import { DraftNews, TheirField } from "../shared/wire.js" */

const PAUSE_MS = 600;
const LOOK_MS = 15_000;
/** Fields on which the conditions of questions depend. */
const DECIDING = /^questionnaires\.\d+\.(when|questions\.\d+\.(options|other|prefer_not|low|high|key|question))$/;
const page = byId("draft");
/* Every form gets the token of now, just before it is sent. */
document.addEventListener("submit", (event) => {
  const field = csrfField(/** @type {HTMLFormElement} */ (event.target));
  if (field) field.value = csrfToken();
});
/** @type {Map<string, string | boolean>} */
const pending = new Map();
/** @type {Set<string>} fields that are to be written over what somebody else wrote */
const over = new Set();
let revision = Number(page.dataset.revision);
let timer = 0;
/** @type {Promise<boolean> | null} the save on its way */
let saving = null;

/** @param {string} words */
function say(words) {
  byId("saved").textContent = words;
}

/**
 * @param {string} words
 * @param {string[]} buttons
 */
function trouble(words, buttons) {
  byId("trouble-text").textContent = words;
  for (const name of ["log-in", "again", "reload"]) byId(`trouble-${name}`).hidden = !buttons.includes(name);
  byId("trouble").hidden = words === "";
}

/** @param {string} name */
function fieldOf(name) {
  return document.querySelector(`[data-field="${CSS.escape(name)}"]`);
}

/** @param {Element} field */
function valueOf(field) {
  if (field instanceof HTMLInputElement && field.type === "checkbox") return field.checked;
  return /** @type {HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement} */ (field).value;
}

/**
 * @param {Element} field
 * @param {string | boolean} value
 */
function fill(field, value) {
  if (field instanceof HTMLInputElement && field.type === "checkbox") field.checked = value === true;
  else /** @type {HTMLInputElement} */ (field).value = String(value);
}

function later() {
  clearTimeout(timer);
  timer = window.setTimeout(() => void save(), PAUSE_MS);
}

/** @param {string} by */
function called(by) {
  if (by === page.dataset.user) return "You, in another window,";
  return by || "Somebody";
}

/** @param {string} html */
function show(html) {
  const fresh = new DOMParser().parseFromString(html, "text/html").getElementById("figures");
  if (!fresh) return;
  const unfolded = [...byId("figures").querySelectorAll("details")].map((each) => each.open);
  const precision = byId("figures").querySelector("[data-precision]");
  byId("figures").replaceWith(fresh);
  fresh.querySelectorAll("details").forEach((each, n) => (each.open = unfolded[n] ?? false));
  if (precision) fresh.querySelector("[data-precision]")?.replaceWith(precision); // until it is asked anew
  byId("draft-title").textContent = fresh.dataset.title || "Without a title";
  for (const field of document.querySelectorAll("[name=revision]")) {
    /** @type {HTMLInputElement} */ (field).value = fresh.dataset.revision ?? "";
  }
  for (const frame of document.querySelectorAll("[data-preview]")) {
    const inside = /** @type {HTMLIFrameElement} */ (frame);
    inside.src = inside.getAttribute("src") ?? "";
  }
  markProblems();
  void precisely();
}

/** What the page offers of the answers of a question follows them. */
async function follow() {
  const answer = await fetch(location.href, { redirect: "error" });
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
  for (const old of document.querySelectorAll("[data-follows]")) {
    const now = fresh.getElementById(old.id);
    const busy = old.contains(document.activeElement) || [...pending.keys()].some((name) => old.contains(fieldOf(name)));
    if (now && !busy) old.replaceWith(now);
  }
  markProblems();
}

/** Each problem of this page stands at its field, as the page Review and open lists it. */
function markProblems() {
  document.querySelectorAll(".field-problem").forEach((each) => each.remove());
  const problems = /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("#figures [data-anchor]"));
  for (const problem of problems) {
    const field = problem.dataset.page === page.dataset.here ? document.getElementById(problem.dataset.anchor ?? "") : null;
    if (!field) continue;
    const note = document.createElement("p");
    note.className = "field-error field-problem";
    note.textContent = problem.textContent;
    const box = field.closest(".field, .field-check");
    if (box) box.append(note);
    else field.after(note);
    field.closest("details")?.setAttribute("open", "");
  }
}

async function precisely() {
  const place = document.querySelector("[data-precision]");
  const url = /** @type {HTMLElement | null} */ (place)?.dataset.precision;
  if (!place || !url) return;
  try {
    const answer = await fetch(url, { redirect: "error" });
    if (answer.ok) place.replaceChildren(...new DOMParser().parseFromString(await answer.text(), "text/html").body.childNodes);
  } catch {
    // the figures of before stay
  }
}

/**
 * What others wrote comes into fields that nobody types into here; who it was is said.
 * @param {TheirField[]} theirs
 */
function adopt(theirs) {
  const names = new Set();
  let older = false;
  for (const { field, value, by } of theirs) {
    const here = fieldOf(field);
    if (here && !pending.has(field)) {
      if (valueOf(here) === value) continue;
      fill(here, value);
      names.add(called(by));
    } else if (!here && document.querySelector(`[data-field^="${CSS.escape(field)}."]`)) older = true;
  }
  if (names.size > 0) byId("others").textContent = `${[...names].join(" and ")} changed other fields. Their changes are shown here.`;
  if (older) trouble("Somebody else added or removed a part of this page. Reload to see it; your changes are saved first.", ["reload"]);
}

/** @param {DraftNews} news */
function take(news) {
  revision = news.revision;
  if (news.figures) show(news.figures);
  if (pending.size > 0) say("Not saved yet");
  if (news.theirs) adopt(news.theirs);
}

/** Sends all that waits, one request at a time; resolves to whether it arrived. */
function save() {
  saving ??= send().finally(() => (saving = null));
  return saving;
}

/** Saves until nothing waits, also what is typed while a save is on its way; resolves to whether it arrived. */
async function saveAll() {
  clearTimeout(timer);
  await saving;
  while (pending.size > 0 && (await save()));
  return pending.size === 0;
}

/** What fails waits on. */
async function send() {
  if (pending.size === 0 || "readonly" in page.dataset) return false;
  say("Saving…");
  const changes = new Map(pending);
  const sent = JSON.stringify({ revision, over: [...over], changes: Object.fromEntries(changes) });
  try {
    const headers = { "Content-Type": "application/json", "X-CSRFToken": csrfToken() };
    const news = await ask(page.dataset.save ?? "", { method: "POST", headers, body: sent });
    for (const [name, value] of changes) if (pending.get(name) === value) pending.delete(name);
    over.clear();
    take(news);
    trouble("", []);
    if ([...changes.keys()].some((name) => DECIDING.test(name))) await follow().catch(() => {}); // the next load does
    collide(news.collisions ?? [], called, fieldOf, decided);
    return true;
  } catch (error) {
    if (error instanceof Refused) trouble("You were logged out. Your changes are still here: log in, then save again.", ["log-in", "again"]);
    else trouble(`Not saved: ${error instanceof Error ? error.message : error}`, ["again"]);
    return false;
  } finally {
    if (pending.size > 0) say("Not saved yet");
    if (pending.size > 0 && byId("trouble").hidden) later();
  }
}

/**
 * Of a field that both changed: theirs, or mine over it (null).
 * @param {string} name
 * @param {string | boolean | null} theirs
 */
function decided(name, theirs) {
  const field = fieldOf(name);
  if (!field) return;
  if (theirs !== null) return fill(field, theirs);
  pending.set(name, valueOf(field));
  over.add(name);
  void save();
}

/** While the page is open, what others change comes in by itself. */
async function look() {
  if (document.hidden || saving || pending.size > 0) return;
  try {
    const news = await ask(`${page.dataset.state}?seen=${revision}`);
    if (news.revision > revision && pending.size === 0) take(news);
  } catch {
    // the next save says what is wrong
  }
}

page.addEventListener("input", (event) => {
  const field = /** @type {HTMLElement} */ (event.target);
  const name = field.dataset.field;
  if (name && !undecided(name)) {
    pending.set(name, valueOf(field));
    say("Not saved yet");
    later();
  }
});
page.addEventListener("change", (event) => {
  const field = /** @type {HTMLElement} */ (event.target);
  if (field instanceof HTMLSelectElement && "submit" in field.dataset) field.form?.requestSubmit();
});
page.addEventListener("click", (event) => {
  const button = /** @type {HTMLElement} */ (event.target).closest("button");
  const n = button?.dataset.wide ?? button?.dataset.phone;
  if (n === undefined || !button) return;
  document.querySelector(`[data-task="${n}"]`)?.toggleAttribute("data-desktop", "wide" in button.dataset);
  for (const each of document.querySelectorAll(`[data-wide="${n}"], [data-phone="${n}"]`)) {
    each.setAttribute("aria-pressed", String(each === button));
  }
});
page.addEventListener("change", (event) => {
  const choice = /** @type {HTMLElement} */ (event.target);
  const frame = /** @type {HTMLIFrameElement | null} */ (document.getElementById(choice.dataset.languageOf ?? ""));
  if (!frame || !(choice instanceof HTMLSelectElement)) return;
  const url = new URL(frame.src);
  url.searchParams.set("lang", choice.value);
  frame.src = url.href;
});
byId("trouble-again").addEventListener("click", () => void save());
byId("trouble-reload").addEventListener("click", async () => {
  if (await saveAll()) location.reload();
});
// What leads to another page waits for what is being saved.
document.addEventListener("click", async (event) => {
  const link = /** @type {HTMLElement} */ (event.target).closest("a");
  if (!link || link.target || pending.size === 0) return;
  event.preventDefault();
  if (await saveAll()) location.assign(link.href);
});
document.addEventListener("submit", async (event) => {
  const form = /** @type {HTMLFormElement} */ (event.target);
  if (pending.size === 0 || form.method !== "post") return;
  event.preventDefault();
  if (await saveAll()) form.requestSubmit(/** @type {SubmitEvent} */ (event).submitter);
});
addEventListener("beforeunload", (event) => {
  if (pending.size > 0 || undecided()) event.preventDefault();
});
if ("readonly" in page.dataset) {
  for (const each of page.querySelectorAll("[data-field], form[method=post] :is(button, input, select, textarea)")) each.setAttribute("disabled", "");
}
window.setInterval(() => void look(), LOOK_MS);
markProblems();
void precisely();
page.inert = false; // until now nothing could be typed, as nothing would have saved it
document.getElementById(decodeURIComponent(location.hash.slice(1)))?.focus();
