// A button beside a field, or a text, copies what stands in it; without this file it is selected by hand.

import { byId } from "../shared/dom.js";

/** Shows the buttons, and lets them copy. */
function offerCopying() {
  for (const button of /** @type {NodeListOf<HTMLElement>} */ (document.querySelectorAll("[data-copy]"))) {
    const source = byId(button.dataset.copy ?? "");
    const field = source instanceof HTMLInputElement ? source : null;
    button.hidden = false;
    button.addEventListener("click", async () => {
      field?.select();
      try {
        await navigator.clipboard.writeText(field ? field.value : (source.textContent ?? "").trim());
        button.textContent = "Copied";
      } catch {
        if (field) button.textContent = document.execCommand("copy") ? "Copied" : "Press Ctrl+C";
        else button.textContent = "The browser did not allow it";
      }
      setTimeout(() => (button.textContent = "Copy"), 2000);
    });
  }
}

offerCopying();
