/** Facts about one trial that help to judge its answer: time, hidden page, device, stalls. */

/** This device's sound output, as far as the browser tells; 0: it does not. */
const output = { sample_rate_hz: 0, channels: 0 };

/** Asked for once, after the first sound: before it, it would delay that sound. */
export function sampleRate() {
  if (!output.sample_rate_hz && typeof AudioContext === "function") {
    try {
      const context = new AudioContext();
      output.sample_rate_hz = context.sampleRate;
      output.channels = context.destination.maxChannelCount;
      context.close();
    } catch {
      output.sample_rate_hz = 0;
    }
  }
  return output.sample_rate_hz;
}

export class Facts {
  /** @param {{elapsed_ms?: number, hidden_ms?: number, device_changes?: number, reloads?: number}} [draft] */
  constructor(draft = {}) {
    this.elapsed_ms = draft.elapsed_ms ?? 0; // before a reload
    this.hidden_ms = draft.hidden_ms ?? 0;
    this.device_changes = draft.device_changes ?? 0;
    this.reloads = draft.reloads ?? 0;
    this.ready_at = 0;
    this.hidden_at = document.hidden ? performance.now() : 0;
    this.stop = new AbortController();
    const { signal } = this.stop;
    document.addEventListener("visibilitychange", () => this.seen(), { signal });
    navigator.mediaDevices?.addEventListener?.(
      "devicechange",
      () => {
        this.device_changes += 1;
      },
      { signal },
    );
  }

  seen() {
    const now = performance.now();
    if (document.hidden) this.hidden_at = now;
    else if (this.hidden_at) {
      this.hidden_ms += now - this.hidden_at;
      this.hidden_at = 0;
    }
  }

  /** The first clip can be played: from here on the rater's time counts. */
  ready() {
    this.ready_at ||= performance.now();
  }

  get latency_ms() {
    return Math.round(this.elapsed_ms + (this.ready_at ? performance.now() - this.ready_at : 0));
  }

  get draft() {
    const { hidden_ms, device_changes, reloads } = this;
    return { elapsed_ms: this.latency_ms, hidden_ms, device_changes, reloads: reloads + 1 };
  }

  /**
   * @param {import("./sound.js").Sound[]} players
   * @returns {Record<string, number | boolean | number[]>}
   */
  playback(players) {
    this.seen();
    const sum = (/** @type {keyof import("./sound.js").Sound["facts"]} */ name) =>
      players.reduce((all, player) => all + player.facts[name], 0);
    const thousandth = (/** @type {number} */ x) => Math.round(1000 * x) / 1000;
    return {
      stalls: sum("stalls"),
      stalled_ms: sum("stalled_ms"),
      hidden_ms: Math.round(this.hidden_ms),
      sample_rate_hz: sampleRate(),
      channels: output.channels,
      device_changes: this.device_changes,
      reloads: this.reloads,
      blocked: sum("blocked"),
      skips: sum("skips"),
      decode_errors: sum("decode_errors"),
      load_failures: players.reduce((all, player) => all + player.clip.failures, 0),
      streamed: players.some((player) => player.clip.streamed),
      plays_each: players.map((player) => player.plays),
      starts_each: players.map((player) => player.starts ?? player.plays),
      heard_s: players.map((player) => thousandth(player.heard.seconds)),
      duration_s: players.map((player) => thousandth(player.duration)),
    };
  }

  end() {
    this.stop.abort();
  }
}
