"""A date of birth, of which only the age is kept."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from random import Random
from typing import Any

from listening.design import questionnaires
from listening.design.questions.question_kind import Question, QuestionKind, Unfit
from listening.methods.method import gettext_noop

OLDEST = 120  # years
NO_DATE = gettext_noop("Please enter your date of birth.")


class BirthDate(QuestionKind):
    """Raters enter a date."""

    key = "birth_date"
    title = "Date of birth (age)"
    order = 7
    measured = True
    covariate = "numbers"
    seconds = 10.0

    @classmethod
    def judge(cls, question: Question, answer: Any, values: Sequence[str]) -> int:
        """Return the age in whole years today; the date itself is not kept."""
        try:
            born = date.fromisoformat(answer)
        except (TypeError, ValueError):
            raise Unfit(NO_DATE) from None
        now = questionnaires.today()
        age = now.year - born.year - ((now.month, now.day) < (born.month, born.day))
        if not 0 <= age <= OLDEST:
            raise Unfit(NO_DATE)
        return age

    @classmethod
    def simulate(cls, question: Question, values: Sequence[str], random: Random) -> str:
        return "1990-06-15"
