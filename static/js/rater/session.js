/** The session page: moves from questions and checks over trials to the end, as state and outbox say. */

import { Api } from "./api.js";
import { ClipStore } from "./clips.js";
import { cookiesWork } from "./cookies.js";
import { byId } from "../shared/dom.js";
import { handleKey } from "./keys.js";
import { Memory } from "./memory.js";
import { Outbox, deviceStore } from "./outbox.js";
import { Refresher } from "./retry.js";
import { restDialog, showProgress, showSaved, tell } from "./sessionframe.js";
import {
  breakStage,
  checkStage,
  endStage,
  feedbackStage,
  introStage,
  questionStage,
  troubleStage,
  waitStage,
} from "./stages.js";
import { say } from "./strings.js";
import { Tabs } from "./tabs.js";
import { TrialView } from "./trial.js";
import { offerWithdrawal } from "./withdraw.js";

export class SessionPage {
  /**
   * @param {any} state
   * @param {any} api
   * @param {string} code
   */
  constructor(state, api, code) {
    const store = state.preview ? null : deviceStore();
    this.state = state;
    /** @type {Api} */
    this.api = api;
    this.api.refused = () => tell("bad", say("cookies_off"));
    this.clips = new ClipStore();
    this.memory = new Memory(code, store);
    this.outbox = new Outbox(
      code,
      store,
      (answer) => this.api.post("reason" in answer ? "skips" : "answers", answer),
      (answers) => this.sendable(answers),
    );
    this.tabs = new Tabs(code);
    this.refresher = new Refresher(() => this.api.state(), (reply) => this.refreshed(reply));
    /** @type {Map<string, any>} drafts of trials left in this page load */
    this.drafts = new Map();
    /** @type {{trial: any, feedback: any} | null} a practice trial that was answered */
    this.practice = null;
    /** @type {any} what is on the screen: {keys?, destroy?} */
    this.shown = null;
    this.shown_key = "";
    this.stage = byId("stage");
  }

