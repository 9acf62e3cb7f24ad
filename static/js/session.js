/** The session page: moves through check, trials and end as the server's state and the outbox say. */

import { Api } from "./api.js";
import { ClipStore } from "./clips.js";
import { byId } from "./dom.js";
import { handleKey } from "./keys.js";
import { Memory } from "./memory.js";
import { Outbox, deviceStore } from "./outbox.js";
import { Refresher } from "./patience.js";
import { restDialog, showProgress, showSaved, tell } from "./sessionface.js";
import { checkStage, endStage, introStage, troubleStage, waitStage } from "./stages.js";
import { say } from "./strings.js";
import { Tabs } from "./tabs.js";
import { TrialView } from "./trial.js";
import { offerWithdrawal } from "./withdraw.js";

export class SessionPage {
  /** @param {any} state */
  constructor(state) {
    const code = location.pathname.match(/\/s\/([^/]+)/)?.[1] ?? "";
    const store = deviceStore();
    this.state = state;
    this.api = new Api(`/api/s/${code}/`);
    this.clips = new ClipStore();
    this.memory = new Memory(code, store);
    this.outbox = new Outbox(
      code,
      store,
      (answer) => this.api.post("answers", answer),
      (answers) => this.sendable(answers),
    );
    this.tabs = new Tabs(code);
    this.refresher = new Refresher(() => this.api.state(), (reply) => this.refreshed(reply));
    /** @type {Map<string, any>} drafts of trials left in this page load */
    this.drafts = new Map();
    /** @type {any} what is on the screen: {keys?, destroy?} */
    this.shown = null;
    this.shown_key = "";
    this.stage = byId("stage");
  }

  start() {
    byId("script-missing").remove();
    this.outbox.addEventListener("change", () => showSaved(this.outbox));
    this.outbox.addEventListener("settled", (event) => {
      const { answer, reply } = /** @type {CustomEvent} */ (event).detail;
      this.settled(answer, reply);
    });
    this.clips.addEventListener("gone", () => this.refresh());
    document.addEventListener("keydown", (event) => {
      if (this.shown?.keys) handleKey(event, this.shown.keys);
    });
    window.addEventListener("beforeunload", (event) => {
      if (!this.outbox.size || this.state.stage === "end") return;
      event.preventDefault();
      event.returnValue = "unsent"; // older browsers ask only when they find this
    });
    window.addEventListener("pagehide", () => this.keepDraft());
    window.addEventListener("pageshow", (event) => {
      if (event.persisted) this.comeBack();
    });
    restDialog(this.tabs, () => this.rest(), () => this.comeBack());
    offerWithdrawal(() => this.withdraw());
    this.tabs.take();
    this.render(false);
    this.outbox.flush();
  }

  /** The first trial that this device has not answered yet. */
  get current() {
    return this.upcoming[0] ?? null;
  }

  /** @returns {import("./trial.js").Trial[]} */
  get upcoming() {
    return this.state.trials.filter((/** @type {any} */ trial) => !this.outbox.has(trial.id));
  }

  /**
   * Answers go in the order of the trials: one that must be corrected holds back the later ones.
   * @param {import("./outbox.js").Answer[]} answers
   */
  sendable(answers) {
    /** @type {string[]} */
    const planned = this.state.trials.map((/** @type {any} */ trial) => trial.id);
    const first = answers.find((answer) => answer.trial === planned[0]);
    return first ?? answers.find((answer) => !planned.includes(answer.trial)) ?? null;
  }

  /** @param {any} state */
  accept(state) {
    if (state) this.state = state;
    this.render();
  }

  /**
   * What a trial's answer has come to.
   * @param {any} answer
   * @param {import("./api.js").Reply} reply
   */
  settled(answer, reply) {
    const { status, body } = reply;
    if (status < 300) {
      this.drafts.delete(answer.trial);
      this.accept(body.state);
    } else if (body?.error === "unknown_session") {
      this.trouble(say("unknown"));
    } else if (status === 409 || status === 404) {
      const known = body?.error === "lease_lost" ? "lease_lost" : "answer_elsewhere";
      tell("warn", body?.message || say(known));
      if (body?.state) this.accept(body.state);
      else this.refresh();
    } else {
      this.refused(answer, reply);
    }
  }

