"""A place on a line of whole numbers."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from listening.design.questions.number import BETWEEN, Number
from listening.design.questions.question_kind import Question, Unfit
from listening.design.questions.scale import Scale


class Slider(Scale):
    """Words stand at some of its points."""

    key = "slider"
    title = "Slider"
    order = 4
    most_points = 1001
    chosen = False
    measured = True
    seconds = 5.0
    starts = {"low": 0, "high": 100}

    @classmethod
    def judge(cls, question: Question, answer: Any, values: Sequence[str]) -> float:
        number = Number.judge(question, answer, values)
        if not float(number).is_integer():
            raise Unfit(BETWEEN, low=question["low"], high=question["high"])
        return number

    @classmethod
    def simulate(cls, question: Question, values: Sequence[str], random: Random) -> Any:
        return Number.simulate(question, values, random)
