/** A rater whose cookies were cleared: what a session's page kept in this browser's storage brings them back. */

import { byId } from "../shared/dom.js";
import { deviceStore } from "./outbox.js";

/** @param {string} study the link of the study */
const keyOf = (study) => `earnest:rater:${study}`;

/** Keeps what the session's page was given for this. @param {DOMStringMap} given */
export function rememberRater({ study, memory }) {
  if (!study || !memory) return;
  try {
    deviceStore()?.setItem(keyOf(study), memory);
  } catch {
    // A full disk: the cookie still knows the rater.
  }
}

/** Offers to go on, on a page that asks anew. */
export function offerToGoOn() {
  const study = location.pathname.match(/\/r\/([^/]+)/)?.[1] ?? "";
  const memory = deviceStore()?.getItem(keyOf(study));
  const form = document.getElementById("known-form");
  if (!memory || !form) return;
  /** @type {HTMLInputElement} */ (byId("known-memory")).value = memory;
  form.hidden = false;
  const asked = document.getElementById("elsewhere"); // it was not: this browser knows the rater
  if (asked) asked.hidden = true;
}
