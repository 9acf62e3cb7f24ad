/** The stages of the session page beside the trial: questions, check, introduction, practice, break, end. */

import { byId, setText, view } from "../shared/dom.js";
import { refusalOf, stateIn } from "./api.js";
import { trimKeys, trimParallelKeys } from "./keys.js";
import { insist } from "./retry.js";
import { Player } from "./player.js";
import { clipKeys } from "./sequence.js";
import { tell } from "./sessionframe.js";
import { say } from "./strings.js";
import { titleOf } from "./trial.js";

/** @import { SessionPage } from "./session.js" */
/** @import { Posts, Trial } from "../shared/wire.js" */

/**
 * @typedef {object} Shown what is on the screen
 * @property {HTMLElement} root
 * @property {import("./keys.js").KeyDoors} [keys]
 * @property {HTMLElement} [focus]
 * @property {() => void} [destroy]
 * @property {import("../shared/wire.js").TrialDraft} [draft]
 * @property {(text: string) => void} [complain]
 * @property {{stop: () => void}} [player]
 * @property {{stop: () => void}[]} [players]
 *
 * @typedef {object} Asking what a form does when the server has answered
 * @property {() => void} reopen
 * @property {(refusal: Partial<import("../shared/wire.js").Refusal>) => boolean} [refused]
 *
 * @typedef {{checks: Posts["checks"]["answer"], questionnaires: Posts["questionnaires"]["answers"]}} Details
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
  return { play, again: () => players[0]?.again(), choose: idle, step: idle, write: idle, next };
}

/**
 * Sends what the stage asks for, until the server has it.
 * @template {"checks" | "questionnaires"} D
 * @param {SessionPage} page
 * @param {EventTarget & Shown & Asking} shown
 * @param {D} door
 * @param {(detail: Details[D]) => Posts[D]} body
 * @returns {Shown}
 */
function sendAnswers(page, shown, door, body) {
  shown.addEventListener("answer", async (event) => {
    const { detail } = /** @type {CustomEvent<Details[D]>} */ (event);
    const reply = await insist(() => page.api.post(door, body(detail)));
    shown.reopen();
    const good = reply.status < 300;
    const refusal = refusalOf(reply.body);
    const fine = good || shown.refused?.(refusal);
    tell(fine ? "" : "warn", fine ? "" : refusal.message || say("answer_refused"));
    const state = stateIn(reply.body);
    if (good || state) page.accept(state);
  });
  return shown;
}

/**
 * @param {SessionPage} page
 * @param {import("../shared/wire.js").Check} check
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
 * @param {import("../shared/wire.js").Questionnaire} questionnaire
 * @returns {Promise<Shown>}
 */
export async function questionStage(page, questionnaire) {
  const { questionnaireStage } = await import("./questionnaire.js");
  const shown = await questionnaireStage(page, questionnaire);
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
 * @param {Trial} trial
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
  part("title").lang = part("instructions").lang = part("examples").lang = study.language;
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
 * @param {import("../shared/wire.js").Task} task
 * @param {Trial} trial
 */
function showKeys(root, task, trial) {
  if (task.screen !== "parallel" && !task.several) {
    trimKeys(root, task, clipKeys(trial.parts, task.criteria));
    return;
  }
  const own = view("view-parallel");
  trimParallelKeys(own.root, task, trial.parts);
  root.querySelector("[data-keys]")?.replaceWith(own.root.querySelector("[data-keys]") ?? "");
}

/**
 * What the answer of a practice trial was worth, with its clips to be heard again.
 * @param {SessionPage} page
 * @param {Trial} trial
 * @param {import("../shared/wire.js").Feedback} feedback right is null where no answer is right or wrong
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
 * @param {import("../shared/wire.js").End} end
 * @returns {Promise<Shown>}
 */
export async function endStage(page, end) {
  page.memory.clear();
  byId("withdraw").hidden = !end.withdrawable;
  byId("withdraw-break").hidden = true; // there is nothing left to come back to
  byId("saved").hidden = end.outcome === "withdrawn" || page.state.preview;
  const send = (/** @type {string} */ text) => insist(() => page.api.post("comments", { text }));
  const { endView } = await import("./ending.js");
  return endView(end, page.state.study.language, send);
}
