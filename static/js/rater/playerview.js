/** What a player and its segments look like and say in each of their states. */

import { setEnabled, setText } from "../shared/dom.js";
import { clock, say } from "./strings.js";

/**
 * @typedef {object} Face a Player or a Sequence: what both can tell is drawn here
 * @property {HTMLElement} root
 * @property {import("../shared/views.js").Finder<import("../shared/views.js").PlayerParts>} part
 * @property {string} state
 * @property {number} duration
 * @property {HTMLAudioElement} audio
 * @property {import("./clips.js").Clip} clip
 * @property {string} name
 * @property {string} title
 * @property {number} plays
 * @property {boolean} loop
 * @property {boolean} wanted
 * @property {boolean} blocked
 * @property {boolean} silent
 * @property {import("./playbackrate.js").RateGuard} rate
 * @property {"" | "load" | "decode"} lost
 * @property {string} [locked] why it may not be played yet
 * @property {boolean} [skippable]
 * @property {number} [playsLeft] where plays are counted
 * @property {boolean} [spent] played as often as it may be
 */

/** @param {Face} player */
export function drawPlayer(player) {
  const { part, state, duration, audio, name } = player;
  if (player.root.dataset.state !== state) player.root.dataset.state = state;
  setText(part("name"), player.title);
  setText(part("toggle-name"), say("toggle_of", { action: say(actionOf(player, state)), name }));
  setEnabled(part("toggle"), !player.spent && !["locked", "failed"].includes(state));
  setText(part("status"), statusText(player, state));
  const at = audio.ended ? duration : audio.currentTime;
  const shown = duration > 0 && !player.loop;
  setText(part("time"), shown ? timeText(state, duration, at) : "");
  part("progress").value = barValue(player, state, at);
  setEnabled(part("again"), player.playsLeft !== 0 && state !== "locked" && duration > 0 && (at > 0 || player.plays > 0));
  drawProblem(player, state);
}

/**
 * @param {Face} player
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
 * @param {Face} player
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
 * @param {Face} player
 * @param {string} state
 */
function statusText(player, state) {
  const { percent, status } = player.clip;
  if (state === "locked") return player.locked ?? "";
  if (state === "failed") return "";
  if (state === "loading" && percent && status === "loading") {
    return say("loading_percent", { percent });
  }
  if (state === "playing" && player.loop) return say("looping");
  if (player.playsLeft !== undefined && (state === "ready" || state === "heard")) {
    return say("plays_left", { n: player.playsLeft });
  }
  if (state === "ready" && player.audio.ended) return say("unheard_rest");
  return say(state);
}

/**
 * @param {Face} player
 * @param {string} state
 */
function drawProblem(player, state) {
  const text = problemText(player, state);
  const lost = state === "failed" && Boolean(player.skippable && player.lost);
  player.part("problem").hidden = !text;
  player.part("retry").hidden = state !== "failed";
  player.part("skip").hidden = player.part("skip-help").hidden = !lost;
  setText(player.part("problem-text"), text);
}

/**
 * @param {Face} player
 * @param {string} state
 */
function problemText(player, state) {
  if (state === "failed" && player.lost === "decode") {
    return say(player.skippable ? "undecodable" : "undecodable_here");
  }
  if (state === "failed" && player.lost && player.skippable) return say("load_lost");
  if (state === "failed") return say(navigator.onLine ? "load_retrying" : "load_offline");
  if (player.silent) return say("no_output");
  if (player.rate.isForced) return say("rate_forced", { rate: player.rate.forced });
  return player.blocked && state !== "playing" ? say("blocked") : "";
}

/**
 * @param {import("./sequence.js").Sequence} sequence
 * @param {import("./sequence.js").Segment} segment
 * @param {number} k
 */
export function drawSegment(sequence, { root, part }, k) {
  const sound = sequence.sounds[k];
  const { audio, duration, name } = sound;
  const present = k === sequence.at;
  const reason = sequence.lockOf(k);
  const state = reason ? "locked" : sound.state;
  const waiting = present && sequence.gap !== undefined;
  if (root.dataset.state !== state) root.dataset.state = state;
  root.classList.toggle("heard", sound.complete);
  const now = present && (sequence.playing || sequence.plays > 0);
  if (now !== root.hasAttribute("aria-current")) {
    if (now) root.setAttribute("aria-current", "true");
    else root.removeAttribute("aria-current");
  }
  setEnabled(root, !reason);
  const action = state === "playing" || waiting ? "pause" : sound.complete ? "replay" : "play";
  const says = say("toggle_of", { action: say(action), name });
  setText(part("says"), reason ? `${says}. ${reason}` : says);
  const at = audio.ended ? duration : audio.currentTime;
  const running = present && !audio.ended && (at > 0 || waiting);
  part("progress").value = running ? at / (duration || 1) : sound.heard.seconds / (duration || 1);
}
