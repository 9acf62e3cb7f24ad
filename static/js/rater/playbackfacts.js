/** Facts about one trial that help to judge its answer: time, hidden page, device, stalls. */

/** @import { FactsDraft } from "../shared/wire.js" */

/**
 * @typedef {object} Listened what a Sound and a Track tell alike
 * @property {import("./clips.js").Clip} clip
 * @property {import("./heard.js").Heard} heard
 * @property {number} duration
 * @property {number} plays
 * @property {number} [starts]
 * @property {import("./playbackrate.js").RateGuard} [rate] of an audio element
 * @property {{stalls: number, stalledMs: number, blocked: number, silent: number, skips: number, decodeErrors: number}} facts
 */

/** This device's sound output, as far as the browser tells; 0: it does not. */
const output = { sampleRateHz: 0, channels: 0 };

/** Asked for once, after the first sound, which it would delay. */
export function sampleRate() {
  if (!output.sampleRateHz && typeof AudioContext === "function") {
    try {
      const context = new AudioContext();
      output.sampleRateHz = context.sampleRate;
      output.channels = context.destination.maxChannelCount;
      context.close();
    } catch {
      output.sampleRateHz = 0;
    }
  }
  return output.sampleRateHz;
}

/** What Chrome and Edge leave in a page that they translate. */
const TRANSLATED = ".translated-ltr, .translated-rtl, [_msttexthash], body > .skiptranslate";

/** Whether the browser has translated the page: texts to be compared and labels are left out of it. */
function isTranslated() {
  return document.querySelector(TRANSLATED) !== null;
}

export class Facts {
  /** @param {Partial<FactsDraft>} [draft] */
  constructor(draft = {}) {
    this.elapsedMs = draft.elapsed_ms ?? 0; // before a reload
    this.hiddenMs = draft.hidden_ms ?? 0;
    this.deviceChanges = draft.device_changes ?? 0;
    this.reloads = draft.reloads ?? 0;
    this.readyAt = 0;
    this.hiddenAt = document.hidden ? performance.now() : 0;
    this.stop = new AbortController();
    const { signal } = this.stop;
    this.jumps = this.scripted = 0;
    this.mouse = [NaN, NaN];
    for (const kind of ["pointermove", "pointerdown", "click", "keydown"]) {
      document.addEventListener(kind, (event) => this.hand(event), { signal, capture: true });
    }
    document.addEventListener("visibilitychange", () => this.seen(), { signal });
    navigator.mediaDevices?.addEventListener?.(
      "devicechange",
      () => {
        this.deviceChanges += 1;
      },
      { signal },
    );
  }

  /** Programs click where no mouse went. @param {Event} event */
  hand(event) {
    if (!event.isTrusted) this.scripted += 1;
    if (!event.type.startsWith("pointer")) return;
    const { clientX, clientY, pointerType } = /** @type {PointerEvent} */ (event);
    if (pointerType !== "mouse") return;
    const [x, y] = this.mouse;
    if (event.type === "pointerdown" && Math.hypot(clientX - x, clientY - y) > 30) this.jumps += 1;
    this.mouse = [clientX, clientY];
  }

  seen() {
    const now = performance.now();
    if (document.hidden) this.hiddenAt = now;
    else if (this.hiddenAt) {
      this.hiddenMs += now - this.hiddenAt;
      this.hiddenAt = 0;
    }
  }

  /** The first clip can be played: from here on the rater's time counts. */
  ready() {
    this.readyAt ||= performance.now();
  }

  get latencyMs() {
    return Math.round(this.elapsedMs + (this.readyAt ? performance.now() - this.readyAt : 0));
  }

  /** @returns {FactsDraft} */
  get draft() {
    return {
      elapsed_ms: this.latencyMs,
      hidden_ms: this.hiddenMs,
      device_changes: this.deviceChanges,
      reloads: this.reloads + 1,
    };
  }

  /**
   * @param {Listened[]} players
   * @returns {import("../shared/wire.js").Playback}
   */
  playback(players) {
    this.seen();
    const sum = (/** @type {keyof Listened["facts"]} */ name) =>
      players.reduce((all, player) => all + player.facts[name], 0);
    const thousandth = (/** @type {number} */ x) => Math.round(1000 * x) / 1000;
    return {
      stalls: sum("stalls"),
      stalled_ms: sum("stalledMs"),
      hidden_ms: Math.round(this.hiddenMs),
      sample_rate_hz: sampleRate(),
      channels: output.channels,
      device_changes: this.deviceChanges,
      reloads: this.reloads,
      driven: navigator.webdriver === true,
      pointer_jumps: this.jumps,
      scripted_events: this.scripted,
      rate: players.find(({ rate }) => rate && rate.forced !== 1)?.rate?.forced ?? 1,
      translated: isTranslated(),
      blocked: sum("blocked"),
      silent: sum("silent"),
      skips: sum("skips"),
      decode_errors: sum("decodeErrors"),
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