  /**
   * The answer needs correcting: its trial comes back as it was left.
   * @param {any} answer
   * @param {import("./api.js").Reply} reply
   */
  refused(answer, { body }) {
    const draft = this.drafts.get(answer.trial) ?? { ...answer, players: [] };
    if (body?.error === "not_heard") draft.players = [];
    this.keepDraft();
    this.drafts.set(answer.trial, draft);
    this.accept(body?.state);
    if (this.current?.id === answer.trial) this.shown.complain?.(body?.message || say("answer_refused"));
    else tell("warn", body?.message || say("answer_refused"));
  }

  /** Shows what state and outbox ask for, unless it is on the screen already. */
  render(focus = true) {
    const { stage } = this.state;
    const trial = stage === "trial" ? this.current : null;
    const check = stage === "check" ? this.state.check : null;
    this.preload(check);
    showProgress(this.state, trial, this.outbox.size);
    if (check) this.show(`check:${check.key}`, () => checkStage(this, check), focus);
    else if (stage === "end") this.show("end", () => endStage(this), focus);
    else if (trial && !this.memory.begun.includes(trial.task)) {
      this.show(`intro:${trial.task}`, () => introStage(this, trial), focus);
    } else if (trial) {
      this.show(`trial:${trial.id}:${trial.clips}`, () => this.trialStage(trial), focus);
    } else {
      this.show("wait", () => waitStage(this), focus);
      if (!this.outbox.size) this.refresh();
    }
  }

  /** @param {any} check */
  preload(check) {
    const urls = this.upcoming.slice(0, 3).flatMap((trial) => trial.clips);
    this.clips.want(check ? [check.clip, ...urls] : urls);
  }

  /**
   * @param {string} key
   * @param {() => {root: HTMLElement, keys?: any, focus?: HTMLElement, destroy?: () => void}} build
   * @param {boolean} focus
   */
  show(key, build, focus) {
    if (key === this.shown_key) return;
    this.keepDraft();
    this.shown?.destroy?.();
    this.shown_key = key;
    this.shown = build();
    this.stage.replaceChildren(this.shown.root);
    if (!focus) return;
    window.scrollTo(0, 0);
    const target = this.shown.focus ?? this.stage.querySelector("h1");
    (target ?? this.stage).focus({ preventScroll: true });
  }

  /** @param {import("./trial.js").Trial} trial */
  trialStage(trial) {
    const { tasks, progress, study } = this.state;
    const shown = new TrialView({
      trial,
      task: tasks[trial.task],
      total: progress.total,
      language: study.language,
      clips: this.clips,
      draft: this.drafts.get(trial.id) ?? this.memory.draftOf(trial.id),
    });
    shown.addEventListener("draft", () => this.memory.keepDraft(shown.draft));
    shown.addEventListener("answer", (event) => {
      tell("", "");
      this.drafts.set(trial.id, shown.draft);
      this.outbox.put(/** @type {CustomEvent} */ (event).detail);
      this.render();
    });
    return shown;
  }

  /** @param {string} text */
  trouble(text) {
    this.clips.want([]);
    this.show("trouble", () => troubleStage(text, () => location.reload()), true);
  }

  /** Keeps what the rater has done on the present trial. */
  keepDraft() {
    if (!(this.shown instanceof TrialView) || this.outbox.has(this.shown.trial.id)) return;
    const { draft } = this.shown;
    this.drafts.set(draft.trial, draft);
    if (this.tabs.active) this.memory.keepDraft(draft);
  }

  /** @param {import("./api.js").Reply} reply */
  refreshed({ status, body }) {
    if (status < 300) this.accept(body);
    else this.trouble(body?.message || say("unknown"));
  }

  /** Fetches the state anew. */
  refresh() {
    this.refresher.refresh();
  }

  /** Another tab has taken over. */
  rest() {
    this.keepDraft();
    this.outbox.paused = true;
    for (const player of this.shown?.players ?? []) player.stop();
    this.shown?.player?.stop();
  }

  /** This tab goes on: after a rest, or when the browser brings it back from its history. */
  comeBack() {
    this.tabs.take();
    this.drafts.clear();
    this.shown?.destroy?.();
    this.shown = null;
    this.shown_key = "";
    this.outbox.paused = false;
    this.outbox.reload();
    this.outbox.flush();
    this.refresh();
  }

  async withdraw() {
    const reply = await this.api.post("withdraw", { confirm: true });
    if (reply.status >= 300 || reply.status === 0) return false;
    for (const { trial } of [...this.outbox.answers]) this.outbox.remove(trial);
    this.accept(reply.body);
    return true;
  }
}

new SessionPage(JSON.parse(byId("state").textContent ?? "null")).start();
