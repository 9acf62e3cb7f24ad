// Buttons that spend name the sum, computed from the number that is typed. The server computes it again and refuses another.

/**
 * @param {HTMLFormElement} form with what each one costs (with fees, in minor units), from which number on, and what is left of the limit
 */
function nameTheSum(form) {
  const input = /** @type {HTMLInputElement} */ (form.querySelector("[data-number]"));
  const seen = /** @type {HTMLInputElement} */ (form.querySelector('[name="seen"]'));
  const button = /** @type {HTMLButtonElement} */ (form.querySelector("[data-names]"));
  const beyond = /** @type {HTMLElement} */ (form.querySelector("[data-beyond]"));
  const { each, from, left, sign, one, many, plain } = form.dataset;

  const show = () => {
    const text = input.value.trim();
    const count = /^\d{1,6}$/.test(text) ? Number(text) - Number(from) : 0;
    const minor = Math.round(count * Number(each));
    const sum = (minor / 100).toLocaleString("en-GB", { minimumFractionDigits: 2, maximumFractionDigits: 2 });
    const tooMuch = left !== "" && minor > Number(left);
    seen.value = count > 0 ? String(minor) : "";
    button.textContent = count > 0 ? `Add ${count.toLocaleString("en-GB")} ${count === 1 ? one : many} for ${sign}${sum}` : (plain ?? "");
    button.disabled = count <= 0 || tooMuch;
    beyond.hidden = !tooMuch;
  };

  input.addEventListener("input", show);
  show();
}

for (const form of document.querySelectorAll("form[data-each]")) {
  if (form instanceof HTMLFormElement) nameTheSum(form);
}
