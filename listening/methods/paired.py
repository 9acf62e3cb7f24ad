"""Two clips of one item: which pairs of conditions are planned, and in which order they play."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from random import Random
from typing import Any, ClassVar

from listening.methods.method import (
    Method,
    Part,
    PlannedTrial,
    StimulusRef,
    context_of,
    gettext_noop,
)

BETWEEN = " ~ "  # between the two conditions of a column


class Paired(Method):
    """A method that compares two clips; both orders are planned equally often."""

    part_names: ClassVar[tuple[str, str]] = (gettext_noop("First"), gettext_noop("Second"))

    def pairs(self, stimuli: Sequence[StimulusRef], options: Mapping[str, Any]) -> list[list[str]]:
        """Pairs of conditions (rated, versus): named, or all against one, or round robin."""
        conditions = super().columns(stimuli, options)
        if "pairs" in options:
            return _named_pairs(options["pairs"])
        if "versus" in options:
            return [[c, options["versus"]] for c in conditions if c != options["versus"]]
        return [list(pair) for pair in combinations(conditions, 2)]

    def columns(self, stimuli: Sequence[StimulusRef], options: Mapping[str, Any]) -> list[str]:
        return [BETWEEN.join(pair) for pair in self.pairs(stimuli, options)]

    def trials(
        self, stimuli: Sequence[StimulusRef], options: Mapping[str, Any]
    ) -> Iterator[PlannedTrial]:
        by_cell = {(s.item, s.condition): s.pk for s in stimuli}
        for item in sorted({s.item for s in stimuli}):
            for a, b in self.pairs(stimuli, options):
                if (item, a) in by_cell and (item, b) in by_cell:
                    yield PlannedTrial(item, a + BETWEEN + b, (by_cell[item, a],), by_cell[item, b])

    def parts(self, trial: PlannedTrial, *, versus_first: bool, rng: Random) -> list[Part]:
        if trial.versus is None:
            raise ValueError("a comparison needs two stimuli")
        pair = [(trial.rated[0], "rated"), (trial.versus, "versus")]
        ordered = pair[::-1] if versus_first else pair
        named = zip(ordered, self.part_names, strict=True)
        return [*context_of(trial), *(Part(pk, name, role) for (pk, role), name in named)]


def _named_pairs(pairs: Any) -> list[list[str]]:
    """The option `pairs`, checked: two different conditions each, no two of them twice."""
    like = 'pairs is a list of pairs of conditions, like [["a", "b"], ["a", "c"]]'
    if not isinstance(pairs, Sequence) or isinstance(pairs, str) or not pairs:
        raise ValueError(like)
    seen: set[frozenset[str]] = set()
    for pair in pairs:
        if not isinstance(pair, list | tuple) or len(pair) != 2 or pair[0] == pair[1]:
            raise ValueError(like)
        if frozenset(pair) in seen:
            raise ValueError(f"pairs compares “{pair[0]}” with “{pair[1]}” twice")
        seen.add(frozenset(pair))
    return [list(pair) for pair in pairs]
