/** One trial on the screen: players, scales, reason and the way on. */

import { cloned, setEnabled, setText, view } from "./dom.js";
import { Facts, sampleRate } from "./facts.js";
import { Justification } from "./justification.js";
import { Player } from "./player.js";
import { say } from "./strings.js";
import { Criteria } from "./widgets.js";

/**
 * @typedef {import("./clips.js").ClipStore} ClipStore
 * @typedef {{id: string, position: number, task: number, clips: string[], text: string | null}} Trial
 * @typedef {{index: number, title: string, instructions: string, clip_names: string[], criteria: any[],
 *            justification: import("./justification.js").Plan | null}} Task
 */

/** Fires "answer" (detail: the body to send) and "draft" (something worth keeping has changed). */
export class TrialView extends EventTarget {
  /**
   * @param {{trial: Trial, task: Task, total: number, language: string, clips: ClipStore, draft: any}} options
   */
  constructor({ trial, task, total, language, clips, draft }) {
    super();
    this.trial = trial;
    this.task = task;
    const { root, part } = view("view-trial");
    this.root = root;
    this.part = part;
    this.facts = new Facts(draft?.facts);
    this.complaint = "";
    setText(part("title"), say("trial_title", { n: trial.position, total }));
    this.buildText(language);
    this.players = this.buildPlayers(clips, draft?.players ?? []);
    this.criteria = new Criteria(cloned(`task-${task.index}`), task.criteria);
    this.criteria.restore(draft?.answers ?? {});
    part("criteria").append(...this.criteria.list.map((each) => each.fieldset));
    part("criteria").lang = language;
    this.justification = this.buildJustification(draft?.justification);
    this.listen();
    this.update();
  }

  /** @param {string} language */
  buildText(language) {
    const { part, trial, task } = this;
    part("text").hidden = !trial.text;
    part("text").lang = language;
    setText(part("text"), trial.text ?? "");
    part("instructions-fold").hidden = false;
    part("instructions").lang = language;
    setText(part("instructions"), task.instructions);
    trimKeys(this.root, task, trial.clips.length);
  }

  /**
   * @param {ClipStore} clips
   * @param {any[]} drafts
   */
  buildPlayers(clips, drafts) {
    const { trial, task } = this;
    const players = trial.clips.map((url, k) => {
      const name = task.clip_names[k] ?? `${say("clip")} ${k + 1}`;
      return new Player({ name, clip: clips.get(url), draft: drafts[k] });
    });
    this.part("players").replaceChildren(...players.map((player) => player.root));
    this.part("players").dataset.count = String(players.length);
    return players;
  }

  /** @param {any} draft */
  buildJustification(draft) {
    if (!this.task.justification) return null;
    const justification = new Justification(this.task.justification, draft);
    this.part("justification").append(justification.root);
    return justification;
  }

  listen() {
    for (const player of this.players) {
      player.addEventListener("change", () => this.update());
      player.addEventListener("play", () => {
        sampleRate();
        for (const other of this.players) if (other !== player) other.stop();
      });
      player.audio.addEventListener("pause", () => this.kept());
    }
    for (const part of [this.criteria, this.justification]) {
      part?.addEventListener("change", () => {
        this.complaint = "";
        this.update();
        this.kept();
      });
    }
    this.root.addEventListener("submit", (event) => {
      event.preventDefault();
      this.next();
    });
  }

  kept() {
    this.dispatchEvent(new Event("draft"));
  }

  get heard() {
    return this.players.every((player) => player.complete);
  }

  /** What is still missing, in words; "" when the answer can go. */
  get missing() {
    const unheard = this.players.find((player) => !player.complete);
    if (unheard) {
      const many = this.players.length > 1;
      return many ? say("missing_hear_of", { name: unheard.name }) : say("missing_hear");
    }
    return this.criteria.missing || this.justification?.missing || "";
  }

