"""Any of the answers that a list gives."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import TYPE_CHECKING, Any

from listening.design.questionnaires import CHOOSE, PREFER_NOT
from listening.design.questions.question_kind import Question, QuestionKind, Unfit, needs_options
from listening.methods.method import gettext_noop

if TYPE_CHECKING:
    from listening.design.studyfile.problems import Notebook

EITHER = gettext_noop("Please choose answers, or that you prefer not to say; not both.")


class Many(QuestionKind):
    """Raters choose by checkboxes."""

    key = "many"
    title = "Multiple choice"
    order = 2
    fields = ("options", "other")
    chosen = True
    several = True
    seconds = 8.0
    starts = {"options": ["Yes", "No"]}

    @classmethod
    def check(cls, fields: dict[str, Any], given: Any, where: str, notes: Notebook) -> None:
        if needs_options(given, where, notes) and given["options"] == []:
            notes.toml(f"{where}.options", "The list is empty.", "Write at least one.")

    @classmethod
    def judge(cls, question: Question, answer: Any, values: Sequence[str]) -> list[str]:
        choices = [answer] if isinstance(answer, str) else answer
        if not isinstance(choices, list) or not all(
            isinstance(v, str) and v in values for v in choices
        ):
            raise Unfit(CHOOSE)
        if PREFER_NOT in choices and len(set(choices)) > 1:
            raise Unfit(EITHER)
        return [value for value in values if value in choices]

    @classmethod
    def simulate(cls, question: Question, values: Sequence[str], random: Random) -> list[str]:
        return [random.choice(values)]
