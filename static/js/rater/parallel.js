/** A trial whose clips play together and are switched between: MUSHRA (BS.1534), ranking, best-worst. */

import { ClipButton, namesOf } from "./board.js";
import { boardFor, drawWave, fetchFor, isBoard } from "./boards.js";
import { Deck, Track } from "./deck.js";
import { flash, reserve, setText } from "../shared/dom.js";
import { trimParallelKeys } from "./keys.js";
import { say } from "./strings.js";
import { Transport } from "./transport.js";
import { TrialScreen } from "./trialscreen.js";

export { decodeAhead } from "./audiooutput.js";

/** The view of a task's trials, once all that this task needs is here. @param {import("../shared/wire.js").Task} task */
export async function viewFor(task) {
  await fetchFor(task);
  return ParallelTrialView;
}

/** @import { Labels } from "../shared/wire.js" */

/** What asks to listen to a clip, and what says that its slider is locked. */
const UNHEARD = {
  start: ["missing_listen", "lock_sliders"],
  whole: ["missing_listen_whole", "lock_sliders_whole"],
  share: ["missing_listen_share", "lock_sliders_share"],
};

/** Tasks whose hint was on the page once. @type {Set<number>} */
const hinted = new Set();

/** @extends {TrialScreen<"view-parallel">} */
export class ParallelTrialView extends TrialScreen {
  /**
   * @param {import("./trialscreen.js").TrialOptions} options
   */
  constructor(options) {
    super("view-parallel", options);
    const { trial, task, total, language, clips, draft } = options;
    const { part } = this;
    /** @type {ClipButton[]} */
    this.open = [];
    this.count = -1; // of clips heard enough
    setText(part("title"), say("trial_title", { n: trial.position, total }));
    const kept = draft && !Array.isArray(draft.players) ? draft.players : {};
    const tracks = trial.parts.map(
      ({ name, role }, place) =>
        new Track({ place, name, role, clip: clips.get(trial.clips[place]), draft: kept.tracks?.[place] }),
    );
    this.deck = new Deck(tracks, kept);
    this.deck.restarts = task.playback.restart;
    this.deck.barred = (place) => this.barred(tracks[place]);
    this.transport = new Transport(part, this.deck, trial.parts);
    this.boards = this.buildBoards(draft?.answers ?? {});
    this.buildText(language);
    this.buildOpen();
    const barring = task.playback.reference_first && this.reference ? [say("lock_reference")] : [];
    reserve(part("lock-text"), [...barring, this.openLockText]);
    this.listen();
    this.update();
  }

  /** For the page, which stops what plays. */
  get players() {
    return [{ stop: () => this.deck.pause() }];
  }

  get tracks() {
    return this.deck.tracks;
  }

  get rated() {
    return this.tracks.filter((track) => track.role === "rated");
  }

  get reference() {
    return this.tracks.find((track) => track.role === "reference");
  }

  /** @param {string} language */
  buildText(language) {
    const { part, trial, task } = this;
    part("words").lang = language;
    trimParallelKeys(this.root, task, trial.parts);
    const { hidden_reference: hides, waveform, needs_top: needsTop } = task.playback;
    const asked = hides && !needsTop && this.reference && task.criteria.some((each) => each.scale.widget === "sliders");
    part("hint").hidden = !asked || task.instructions.includes("100");
    part("hint-top").hidden = !needsTop;
    part("wave").hidden = !waveform || !this.reference;
    part("line").classList.toggle("waved", !part("wave").hidden);
    if (this.reference) setText(part("wave-name"), say("wave_of", { name: this.reference.name }));
    if (hinted.has(task.index)) part("instructions").after(part("hint")); // folded, like them
    hinted.add(task.index);
  }

  /** @param {import("../shared/wire.js").Criterion} plan */
  hasBoard(plan) {
    return isBoard(plan);
  }

  /** @param {Labels} answers */
  buildBoards(answers) {
    const boards = this.plans.filter(isBoard).map((plan) => boardFor(this.part("criteria"), plan, this.deck, this.rated));
    for (const board of boards) {
      board.restore(answers);
      this.follow(board);
    }
    return boards;
  }

  /** Buttons for the clips that no board shows: the reference, a context. */
  buildOpen() {
    const all = this.tracks.map((track, index) => ({ track, index }));
    const shown = all.filter(({ track }) => track.role !== "rated" || !this.boards.length);
    this.open = shown.map(({ index }) => new ClipButton(this.deck, index));
    this.part("open").append(...this.open.map((button) => button.root));
    this.part("open").hidden = !this.open.length;
  }

  listen() {
    this.deck.addEventListener("change", () => {
      this.note();
      this.update();
      this.kept();
    });
    this.deck.addEventListener("tick", () => this.heardMore());
    this.deck.addEventListener("barred", () => {
      this.complain(say("lock_reference"));
      flash(this.part("missing"));
    });
    this.part("skip").addEventListener("click", () => this.skip(this.deck.lost || "load"));
  }

  /** When the reference was heard, and when a rated clip began: the server asks for their order. */
  note() {
    const { deck, facts, rated, reference } = this;
    if (reference && this.enough(reference)) deck.referenceMs ??= facts.latencyMs;
    if (rated.some((track) => track.heard.seconds > 0)) deck.ratedMs ??= facts.latencyMs;
  }

  /** While it plays, the page changes only when a clip has been heard enough. */
  heardMore() {
    this.note();
    const count = this.tracks.filter((track) => this.enough(track)).length;
    if (count === this.count) return;
    this.complaint = "";
    this.update();
    this.kept();
  }

  /** @param {Track} track */
  enough(track) {
    return track.enough(this.task.playback.share);
  }

