// Rows of a table chosen: all of a page at once, how many they are, and all that the filters leave.

import { byId } from "../shared/dom.js";

const form = document.getElementById("choosing");

if (form instanceof HTMLFormElement) {
  const every = /** @type {HTMLInputElement} */ (byId("choose-page"));
  const all = /** @type {HTMLInputElement | null} */ (document.getElementById("choose-all"));
  const rows = [.../** @type {NodeListOf<HTMLInputElement>} */ (document.querySelectorAll('input[form="choosing"]'))];
  const said = document.querySelectorAll("[data-chosen]");
  const open = /** @type {HTMLButtonElement} */ (form.querySelector('[popovertarget="judge"]'));

  const count = () => {
    const chosen = rows.filter((row) => row.checked).length;
    every.checked = rows.length > 0 && chosen === rows.length;
    every.indeterminate = chosen > 0 && chosen < rows.length;
    for (const row of rows) row.disabled = all?.checked ?? false;
    every.disabled = all?.checked ?? false;
    const number = all?.checked ? Number(all.value) : chosen;
    const words = `${number.toLocaleString("en")} ${number === 1 ? "session" : "sessions"} selected`;
    for (const place of said) place.textContent = number === 0 ? "No sessions selected" : words;
    open.disabled = number === 0;
  };

  byId("choose-page-label").hidden = false;
  every.addEventListener("change", () => {
    for (const row of rows) row.checked = every.checked;
    count();
  });
  for (const row of rows) row.addEventListener("change", count);
  all?.addEventListener("change", count);
  count();
}
