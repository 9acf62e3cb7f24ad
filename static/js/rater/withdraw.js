/** The way out: a dialog that says what withdrawing does, and does it. */

import { byId, setText } from "../shared/dom.js";
import { say } from "./strings.js";

/**
 * @param {(confirmed: true) => Promise<boolean>} withdraw resolves to whether the server did it
 */
export function offerWithdrawal(withdraw) {
  const dialog = /** @type {HTMLDialogElement} */ (byId("withdraw-dialog"));
  const error = byId("withdraw-error");
  const confirm = /** @type {HTMLButtonElement} */ (byId("withdraw-confirm"));
  byId("withdraw").addEventListener("click", () => {
    error.hidden = true;
    dialog.showModal();
  });
  confirm.addEventListener("click", async () => {
    confirm.disabled = true;
    const done = await withdraw(true);
    confirm.disabled = false;
    error.hidden = done;
    setText(error, done ? "" : say("withdraw_failed"));
    if (!done) return;
    dialog.close(); // the focus goes back to a button that is gone by now
    /** @type {HTMLElement | null} */ (document.querySelector("#stage h1"))?.focus();
  });
}
