"""Two clips of one item compared on a scale from -3 to 3 (ITU-T P.800 CCR, order balanced)."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from random import Random
from typing import Any

from listening.methods.base import Method, Part, PlannedTrial, Scale, StimulusRef, number_scale

NAMES = {
    "-3": "Second is much worse",
    "-2": "Second is worse",
    "-1": "Second is slightly worse",
    "0": "About the same",
    "1": "Second is slightly better",
    "2": "Second is better",
    "3": "Second is much better",
}


class Cmos(Method):
    key = "cmos"
    title = "Comparison mean opinion score"
    estimand = "cmos"
    standard = "ITU-T P.800 annex E (CCR); above 0 the condition beats the one it is compared with"
    default_question = "Compared with the first clip, how is the second one?"

    def scale(self, options: Mapping[str, Any]) -> Scale:
        reach = options.get("reach", 3)
        if reach not in (2, 3):
            raise ValueError(f"a comparison reaches to 2 or 3, not {reach!r}")
        return number_scale(-reach, reach, 1, {**NAMES, **options.get("names", {})})

    def pairs(self, stimuli: Sequence[StimulusRef], options: Mapping[str, Any]) -> list[list[str]]:
        """Pairs of conditions (rated, versus): named, or all against one, or round robin."""
        conditions = super().columns(stimuli, options)
        if "pairs" in options:
            return [list(pair) for pair in options["pairs"]]
        if "versus" in options:
            return [[c, options["versus"]] for c in conditions if c != options["versus"]]
        return [list(pair) for pair in combinations(conditions, 2)]

    def columns(self, stimuli: Sequence[StimulusRef], options: Mapping[str, Any]) -> list[str]:
        return [f"{a} ~ {b}" for a, b in self.pairs(stimuli, options)]

    def trials(
        self, stimuli: Sequence[StimulusRef], options: Mapping[str, Any]
    ) -> Iterator[PlannedTrial]:
        by_cell = {(s.item, s.condition): s.pk for s in stimuli}
        for item in sorted({s.item for s in stimuli}):
            for a, b in self.pairs(stimuli, options):
                if (item, a) in by_cell and (item, b) in by_cell:
                    yield PlannedTrial(item, f"{a} ~ {b}", (by_cell[item, a],), by_cell[item, b])

    def stored_score(self, score: float | None, *, versus_first: bool, rng: Random) -> float | None:
        """Raters say how the second clip is; stored is how `condition` is."""
        return score if versus_first or score is None else -score + 0.0

    def parts(self, trial: PlannedTrial, *, versus_first: bool, rng: Random) -> list[Part]:
        if trial.versus is None:
            raise ValueError("a comparison needs two stimuli")
        pair = [(trial.rated[0], "rated"), (trial.versus, "versus")]
        ordered = pair[::-1] if versus_first else pair
        return [
            Part(pk, name, role)
            for (pk, role), name in zip(ordered, ("First", "Second"), strict=True)
        ]
