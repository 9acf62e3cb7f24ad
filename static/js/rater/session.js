/** The session page: moves from questions and checks over trials to the end, as state and outbox say. */

import { Api, refusalOf, stateIn } from "./api.js";
import { ClipStore } from "./clips.js";
import { cookiesWork } from "./cookies.js";
import { byId } from "../shared/dom.js";
import { handleKey, offerSingleKeys } from "./keys.js";
import { rememberRater } from "./known.js";
import { Memory } from "./memory.js";
import { Outbox, deviceStore } from "./outbox.js";
import { Refresher } from "./retry.js";
import { restDialog, showProgress, showSaved, stayAboveKeyboard, tell } from "./sessionframe.js";
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
import { TrialView, isParallel, scaleModule } from "./trial.js";
import { offerWithdrawal } from "./withdraw.js";

/** @import { Reply } from "./api.js" */
/** @import { Answer } from "./outbox.js" */
/** @import { Shown } from "./stages.js" */
/** @import { Feedback, State, Task, Trial, TrialDraft } from "../shared/wire.js" */

/**
 * @typedef {typeof TrialView | typeof import("./parallel.js").ParallelTrialView} TrialKind
 * @typedef {{trial: Trial, feedback: Feedback | null}} Practice
 */

/** A part of the page that has not come in this time is missed in words. */
const PART_LIMIT_MS = 15_000;

export class SessionPage {
  /**
   * @param {State} state
   * @param {Pick<Api, "state" | "post" | "refused">} api
   * @param {string} code
   */
  constructor(state, api, code) {
    const store = state.preview ? null : deviceStore();
    this.state = state;
    this.api = api;
    this.api.refused = () => tell("bad", say("cookies_off"));
    this.clips = new ClipStore();
    this.memory = new Memory(code, store);
    this.outbox = new Outbox(
      code,
      store,
      (answer) =>
        "reason" in answer ? this.api.post("skips", answer) : this.api.post("answers", answer),
      (answers) => this.sendable(answers),
    );
    this.tabs = new Tabs(code);
    this.refresher = new Refresher(() => this.api.state(), (reply) => this.refreshed(reply));
    /** @type {Map<string, TrialDraft>} drafts of trials left in this page load */
    this.drafts = new Map();
    /** @type {Practice | null} a practice trial that was answered */
    this.practice = null;
    /** @type {Shown | null} */
    this.shown = null;
    this.shownKey = "";
    this.stage = byId("stage");
  }

