/** The frame around the stages: progress, the notice, what is saved, and the word about another tab. */

import { byId, setText } from "../shared/dom.js";
import { say } from "./strings.js";

const SLOW_MS = 1_500; // sending that takes longer than this is worth a word

/**
 * @param {import("../shared/wire.js").State} state
 * @param {import("../shared/wire.js").Trial | null} trial
 * @param {number} unsent
 */
export function showProgress(state, trial, unsent) {
  const { done, total } = state.progress;
  const bar = /** @type {HTMLProgressElement} */ (byId("progress"));
  const passed = trial ? trial.position - 1 : Math.min(total, done + unsent);
  bar.max = Math.max(1, total);
  bar.value = state.stage === "end" && state.end?.outcome === "complete" ? bar.max : passed;
  bar.hidden = state.stage === "end" && state.end?.outcome !== "complete";
  const place = trial?.training
    ? say("practice", trial.training)
    : trial && say("count", { done: trial.position, total });
  setText(byId("count"), place ?? state.questionnaire?.place ?? "");
}

/**
 * A sentence above the stage, until the rater's next answer; "" takes it away.
 * @param {"" | "warn" | "bad"} kind
 * @param {string} text
 */
export function tell(kind, text) {
  const notice = byId("notice");
  notice.className = kind ? `notice notice-${kind}` : "notice";
  notice.hidden = !text;
  setText(byId("notice-text"), text);
}

/**
 * Where a phone's keyboard lies over the page instead of making it smaller, what sticks to the
 * bottom is lifted by as much: the counter and the way on stay in sight.
 */
export function stayAboveKeyboard() {
  const seen = window.visualViewport;
  if (!seen) return;
  const lift = () => {
    const covered = seen.scale > 1.01 ? 0 : window.innerHeight - seen.height - seen.offsetTop;
    const height = `${Math.max(0, Math.round(covered))}px`;
    document.documentElement.style.setProperty("--covered", height);
  };
  seen.addEventListener("resize", lift);
  seen.addEventListener("scroll", lift);
}

/** @type {number | undefined} */
let slow;

/** Nothing was sent yet, so there is nothing to call saved. */
let begun = false;

/** @param {import("./outbox.js").Outbox} outbox */
export function showSaved(outbox) {
  const line = byId("saved");
  clearTimeout(slow);
  begun ||= outbox.size > 0;
  if (outbox.status === "waiting") {
    setText(line, say(outbox.durable ? "unsent" : "unsent_memory", { n: outbox.size }));
  } else if (outbox.size) {
    slow = window.setTimeout(() => setText(line, say("saving")), SLOW_MS);
  } else {
    setText(line, begun ? say("saved") : "");
  }
  line.classList.toggle("unsent", outbox.status === "waiting");
}

/**
 * @param {import("./tabs.js").Tabs} tabs
 * @param {() => void} rest
 * @param {() => void} comeBack
 */
export function restDialog(tabs, rest, comeBack) {
  const dialog = /** @type {HTMLDialogElement} */ (byId("tab-dialog"));
  dialog.addEventListener("cancel", (event) => event.preventDefault());
  byId("tab-take").addEventListener("click", () => {
    dialog.close();
    comeBack();
  });
  tabs.addEventListener("rest", () => {
    rest();
    if (!dialog.open) dialog.showModal();
  });
}
