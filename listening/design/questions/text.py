"""An answer in the rater's own words."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

from listening.design.questionnaires import LONGEST_OTHER, MISSING, without_controls
from listening.design.questions.question_kind import Question, QuestionKind, Unfit
from listening.methods.method import gettext_noop

NO_TEXT = gettext_noop("Please answer in words.")
TOO_LONG = gettext_noop("Please shorten this to %(longest)s characters; it has %(length)s.")
EXAMPLE = "The second half sounded a little hurried."


class Text(QuestionKind):
    """On one line, or on several where it may be long."""

    key = "text"
    title = "Text"
    order = 6
    fields = ("longest",)
    free_text = True
    seconds = 25.0
    variants = {
        "short": ("Short text", {"longest": LONGEST_OTHER}),
        "long": ("Long text", {"longest": 1000}),
    }

    @classmethod
    def variant_of(cls, question: Question) -> str:
        longest = question.get("longest")
        return "short" if isinstance(longest, int) and longest <= LONGEST_OTHER else "long"

    @classmethod
    def judge(cls, question: Question, answer: Any, values: Sequence[str]) -> str:
        if not isinstance(answer, str):
            raise Unfit(NO_TEXT)
        clean = without_controls(answer)
        if not clean:
            raise Unfit(MISSING)
        if len(clean) > question["longest"]:
            raise Unfit(TOO_LONG, longest=question["longest"], length=len(clean))
        return clean

    @classmethod
    def simulate(cls, question: Question, values: Sequence[str], random: Random) -> str:
        return EXAMPLE[: question["longest"] or len(EXAMPLE)]