  start() {
    byId("script-missing").remove();
    this.outbox.addEventListener("change", () => {
      if (!this.state.preview) showSaved(this.outbox);
      if (this.practice && this.outbox.status === "waiting") this.render();
    });
    this.outbox.addEventListener("settled", (event) => {
      const { detail } = /** @type {CustomEvent<{answer: Answer, reply: Reply}>} */ (event);
      this.settled(detail.answer, detail.reply);
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
    navigator.mediaDevices?.addEventListener?.("devicechange", () => {
      if (this.state.stage === "trial") tell("warn", say("output_changed"));
    });
    offerSingleKeys(/** @type {HTMLInputElement} */ (byId("single-keys")));
    stayAboveKeyboard();
    window.addEventListener("pageshow", (event) => {
      if (event.persisted) this.comeBack();
    });
    restDialog(this.tabs, () => this.rest(), () => this.comeBack());
    offerWithdrawal(() => this.withdraw());
    rememberRater(byId("session").dataset);
    this.tabs.take();
    if (!this.state.preview && !cookiesWork()) return this.trouble(say("cookies_off"));
    this.render(false);
    this.outbox.flush();
  }

  /** The first trial that this device has not answered yet, unless questions come before it. */
  get current() {
    return this.upcoming[0]?.held ? null : (this.upcoming[0] ?? null);
  }

  get upcoming() {
    return this.state.trials.filter((trial) => !this.outbox.has(trial.id));
  }

  /**
   * Answers go in the order of the trials: one that must be corrected holds back the later ones.
   * @param {Answer[]} answers
   */
  sendable(answers) {
    const planned = this.state.trials.map((trial) => trial.id);
    const first = answers.find((answer) => answer.trial === planned[0]);
    return first ?? answers.find((answer) => !planned.includes(answer.trial)) ?? null;
  }

  /** @param {State | null} state */
  accept(state) {
    if (state) this.state = state;
    this.render();
  }

  /**
   * What a trial's answer has come to.
   * @param {Answer} answer
   * @param {Reply} reply
   */
  settled(answer, reply) {
    const { status, body } = reply;
    const state = stateIn(body);
    const { error, message } = refusalOf(body);
    const feedback = body && "feedback" in body ? body.feedback : null;
    const practised = this.practice?.trial.id === answer.trial;
    if (practised && !(status < 300 && feedback)) this.practice = null;
    if (status < 300) {
      this.drafts.delete(answer.trial);
      if (practised && this.practice) this.practice.feedback = feedback;
      this.accept(state);
    } else if (error === "unknown_session") {
      this.trouble(say("unknown"));
    } else if (status === 409 || status === 404) {
      const known = error === "lease_lost" ? "lease_lost" : "answer_elsewhere";
      tell("warn", message || say(known));
      if (state) this.accept(state);
      else this.refresh();
    } else {
      this.refused(answer, reply);
    }
  }

  /**
   * The answer needs correcting: its trial comes back as it was left.
   * @param {Answer} answer
   * @param {Reply} reply
   */
  refused(answer, { body }) {
    const { error, message = "" } = refusalOf(body);
    const said = message || say("answer_refused");
    /** @type {TrialDraft} */
    const draft = this.drafts.get(answer.trial) ?? { answers: {}, ...answer, players: [] };
    draft.complaint = said;
    if (["not_heard", "not_fetched"].includes(error ?? "")) draft.players = [];
    const trial = this.state.trials.find((each) => each.id === answer.trial);
    if (error === "not_fetched") this.clips.renew(trial?.clips ?? []);
    this.keepDraft();
    this.drafts.set(answer.trial, draft);
    this.accept(stateIn(body));
    if (this.current?.id === answer.trial) this.shown?.complain?.(said);
    else tell("warn", said);
  }

  /** Shows what state and outbox ask for, unless it is on the screen already. */
  render(focus = true) {
    const { state } = this;
    const trial = state.stage === "trial" ? this.current : null;
    this.preload();
    showProgress(state, this.practice?.trial ?? trial, this.outbox.size);
    if (this.practice) this.showPractice(this.practice, focus);
    else if (state.stage === "check") {
      const { check } = state;
      this.show(`check:${check.key}:${check.attempt}`, () => checkStage(this, check), focus);
    } else if (state.stage === "questionnaire") {
      const { questionnaire: asked } = state;
      const part = `questionnaire:${asked.key}:${asked.questions[0]?.key}`; // it may come in two parts
      this.show(part, () => questionStage(this, asked), focus);
    } else if (state.stage === "end") {
      this.show(`end:${state.end.outcome}`, () => endStage(this, state.end), focus);
    } else if (trial) this.showTrial(trial, focus);
    else {
      this.show("wait", () => waitStage(this), focus);
      if (!this.outbox.size) this.refresh();
    }
  }

  /**
   * @param {Trial} trial
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
   * @param {Practice} practice
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

  preload() {
    const { check, tasks } = this.state;
    const before = check ? [check.clip, ...(check.trials ?? []).map((one) => one.clip)] : [];
    const upcoming = this.upcoming.slice(0, 3);
    const [next] = upcoming;
    const fresh = next && !this.memory.begun.includes(next.task);
    const examples = fresh ? tasks[next.task].examples.map((one) => one.clip) : [];
    const urls = upcoming.flatMap((each) => each.clips);
    const practice = this.practice?.trial.clips ?? [];
    const here = this.clips.want([...before, ...practice, ...examples, ...urls].filter(Boolean));
    if (!upcoming.some((each) => isParallel(tasks[each.task]))) return;
    import("./parallel.js").then(async ({ decodeAhead }) => {
      await here;
      const later = this.upcoming[1];
      if (later && isParallel(tasks[later.task])) decodeAhead(later.clips.map((url) => this.clips.get(url)));
    }, () => undefined); // the stage itself says that it did not come
  }

  /**
   * @param {string} key
   * @param {() => Shown | Promise<Shown>} build what to show, or a promise of it
   * @param {boolean} focus
   */
  show(key, build, focus) {
    if (key === this.shownKey) return;
    this.keepDraft();
    this.shown?.destroy?.();
    this.shownKey = key;
    this.shown = null;
    const shown = build();
    if (!(shown instanceof Promise)) return this.place(shown, focus);
    setTimeout(() => {
      if (this.shownKey === key && !this.shown) this.trouble(say("part_missing"));
    }, PART_LIMIT_MS);
    shown.then(
      (later) => (this.shownKey === key ? this.place(later, focus) : later.destroy?.()),
      () => this.trouble(say("part_missing")),
    );
  }

  /**
   * @param {Shown} shown
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

  /** @param {Trial} trial */
  trialStage(trial) {
    const task = this.state.tasks[trial.task];
    const scales = scaleModule(task);
    if (scales) return scales.then(() => this.trialView(trial, TrialView));
    if (!isParallel(task)) return this.trialView(trial, TrialView);
    return import("./parallel.js").then(({ viewFor }) => viewFor(task)).then((kind) => this.trialView(trial, kind));
  }

  /**
   * @param {Trial} trial
   * @param {TrialKind} kind
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
      shown.addEventListener(name, (event) => {
        this.take(shown, /** @type {CustomEvent<Answer>} */ (event));
      });
    }
    return shown;
  }

  /**
   * The rater has answered a trial, or goes on without it.
   * @param {{draft: TrialDraft}} shown
   * @param {CustomEvent<Answer>} event
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

  /** @param {Reply} reply */
  refreshed({ status, body }) {
    if (status < 300) this.accept(stateIn(body));
    else this.trouble(refusalOf(body).message || say("unknown"));
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
    this.shownKey = "";
    this.outbox.paused = false;
    this.outbox.reload();
    this.outbox.flush();
    this.refresh();
  }

  async withdraw() {
    const reply = await this.api.post("withdraw", { confirm: true });
    if (reply.retry || reply.status >= 300) return false;
    for (const { trial } of [...this.outbox.answers]) this.outbox.remove(trial);
    this.accept(stateIn(reply.body));
    return true;
  }
}

async function open() {
  /** @type {State | import("../shared/wire.js").PreviewState} */
  const state = JSON.parse(byId("state").textContent ?? "null");
  const [, below = "", code = ""] = location.pathname.match(/^(.*)\/s\/([^/]+)/) ?? [];
  if (!("preview_stages" in state)) {
    const real = new Api(`${below}/api/s/${code}/`);
    real.loaded();
    return new SessionPage(state, real, code).start();
  }
  const { PreviewApi } = await import("./preview.js");
  byId("withdraw").hidden = true;
  const api = new PreviewApi(state);
  const page = new SessionPage(api.now, api, `preview-${Math.random()}`);
  if (location.hash === "#trial") state.tasks.forEach((_, task) => page.memory.begin(task)); // no instructions
  page.start();
}

open();
