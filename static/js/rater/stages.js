/** The stages of the session page beside the trial: questions, check, introduction, practice, break, end. */

import { byId, setText, view } from "../shared/dom.js";
import { endView } from "./ending.js";
import { trimKeys, trimParallelKeys } from "./keys.js";
import { insist } from "./retry.js";
import { Player } from "./player.js";
import { clipKeys } from "./sequence.js";
import { tell } from "./sessionframe.js";
import { say } from "./strings.js";
import { titleOf } from "./trial.js";

/**
 * @typedef {import("./session.js").SessionPage} SessionPage
 * @typedef {{root: HTMLElement, keys?: import("./keys.js").KeyDoors, focus?: HTMLElement, destroy?: () => void}} Shown
 */

/**
 * The keys of a stage where Enter goes on, and Space plays the first clip if there is one.
 * @param {() => void} next
 * @param {Player[]} players
 * @returns {import("./keys.js").KeyDoors}
 */
function keysOf(next, players = []) {
  const idle = () => false;
  const play = () => players[0]?.toggle();
  return { play, again: () => players[0]?.again(), playAt: idle, choose: idle, step: idle, write: idle, next };
}

/**
 * Sends what the stage asks for, until the server has it.
 * @param {SessionPage} page
 * @param {any} shown
 * @param {"checks" | "questionnaires"} door
 * @param {(detail: any) => object} body
 */
function sendAnswers(page, shown, door, body) {
  shown.addEventListener("answer", async (/** @type {CustomEvent} */ event) => {
    const reply = await insist(() => page.api.post(door, body(event.detail)));
    shown.reopen?.();
    const good = reply.status < 300;
    const refused = !good && shown.refused?.(reply.body);
    const fine = good || refused;
    tell(fine ? "" : "warn", fine ? "" : reply.body?.message || say("answer_refused"));
    if (good || reply.body?.state) page.accept(good ? reply.body : reply.body.state);
  });
  return shown;
}

/**
 * @param {SessionPage} page
 * @param {any} check
 * @returns {Promise<Shown>}
 */
export async function checkStage(page, check) {
  const { checks } = await import("./checks.js");
  const kind = checks[check.kind];
  if (!kind) return troubleStage(say("check_unknown"), () => location.reload());
  const shown = new kind(check, page.clips, page.memory);
  return sendAnswers(page, shown, "checks", (answer) => ({ key: check.key, answer }));
}

/**
 * @param {SessionPage} page
 * @param {any} questionnaire
 * @returns {Promise<Shown>}
 */
export async function questionStage(page, questionnaire) {
  const { questionnaireStage } = await import("./questionnaire.js");
  const shown = questionnaireStage(page, questionnaire);
  const { key } = questionnaire;
  return sendAnswers(page, shown, "questionnaires", (answers) => ({ key, answers }));
}

/**
 * Small players below each other, each with its caption.
 * @param {SessionPage} page
 * @param {{clip: string, name: string, caption?: string}[]} clips
 * @param {HTMLElement} list
 */
function smallPlayers(page, clips, list) {
  list.hidden = !clips.length;
  return clips.map(({ clip, name, caption }) => {
    const { root, part } = view("view-example");
    const player = new Player({ name, clip: page.clips.get(clip) });
    part("player").append(player.root);
    part("caption").hidden = !caption;
    setText(part("caption"), caption ?? "");
    list.append(root);
    return player;
  });
}

/** @param {Player[]} players */
const destroyAll = (players) => players.forEach((player) => player.destroy());

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
  for (const name of ["title", "instructions", "examples"]) part(name).lang = study.language;
  const players = smallPlayers(page, task.examples, part("examples"));
  part("examples-title").hidden = !players.length;
  showKeys(root, task, trial);
  const next = () => {
    tell("", "");
    page.memory.begin(trial.task);
    page.render();
  };
  part("start").addEventListener("click", next);
  return { root, keys: keysOf(next, players), destroy: () => destroyAll(players) };
}

/**
 * The keys of the task's trials: those of clips that play together are listed in their own view.
 * @param {HTMLElement} root
 * @param {import("./trial.js").Task} task
 * @param {import("./trial.js").Trial} trial
 */
function showKeys(root, task, trial) {
  if (task.screen !== "parallel" && !task.several) {
    trimKeys(root, task, clipKeys(trial.parts, task.criteria));
    return;
  }
  const own = view("view-parallel");
  trimParallelKeys(own.part, task, trial.parts);
  root.querySelector("[data-keys]")?.replaceWith(own.root.querySelector("[data-keys]") ?? "");
}

/**
 * What the answer of a practice trial was worth, with its clips to be heard again.
 * @param {SessionPage} page
 * @param {import("./trial.js").Trial} trial
 * @param {{right: boolean | null, text: string, expected?: string[]}} feedback right is null where
 *   no answer is right or wrong
 * @returns {Shown}
 */
export function feedbackStage(page, trial, feedback) {
  const { root, part } = view("view-feedback");
  const { right, text, expected = [] } = feedback;
  const practice = titleOf(trial, page.state.progress.total);
  root.classList.toggle("right", right !== false);
  part("eyebrow").hidden = right === null;
  setText(part("eyebrow"), practice);
  if (right === null) setText(part("title"), practice);
  else setText(part("title"), say(right ? "practice_right" : "practice_wrong"));
  setText(part("text"), text || (right === false && expected.length ? `✓ ${expected.join(" · ")}` : ""));
  part("text").lang = page.state.study.language;
  const clips = trial.clips.map((clip, k) => ({ clip, name: trial.parts[k].name }));
  const players = smallPlayers(page, clips, part("clips"));
  const next = () => page.practised();
  part("next").addEventListener("click", next);
  return { root, keys: keysOf(next, players), destroy: () => destroyAll(players) };
}

/**
 * @param {SessionPage} page
 * @param {number} done
 * @returns {Shown}
 */
export function breakStage(page, done) {
  const { root, part } = view("view-break");
  setText(part("text"), say("break_text", { done, total: page.state.progress.total }));
  const next = () => {
    page.memory.rest(done);
    page.render();
  };
  part("next").addEventListener("click", next);
  return { root, keys: keysOf(next) };
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
  byId("saved").hidden = page.state.end.outcome === "withdrawn" || page.state.preview;
  const send = (/** @type {string} */ text) => insist(() => page.api.post("comments", { text }));
  return endView(page.state.end, page.state.study.language, send);
}
