/** A rater inside the page, so that many pages are walked at the same time: hears all, answers all. */

(() => {
  const TICK_MS = 50;
  /** @type {WeakSet<Element>} */
  const taken = new WeakSet();

  /**
   * @param {string} selector
   * @param {ParentNode} [root]
   * @returns {HTMLElement | null}
   */
  const one = (selector, root = document) => root.querySelector(selector);

  /**
   * @param {string} selector
   * @param {ParentNode} [root]
   * @returns {HTMLElement[]}
   */
  const all = (selector, root = document) => [...root.querySelectorAll(selector)].filter(isElement);

  /**
   * @param {Element} node
   * @returns {node is HTMLElement}
   */
  function isElement(node) {
    return node instanceof HTMLElement;
  }

  /**
   * Presses it once; whether that was the first time.
   * @param {HTMLElement | null | undefined} button
   */
  function press(button) {
    if (!button || taken.has(button)) return false;
    taken.add(button);
    button.click();
    return true;
  }

  /**
   * @param {HTMLElement | null} field
   * @param {string} text
   */
  function enter(field, text) {
    if (!(field instanceof HTMLInputElement || field instanceof HTMLTextAreaElement)) {
      throw new Error("nothing to write into");
    }
    field.value = text;
    field.dispatchEvent(new Event("input", { bubbles: true }));
    field.dispatchEvent(new Event("change", { bubbles: true }));
  }

  /** @type {Record<string, (fieldset: HTMLElement) => void>} */
  const widgets = {
    choice: (fieldset) => all("input", fieldset)[0].click(),
    alternatives: (fieldset) => all("input", fieldset)[0].click(),
    steps: (fieldset) => all("input", fieldset)[1].click(),
    many: (fieldset) => all("input", fieldset).slice(0, 2).forEach((input) => input.click()),
    slider: (fieldset) => enter(one("input", fieldset), "40"),
    sliders: (fieldset) => all("input[type=range]", fieldset).forEach((slider) => enter(slider, "60")),
    ranking: (fieldset) => all(".rank-row [data-part=up]", fieldset).forEach((button) => button.click()),
    best_worst: (fieldset) => [".extreme-row:first-child [data-part=best]", ".extreme-row:last-child [data-part=worst]"].forEach((place) => one(place, fieldset)?.click()),
    marks: (fieldset) => [".mark-word", ".mark-kind"].forEach((place) => all(place, fieldset)[0].click()),
    text: (fieldset) => enter(one("textarea", fieldset), "An even voice."),
  };

  /**
   * Clips one after the other; true when all that must be heard was heard.
   * @param {HTMLElement} trial
   */
  function heard(trial) {
    const buttons = all(".clip-button", trial);
    const next = buttons.find((button) => !button.classList.contains("heard"));
    if (buttons.length) return next ? (press(next), false) : true;
    const state = one(".player", trial)?.dataset.state;
    if (state === "ready") press(one(".player-button", trial));
    return state === "heard";
  }

  let reasons = 0;

  /** @param {HTMLElement} trial */
  function answer(trial) {
    for (const fieldset of all("fieldset.criterion", trial)) widgets[fieldset.dataset.widget ?? ""](fieldset);
    const reason = one("textarea#justification", trial);
    if (reason) enter(reason, `The words follow each other very evenly, ${(reasons += 1)}.`);
  }

  function tick() {
    if (one(".view-end")) return;
    window.setTimeout(tick, TICK_MS);
    press(one(".view-intro [data-part=start]")) || press(one(".view-feedback [data-part=next]"));
    const trial = one("#stage > .trial, #stage > .parallel");
    if (!trial || !heard(trial)) return;
    if (!taken.has(trial)) answer(trial);
    taken.add(trial);
    press(one("[data-part=next][aria-disabled=false]", trial));
  }

  tick();
})();
