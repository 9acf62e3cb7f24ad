// A field that two people changed: both versions beside each other, and one button for each.

/** @import { TheirField } from "../shared/wire.js" */

/**
 * @param {TheirField[]} collisions
 * @param {(by: string) => string} called who it was
 * @param {(name: string) => Element | null} fieldOf
 * @param {(name: string, theirs: string | boolean | null) => void} decided null: mine over theirs
 */
export function collide(collisions, called, fieldOf, decided) {
  for (const { field, value, by } of collisions) {
    const box = document.createElement("div");
    box.className = "notice notice-warn stack-s collision";
    box.dataset.collision = field;
    box.setAttribute("role", "alert");
    const words = document.createElement("p");
    words.textContent = `${called(by)} also changed this field. Until you choose, the draft keeps:`;
    const theirs = document.createElement("blockquote");
    theirs.textContent = shown(value);
    const row = document.createElement("div");
    row.className = "row";
    row.append(
      button(box, "Keep this", () => decided(field, value)),
      button(box, "Overwrite with mine", () => decided(field, null)),
    );
    box.append(words, theirs, row);
    fieldOf(field)?.closest(".field, .field-check")?.after(box);
  }
}

/**
 * Whether a field, or any, waits for a choice; what is typed into it meanwhile is not sent.
 * @param {string} [name]
 */
export function undecided(name) {
  return document.querySelector(name === undefined ? "[data-collision]" : `[data-collision="${CSS.escape(name)}"]`) !== null;
}

/** @param {string | boolean} value */
function shown(value) {
  if (typeof value === "boolean") return value ? "ticked" : "not ticked";
  return value || "(empty)";
}

/**
 * @param {Element} box
 * @param {string} words
 * @param {() => void} press
 */
function button(box, words, press) {
  const made = document.createElement("button");
  made.type = "button";
  made.className = "button";
  made.textContent = words;
  made.addEventListener("click", () => {
    box.remove();
    press();
  });
  return made;
}
