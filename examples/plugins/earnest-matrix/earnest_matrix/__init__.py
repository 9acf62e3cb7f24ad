"""Statements below each other, each rated from the first to the last point."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any

from listening.design.questions import QuestionKind, Unfit
from listening.design.questions.question_kind import needs_options

PLUGIN_API_VERSION = 1
EACH = "Please rate each statement."
NAME = re.compile(r"[-\w]{1,40}", re.ASCII)


class LikertMatrix(QuestionKind):
    """The options are the statements; each has a column of its own in exports."""

    key = "likert_matrix"  # stands in study files: never renamed
    title = "Likert matrix"
    fields = ("options", "low", "high")
    options_title = "Statements, one per line"
    most_points = 11
    measured = True
    covariate = "numbers"
    seconds = 12.0
    starts = {
        "options": [
            {"value": "clear", "text": "The voice is clear."},
            {"value": "pleasant", "text": "The voice is pleasant."},
        ],
        "low": 1,
        "high": 5,
    }
    script = "earnest_matrix/matrix.js"

    @classmethod
    def check(cls, fields: dict[str, Any], given: Any, where: str, notes: Any) -> None:
        needs_options(given, where, notes)
        cls.points(fields, where, notes)
        for value in (option["value"] for option in fields["options"]):
            if not NAME.fullmatch(value):
                what = f"“{value}” cannot be the name of a column."
                remedy = 'Write { value = "clear", text = "The voice is clear" }, for example.'
                on_page = "Begin the line with a short name: clear = The voice is clear"
                notes.toml(f"{where}.options", what, remedy, on_page)

    @classmethod
    def judge(
        cls, question: Mapping[str, Any], answer: Any, values: Sequence[str]
    ) -> dict[str, int]:
        statements, points = cls.parts(question), cls.points_of(question)
        known = isinstance(answer, dict) and {str(answer.get(each)) for each in statements}
        if not known or not known <= set(points):
            raise Unfit(EACH)
        return {each: int(answer[each]) for each in statements}

    @classmethod
    def parts(cls, question: Mapping[str, Any]) -> dict[str, str]:
        statements = {option["value"]: option["text"] for option in question["options"]}
        statements.pop("prefer_not", None)
        return {value: f"{question['question']} {text}" for value, text in statements.items()}

    @classmethod
    def part_of(cls, answer: Any, part: str) -> Any:
        return answer.get(part) if isinstance(answer, dict) else answer  # or “prefer_not”

    @classmethod
    def simulate(
        cls, question: Mapping[str, Any], values: Sequence[str], random: Random
    ) -> dict[str, str]:
        return {value: random.choice(cls.points_of(question)) for value in values}
