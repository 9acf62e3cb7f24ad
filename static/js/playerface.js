/** What a player looks like and says in each of its states. */

import { setEnabled, setText } from "./dom.js";
import { clock, say } from "./strings.js";

/** @typedef {import("./player.js").Player} Player */

/** @param {Player} player */
export function drawPlayer(player) {
  const { part, state, duration, audio, name } = player;
  player.root.dataset.state = state;
  setText(part("toggle-name"), say("toggle_of", { action: say(actionOf(player, state)), name }));
  setEnabled(part("toggle"), !["locked", "failed"].includes(state));
  setText(part("status"), statusText(player, state));
  const at = audio.ended ? duration : audio.currentTime;
  const shown = duration > 0 && !player.loop;
  setText(part("time"), shown ? timeText(state, duration, at) : "");
  part("progress").value = barValue(player, state, at);
  setEnabled(part("again"), state !== "locked" && duration > 0 && (at > 0 || player.plays > 0));
  drawProblem(player, state);
}

/**
 * @param {Player} player
 * @param {string} state
 */
function actionOf(player, state) {
  const coming = state === "loading" && player.wanted;
  if (state === "playing" || state === "buffering" || coming) return "pause";
  return state === "heard" ? "replay" : "play";
}

/**
 * @param {string} state
 * @param {number} duration
 * @param {number} at
 */
function timeText(state, duration, at) {
  const running = state === "playing" || state === "paused" || state === "buffering";
  return running ? say("time_left", { time: clock(duration - at) }) : clock(duration);
}

/**
 * @param {Player} player
 * @param {string} state
 * @param {number} at
 * @returns {number} 0 to 1
 */
function barValue(player, state, at) {
  if (state === "loading") return player.clip.percent / 100;
  if (state === "heard") return 1;
  return player.duration ? Math.min(1, at / player.duration) : 0;
}

/**
 * @param {Player} player
 * @param {string} state
 */
function statusText(player, state) {
  const { percent, status } = player.clip;
  if (state === "locked") return player.locked;
  if (state === "failed") return "";
  if (state === "loading" && percent && status === "loading") {
    return say("loading_percent", { percent });
  }
  if (state === "playing" && player.loop) return say("looping");
  if (state === "ready" && player.audio.ended) return say("unheard_rest");
  return say(state);
}

/**
 * @param {Player} player
 * @param {string} state
 */
function drawProblem(player, state) {
  const text = problemText(player, state);
  player.part("problem").hidden = !text;
  player.part("retry").hidden = state !== "failed";
  setText(player.part("problem-text"), text);
}

/**
 * @param {Player} player
 * @param {string} state
 */
function problemText(player, state) {
  if (state === "failed" && player.clip.status !== "failed") return say("undecodable");
  if (state === "failed") return say(navigator.onLine ? "load_retrying" : "load_offline");
  return player.blocked && state !== "playing" ? say("blocked") : "";
}
