// A button beside a field copies what stands in it; without this file the field is selected by hand.

import { byId } from "../shared/dom.js";

/** Shows the buttons, and lets them copy. */
function offerCopying() {
  for (const button of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-copy]"))) {
    const field = /** @type {HTMLInputElement} */ (byId(button.dataset.copy ?? ""));
    button.hidden = false;
    button.addEventListener("click", async () => {
      field.select();
      try {
        await navigator.clipboard.writeText(field.value);
        button.textContent = "Copied";
      } catch {
        button.textContent = document.execCommand("copy") ? "Copied" : "Press Ctrl+C";
      }
      setTimeout(() => (button.textContent = "Copy"), 2000);
    });
  }
}

offerCopying();
