"""Which two systems a comparison presents: the rules of drawing, and their probabilities.

Plain functions of counts and strengths. `PairDeck` deals balanced pairs ahead; the others draw a
pair when a rater claims a block, from what is known by then.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from math import ceil
from random import Random
from typing import Any, Protocol

from listening.design.blocks import PlannedBlock, PlannedSlot
from listening.methods import StimulusRef, method_named
from listening.methods.paired import ADAPTIVE, ALL, SWISS, UNIFORM_SHARE, Pair, Paired

SHARPNESS = 2  # the power of the information to which a probability is proportional
MOST_OF_EVEN = 4  # a pair gets at most this many times its even share of comparisons


@dataclass(frozen=True)
class PairFacts:
    """One pair of systems: comparisons drawn so far, and what the last fit says of it.

    ``spread`` is the Fisher information of one answer, p (1 - p), and ``variance`` that of the
    difference of the two strengths, with all comparisons that were drawn at the fit
    (``drawn_at_fit``), answered or not. ``met`` is whether the current Swiss round pairs the two.
    """

    drawn: int = 0
    drawn_at_fit: int = 0
    spread: float = 0.25
    variance: float = 1.0
    met: bool = True

    @property
    def information(self) -> float:
        """What one more answer tells: its Fisher information times the variance that is left."""
        since = max(self.drawn - self.drawn_at_fit, 0)
        gain = self.spread * self.variance
        return gain / (1 + since * gain)


def pair_probabilities(
    rule: str, facts: Sequence[PairFacts], uniform_share: float = UNIFORM_SHARE
) -> list[float]:
    """Return the probability of each pair, which sum to 1; ``uniform_share`` is spread evenly.

    ``adaptive``: proportional to the information to the power of `SHARPNESS`. ``swiss``: the pairs
    of the round that were drawn least since it began. ``random``: all alike.
    """
    return _with_uniform(_weights(rule, facts), uniform_share)


def _with_uniform(weights: Sequence[float], share: float) -> list[float]:
    n, total = len(weights), sum(weights)
    if not total > 0:
        return [1 / n] * n
    return [share / n + (1 - share) * weight / total for weight in weights]


def _weights(rule: str, facts: Sequence[PairFacts]) -> list[float]:
    if rule == ADAPTIVE:
        return [float(pair.information**SHARPNESS) for pair in facts]
    if rule == SWISS:
        since = [pair.drawn - pair.drawn_at_fit for pair in facts]
        least = min((n for n, pair in zip(since, facts, strict=True) if pair.met), default=0)
        return [float(pair.met and n == least) for n, pair in zip(since, facts, strict=True)]
    return [1.0] * len(facts)


class PairDrawing:
    """The draws of one claim: pairs, each with its probability, from counts that draws add to.

    A pair leaves the draw at ``most`` comparisons (`most_of_pair`), and for this rater once they
    have met it ``most_met`` times (`most_of_rater`), unless no other pair is left.
    """

    def __init__(
        self,
        rule: str,
        facts: Mapping[Pair, PairFacts],
        share: float,
        *,
        most: int,
        met: Counter[Pair],
        most_met: int,
    ) -> None:
        self.rule, self.facts, self.share = rule, dict(facts), share
        self.most, self.met, self.most_met = most, met, most_met
        self.weights = dict(zip(facts, _weights(rule, list(facts.values())), strict=True))

    def draw(self, there: Collection[Pair], rng: Random) -> tuple[Pair, float]:
        """Draw one of the pairs that are ``there``: the pair and its probability."""
        few = [pair for pair in there if self.facts[pair].drawn < self.most] or list(there)
        allowed = [pair for pair in few if self.met[pair] < self.most_met] or few
        if self.rule == SWISS:  # the weights of all pairs change with each draw
            chances = pair_probabilities(self.rule, [self.facts[p] for p in allowed], self.share)
        else:
            chances = _with_uniform([self.weights[p] for p in allowed], self.share)
        place = draw_place(chances, rng)
        pair = allowed[place]
        self.met[pair] += 1
        self.facts[pair] = replace(self.facts[pair], drawn=self.facts[pair].drawn + 1)
        (self.weights[pair],) = _weights(self.rule, [self.facts[pair]])
        return pair, chances[place]


def draw_place(probabilities: Sequence[float], rng: Random) -> int:
    """Return a place, drawn with these probabilities."""
    sums = list(accumulate(probabilities))
    at = rng.random() * sums[-1]
    return next((n for n, upto in enumerate(sums) if at < upto), len(sums) - 1)


def swiss_round(
    strengths: Mapping[str, float], drawn: Mapping[Pair, int], rng: Random
) -> list[Pair]:
    """Return the pairs of a round: neighbours by strength, of those that met least often.

    Each system is in one pair; of an odd number one is left out. Systems of one strength are in
    random order. The keys of ``drawn`` are pairs in alphabetical order.
    """
    names = sorted(strengths)
    rng.shuffle(names)
    names.sort(key=lambda name: -strengths[name])
    if len(names) % 2:
        names.remove(rng.choice(names))
    pairs = []
    while names:
        first, *others = names
        least = min(drawn.get(_sorted_pair(first, other), 0) for other in others)
        second = next(o for o in others if drawn.get(_sorted_pair(first, o), 0) == least)
        pairs.append(_sorted_pair(first, second))
        names = [name for name in others if name != second]
    return pairs


def _sorted_pair(one: str, other: str) -> Pair:
    return (one, other) if one < other else (other, one)


def most_of_pair(comparisons: int, pairs: int) -> int:
    """How many of a task's comparisons one pair of systems may get."""
    return ceil(MOST_OF_EVEN * comparisons / max(pairs, 1))


