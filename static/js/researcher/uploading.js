// Files sent one beside another; what the server has is left out, and a server that is away is waited for.

import { backoffMs } from "../shared/backoff.js";
import { csrfToken } from "../shared/csrf.js";

const AT_ONCE = 3;
const PATIENCE_MS = 10 * 60 * 1000; // a server that starts again, a laptop that changes its network
const SYSTEM_FILES = ["thumbs.db", "desktop.ini"];
const TABLES = ["zip", "toml", "csv"]; // what a study folder has beside its sounds

/** @typedef {{path: string, file: File}} Chosen */
/** @typedef {{upload: string, files: string, endings: string[], piece: number}} Place */
/** @typedef {{count: number, files: number, bytes: number, total: number}} Progress */
/** @typedef {{status: number, received?: number, sha256?: string, done?: boolean, problem?: string, files?: Record<string, [number, string]>, left?: number, total?: number}} Answer */

/** What no further try mends. */
class Hopeless extends Error {}

/**
 * All files below what was dropped, with their folders.
 * @param {FileSystemEntry} entry
 * @param {string} before
 * @returns {Promise<Chosen[]>}
 */
export async function below(entry, before) {
  const path = `${before}${entry.name}`;
  if (entry.isFile) {
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

/** @param {string} path */
function ending(path) {
  return path.includes(".") ? (path.split(".").pop() ?? "").toLowerCase() : "";
}

/** @param {string} path */
function isHidden(path) {
  const parts = path.split("/");
  return parts.some((part) => part.startsWith(".") || part === "__MACOSX") || SYSTEM_FILES.includes((parts.pop() ?? "").toLowerCase());
}

/**
 * What is worth sending, and the paths of the rest: hidden files, those of macOS and Windows, and other kinds.
 * @param {Chosen[]} all
 * @param {string[]} endings
 */
export function sorted(all, endings) {
  const useful = (/** @type {Chosen} */ each) => !isHidden(each.path) && [...endings, ...TABLES].includes(ending(each.path));
  return { sent: all.filter(useful), left: all.filter((each) => !useful(each)).map((each) => each.path) };
}

/**
 * @param {string} url
 * @param {RequestInit} how
 * @param {(words: string) => void} say
 * @returns {Promise<Answer>}
 */
export async function ask(url, how, say) {
  const until = Date.now() + PATIENCE_MS;
  for (let tries = 0; ; tries += 1) {
    try {
      const answer = await fetch(url, how);
      if (answer.redirected || answer.status === 403) throw new Hopeless("You were logged out. Log in and drop the same files again.");
      if (answer.status === 404) throw new Hopeless("The draft was deleted.");
      const isJson = answer.headers.get("Content-Type") === "application/json";
      if (isJson && (answer.status < 500 || answer.status === 507)) return { status: answer.status, ...(await answer.json()) };
      if (answer.status !== 429 && answer.status < 500) throw new Hopeless(`The server refused it (HTTP ${answer.status}).`);
    } catch (error) {
      if (error instanceof Hopeless) throw error;
    }
    if (Date.now() > until) throw new Error("The server is not responding.");
    say("The server is not responding. Trying again.");
    await new Promise((done) => setTimeout(done, backoffMs(tries, Math.random(), 8000)));
  }
}

/** @param {File} file */
async function sha256(file) {
  if (!globalThis.crypto?.subtle) return null;
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", await file.arrayBuffer()));
  return [...digest].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

/**
 * Sends one file from where an earlier attempt stopped; the problem with it, or "".
 * @param {Place} place
 * @param {Chosen} chosen
 * @param {[number, string] | undefined} known size and content of what the server has of that name
 * @param {(words: string) => void} say
 * @param {(offset: number) => void} sending
 */
async function send(place, chosen, known, say, sending) {
  const { file, path } = chosen;
  if (known?.[0] === file.size && known[1] && known[1] === (await sha256(file))) return "";
  const address = `path=${encodeURIComponent(path)}&size=${file.size}`;
  let offset = file.size > place.piece ? (await ask(`${place.files}?${address}`, {}, say)).received ?? 0 : 0;
  for (;;) {
    const body = file.slice(offset, offset + place.piece);
    const how = { method: "POST", body, headers: { "X-CSRFToken": csrfToken() } };
    const answer = await ask(`${place.upload}?${address}&offset=${offset}`, how, say);
    if (answer.done || answer.problem) return answer.problem || "";
    offset = answer.received ?? 0;
    sending(offset);
  }
}

/**
 * Sends all; the problems, each with the file's name.
 * @param {Place} place
 * @param {Chosen[]} all
 * @param {(progress: Progress, problems: string[]) => void} tell
 * @param {(words: string) => void} say
 */
export async function sendAll(place, all, tell, say) {
  const { files = {} } = await ask(place.files, {}, say);
  const total = all.reduce((sum, each) => sum + each.file.size, 0);
  const progress = { count: 0, files: all.length, bytes: 0, total: total || 1 };
  /** @type {string[]} */
  const problems = [];
  const queue = all.values();
  const work = async () => {
    for (const each of queue) {
      const before = progress.bytes;
      const problem = await send(place, each, files[each.path], say, (offset) => tell({ ...progress, bytes: before + offset }, problems));
      if (problem) problems.push(`${each.path}: ${problem}`);
      progress.count += 1;
      progress.bytes += each.file.size;
      tell(progress, problems);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return problems;
}
