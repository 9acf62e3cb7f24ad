"""Two clips of one item compared on a scale from -3 to 3, order balanced."""

from collections.abc import Mapping
from random import Random
from typing import ClassVar

from listening.methods.estimand import PREFERENCE, Estimand
from listening.methods.method import Options, Scale, gettext_noop, names_in, number_scale
from listening.methods.paired import Paired

NAMES = {
    "-3": gettext_noop("Second is much worse"),
    "-2": gettext_noop("Second is worse"),
    "-1": gettext_noop("Second is slightly worse"),
    "0": gettext_noop("About the same"),
    "1": gettext_noop("Second is slightly better"),
    "2": gettext_noop("Second is better"),
    "3": gettext_noop("Second is much better"),
}


class Cmos(Paired):
    key = "cmos"
    title = "Comparison mean opinion score"
    estimand = Estimand(
        key="cmos",
        name="CMOS",
        phrase="the comparison mean opinion score (CMOS)",
        axis="CMOS: above 0 beats the other",
        neutral=0.0,
        reach=3.0,
        comparison=PREFERENCE,
        equivalence=0.1,
    )
    standard = "Scale of ITU-T P.800 annex E; above 0 the condition beats the other one"
    default_question = gettext_noop("Compared with the first clip, how is the second one?")
    default_criteria = (("naturalness", default_question, {}),)
    default_reach: ClassVar[int] = 3
    default_names: ClassVar[Mapping[str, str]] = NAMES

    def scale(self, options: Options) -> Scale:
        reach = options.get("reach", self.default_reach)
        if reach not in (1, 2, 3):
            raise ValueError(f"a comparison reaches to 1, 2 or 3, not {reach!r}")
        return number_scale(-reach, reach, 1, {**self.default_names, **names_in(options)})

    def stored_score(self, score: float | None, *, versus_first: bool, rng: Random) -> float | None:
        """Raters say how the second clip is; stored is how `condition` is."""
        return score if versus_first or score is None else -score + 0.0
