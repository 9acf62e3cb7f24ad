// The results page: what scrolls can be reached by the keyboard, and files that are being made come by themselves.

import { pageAt } from "./look.js";
import { bringReportToLife } from "./report.js";

/** What scrolls sideways can be reached and scrolled with the keyboard, and says what it is. */
function reachable() {
  for (const box of document.querySelectorAll(".table-wrap")) {
    if (box.scrollWidth <= box.clientWidth && box.scrollHeight <= box.clientHeight) continue;
    const name = box.querySelector("caption")?.textContent
      ?? box.closest("details")?.querySelector("summary strong")?.textContent
      ?? box.closest("section")?.querySelector("h2")?.textContent;
    box.setAttribute("tabindex", "0");
    box.setAttribute("role", "group"); // no landmark: there are many
    box.setAttribute("aria-label", `Table: ${name ?? "numbers"}`);
  }
}

/** Files that are being made come by themselves, and may then be fetched. */
async function lookForFiles() {
  const waiting = () => document.querySelectorAll("#files [data-making]").length;
  const before = waiting();
  if (!before) return;
  const found = document.hidden ? null : await pageAt(location.href);
  const fresh = found?.querySelector("#files");
  if (fresh && fresh.querySelectorAll("[data-making]").length < before) {
    document.querySelector("#files")?.replaceWith(fresh);
  }
  setTimeout(lookForFiles, 2000);
}

bringReportToLife();
setTimeout(lookForFiles, 2000);
reachable();
document.addEventListener("toggle", reachable, { capture: true });
addEventListener("resize", reachable);
