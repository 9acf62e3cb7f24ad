/** Reasons: does what a rater wrote fit the label that they chose? */

import { byId } from "../shared/dom.js";
import { Choices } from "./choices.js";
import { Desk } from "./desk.js";
import { drawReason } from "./reason.js";

class Reasons extends Choices {
  /**
   * @param {import("./reason.js").ReasonItem} item
   * @param {import("./desk.js").Answer | null} before
   */
  show(item, before) {
    drawReason(item);
    super.show(item, before);
  }
}

new Desk((desk) => new Reasons(desk, byId("choices"))).start();
