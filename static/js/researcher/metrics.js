// The metrics page while clips are scored: looks again every few seconds. Without this file the page reloads.

const place = document.querySelector("#run");

/**
 * @typedef {{run: number, state: string, works: boolean, total: number, done: number, failed: number,
 *   percent: number, shards: number, workers: number, stuck: number, doing: string}} Told
 */

/**
 * How far the run is now; null when the server does not answer.
 * @param {string} url
 * @returns {Promise<Told | null>}
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
 * The sentences of the page about a run.
 * @param {Told} told
 * @returns {Record<string, string>}
 */
function words(told) {
  const workers = `${told.workers} worker${told.workers === 1 ? "" : "s"}`;
  const waits = told.stuck ? "" : "Waiting for a worker.";
  return {
    done: String(told.done),
    total: String(told.total),
    failed_told: told.failed ? `, ${told.failed} failed` : "",
    doing_told: told.workers ? workers + (told.doing ? `: ${told.doing}` : "") : waits,
    stuck_told: told.stuck
      ? `${told.stuck} of ${told.shards} parts have heard nothing of their worker for over a minute. `
        + "They are taken up again by themselves as soon as a worker is there."
      : "",
  };
}

async function look() {
  if (!(place instanceof HTMLElement)) return;
  const told = document.hidden ? null : await asked(place.dataset.url ?? "");
  if (told) {
    if (!told.works || String(told.run) !== place.dataset.run) return location.reload();
    for (const [name, text] of Object.entries(words(told))) {
      const shown = place.querySelector(`[data-told="${name}"]`);
      if (shown && shown.textContent !== text) shown.textContent = text;
    }
    const bar = place.querySelector("progress");
    if (bar) bar.value = told.percent;
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
