"""Clips A, B and X: which of the two is X? Right or wrong, so whether a difference is heard."""

from random import Random

from listening.methods.estimand import DISCRIMINATION, Estimand
from listening.methods.method import (
    Options,
    Part,
    PlannedTrial,
    Scale,
    Step,
    gettext_noop,
    names_in,
)
from listening.methods.paired import Paired


class Abx(Paired):
    key = "abx"
    title = "ABX discrimination"
    estimand = Estimand(
        key="abx",
        name="ABX",
        phrase="the share of right ABX answers",
        axis="ABX: share that is right, 0.5 by guessing",
        ends=(0.0, 1.0),
        neutral=0.5,
        comparison=DISCRIMINATION,
        decimals=3,
        ceilings=False,
        scores=(0.0, 1.0),
        answers={1.0: "right", 0.0: "wrong"},
    )
    standard = "Munson and Gardner 1950 (ABX): the share that is right, 0.5 by guessing"
    default_question = gettext_noop("Which clip is the same as X?")
    default_criteria = (("discrimination", default_question, {}),)
    part_names = ("A", "B")

    def scale(self, options: Options) -> Scale:
        names = names_in(options)
        return Scale(
            (
                Step("A", 1.0, names.get("A", gettext_noop("X is A")), "1"),
                Step("B", 0.0, names.get("B", gettext_noop("X is B")), "2"),
            ),
            "choice",
        )

    def parts(self, trial: PlannedTrial, *, versus_first: bool, rng: Random) -> list[Part]:
        """A and B in their order, then X; the rating belongs to the rated one of A and B."""
        parts = super().parts(trial, versus_first=versus_first, rng=rng)
        a, b = parts[-2:]
        return [*parts, Part((a if _x_is_a(rng) else b).stimulus, "X", "reference")]

    def stored_score(self, score: float | None, *, versus_first: bool, rng: Random) -> float | None:
        """Raters say whether X is A; stored is whether that is right."""
        return score if score is None or _x_is_a(rng) else 1.0 - score


def _x_is_a(rng: Random) -> bool:
    return rng.random() < 0.5
