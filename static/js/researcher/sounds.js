// Sounds of a draft: what is dropped is sent and measured; clips are heard; marks and texts.

import { csrfToken } from "../shared/csrf.js";
import { byId, fillList } from "../shared/dom.js";
import { ask, below, sendAll, sorted } from "./uploading.js";

/** @import { Chosen } from "./uploading.js" */

const MOST_NAMED = 20;
const MB = 1024 * 1024;
const drop = byId("drop");
const form = /** @type {HTMLFormElement} */ (byId("arrange"));
const place = {
  upload: drop.dataset.upload ?? "",
  files: drop.dataset.files ?? "",
  piece: Number(drop.dataset.piece),
  endings: (drop.dataset.endings ?? "").split(" "),
};
let running = false;
/** @type {Chosen[]} dropped while others were on their way */
const next = [];

/** @param {string} words */
function say(words) {
  byId("upload-text").textContent = words;
}

/** @param {number} bytes */
function inMb(bytes) {
  return (bytes / MB).toLocaleString("en", { maximumFractionDigits: bytes < 10 * MB ? 1 : 0 });
}

/** @param {string[]} problems */
function name(problems) {
  const shown = problems.slice(0, MOST_NAMED);
  if (problems.length > MOST_NAMED) shown.push(`… and ${problems.length - MOST_NAMED} more files.`);
  fillList(byId("upload-problems"), shown);
}

/** @param {import("./uploading.js").Progress} at */
function show(at, /** @type {string[]} */ problems) {
  const bar = /** @type {HTMLProgressElement} */ (byId("upload-bar"));
  bar.value = at.bytes / at.total;
  const follow = next.length > 0 ? `; ${next.length.toLocaleString("en")} more files follow` : "";
  say(`${at.count.toLocaleString("en")} of ${at.files.toLocaleString("en")} files, ${inMb(at.bytes)} of ${inMb(at.total)} MB${follow}`);
  if (problems.length !== byId("upload-problems").childElementCount) name(problems);
}

/** Length, loudness and rate of what came in a zip: measured in pieces, so that one sees it go on. */
async function measure() {
  const bar = /** @type {HTMLProgressElement} */ (byId("upload-bar"));
  for (let most = 0; ; ) {
    const body = new URLSearchParams({ do: "measure" });
    const { left = 0 } = await ask(form.action, { method: "POST", body, headers: { "X-CSRFToken": csrfToken() } }, say);
    if (left === 0) return;
    most = Math.max(most, left);
    bar.value = 1 - left / most;
    say(`Analyzing: ${left.toLocaleString("en")} clips left.`);
  }
}

/** @param {Chosen[]} all */
async function upload(all) {
  if (all.length === 0) return;
  if (running) {
    next.push(...all);
    return;
  }
  running = true;
  byId("upload").hidden = false;
  /** @type {string[]} */
  const problems = [];
  /** @type {string[]} */
  const unsent = [];
  let count = 0;
  try {
    for (let batch = all; batch.length > 0; batch = next.splice(0)) {
      const { sent, left } = sorted(batch, place.endings);
      unsent.push(...left);
      /** @type {HTMLInputElement} */ (byId("unsent")).value = JSON.stringify(unsent.slice(0, MOST_NAMED));
      /** @type {HTMLInputElement} */ (byId("unsent-count")).value = String(unsent.length);
      count += sent.length;
      problems.push(...(await sendAll(place, sent, show, say)));
      name(problems);
      await measure();
    }
    running = false;
    if (problems.length === 0) return form.requestSubmit();
    say(`${count - problems.length} of ${count} files were uploaded; the others are listed below. Press “Parse names again” to continue without them.`);
    form.classList.remove("visually-hidden");
  } catch (error) {
    next.length = 0;
    say(`Stopped: ${error instanceof Error ? error.message : error} Drop the same files again to resume.`);
  } finally {
    running = false;
  }
}

for (const id of ["choose-folder", "choose-files"]) {
  const input = /** @type {HTMLInputElement} */ (byId(id));
  input.addEventListener("change", () => {
    void upload([...(input.files ?? [])].map((file) => ({ path: file.webkitRelativePath || file.name, file })));
  });
}
drop.addEventListener("dragover", (event) => {
  event.preventDefault();
  drop.dataset.over = "";
});
drop.addEventListener("dragleave", () => delete drop.dataset.over);
drop.addEventListener("drop", async (event) => {
  event.preventDefault();
  delete drop.dataset.over;
  const entries = [...(event.dataTransfer?.items ?? [])].flatMap((item) => item.webkitGetAsEntry() ?? []);
  byId("upload").hidden = false;
  say("Reading the dropped files …");
  try {
    const found = await Promise.all(entries.map((entry) => below(entry, "")));
    if (found.flat().length === 0) say("No files found. Drop a folder, files or a zip.");
    void upload(found.flat());
  } catch (error) {
    say(`It cannot be read: ${error instanceof Error ? error.message : error} Use “Choose a folder” instead.`);
  }
});
addEventListener("beforeunload", (event) => {
  if (running) event.preventDefault();
});

