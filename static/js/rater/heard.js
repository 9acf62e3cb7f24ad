/** Which seconds of a clip were really heard: skipping forward and fast play do not count. */

const SLACK_S = 0.5; // clocks and events are this imprecise over one stretch of playing
const SPEED = 1.06;

/** The gap that still counts as "all of it": encoders pad and browsers round at both ends. */
const TOLERANCE_S = 0.1;
const TOLERANCE = 0.01;

/** @typedef {[number, number]} Range from and to, in seconds of the clip */

/**
 * The ranges with one more, sorted and joined where they touch.
 * @param {Range[]} ranges
 * @param {Range} range
 * @returns {Range[]}
 */
export function joined(ranges, range) {
  /** @type {Range[]} */
  const result = [];
  for (const [from, to] of [...ranges, range].sort((a, b) => a[0] - b[0])) {
    const last = result[result.length - 1];
    if (last && from <= last[1] + 0.02) last[1] = Math.max(last[1], to);
    else result.push([from, to]);
  }
  return result;
}

export class Heard {
  /** @param {Range[]} [ranges] what was heard before a reload */
  constructor(ranges = []) {
    this.ranges = ranges.reduce((all, range) => joined(all, range), /** @type {Range[]} */ ([]));
    /** @type {{media: number, wall: number} | null} where the present stretch began */
    this.start = null;
  }

  /**
   * Playing begins, or goes on, at this place of the clip.
   * @param {number} mediaS
   * @param {number} wallMs
   */
  begin(mediaS, wallMs) {
    this.start = { media: mediaS, wall: wallMs };
  }

  /**
   * The clip has got to this place; what lies between counts if there was time to hear it.
   * @param {number} mediaS
   * @param {number} wallMs
   */
  advance(mediaS, wallMs) {
    if (!this.start) return;
    const played = mediaS - this.start.media;
    const passed = ((wallMs - this.start.wall) / 1000) * SPEED + SLACK_S;
    if (played < 0 || played > passed) {
      this.begin(mediaS, wallMs);
    } else if (played > 0) {
      this.ranges = joined(this.ranges, [this.start.media, mediaS]);
    }
  }

  /** Playing paused, stalled, or jumped. */
  end() {
    this.start = null;
  }

  /** @returns {number} */
  get seconds() {
    return this.ranges.reduce((sum, [from, to]) => sum + to - from, 0);
  }

  /** How far the clip was heard without a gap from its start. */
  get frontier() {
    const first = this.ranges[0];
    return first && first[0] <= 2 * TOLERANCE_S ? first[1] : 0;
  }

  /**
   * @param {number} durationS
   * @returns {boolean}
   */
  complete(durationS) {
    if (!Number.isFinite(durationS) || durationS <= 0) return false;
    return durationS - this.seconds <= Math.max(TOLERANCE_S, TOLERANCE * durationS);
  }

  /**
   * The share heard, 0 to 1; 1 when complete.
   * @param {number} durationS
   * @returns {number}
   */
  fraction(durationS) {
    if (this.complete(durationS)) return 1;
    if (!Number.isFinite(durationS) || durationS <= 0) return 0;
    return Math.min(0.999, Math.floor((1000 * this.seconds) / durationS) / 1000);
  }
}
