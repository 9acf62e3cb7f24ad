/** The labels and the reason of an item, as its rater left them. */

import { byId, setText } from "../shared/dom.js";

/**
 * @typedef {import("./desk.js").Item & {
 *   answers: {question: string, label: string}[], reason: string, language: string}} ReasonItem
 */

/** @param {ReasonItem} item */
export function drawReason({ answers, reason, language }) {
  byId("answers-given").replaceChildren(
    ...answers.flatMap(({ question, label }) => {
      const asked = document.createElement("dt");
      const said = document.createElement("dd");
      asked.textContent = question;
      said.textContent = label;
      for (const each of [asked, said]) each.lang = language;
      return [asked, said];
    }),
  );
  const text = byId("reason");
  setText(text, reason || "(erased)");
  text.lang = language;
}
