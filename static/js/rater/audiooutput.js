/** The page's one sound output: made on a tap, woken when it sleeps; clips are decoded for it. */

/** Decoded, clips of a trial may last this long together: 115 MB in mono at 48 kHz. */
export const LONGEST_DECODED_S = 600;

/** So few bytes cannot hold more than that, however they are packed. */
const SURELY_SHORT_BYTES = 1_000_000;

const WAKING_MS = 3_000; // Bluetooth headphones take up to two seconds to open

/** @import { Clip } from "./clips.js" */

/** @type {AudioContext | null} */
let context = null;

/** @type {WeakMap<Blob, Promise<AudioBuffer>>} */
const decoded = new WeakMap();

/** Decoded ahead of their time, the next trial's clips may last this long: 38 MB. */
const LONGEST_AHEAD_S = 200;

/** @type {WeakMap<Blob, number>} */
const lengthsS = new WeakMap();

/**
 * The output; null while the rater has not touched the page, for it would be born asleep.
 * @param {boolean} [touched] called from a tap or a key
 */
export function output(touched = navigator.userActivation?.hasBeenActive ?? false) {
  try {
    if (touched) context ??= new AudioContext({ latencyHint: "interactive" });
  } catch {
    context = null; // no sound device, or too many outputs: the next tap tries again
  }
  return context;
}

/**
 * Must begin within a tap or a key.
 * @param {AudioContext} sound
 * @returns {Promise<boolean>} whether it runs
 */
export async function awake(sound) {
  if (sound.state === "running") return true;
  const late = new Promise((resolve) => {
    setTimeout(resolve, WAKING_MS);
  });
  try {
    await Promise.race([sound.resume(), late]);
  } catch {
    return false;
  }
  return /** @type {string} */ (sound.state) === "running";
}

/**
 * @param {Blob} blob
 * @param {BaseAudioContext} sound
 * @returns {Promise<AudioBuffer>} at the output's own rate, whatever the file's
 */
export function decode(blob, sound) {
  let coming = decoded.get(blob);
  if (!coming) {
    coming = blob.arrayBuffer().then((bytes) => sound.decodeAudioData(bytes));
    decoded.set(blob, coming);
    coming.catch(() => decoded.delete(blob));
  }
  return coming;
}

/**
 * @param {Clip} clip
 * @returns {Promise<number>} seconds; 0 when the browser cannot tell
 */
async function durationOf({ blob, source }) {
  const known = blob && lengthsS.get(blob);
  if (known) return known;
  const audio = new Audio();
  audio.preload = "metadata";
  const length = await new Promise((resolve) => {
    audio.addEventListener("loadedmetadata", () => resolve(audio.duration), { once: true });
    audio.addEventListener("error", () => resolve(0), { once: true });
    audio.src = source;
  });
  if (blob) lengthsS.set(blob, length);
  return length;
}

/**
 * Whether these clips, all here, are short enough to be decoded whole.
 * @param {Clip[]} clips
 * @param {number} [limitS]
 */
export async function fitsMemory(clips, limitS = LONGEST_DECODED_S) {
  if (clips.some((clip) => clip.streamed || !clip.blob)) return false;
  const bytes = clips.reduce((sum, clip) => sum + (clip.blob?.size ?? 0), 0);
  if (bytes < SURELY_SHORT_BYTES && limitS === LONGEST_DECODED_S) return true;
  const lengths = await Promise.all(clips.map((clip) => durationOf(clip)));
  return lengths.reduce((sum, length) => sum + length, 0) <= limitS;
}

/**
 * Decodes the clips of the trial to come while the present one is heard, one after the other.
 * @param {Clip[]} clips
 */
export async function decodeAhead(clips) {
  const sound = output();
  if (!sound || !clips.every(({ status }) => status === "ready")) return;
  if (!(await fitsMemory(clips, LONGEST_AHEAD_S))) return;
  for (const { blob } of clips) if (blob) await decode(blob, sound).catch(() => undefined);
}
