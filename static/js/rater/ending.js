/** The last page: what became of the session, the code or link to take along, a last word. */

import { setText, view } from "../shared/dom.js";
import { refusalOf } from "./api.js";
import { canSay, say } from "./strings.js";

/** @import { Reply } from "./api.js" */

/**
 * @typedef {import("../shared/views.js").Finder<import("../shared/views.js").EndParts>} Finder
 */

/**
 * @param {import("../shared/wire.js").End} end
 * @param {string} language
 * @param {(text: string) => Promise<Reply>} sendComment
 * @returns {{root: HTMLElement, focus: HTMLElement}}
 */
export function endView(end, language, sendComment) {
  const { root, part } = view("view-end");
  root.dataset.outcome = end.outcome;
  part("mark").hidden = end.outcome !== "complete";
  setText(part("title"), say(canSay(`end_${end.outcome}`) ? `end_${end.outcome}` : "end_partial"));
  setText(part("text"), end.text);
  part("text").lang = language;
  const url = safeUrl(end.return_url);
  part("next").hidden = !end.next;
  setText(part("next"), end.next);
  part("return").hidden = !url;
  if (url) part("return").href = url;
  setText(part("return"), end.button);
  setText(part("code-name"), say(url ? "code_spare" : "code_name"));
  part("code-box").hidden = !end.code;
  setText(part("code"), end.code);
  part("copy").addEventListener("click", () => copy(part("code"), part("copied")));
  part("debrief-box").hidden = !end.debrief;
  setText(part("debrief"), end.debrief ?? "");
  part("debrief").lang = language;
  part("comment-box").hidden = !end.comment;
  if (end.comment_prompt) setText(part("comment-name"), end.comment_prompt);
  part("comment-box").addEventListener("submit", (event) => {
    event.preventDefault();
    comment(part, sendComment);
  });
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

/**
 * @param {Finder} part
 * @param {(text: string) => Promise<Reply>} send
 */
async function comment(part, send) {
  const text = part("comment").value.trim();
  if (!text) return part("comment").focus();
  part("comment-send").disabled = true;
  setText(part("comment-told"), "");
  const { status, body } = await send(text);
  part("comment-send").disabled = false;
  const good = status < 300;
  setText(part("comment-told"), good ? say("comment_sent") : refusalOf(body).message || say("answer_refused"));
  part("comment-fields").hidden = good;
}
