/** The landing page: says at once when cookies are off or consent is missing, and sends the form once. */

import { cookiesWork } from "./cookies.js";
import { byId } from "../shared/dom.js";
import { offerToGoOn } from "./known.js";

offerToGoOn();
startConsent();

function startConsent() {
  if (!document.getElementById("consent-form")) return; // somebody who began elsewhere
  const form = /** @type {HTMLFormElement} */ (byId("consent-form"));
  const box = /** @type {HTMLInputElement} */ (byId("consent"));
  const missing = byId("consent-missing");

  byId("script-missing").remove();
  byId("cookies-off").hidden = cookiesWork();

  box.addEventListener("change", () => {
    missing.hidden = box.checked;
    box.removeAttribute("aria-invalid");
  });

  let sent = false;
  form.addEventListener("submit", (event) => {
    if (event.submitter instanceof HTMLButtonElement && event.submitter.value === "no") return;
    if (!box.checked) {
      event.preventDefault();
      missing.hidden = false;
      box.setAttribute("aria-invalid", "true");
      box.focus();
    } else if (sent) {
      event.preventDefault();
    }
    sent ||= box.checked;
  });
  window.addEventListener("pageshow", () => {
    sent = false;
  });
}