  /** Where the reference comes first, what is rated waits for it. @param {Track} track */
  barred(track) {
    if (!this.task.playback.reference_first || !this.reference) return false;
    return track.role === "rated" && this.deck.referenceMs === undefined;
  }

  /** A clip can be scored once it was heard, and what it is compared with. @param {Track} track */
  opened(track) {
    const others = this.tracks.filter((each) => each.role !== "rated");
    return [track, ...others].every((each) => this.enough(each));
  }

  get heard() {
    return this.tracks.every((track) => this.enough(track));
  }

  get missing() {
    const unheard = this.tracks.find((track) => !this.enough(track));
    if (unheard) {
      const name = namesOf(unheard).spoken;
      return say(this.unheard[0], { name, share: this.share });
    }
    const board = this.boards.find((each) => each.missing);
    return board?.missing || (this.lacksTop ? say("missing_top") : super.missing);
  }

  /** Whether one clip must get the highest grade, and none has it. */
  get lacksTop() {
    const { boards, task } = this;
    return Boolean(task.playback.needs_top) && boards.some(({ labels, plan }) => !labels.includes(String(plan.scale.span?.[1])));
  }

  get unheard() {
    const { share } = this.task.playback;
    return UNHEARD[share === null ? "start" : share === 1 ? "whole" : "share"];
  }

  get share() {
    return `${Math.round(100 * (this.task.playback.share ?? 0))} %`;
  }

  get lockText() {
    return this.tracks.some((track) => this.barred(track)) ? say("lock_reference") : this.openLockText;
  }

  /** What opens the answers once every clip may be played. */
  get openLockText() {
    if (this.boards.some((board) => board.plan.scale.widget === "ranking")) return say("lock_ranking");
    if (this.boards.some((board) => board.plan.scale.widget === "best_worst")) return say("lock_best_worst");
    return say(this.unheard[1], { share: this.share });
  }

  update() {
    const { part, deck } = this;
    this.count = this.tracks.filter((track) => this.enough(track)).length;
    if (deck.readyAt) this.facts.ready();
    if (this.reference) drawWave?.(part("wave"), deck, this.tracks.indexOf(this.reference));
    const opened = (/** @type {Track} */ track) => this.opened(track);
    const enough = (/** @type {Track} */ track) => this.enough(track);
    for (const board of this.boards) board.draw(enough, opened);
    for (const button of this.open) button.draw(this.enough(this.tracks[button.index]));
    super.update();
  }

  stop() {
    this.deck.pause();
  }

  focusMissing() {
    const unheard = this.tracks.find((track) => !this.enough(track));
    const board = this.boards.find((each) => each.missing);
    const buttons = [...this.open, ...(this.boards[0]?.rows.map((row) => row.button) ?? [])];
    if (unheard) buttons.find((each) => this.tracks[each.index] === unheard)?.root.focus();
    else if (board) board.focus(board.rows[board.labels.indexOf("")].track);
    else super.focusMissing();
  }

  /**
   * Selects a clip by key: its slider has the keys then.
   * @param {Track | undefined} track
   */
  pick(track) {
    if (!track) return false;
    this.deck.choose(this.tracks.indexOf(track));
    if (this.deck.tracks[this.deck.selected] === track) this.board?.focus(track);
    return true;
  }

  /** The board that has the keys: where the focus is, else the first. */
  get board() {
    return this.boards.find(({ fieldset }) => fieldset.contains(document.activeElement)) ?? this.boards[0];
  }

  /** @param {string} key a letter chooses a clip, a digit too where it does not answer */
  choose(key) {
    const { rated, boards, deck } = this;
    if (key === ",") return this.transport.mark("loop-from");
    if (key === ".") return this.transport.mark("loop-to");
    if (key === "x") return this.transport.clear();
    if (key === "0" && this.reference) return this.pick(this.reference);
    const selected = this.tracks[deck.selected];
    if (/^[1-9]$/.test(key)) {
      if (boards.some((board) => "digit" in board && board.digit(selected, Number(key)))) return true;
      const digits = boards.length > 0 && !boards.some((board) => board.plan.scale.widget === "ranking");
      if (digits) return this.pick(rated[Number(key) - 1]);
    }
    const named = rated.find((track) => namesOf(track).short.toLowerCase() === key);
    if (named) return this.pick(named);
    return this.criteria.list.length > 0 && this.criteria.active.hotkey(key);
  }

  /** @returns {import("./keys.js").KeyDoors} */
  get keys() {
    return {
      sound: (key) => this.choose(key),
      play: () => this.deck.toggle(),
      again: () => this.pick(this.reference) || this.deck.seek(0),
      choose: () => false,
      step: (direction) => this.step(direction),
      write: () => this.write(),
      next: () => this.next(),
    };
  }

  /** @param {1 | -1} direction */
  step(direction) {
    const selected = this.tracks[this.deck.selected];
    const { board, boards } = this;
    if (board && [board, ...boards].some((each) => each.step(selected, direction))) return true;
    return this.criteria.list.length > 0 && this.criteria.active.step(direction);
  }

  write() {
    if (!this.heard || !this.justification) return false;
    this.justification.focus();
    return true;
  }

  get answers() {
    return Object.assign({}, ...this.boards.map((board) => board.answers), super.answers);
  }

  get playback() {
    return { ...this.facts.playback(this.tracks), ...this.deck.facts };
  }

  get listening() {
    const { tracks } = this;
    return {
      plays: tracks.reduce((sum, track) => sum + track.plays, 0),
      heard_fraction: Math.min(...tracks.map((track) => track.fraction)),
    };
  }

  get playersDraft() {
    return this.deck.draft;
  }

  destroy() {
    super.destroy();
    this.deck.close();
  }
}
