/** The page's sentences, translated by the server, with their blanks filled in. */

/** @type {Map<string, string> | null} */
let sentences = null;

/** @returns {Map<string, string>} */
function load() {
  const template = document.querySelector("template#strings");
  const found = new Map();
  if (template instanceof HTMLTemplateElement) {
    for (const data of template.content.querySelectorAll("data")) {
      found.set(data.value, data.textContent ?? "");
    }
  }
  return found;
}

/**
 * @param {string} text
 * @param {Record<string, string | number>} [values]
 * @returns {string}
 */
export function fill(text, values = {}) {
  return text.replace(/\{(\w+)\}/g, (blank, name) => String(values[name] ?? blank));
}

/**
 * The sentence with this key; the key itself when the page does not hold it.
 * @param {string} key
 * @param {Record<string, string | number>} [values]
 * @returns {string}
 */
export function say(key, values) {
  sentences ??= load();
  return fill(sentences.get(key) ?? key, values);
}

/**
 * @param {string} key
 * @returns {boolean}
 */
export function canSay(key) {
  sentences ??= load();
  return sentences.has(key);
}

/**
 * A number with the decimal separator of the page's language.
 * @param {number} value
 * @param {number} decimals
 */
export function decimal(value, decimals) {
  return value.toFixed(decimals).replace(".", canSay("decimal") ? say("decimal") : ".");
}

/**
 * Seconds as m:ss, rounded up so that 0:00 means the end.
 * @param {number} seconds
 * @returns {string}
 */
export function clock(seconds) {
  const whole = Math.max(0, Math.ceil(seconds - 0.05));
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, "0")}`;
}
