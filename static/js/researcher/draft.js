// A draft: fields are saved as one types; who is late, logged out or offline is told, and loses nothing.

import { byId } from "../shared/dom.js";

const PAUSE_MS = 600;
const page = byId("draft");
const token = /** @type {HTMLInputElement} */ (document.querySelector("[name=csrfmiddlewaretoken]")).value;
/** @type {Map<string, string | boolean>} */
const pending = new Map();
let timer = 0;
let saving = false;

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
  for (const name of ["log-in", "again", "reload", "anyway"]) {
    byId(`trouble-${name}`).hidden = !buttons.includes(name);
  }
  byId("trouble").hidden = words === "";
}

/** @param {Element} field */
function valueOf(field) {
  if (field instanceof HTMLInputElement && field.type === "checkbox") return field.checked;
  return /** @type {HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement} */ (field).value;
}

function later() {
  clearTimeout(timer);
  timer = setTimeout(() => void save(false), PAUSE_MS);
}

/** @param {string} html */
function show(html) {
  const fresh = new DOMParser().parseFromString(html, "text/html").getElementById("figures");
  if (!fresh) return;
  byId("figures").replaceWith(fresh);
  byId("draft-title").textContent = fresh.dataset.title || "Without a title";
  for (const field of document.querySelectorAll("[name=revision]")) {
    /** @type {HTMLInputElement} */ (field).value = fresh.dataset.revision ?? "";
  }
  for (const frame of document.querySelectorAll("[data-preview]")) {
    const inside = /** @type {HTMLIFrameElement} */ (frame);
    inside.src = inside.getAttribute("src") ?? "";
  }
}

/**
 * Sends all that waits; what fails waits on.
 * @param {boolean} anyway
 */
async function save(anyway) {
  if (saving || pending.size === 0) return;
  saving = true;
  say("Saving…");
  const changes = new Map(pending);
  const sent = JSON.stringify({ revision: Number(byId("figures").dataset.revision), anyway, changes: Object.fromEntries(changes) });
  try {
    const headers = { "Content-Type": "application/json", "X-CSRFToken": token };
    const answer = await fetch(page.dataset.save ?? "", { method: "POST", headers, body: sent });
    if (answer.redirected || answer.status === 403) {
      return trouble("You were logged out. What you wrote is still here: log in, then save again.", ["log-in", "again"]);
    }
    if (answer.status === 409) {
      return trouble("The draft was changed in another window or by somebody else meanwhile.", ["reload", "anyway"]);
    }
    if (!answer.ok) throw new Error((await answer.json()).message ?? "The server has trouble.");
    for (const [name, value] of changes) if (pending.get(name) === value) pending.delete(name);
    show(await answer.text());
    trouble("", []);
  } catch (error) {
    trouble(`Not saved: ${error instanceof Error ? error.message : error}`, ["again"]);
  } finally {
    saving = false;
    if (pending.size > 0) say("Not saved yet");
    if (pending.size > 0 && byId("trouble").hidden) later();
  }
}

page.addEventListener("input", (event) => {
  const field = /** @type {HTMLElement} */ (event.target);
  const name = field.dataset.field;
  if (name) {
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
byId("trouble-again").addEventListener("click", () => void save(false));
byId("trouble-anyway").addEventListener("click", () => void save(true));
byId("trouble-reload").addEventListener("click", () => {
  pending.clear();
  location.reload();
});
// A link to the next step waits for what is being saved.
document.addEventListener("click", async (event) => {
  const link = /** @type {HTMLElement} */ (event.target).closest("a");
  if (!link || link.target || pending.size === 0) return;
  event.preventDefault();
  clearTimeout(timer);
  await save(false);
  if (pending.size === 0) location.assign(link.href);
});
addEventListener("beforeunload", (event) => {
  if (pending.size > 0) event.preventDefault();
});
