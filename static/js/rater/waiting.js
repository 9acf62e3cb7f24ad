/** The page that is served while the server cannot: asks again until it can, then loads what was asked for. */

import { backoffMs } from "../shared/backoff.js";
import { byId } from "../shared/dom.js";

const LONGEST_MS = 60_000;
const firstMs = Number(byId("waiting").dataset["waitS"]) * 1000;

/** Whether the page is back; no answer at all means to go on waiting, as 502 to 504 do. */
async function isBack() {
  try {
    const response = await fetch(location.href, { cache: "no-store", credentials: "same-origin" });
    return response.status < 500;
  } catch {
    return false;
  }
}

/** @param {number} tries */
async function askAgain(tries) {
  if (await isBack()) {
    location.replace(location.href);
    return;
  }
  setTimeout(() => void askAgain(tries + 1), Math.max(firstMs, backoffMs(tries, Math.random(), LONGEST_MS)));
}

setTimeout(() => void askAgain(0), firstMs);
