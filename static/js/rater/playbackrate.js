/** The speed at which a clip plays: ours, or one that a browser extension forces on it. */

/** So often a speed that is not ours is put right for each press of play; then the rater is told. */
const MOST_RESETS = 3;

/** Holds an audio element at its own speed; an extension that sets it again and again wins, and is named. */
export class RateGuard {
  /**
   * @param {HTMLAudioElement} audio
   * @param {() => void} changed told when the speed is forced, or no more
   */
  constructor(audio, changed) {
    this.audio = audio;
    this.changed = changed;
    this.resets = 0;
    /** The speed that was forced last; 1 where none was. */
    this.forced = 1;
    audio.addEventListener("ratechange", () => this.held());
  }

  /** Whether the clip plays at a speed that is not ours, and stays so. */
  get isForced() {
    return this.audio.playbackRate !== 1 && this.resets >= MOST_RESETS;
  }

  /** The rater presses play: it is put right once more. */
  begin() {
    this.resets = 0;
    this.held();
  }

  held() {
    const { audio } = this;
    if (audio.playbackRate === 1) return this.changed();
    this.forced = audio.playbackRate;
    if (this.resets >= MOST_RESETS) return this.changed();
    this.resets += 1;
    audio.playbackRate = 1;
  }
}
