/** The waveform of the reference on the time line: the same for every clip, so that none is known by it. */

const COLUMNS = 300;

/**
 * Draws the track into the place, once, as soon as it is decoded; clips that are streamed have no picture.
 * @param {HTMLElement} place
 * @param {import("./deck.js").Deck} deck
 * @param {number} track
 */
export function drawWave(place, deck, track) {
  const { mixer } = deck;
  const shape = /** @type {SVGPathElement} */ (place.querySelector("path"));
  if (!mixer || !("buffers" in mixer) || shape.hasAttribute("d")) return;
  const buffer = mixer.buffers[track];
  const columns = Math.max(1, Math.round((COLUMNS * buffer.duration) / mixer.duration));
  const heights = peaks(buffer, columns);
  const loudest = Math.max(...heights, 1e-4);
  const line = heights.map((peak, k) => `M${k + 0.5} ${-peak / loudest}V${peak / loudest}`);
  shape.setAttribute("d", line.join(""));
  shape.ownerSVGElement?.setAttribute("viewBox", `0 -1 ${COLUMNS} 2`);
}

/**
 * The highest sample of each column, over all channels.
 * @param {AudioBuffer} buffer
 * @param {number} columns
 */
export function peaks(buffer, columns) {
  const channels = Array.from({ length: buffer.numberOfChannels }, (_, k) => buffer.getChannelData(k));
  return Array.from({ length: columns }, (_, k) => {
    const [from, to] = [k, k + 1].map((edge) => Math.floor((edge * buffer.length) / columns));
    let peak = 0.01;
    for (const wave of channels) for (let n = from; n < to; n += 1) peak = Math.max(peak, Math.abs(wave[n]));
    return peak;
  });
}
