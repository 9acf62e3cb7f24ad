/** Waveforms: of the reference on a trial's time line, and of every clip on the review desk. */

export const COLUMNS = 300; // of the picture: both templates' viewBox

/**
 * Draws the track into the place, once, as soon as it is decoded; clips that are streamed have no picture.
 * It is the same picture for every clip, so that none is known by it.
 * @param {HTMLElement} place
 * @param {import("./deck.js").Deck} deck
 * @param {number} track
 */
export function drawWave(place, deck, track) {
  const { mixer } = deck;
  const shape = /** @type {SVGPathElement} */ (place.querySelector("path"));
  if (!mixer || !("buffers" in mixer) || shape.hasAttribute("d")) return;
  const buffer = mixer.buffers[track];
  shape.setAttribute("d", outline(buffer, Math.max(1, Math.round((COLUMNS * buffer.duration) / mixer.duration))));
}

/**
 * A line for each column, as high as its highest sample over all channels; the loudest fills the picture.
 * @param {AudioBuffer} buffer
 * @param {number} columns
 */
export function outline(buffer, columns) {
  const channels = Array.from({ length: buffer.numberOfChannels }, (_, k) => buffer.getChannelData(k));
  const heights = Array.from({ length: columns }, (_, k) => {
    const [from, to] = [k, k + 1].map((edge) => Math.floor((edge * buffer.length) / columns));
    let peak = 0.01;
    for (const wave of channels) for (let n = from; n < to; n += 1) peak = Math.max(peak, Math.abs(wave[n]));
    return peak;
  });
  const loudest = Math.max(...heights);
  return heights.map((peak, k) => `M${k + 0.5} ${-peak / loudest}V${peak / loudest}`).join("");
}
