"""Two clips of one item: which pairs of conditions are compared, and in which order they play.

A study names the pairs, or a rule: all of them, or pairs drawn for each comparison.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations
from random import Random
from typing import Any, ClassVar

from listening.methods.estimand import PREFERENCE
from listening.methods.method import (
    Method,
    Options,
    Part,
    PlannedTrial,
    StimulusRef,
    context_of,
    gettext_noop,
    without_prompts,
)

BETWEEN = " ~ "  # between the two conditions of a column
ALL, RANDOM, SWISS, ADAPTIVE = "all", "random", "swiss", "adaptive"
RULES = (ALL, RANDOM, SWISS, ADAPTIVE)
AT_CLAIM = (SWISS, ADAPTIVE)  # rules that look at the answers so far
UNIFORM_SHARE = 0.2
DRAWN = "pairs drawn for each comparison"  # the column of a task that draws them
Pair = tuple[str, str]


def pair_rule(options: Options) -> str:
    """The rule by which a task chooses pairs; ``all`` where it names them. ValueError if none."""
    named = options.get("pairs", ALL)
    if not isinstance(named, str):
        return ALL
    if named not in RULES:
        known = ", ".join(f"“{rule}”" for rule in RULES)
        raise ValueError(f"pairs is {known} or a list of pairs, not “{named}”")
    return named


def uniform_share(options: Options) -> float:
    """Which share of the draws is uniform over all pairs; ValueError unless 0 < share <= 1."""
    share = options.get("uniform_share", UNIFORM_SHARE)
    if isinstance(share, bool) or not isinstance(share, int | float) or not 0 < share <= 1:
        raise ValueError(f"uniform_share is a share above 0 and up to 1, like 0.2, not {share!r}")
    return float(share)


def rule_in_words(options: Options) -> str:
    """How the two systems of a comparison are chosen, in a clause; empty where all pairs are."""
    rule = pair_rule(options)
    evenly = f"{uniform_share(options):.0%} of the probability is even over all pairs"
    return {
        ALL: "",
        RANDOM: "the two systems of a comparison are drawn at random, every pair equally often",
        SWISS: "systems of similar strength meet, as in a Swiss tournament whose rounds follow "
        f"from the answers so far; {evenly}",
        ADAPTIVE: "the two systems of a comparison are drawn with a probability that grows with "
        f"the information expected from it, given the answers so far; {evenly}",
    }[rule]


class Paired(Method):
    """A method that compares two clips; both orders are planned equally often."""

    part_names: ClassVar[tuple[str, str]] = (gettext_noop("First"), gettext_noop("Second"))

    def pairs(self, stimuli: Sequence[StimulusRef], options: Options) -> list[list[str]]:
        """Pairs of conditions (rated, versus): named, or all against one, or round robin."""
        conditions = sorted({s.condition for s in without_prompts(stimuli)})
        if "pairs" in options and not isinstance(options["pairs"], str):
            return _named_pairs(options["pairs"])
        if "versus" in options:
            return [[c, options["versus"]] for c in conditions if c != options["versus"]]
        return [list(pair) for pair in combinations(conditions, 2)]

    def columns(self, stimuli: Sequence[StimulusRef], options: Options) -> list[str]:
        if self.drawing_rule(options) != ALL:
            return [DRAWN]
        return [BETWEEN.join(pair) for pair in self.pairs(stimuli, options)]

    def trials(self, stimuli: Sequence[StimulusRef], options: Options) -> Iterator[PlannedTrial]:
        """One per item and pair; where pairs are drawn, one per item, with its first pair."""
        if self.drawing_rule(options) != ALL:
            for item, there in self.candidates(stimuli).items():
                rated, versus = next(iter(there.values()))
                yield PlannedTrial(item, DRAWN, (rated,), versus)
            return
        by_cell = {(s.item, s.condition): s.pk for s in stimuli}
        for item in sorted({s.item for s in stimuli}):
            for a, b in self.pairs(stimuli, options):
                if (item, a) in by_cell and (item, b) in by_cell:
                    yield PlannedTrial(item, a + BETWEEN + b, (by_cell[item, a],), by_cell[item, b])

    def drawing_rule(self, options: Options) -> str:
        """The rule by which pairs are chosen; ValueError where the method cannot draw them."""
        rule = pair_rule(options)
        if rule == ALL:
            return rule
        if self.estimand.comparison != PREFERENCE:
            raise ValueError(f"pairs = “{rule}” needs answers that prefer one of two systems")
        if "versus" in options:
            raise ValueError(f"pairs = “{rule}” draws from all pairs, so versus cannot be set")
        if rule in AT_CLAIM:
            uniform_share(options)
        return rule

    def candidates(self, stimuli: Sequence[StimulusRef]) -> dict[int, dict[Pair, tuple[int, int]]]:
        """The pairs of systems that each item has, in alphabetical order, and their clips."""
        of_item: dict[int, dict[str, int]] = {}
        for s in without_prompts(stimuli):
            of_item.setdefault(s.item, {})[s.condition] = s.pk
        return {
            item: {(a, b): (clips[a], clips[b]) for a, b in combinations(sorted(clips), 2)}
            for item, clips in sorted(of_item.items())
            if len(clips) > 1
        }

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
