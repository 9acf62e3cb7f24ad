// The metrics page while clips are scored or metrics installed: looks again every few seconds.
// Without this file the page reloads.

import { setText } from "../shared/dom.js";

const place = document.querySelector("#run");
const installation = document.querySelector("#installation");

/** @import { ScoringRun } from "../shared/wire.js" */

/**
 * How far the run is now; null when the server does not answer.
 * @param {string} url
 * @returns {Promise<ScoringRun | null>}
 */
async function asked(url) {
  try {
    const answer = await fetch(url, { headers: { Accept: "application/json" } });
    if (!answer.ok || answer.redirected) return null;
    return await answer.json();
  } catch {
    return null;
  }
}

/**
 * The sentences of the page about a run, with the place of each.
 * @param {ScoringRun} run
 * @returns {[place: string, text: string][]}
 */
function sentences(run) {
  const workers = `${run.workers} worker${run.workers === 1 ? "" : "s"}`;
  const waits = run.stuck ? "" : "Waiting for a worker.";
  const stuck = `${run.stuck} of ${run.shards} parts have had no contact with their worker for over a minute. `
    + "They restart automatically when a worker is available.";
  return [
    ["done", String(run.done)],
    ["total", String(run.total)],
    ["left", run.left],
    ["failed_told", run.failed ? `, ${run.failed} failed` : ""],
    ["doing_told", run.workers ? workers + (run.doing ? `: ${run.doing}` : "") : waits],
    ["stuck_told", run.stuck ? stuck : ""],
  ];
}

/** The installation's line; the page is loaded again when it has ended. */
async function lookAtInstallation() {
  if (!(installation instanceof HTMLElement)) return;
  const state = document.hidden ? null : await asked(installation.dataset.url ?? "");
  if (state && !state.installation) {
    location.reload();
    return;
  }
  const [words, bar] = [installation.querySelector("p"), installation.querySelector("progress")];
  if (state && words) setText(words, state.installation);
  const megabytes = /([\d,]+) of [\d,]+ MB/.exec(state?.installation ?? "")?.[1];
  if (bar && megabytes) bar.value = Number(megabytes.replaceAll(",", ""));
  setTimeout(lookAtInstallation, 1000 * Number(installation.dataset.every));
}

async function look() {
  if (!(place instanceof HTMLElement)) return;
  const run = document.hidden ? null : await asked(place.dataset.url ?? "");
  if (run) {
    if (!run.works || String(run.run) !== place.dataset.run) {
      location.reload();
      return;
    }
    for (const [name, text] of sentences(run)) {
      const shown = place.querySelector(`[data-told="${name}"]`);
      if (shown) setText(shown, text);
    }
    const bar = place.querySelector("progress");
    if (bar) bar.value = run.percent;
  }
  setTimeout(look, 1000 * Number(place.dataset.every));
}

/** Ticking a metric chooses the ticked ones. */
document.addEventListener("change", ({ target }) => {
  if (!(target instanceof HTMLInputElement) || target.name !== "metric" || !target.checked) return;
  const own = document.querySelector('input[name="preset"][value="own"]');
  if (own instanceof HTMLInputElement) own.checked = true;
});

if (place instanceof HTMLElement) setTimeout(look, 1000 * Number(place.dataset.every));
if (installation instanceof HTMLElement) setTimeout(lookAtInstallation, 1000 * Number(installation.dataset.every));
