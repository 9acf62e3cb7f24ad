// Sounds of a draft: a dropped folder is sent file by file, several at once; what is there is left out.

import { byId } from "../shared/dom.js";

const AT_ONCE = 3;
const PIECE_BYTES = 8 * 1024 * 1024;
const TRIES = 6;
const MOST_NAMED = 20;
const drop = byId("drop");
const token = /** @type {HTMLInputElement} */ (document.querySelector("[name=csrfmiddlewaretoken]")).value;
let running = false;

/** @typedef {{path: string, file: File}} Chosen */

/**
 * All files below what was dropped, with their folders.
 * @param {FileSystemEntry} entry
 * @param {string} before
 * @returns {Promise<Chosen[]>}
 */
async function below(entry, before) {
  const path = `${before}${entry.name}`;
  if (entry instanceof FileSystemFileEntry || entry.isFile) {
    const own = /** @type {FileSystemFileEntry} */ (entry);
    return [{ path, file: await new Promise((found, failed) => own.file(found, failed)) }];
  }
  const reader = /** @type {FileSystemDirectoryEntry} */ (entry).createReader();
  const all = [];
  for (;;) {
    /** @type {FileSystemEntry[]} */
    const some = await new Promise((found, failed) => reader.readEntries(found, failed));
    if (some.length === 0) return all;
    for (const each of some) all.push(...(await below(each, `${path}/`)));
  }
}

/**
 * @param {string} url
 * @param {RequestInit} [how]
 */
async function ask(url, how) {
  for (let attempt = 1; ; attempt += 1) {
    try {
      const answer = await fetch(url, how);
      if (answer.redirected || answer.status === 403) throw new TypeError("You were logged out: log in and drop the same again.");
      if (answer.status !== 429 && answer.status < 500) return { status: answer.status, ...(await answer.json()) };
    } catch (error) {
      if (attempt >= TRIES || String(error).includes("logged out")) throw error;
    }
    if (attempt >= TRIES) throw new Error("The server does not answer.");
    await new Promise((done) => setTimeout(done, 500 * 2 ** attempt));
  }
}

/** @param {File} file */
async function sha256(file) {
  if (!globalThis.crypto?.subtle) return null;
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", await file.arrayBuffer()));
  return [...digest].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** @param {Chosen} chosen */
function addressOf(chosen) {
  return `path=${encodeURIComponent(chosen.path)}&size=${chosen.file.size}`;
}

/**
 * Sends one file from where an earlier attempt stopped; the problem with it, or "".
 * @param {Chosen} chosen
 * @param {boolean} sameSize
 */
async function send(chosen, sameSize) {
  const known = await ask(`${drop.dataset.files}?${addressOf(chosen)}`);
  if (sameSize && known.sha256 && known.sha256 === (await sha256(chosen.file))) return "";
  let offset = known.received;
  for (;;) {
    const body = chosen.file.slice(offset, offset + PIECE_BYTES);
    const url = `${drop.dataset.upload}?${addressOf(chosen)}&offset=${offset}`;
    const answer = await ask(url, { method: "POST", body, headers: { "X-CSRFToken": token } });
    if (answer.done || answer.problem) return answer.problem || "";
    offset = answer.received;
  }
}

/** @param {string[]} problems */
function name(problems) {
  const shown = problems.slice(0, MOST_NAMED);
  if (problems.length > MOST_NAMED) shown.push(`… and ${problems.length - MOST_NAMED} more files.`);
  byId("upload-problems").replaceChildren(
    ...shown.map((words) => Object.assign(document.createElement("li"), { textContent: words })),
  );
}

/** @param {Chosen[]} all */
async function upload(all) {
  if (running || all.length === 0) return;
  running = true;
  byId("upload").hidden = false;
  const bar = /** @type {HTMLProgressElement} */ (byId("upload-bar"));
  const { files } = await ask(drop.dataset.files ?? "");
  const waiting = all.filter((each) => !each.path.split("/").some((part) => part.startsWith(".")));
  const total = waiting.reduce((sum, each) => sum + each.file.size, 0) || 1;
  /** @type {string[]} */
  const problems = [];
  let [count, bytes] = [0, 0];
  const queue = waiting.values();
  const work = async () => {
    for (const each of queue) {
      const problem = each.file.size ? await send(each, files[each.path] === each.file.size) : "The file is empty.";
      if (problem) problems.push(`${each.path}: ${problem}`);
      bytes += each.file.size;
      count += 1;
      bar.value = bytes / total;
      byId("upload-text").textContent = `${count} of ${waiting.length} files`;
      if (problem) name(problems);
    }
  };
  try {
    await Promise.all(Array.from({ length: AT_ONCE }, work));
    if (problems.length > 0) {
      byId("upload-text").textContent = `${count - problems.length} of ${waiting.length} files are here; the others are named below. Press “Read the names again” to go on without them.`;
      byId("arrange").classList.remove("visually-hidden");
    } else /** @type {HTMLFormElement} */ (byId("arrange")).requestSubmit();
  } catch (error) {
    byId("upload-text").textContent = `Stopped after ${count} of ${waiting.length} files: ${error instanceof Error ? error.message : error} Drop the same again, and it goes on.`;
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
  const found = await Promise.all(entries.map((entry) => below(entry, "")));
  void upload(found.flat());
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
