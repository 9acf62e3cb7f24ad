/** Requests to the session's API: one at a time, with a time limit and a fresh token when the old one is refused. */

import { csrfToken } from "../shared/csrf.js";

/** @import { Body, Posts, Refusal, State } from "../shared/wire.js" */

/**
 * @typedef {object} Reply
 * @property {number} status 0 when the network failed or the time ran out
 * @property {Body | null} body the JSON answer, or null
 * @property {boolean} retry true when the same request may succeed later
 * @property {number} waitS what the server asked us to wait (Retry-After), or 0
 */

import { backoffMs } from "../shared/backoff.js";

const TIME_LIMIT_MS = 15_000; // then the page says that it waits, and for what

const isState = (/** @type {any} */ body) => typeof body?.stage === "string";
/** What a success looks like, where it is not the state. @type {Record<string, (body: any) => boolean>} */
const SUCCESSES = {
  "answers/": (body) => body?.stored === true && isState(body.state),
  "loaded/": (body) => body?.stored === true,
};

export class Api {
  /**
   * @param {string} base the address of the session, ending in a slash
   * @param {typeof SUCCESSES} successes
   */
  constructor(base, successes = SUCCESSES) {
    this.base = base;
    this.successes = successes;
    /** @type {Promise<unknown>} */
    this.last = Promise.resolve();
    this.token = "";
    /** @type {() => void} told when a fresh token is refused too: mostly for want of cookies */
    this.refused = () => undefined;
  }

  /**
   * Tells, beside all else, that the scripts of the page run; again until it is known.
   * @param {number} [tries]
   */
  async loaded(tries = 0) {
    const { retry } = await this.request("POST", "loaded/", {});
    if (retry) setTimeout(() => this.loaded(tries + 1), backoffMs(tries));
  }

  /** @returns {Promise<Reply>} */
  state() {
    return this.inTurn(() => this.request("GET", ""));
  }

  /**
   * @template {keyof Posts} D
   * @param {D} door
   * @param {Posts[D]} body
   * @returns {Promise<Reply>}
   */
  post(door, body) {
    return this.inTurn(async () => {
      const reply = await this.request("POST", `${door}/`, body);
      if (!isCsrf(reply)) return reply;
      const renewed = await this.renewToken();
      const again = renewed ? await this.request("POST", `${door}/`, body) : reply;
      if (!isCsrf(again)) return again;
      if (renewed) this.refused();
      return { ...again, retry: true };
    });
  }

  /**
   * States must arrive in the order in which they were asked for.
   * @template T
   * @param {() => Promise<T>} job
   * @returns {Promise<T>}
   */
  inTurn(job) {
    const run = this.last.then(job, job);
    this.last = run.catch(() => undefined);
    return run;
  }

  /**
   * @param {string} method
   * @param {string} door
   * @param {object} [body]
   * @returns {Promise<Reply>}
   */
  async request(method, door, body) {
    const stop = new AbortController();
    const timer = setTimeout(() => stop.abort(), TIME_LIMIT_MS);
    try {
      const response = await fetch(this.base + door, {
        method,
        headers: {
          Accept: "application/json",
          ...(body && { "Content-Type": "application/json", "X-CSRFToken": this.token || csrfToken() }),
        },
        body: body && JSON.stringify(body),
        credentials: "same-origin",
        cache: "no-store",
        keepalive: method === "POST",
        signal: stop.signal,
      });
      const { ok, status } = response;
      const reply = await response.json().catch(() => null);
      // JSON of a proxy in between is no reply.
      const isOurs = ok ? (this.successes[door] ?? isState)(reply) : typeof reply?.error === "string";
      return {
        status,
        body: isOurs ? reply : null,
        retry: !isOurs || status >= 500 || [408, 425, 429].includes(status),
        waitS: Number(response.headers.get("Retry-After")) || 0,
      };
    } catch {
      return { status: 0, body: null, retry: true, waitS: 0 };
    } finally {
      clearTimeout(timer);
    }
  }

  /** Fetches the page once more for a fresh token. */
  async renewToken() {
    try {
      const response = await fetch(location.href, { credentials: "same-origin", cache: "no-store" });
      const page = new DOMParser().parseFromString(await response.text(), "text/html");
      this.token = csrfToken(page);
      return this.token !== "";
    } catch {
      return false;
    }
  }
}

/** @param {Reply} reply */
function isCsrf(reply) {
  const { error = "csrf" } = refusalOf(reply.body);
  return reply.status === 403 && error === "csrf";
}

/** Why it was refused; empty where it was not. @param {Body | null} body @returns {Partial<Refusal>} */
export function refusalOf(body) {
  return body && "error" in body ? body : {};
}

/** @param {Body | null} body @returns {State | null} */
export function stateIn(body) {
  return body && ("stage" in body ? body : body.state);
}
