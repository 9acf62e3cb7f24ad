/** The effort scale: the right arrow key goes up by one step, the left one down. */

import { Criterion, kinds } from "../js/rater/criteria.js";

class EffortScale extends Criterion {
  /** @param {1 | -1} direction */
  step(direction) {
    const line = [...this.inputs].reverse(); // the lowest step stands last
    const at = line.findIndex((input) => input.checked);
    const next = at < 0 ? Math.floor(line.length / 2) : at + direction;
    return this.choose(line[Math.max(0, Math.min(line.length - 1, next))].value);
  }
}

kinds.earnest_effort = EffortScale;
