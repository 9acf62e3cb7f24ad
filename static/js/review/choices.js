/** A question with a few answers, each with a key of its own: pressing it is the verdict. */

/**
 * @typedef {{key: string, value: string, label: string}} Choice
 */

export class Choices {
  /**
   * @param {import("./desk.js").Desk} desk
   * @param {HTMLElement} root where the buttons go
   */
  constructor(desk, root) {
    this.desk = desk;
    /** @type {Choice[]} */
    this.choices = desk.told.question.choices;
    this.buttons = this.choices.map((choice) => this.button(choice));
    root.replaceChildren(...this.buttons);
  }

  /** @param {Choice} choice */
  button({ key, value, label }) {
    const button = keyButton(label, key, () => this.desk.answer({ verdict: value }));
    button.classList.add("button-large");
    button.dataset.value = value;
    return button;
  }

  /**
   * @param {any} _item
   * @param {import("./desk.js").Answer | null} before what was answered, where it is taken back
   */
  show(_item, before) {
    for (const button of this.buttons) {
      button.setAttribute("aria-pressed", String(before?.verdict === button.dataset.value));
    }
  }

  /** @param {string} key */
  key(key) {
    const chosen = this.choices.find((choice) => choice.key === key);
    if (chosen) this.desk.answer({ verdict: chosen.value });
    return Boolean(chosen);
  }

  /** @param {any} answer */
  say(answer) {
    return this.choices.find((choice) => choice.value === answer?.verdict)?.label ?? "";
  }
}

/**
 * A button with its key.
 * @param {string} label
 * @param {string} key
 * @param {() => void} act
 */
export function keyButton(label, key, act) {
  const button = document.createElement("button");
  const shown = document.createElement("kbd");
  button.type = "button";
  button.className = "button desk-choice";
  shown.textContent = key;
  button.append(label, " ", shown);
  button.addEventListener("click", act);
  return button;
}
