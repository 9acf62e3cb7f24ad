/** How long to wait before a request is tried again. */

/**
 * Milliseconds before the try with this number (0, 1, 2 …): doubling, with some spread.
 * @param {number} tries
 * @param {number} [random]
 * @param {number} [longest] where the doubling ends
 * @returns {number}
 */
export function backoffMs(tries, random = Math.random(), longest = 20_000) {
  return Math.min(1000 * 2 ** tries, longest) * (0.75 + random / 2);
}
