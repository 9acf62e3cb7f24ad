"""One of the answers that a list gives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from listening.design.questionnaires import CHOOSE
from listening.design.questions.question_kind import Question, QuestionKind, Unfit, needs_options

if TYPE_CHECKING:
    from listening.design.studyfile.problems import Notebook


class One(QuestionKind):
    """Raters choose by radio buttons."""

    key = "one"
    title = "Single choice"
    order = 1
    fields = ("options", "other")
    chosen = True
    covariate = "answers"
    starts = {"options": ["Yes", "No"]}

    @classmethod
    def check(cls, fields: dict[str, Any], given: Any, where: str, notes: Notebook) -> None:
        few = isinstance(given.get("options"), list) and len(given["options"]) < 2
        if needs_options(given, where, notes) and few:
            what = "One option alone leaves nothing to choose."
            notes.toml(f"{where}.options", what, "Write at least two.")

    @classmethod
    def judge(cls, question: Question, answer: Any, values: Sequence[str]) -> str:
        if not isinstance(answer, str) or answer not in values:
            raise Unfit(CHOOSE)
        return answer
