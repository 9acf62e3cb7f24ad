/** The checks before the trials; one class per kind, each fires "answer" (detail: what to send). */

import { ChoicesCheck, DigitsCheck } from "./checktrials.js";
import { reserve, setEnabled, setText, view } from "../shared/dom.js";
import { Player } from "./player.js";
import { say } from "./strings.js";

/** @import { Check } from "../shared/wire.js" */
/** @import { ClipStore } from "./clips.js" */
/** @import { Memory } from "./memory.js" */

const LISTEN_S = 2.5; // nobody sets a volume in less

/** A clip in a loop, while the rater turns the volume to where it is comfortable. */
export class VolumeCheck extends EventTarget {
  /**
   * @param {Check} check
   * @param {ClipStore} clips
   */
  constructor(check, clips) {
    super();
    const { root, part } = view("view-check");
    this.root = root;
    this.part = part;
    this.playedS = 0;
    this.seenAt = 0;
    this.sent = false;
    setText(part("title"), check.title);
    setText(part("text"), check.text);
    this.player = new Player({ name: say("check_clip"), clip: clips.get(check.clip), loop: true });
    part("player").append(this.player.root);
    reserve(part("missing"), [say("check_hear"), say("check_listen_on"), say("check_ready")]);
    this.player.addEventListener("change", () => this.update());
    part("confirm").addEventListener("click", () => this.confirm());
    this.update();
  }

  update() {
    const now = performance.now();
    const playing = this.player.state === "playing";
    if (playing && this.seenAt) this.playedS += Math.min(0.5, (now - this.seenAt) / 1000);
    this.seenAt = playing ? now : 0;
    const enough = this.playedS >= LISTEN_S;
    setEnabled(this.part("confirm"), enough);
    const begun = this.playedS > 0;
    const key = enough ? "check_ready" : begun ? "check_listen_on" : "check_hear";
    setText(this.part("missing"), say(key));
  }

  confirm() {
    if (this.sent) return;
    if (this.playedS < LISTEN_S) {
      this.player.part("toggle").focus();
      return;
    }
    this.sent = true;
    this.player.stop();
    /** @type {import("../shared/wire.js").VolumeAnswer} */
    const answer = {
      comfortable: true,
      played_s: Math.round(10 * this.playedS) / 10,
      plays: this.player.plays,
    };
    this.dispatchEvent(new CustomEvent("answer", { detail: answer }));
  }

  /** The server refused: the rater may press again. */
  reopen() {
    this.sent = false;
  }

  /** @returns {import("./keys.js").KeyDoors} */
  get keys() {
    return {
      play: () => this.player.toggle(),
      again: () => this.player.again(),
      choose: () => false,
      step: () => false,
      write: () => false,
      next: () => this.confirm(),
    };
  }

  destroy() {
    this.player.destroy();
  }
}

/**
 * @typedef {VolumeCheck | ChoicesCheck | DigitsCheck} CheckView
 * @type {Record<string, new (check: Check, clips: ClipStore, memory: Memory) => CheckView>}
 */
export const checks = { volume: VolumeCheck, choices: ChoicesCheck, digits: DigitsCheck };