const sound = /** @type {HTMLAudioElement} */ (byId("sound"));
document.addEventListener("click", (event) => {
  const button = /** @type {HTMLElement} */ (event.target).closest("button");
  const url = button?.dataset.play;
  if (!url) return;
  const again = sound.getAttribute("src") === url && !sound.paused;
  if (again) return sound.pause();
  sound.src = url;
  void sound.play();
});

// --- Making sounds of others: a piece at a time, so that one sees it go on -----------------------

/**
 * @param {HTMLFormElement} making
 * @param {HTMLElement | null} pressed
 */
async function make(making, pressed) {
  const body = new FormData(making, pressed);
  body.set("step", "1");
  const [bar, words] = /** @type {[HTMLProgressElement, HTMLElement]} */ ([...(making.querySelector(".making")?.children ?? [])]);
  /** @type {HTMLElement} */ (words.parentElement).hidden = false;
  running = true;
  try {
    for (;;) {
      const sent = new URLSearchParams(/** @type {Record<string, string>} */ (Object.fromEntries(body)));
      const answer = await ask(making.action, { method: "POST", body: sent, headers: { "X-CSRFToken": csrfToken() } }, (text) => (words.textContent = text));
      running = false;
      if (answer.problem) return (words.textContent = answer.problem);
      if (!answer.left) return next.length > 0 ? undefined : location.reload(); // what was dropped meanwhile is sent first
      running = true;
      bar.value = 1 - answer.left / (answer.total ?? answer.left);
      words.textContent = `${answer.left.toLocaleString("en")} ${making.dataset.left ?? "clips left to create."}`;
    }
  } catch (error) {
    words.textContent = `Stopped: ${error instanceof Error ? error.message : error} Press the button again to resume.`;
  } finally {
    running = false;
    void upload(next.splice(0));
  }
}

for (const making of document.querySelectorAll("form[data-making]")) {
  making.addEventListener("submit", (event) => {
    event.preventDefault();
    if (!running) void make(/** @type {HTMLFormElement} */ (making), /** @type {SubmitEvent} */ (event).submitter);
  });
}

// --- One loudness, one rate: a button writes into the field, which is saved as if typed ----------

let looked = false;
document.addEventListener("click", (event) => {
  const button = /** @type {HTMLElement} */ (event.target).closest("button");
  if (!button?.dataset.put) return;
  const field = /** @type {HTMLInputElement} */ (byId(button.dataset.put));
  field.value = button.dataset.value ?? "";
  field.dispatchEvent(new Event("input", { bubbles: true }));
});
byId("draft").addEventListener("input", (event) => {
  if ("look" in /** @type {HTMLElement} */ (event.target).dataset) looked = true;
});
/** What a loudness or a rate would change is shown anew once the field is saved. */
new MutationObserver(async () => {
  if (!looked) return;
  looked = false;
  const fresh = new DOMParser().parseFromString(await (await fetch(location.href)).text(), "text/html");
  for (const id of ["loudness-change", "rate-change"]) {
    const words = fresh.getElementById(id)?.textContent;
    if (words) byId(id).textContent = words;
  }
}).observe(byId("draft"), { childList: true });

document.getElementById("texts-file")?.addEventListener("change", async (event) => {
  const [file] = /** @type {HTMLInputElement} */ (event.target).files ?? [];
  if (file) /** @type {HTMLTextAreaElement} */ (byId("pasted")).value = textOf(await file.arrayBuffer());
});

/**
 * The text of a file; one that is no Unicode is read as Excel writes it in Western Europe.
 * @param {ArrayBuffer} bytes
 */
function textOf(bytes) {
  const [first, second] = new Uint8Array(bytes);
  if (first === 0xff && second === 0xfe) return new TextDecoder("utf-16le").decode(bytes);
  if (first === 0xfe && second === 0xff) return new TextDecoder("utf-16be").decode(bytes);
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
  } catch {
    return new TextDecoder("windows-1252").decode(bytes);
  }
}
