/** Each statement is a group of radio buttons, one for each point. */

import { kinds, Question, stepView } from "../js/rater/question.js";

kinds.likert_matrix = class extends Question {
  build(statements) {
    this.boxes = statements.flatMap((statement) => this.buildRow(statement));
  }

  buildRow({ value, text }) {
    const { low, high } = this.plan;
    const points = Array.from({ length: high - low + 1 }, (_, n) => String(low + n));
    const [group, name, row] = ["fieldset", "legend", "div"].map((tag) => document.createElement(tag));
    name.textContent = text;
    name.style.fontSize = "inherit";
    group.setAttribute("role", "radiogroup");
    group.append(name, row);
    row.className = "question-answer";
    Object.assign(row.dataset, { layout: "scale", words: "ends" });
    row.style.setProperty("--points", points.length);
    row.style.setProperty("--half", Math.ceil(points.length / (points.length > 5 ? 2 : 1)));
    this.part("answer").append(group);
    return points.map((point) => {
      const box = this.buildOption({ value: point, text: "" }, row, stepView(point));
      Object.assign(box, { type: "radio", name: `question-${this.key}-${value}` });
      box.dataset.statement = value;
      return box;
    });
  }

  get own() {
    const chosen = this.boxes.filter((box) => box.checked && box.dataset.statement);
    return Object.fromEntries(chosen.map((box) => [box.dataset.statement, box.value]));
  }

  set own(value) {
    for (const box of this.boxes.filter((each) => each.dataset.statement)) {
      box.checked = value[box.dataset.statement] === box.value;
    }
  }
};
