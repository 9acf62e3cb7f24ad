"""A number that is written."""

from __future__ import annotations

import re
from collections.abc import Sequence
from random import Random
from typing import TYPE_CHECKING, Any

from listening.design.questions.question_kind import Question, QuestionKind, Unfit
from listening.methods.method import gettext_noop

if TYPE_CHECKING:
    from listening.design.studyfile.problems import Notebook

WRITTEN_NUMBER = re.compile(r"[-+]?(\d{1,15}|(\d{1,15})?[.,]\d{1,15})")
THOUSANDS = re.compile(r"[-+]?(?!0)\d{1,3},\d{3}")
POINTS = str.maketrans({"−": "-", "٫": ".", "．": ".", "，": ","})  # of other scripts
NO_NUMBER = gettext_noop("Please write a number, in digits.")
BETWEEN = gettext_noop("Please write a number from %(low)s to %(high)s.")
AT_LEAST = gettext_noop("Please write a number that is at least %(low)s.")
AT_MOST = gettext_noop("Please write a number that is at most %(high)s.")


class Number(QuestionKind):
    """With a lowest and a highest value, or without."""

    key = "number"
    title = "Number"
    order = 5
    fields = ("low", "high")
    measured = True
    covariate = "numbers"

    @classmethod
    def check(cls, fields: dict[str, Any], given: Any, where: str, notes: Notebook) -> None:
        low, high = fields["low"], fields["high"]
        if low is not None and high is not None and low > high:
            what = f"No number is at least {low} and at most {high}."
            notes.toml(f"{where}.high", what, "Exchange low and high.", "Exchange both numbers.")

    @classmethod
    def judge(cls, question: Question, answer: Any, values: Sequence[str]) -> float:
        low, high = question["low"], question["high"]
        number = _read_number(answer, low, high)
        below, above = low is not None and number < low, high is not None and number > high
        if (below or above) and low is not None and high is not None:
            raise Unfit(BETWEEN, low=low, high=high)
        if below:
            raise Unfit(AT_LEAST, low=low)
        if above:
            raise Unfit(AT_MOST, high=high)
        return number

    @classmethod
    def simulate(cls, question: Question, values: Sequence[str], random: Random) -> Any:
        return question["low"] if question["low"] is not None else min(question["high"] or 1, 1)


def _read_number(answer: Any, low: float | None, high: float | None) -> float:
    """Digits of any script, with a point or a comma before the decimals.

    1,750 is unclear where the limits allow both 1.75 and 1750.
    """
    if isinstance(answer, bool) or not isinstance(answer, str | int | float):
        raise Unfit(NO_NUMBER)
    written = str(answer).strip().translate(POINTS)
    if not WRITTEN_NUMBER.fullmatch(written):
        raise Unfit(NO_NUMBER)
    number = float(written.replace(",", "."))
    if THOUSANDS.fullmatch(written) and _is_within(number * 1000, low, high):
        raise Unfit(NO_NUMBER)
    return int(number) if number.is_integer() else number


def _is_within(number: float, low: float | None, high: float | None) -> bool:
    return (low is None or number >= low) and (high is None or number <= high)
