/** The last page: what became of the session, and the code or the link that the rater takes along. */

import { setText, view } from "./dom.js";
import { canSay, say } from "./strings.js";

/**
 * @param {{outcome: string, code: string, return_url: string | null, text: string}} end
 * @param {string} language
 * @returns {{root: HTMLElement, focus: HTMLElement}}
 */
export function endView(end, language) {
  const { root, part } = view("view-end");
  root.dataset.outcome = end.outcome;
  part("mark").hidden = end.outcome !== "complete";
  setText(part("title"), say(canSay(`end_${end.outcome}`) ? `end_${end.outcome}` : "end_partial"));
  setText(part("text"), end.text);
  part("text").lang = language;
  const url = safeUrl(end.return_url);
  part("return-box").hidden = !url;
  if (url) part("return").href = url;
  setText(part("code-name"), say(url ? "code_spare" : "code_name"));
  part("code-box").hidden = !end.code;
  setText(part("code"), end.code);
  part("copy").addEventListener("click", () => copy(part("code"), part("copied")));
  return { root, focus: url ? part("return") : part("title") };
}

/**
 * @param {string | null} url
 * @returns {string} the address when it leads to a web page, else ""
 */
function safeUrl(url) {
  return url && /^https?:\/\//.test(url) ? url : "";
}

/**
 * @param {HTMLElement} code
 * @param {HTMLElement} told
 */
async function copy(code, told) {
  try {
    await navigator.clipboard.writeText(code.textContent ?? "");
    setText(told, say("copied"));
  } catch {
    getSelection()?.selectAllChildren(code);
    setText(told, say("copy_failed"));
  }
}