  start() {
    byId("script-missing").remove();
    this.outbox.addEventListener("change", () => {
      if (!this.state.preview) showSaved(this.outbox);
      if (this.practice && this.outbox.status === "waiting") this.render();
    });
    this.outbox.addEventListener("settled", (event) => {
      const { answer, reply } = /** @type {CustomEvent} */ (event).detail;
      this.settled(answer, reply);
    });
    this.clips.addEventListener("gone", () => this.refresh());
    document.addEventListener("keydown", (event) => {
      if (this.shown?.keys) handleKey(event, this.shown.keys);
    });
    window.addEventListener("beforeunload", (event) => {
      if (!this.outbox.size || this.state.preview || this.state.stage === "end") return;
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
    if (!this.state.preview && !cookiesWork()) return this.trouble(say("cookies_off"));
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
    const practised = this.practice?.trial.id === answer.trial;
    if (practised && !(status < 300 && body.feedback)) this.practice = null;
    if (status < 300) {
      this.drafts.delete(answer.trial);
      if (practised && this.practice) this.practice.feedback = body.feedback;
      this.accept("stage" in body ? body : body.state);
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
    if (this.current?.id === answer.trial) this.shown?.complain?.(body?.message || say("answer_refused"));
    else tell("warn", body?.message || say("answer_refused"));
  }

  /** Shows what state and outbox ask for, unless it is on the screen already. */
  render(focus = true) {
    const { stage } = this.state;
    const trial = stage === "trial" ? this.current : null;
    this.preload(trial);
    showProgress(this.state, this.practice?.trial ?? trial, this.outbox.size);
    if (this.practice) this.showPractice(this.practice, focus);
    else if (stage === "check" || stage === "questionnaire") this.showBefore(stage, focus);
    else if (stage === "end") this.show("end", () => endStage(this), focus);
    else if (trial) this.showTrial(trial, focus);
    else {
      this.show("wait", () => waitStage(this), focus);
      if (!this.outbox.size) this.refresh();
    }
  }

  /**
   * @param {"check" | "questionnaire"} stage
   * @param {boolean} focus
   */
  showBefore(stage, focus) {
    const asked = this.state[stage];
    const key = `${stage}:${asked.key}:${asked.attempt ?? ""}`;
    const build = stage === "check" ? checkStage : questionStage;
    this.show(key, () => build(this, asked), focus);
  }

  /**
   * @param {import("./trial.js").Trial} trial
   * @param {boolean} focus
   */
  showTrial(trial, focus) {
    const done = trial.position - 1;
    const every = this.state.study.break_every;
    if (every && done && done % every === 0 && !trial.training && this.memory.rested < done) {
      this.show(`break:${done}`, () => breakStage(this, done), focus);
    } else if (!this.memory.begun.includes(trial.task)) {
      this.show(`intro:${trial.task}`, () => introStage(this, trial), focus);
    } else {
      this.show(`trial:${trial.id}:${trial.clips}`, () => this.trialStage(trial), focus);
    }
  }

  /**
   * The trial stays until the server has said what its answer was worth.
   * @param {{trial: any, feedback: any}} practice
   * @param {boolean} focus
   */
  showPractice({ trial, feedback }, focus) {
    if (feedback) {
      this.show(`feedback:${trial.id}`, () => feedbackStage(this, trial, feedback), focus);
    } else if (this.outbox.status === "waiting") {
      this.show("wait", () => waitStage(this), focus);
    }
  }

  /** The rater has read what the practice trial's answer was worth. */
  practised() {
    this.practice = null;
    this.render();
  }

  /** @param {any} trial the present one */
  preload(trial) {
    const { check, tasks } = this.state;
    const before = check ? [check.clip, ...(check.trials ?? []).map((/** @type {any} */ one) => one.clip)] : [];
    const task = trial && tasks[trial.task];
    const fresh = trial && !this.memory.begun.includes(trial.task);
    const examples = fresh ? task.examples.map((/** @type {any} */ one) => one.clip) : [];
    const upcoming = this.upcoming.slice(0, 3);
    const urls = upcoming.flatMap((each) => each.clips);
    const practice = this.practice?.trial.clips ?? [];
    const here = this.clips.want([...before, ...practice, ...examples, ...urls].filter(Boolean));
    if (!upcoming.some((each) => isParallel(tasks[each.task]))) return;
    import("./parallel.js").then(async ({ decodeAhead }) => {
      await here;
      const next = this.upcoming[1];
      if (next && isParallel(tasks[next.task])) decodeAhead(next.clips.map((url) => this.clips.get(url)));
    }, () => undefined); // the stage itself says that it did not come
  }

  /**
   * @param {string} key
   * @param {() => any} build what to show, or a promise of it
   * @param {boolean} focus
   */
  show(key, build, focus) {
    if (key === this.shown_key) return;
    this.keepDraft();
    this.shown?.destroy?.();
    this.shown_key = key;
    this.shown = null;
    const shown = build();
    if (!(shown instanceof Promise)) return this.place(shown, focus);
    shown.then(
      (later) => (this.shown_key === key ? this.place(later, focus) : later.destroy?.()),
      () => this.trouble(say("part_missing")),
    );
  }

  /**
   * @param {{root: HTMLElement, keys?: any, focus?: HTMLElement, destroy?: () => void}} shown
   * @param {boolean} focus
   */
  place(shown, focus) {
    this.shown = shown;
    this.stage.replaceChildren(shown.root);
    if (!focus) return;
    window.scrollTo(0, 0);
    const target = shown.focus ?? this.stage.querySelector("h1");
    (target ?? this.stage).focus({ preventScroll: true });
  }

  /** @param {import("./trial.js").Trial} trial */
  trialStage(trial) {
    const task = this.state.tasks[trial.task];
    if (!isParallel(task)) return this.trialView(trial, TrialView);
    return import("./parallel.js").then((module) => this.trialView(trial, module.ParallelTrialView));
  }

  /**
   * @param {import("./trial.js").Trial} trial
   * @param {any} kind
   */
  trialView(trial, kind) {
    const { tasks, progress, study } = this.state;
    const shown = new kind({
      trial,
      task: tasks[trial.task],
      total: progress.total,
      language: study.language,
      clips: this.clips,
      draft: this.drafts.get(trial.id) ?? this.memory.draftOf(trial.id),
    });
    shown.addEventListener("draft", () => this.memory.keepDraft(shown.draft));
    for (const name of ["answer", "skip"]) {
      shown.addEventListener(name, (/** @type {CustomEvent} */ event) => this.take(shown, event));
    }
    return shown;
  }

  /**
   * The rater has answered a trial, or goes on without it.
   * @param {any} shown
   * @param {CustomEvent} event
   */
  take(shown, { type, detail }) {
    tell("", "");
    const trial = this.current;
    this.drafts.set(detail.trial, shown.draft);
    if (type === "answer" && trial?.training) this.practice = { trial, feedback: null };
    this.outbox.put(detail);
    this.render();
  }

  /** @param {string} text */
  trouble(text) {
    this.clips.want([]);
    this.show("trouble", () => troubleStage(text, () => location.reload()), true);
  }

  /** Keeps what the rater has done on the present trial. */
  keepDraft() {
    const draft = this.shown?.draft;
    if (!draft || this.outbox.has(draft.trial)) return;
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

/** @param {{screen: string, several: boolean}} task */
function isParallel(task) {
  return task.screen === "parallel" || task.several;
}

async function open() {
  const state = JSON.parse(byId("state").textContent ?? "null");
  const code = location.pathname.match(/\/s\/([^/]+)/)?.[1] ?? "";
  if (!state.preview) return new SessionPage(state, new Api(`/api/s/${code}/`), code).start();
  const { PreviewApi } = await import("./preview.js");
  byId("withdraw").hidden = true;
  const api = new PreviewApi(state);
  new SessionPage(api.now, api, `preview-${Math.random()}`).start();
}

open();