  update() {
    const { part, players, heard, missing } = this;
    if (players[0].first_ready_at) this.facts.ready();
    players.forEach((player, k) => {
      const before = players[k - 1];
      const reason = before && !before.complete ? say("after_first", { name: before.name }) : "";
      if (player.locked !== reason) player.lock(reason);
    });
    this.criteria.lock(!heard);
    this.justification?.lock(!heard);
    part("lock").hidden = heard;
    setText(part("lock-text"), say(players.length > 1 ? "lock_many" : "lock_one"));
    this.root.classList.toggle("locked", !heard);
    setEnabled(part("next"), !missing);
    setText(part("missing"), this.complaint || missing || say("complete"));
    part("missing").classList.toggle("all-set", !missing && !this.complaint);
    part("missing").classList.toggle("complaint", this.complaint !== "");
  }

  /** Shows why the server refused the answer, until the rater changes it. @param {string} text */
  complain(text) {
    this.complaint = text;
    this.update();
  }

  next() {
    if (!this.missing) {
      this.dispatchEvent(new CustomEvent("answer", { detail: this.answer }));
      return;
    }
    this.part("missing").classList.remove("nudge");
    requestAnimationFrame(() => this.part("missing").classList.add("nudge"));
    if (!this.heard) this.current.part("toggle").focus();
    else if (this.criteria.unanswered) this.criteria.unanswered.focus();
    else this.justification?.focus();
  }

  /** The player that keys work on: the first not yet heard, else the one played last. */
  get current() {
    const playing = this.players.find((player) => !player.audio.paused);
    const open = this.players.find((player) => !player.complete);
    return playing ?? open ?? this.players[this.players.length - 1];
  }

  /** @returns {import("./keys.js").KeyDoors} */
  get keys() {
    return {
      play: () => this.current.toggle(),
      again: () => this.current.again(),
      playAt: (place) => this.players.length > 1 && this.players[place]?.toggle(),
      choose: (key) => this.criteria.active.hotkey(key),
      step: (direction) => this.criteria.active.step(direction),
      write: () => this.write(),
      next: () => this.next(),
    };
  }

  write() {
    if (!this.heard || !this.justification) return false;
    this.justification.focus();
    return true;
  }

  get answer() {
    const { trial, criteria, justification, players, facts } = this;
    return {
      trial: trial.id,
      answers: criteria.answers,
      justification: justification?.reason ?? null,
      latency_ms: facts.latency_ms,
      plays: players.reduce((sum, player) => sum + player.plays, 0),
      heard_fraction: Math.min(...players.map((player) => player.fraction)),
      playback: facts.playback(players),
    };
  }

  get draft() {
    return {
      trial: this.trial.id,
      answers: this.criteria.answers,
      justification: this.justification?.reason,
      players: this.players.map((player) => player.draft),
      facts: this.facts.draft,
    };
  }

  destroy() {
    this.facts.end();
    for (const player of this.players) player.destroy();
  }
}

/**
 * Leaves only those keys in the list that do something in this task.
 * @param {Element} root
 * @param {Task} task
 * @param {number} clips
 */
export function trimKeys(root, task, clips) {
  /** @type {Record<string, boolean>} */
  const shown = {
    pair: clips > 1,
    steps: task.criteria.some((each) => each.scale.widget === "steps"),
    justification: task.justification !== null,
  };
  const steps = task.criteria.flatMap((each) => each.scale.steps);
  const keys = steps.map((step) => step.hotkey).filter(Boolean).sort();
  for (const edge of root.querySelectorAll("[data-keys-edge]")) {
    const last = edge instanceof HTMLElement && edge.dataset.keysEdge === "last";
    edge.textContent = (last ? keys.at(-1) : keys[0]) ?? "";
  }
  for (const entry of root.querySelectorAll("[data-keys-for]")) {
    if (entry instanceof HTMLElement) entry.hidden = !shown[entry.dataset.keysFor ?? ""];
  }
}
