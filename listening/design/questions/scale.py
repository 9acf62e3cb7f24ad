"""A row of numbered points, the first and the last perhaps with words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from listening.design.questionnaires import CHOOSE
from listening.design.questions.question_kind import Question, QuestionKind, Unfit

if TYPE_CHECKING:
    from listening.design.studyfile.problems import Notebook


class Scale(QuestionKind):
    """A rating scale, as of Likert."""

    key = "scale"
    title = "Likert scale"
    order = 3
    fields = ("options", "low", "high")
    options_title = "Labels of points, one per line"
    labels_points = True
    most_points = 11
    chosen = True
    covariate = "numbers"
    seconds = 4.0
    starts = {"low": 1, "high": 5}

    @classmethod
    def check(cls, fields: dict[str, Any], given: Any, where: str, notes: Notebook) -> None:
        """Its options are all points, or of a slider those that have words."""
        from listening.design.studyfile.problems import quoted

        points = cls.points(fields, where, notes)
        words = {option["value"]: option["text"] for option in fields["options"]}
        if points and (strange := [value for value in words if value not in points]):
            low, high = fields["low"], fields["high"]
            what = f"{quoted(strange)} is no point of the {cls.key} from {low} to {high}."
            remedy = 'Write options = [{ value = "1", text = "not at all" }, …].'
            notes.toml(f"{where}.options", what, remedy, "Begin each line with one of its points.")
        shown = points if cls.chosen else [point for point in points if point in words]
        fields["options"] = [{"value": point, "text": words.get(point, "")} for point in shown]

    @classmethod
    def judge(cls, question: Question, answer: Any, values: Sequence[str]) -> float:
        known = not isinstance(answer, bool) and isinstance(answer, str | int)
        if not known or str(answer) not in values:
            raise Unfit(CHOOSE)
        return int(answer)