def most_of_rater(screens: int, pairs: int) -> int:
    """How often a rater may meet a pair of systems: once, unless there are too few pairs."""
    return ceil(screens / max(pairs, 1))


class PairDeck:
    """Deals pairs in random order, each as often as the others, within one."""

    def __init__(self, pairs: Sequence[Pair], rng: Random) -> None:
        self.pairs, self.rng = list(pairs), rng
        self.deck: list[Pair] = []
        self.dealt = dict.fromkeys(self.pairs, 0)

    def deal(self, there: Container[Pair]) -> tuple[Pair, int]:
        """Return the next pair of those that are ``there``, and how often it came before."""
        place = self._next(there)
        if place is None:
            self.deck += self.rng.sample(self.pairs, len(self.pairs))
            place = self._next(there)
        if place is None:
            raise ValueError("an item has none of the pairs")
        pair = self.deck.pop(place)
        self.dealt[pair] += 1
        return pair, self.dealt[pair] - 1

    def _next(self, there: Container[Pair]) -> int | None:
        return next((n for n, pair in enumerate(self.deck) if pair in there), None)


class PairedTask(Protocol):
    """A task, of a file or stored."""

    @property
    def method(self) -> str: ...
    @property
    def options(self) -> Mapping[str, Any]: ...


Candidates = dict[int, dict[Pair, tuple[int, int]]]  # of each item: its pairs, and their clips


def drawing_rule(task: PairedTask) -> str:
    """The rule by which a task chooses pairs; ``all`` for one that compares nothing."""
    method = method_named(task.method)
    return method.drawing_rule(task.options) if isinstance(method, Paired) else ALL


def candidates_of(task: PairedTask, material: Sequence[StimulusRef]) -> Candidates:
    """The pairs that each item of a task's material has."""
    method = method_named(task.method)
    return method.candidates(material) if isinstance(method, Paired) else {}


def deal_into(
    blocks: Iterable[PlannedBlock], candidates: Candidates, rng: Random
) -> Iterator[PlannedBlock]:
    """The blocks with balanced pairs in their slots, both orders of each equally often."""
    pairs = sorted({pair for there in candidates.values() for pair in there})
    deck = PairDeck(pairs, rng)
    starts = {pair: rng.random() < 0.5 for pair in pairs}
    for block in blocks:
        slots = []
        for slot in block.slots:
            there = candidates[slot.trial.item]
            pair, before = deck.deal(there)
            rated, versus = there[pair]
            trial = replace(slot.trial, rated=(rated,), versus=versus)
            slots.append(PlannedSlot(trial, starts[pair] ^ (before % 2 == 1)))
        yield replace(block, slots=tuple(slots))
