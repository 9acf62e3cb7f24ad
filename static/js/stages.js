/** The stages of the session page beside the trial: check, introduction, waiting, trouble, end. */

import { checks } from "./checks.js";
import { byId, setText, view } from "./dom.js";
import { endView } from "./ending.js";
import { insist } from "./patience.js";
import { tell } from "./sessionface.js";
import { say } from "./strings.js";
import { trimKeys } from "./trial.js";

/**
 * @typedef {import("./session.js").SessionPage} SessionPage
 * @typedef {{root: HTMLElement, keys?: import("./keys.js").KeyDoors, focus?: HTMLElement, destroy?: () => void}} Shown
 */

/** @returns {false} */
const idle = () => false;

/**
 * @param {SessionPage} page
 * @param {any} check
 * @returns {Shown}
 */
export function checkStage(page, check) {
  const kind = checks[check.key];
  if (!kind) return troubleStage(say("check_unknown"), () => location.reload());
  const shown = new kind(check, page.clips);
  shown.addEventListener("answer", async (event) => {
    const answer = /** @type {CustomEvent} */ (event).detail;
    const reply = await insist(() => page.api.post("checks", { key: check.key, answer }));
    shown.reopen();
    const good = reply.status < 300;
    tell(good ? "" : "warn", good ? "" : reply.body?.message || say("answer_refused"));
    page.accept(good ? reply.body : reply.body?.state);
  });
  return shown;
}

/**
 * @param {SessionPage} page
 * @param {import("./trial.js").Trial} trial
 * @returns {Shown}
 */
export function introStage(page, trial) {
  const { tasks, study } = page.state;
  const task = tasks[trial.task];
  const { root, part } = view("view-intro");
  const several = tasks.length > 1;
  setText(part("eyebrow"), several ? say("part", { n: trial.task + 1, total: tasks.length }) : "");
  part("eyebrow").hidden = !several;
  setText(part("title"), task.title || say("task"));
  setText(part("instructions"), task.instructions);
  for (const name of ["title", "instructions"]) part(name).lang = study.language;
  trimKeys(root, task, trial.clips.length);
  const next = () => {
    tell("", "");
    page.memory.begin(trial.task);
    page.render();
  };
  part("start").addEventListener("click", next);
  const keys = { play: idle, again: idle, playAt: idle, choose: idle, step: idle, write: idle, next };
  return { root, keys };
}

/**
 * @param {SessionPage} page
 * @returns {Shown}
 */
export function waitStage(page) {
  const { outbox } = page;
  const { root, part } = view("view-wait");
  const draw = () => {
    const away = outbox.status === "waiting";
    setText(part("text"), away ? say("wait_offline", { n: outbox.size }) : say("wait_sending"));
    part("retry").hidden = !away;
  };
  part("retry").addEventListener("click", () => outbox.hurry());
  outbox.addEventListener("change", draw);
  draw();
  return { root, destroy: () => outbox.removeEventListener("change", draw) };
}

/**
 * @param {string} text
 * @param {() => void} retry
 * @returns {Shown}
 */
export function troubleStage(text, retry) {
  const { root, part } = view("view-trouble");
  setText(part("text"), text);
  part("retry").addEventListener("click", retry);
  return { root };
}

/**
 * @param {SessionPage} page
 * @returns {Shown}
 */
export function endStage(page) {
  page.memory.clear();
  byId("withdraw").hidden = true;
  byId("saved").hidden = page.state.end.outcome === "withdrawn";
  return endView(page.state.end, page.state.study.language);
}
