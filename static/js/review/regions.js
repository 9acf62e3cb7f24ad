/** Clips that did not pass, on the researcher's page: a button plays the region that was marked. */

import { inNextFrame } from "../shared/dom.js";

/** @type {HTMLAudioElement | null} */
let playing = null;
let until = Infinity;

/** @param {HTMLAudioElement} audio @param {number} from @param {number} to in seconds */
async function playRegion(audio, from, to) {
  audio.currentTime = from;
  await audio.play();
  until = to;
  watch();
}

const watchLater = inNextFrame(() => watch(), 0);

/** Stops at the end of the region, to a frame; events of time come four times a second. */
function watch() {
  if (!playing || playing.paused || until === Infinity) return;
  if (playing.currentTime >= until) playing.pause();
  else watchLater();
}

document.addEventListener(
  "play",
  ({ target }) => {
    if (!(target instanceof HTMLAudioElement)) return;
    if (playing !== target) playing?.pause(); // one clip at a time
    playing = target;
    until = Infinity;
  },
  true,
);

for (const button of /** @type {NodeListOf<HTMLButtonElement>} */ (document.querySelectorAll("button[data-from]"))) {
  const audio = button.closest("li.failing-clip")?.querySelector("audio");
  if (!audio) continue;
  button.hidden = false;
  button.addEventListener("click", () => {
    const { from, to } = button.dataset;
    playRegion(audio, Number(from), Number(to)).catch(() => {
      button.textContent = "Could not be played";
    });
  });
}
