"""Which two systems a comparison presents: the rules of drawing, and their probabilities.

Plain functions of counts and strengths. `PairDeck` deals balanced pairs ahead; the others draw a
pair when a rater claims a block, from what is known by then.
"""

from __future__ import annotations

from bisect import bisect
from collections import Counter
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from itertools import accumulate, compress
from math import ceil
from random import Random
from typing import Any, Protocol

from listening.design.blocks import PlannedBlock, PlannedSlot
from listening.methods import Method, StimulusRef, method_named
from listening.methods.paired import ADAPTIVE, ALL, Pair, Paired

SHARPNESS = 2  # the power of the information to which a probability is proportional
MOST_OF_EVEN = 4  # a pair gets at most this many times its even share of comparisons


@dataclass(frozen=True)
class PairFacts:
    """What the last fit says of a task's pairs, in lists (pairs,) of one order.

    ``gain`` is the Fisher information of one answer, p (1 - p), times the variance of the
    difference of the two strengths, with all comparisons that were ``drawn`` at the fit, answered
    or not. ``met`` is whether the current Swiss round pairs the two.
    """

    drawn: Sequence[int]
    gain: Sequence[float]
    met: Sequence[bool]

    @classmethod
    def before_answers(cls, pairs: int) -> PairFacts:
        """Return what is known of so many pairs before the first fit: all are alike."""
        return cls([0] * pairs, [0.25] * pairs, [True] * pairs)

    def information(self, drawn: Sequence[int]) -> list[float]:
        """What one more answer tells, where the comparisons drawn since the fit tell theirs."""
        return [
            gain / (1 + (now - before) * gain if now > before else 1)
            for gain, now, before in zip(self.gain, drawn, self.drawn, strict=True)
        ]


class PairDrawing:
    """The draws of one claim: pairs, by their places, from counts that draws add to.

    ``adaptive``: the probability is proportional to the information to the power of `SHARPNESS`.
    ``swiss``: the pairs of the round that were drawn least since it began. A ``share`` of the
    probability is even over all pairs. A pair leaves the draw at ``most`` comparisons
    (`most_of_pair`), and for this rater once they have ``met`` it ``most_met`` times
    (`most_of_rater`), unless no other pair is left.
    """

    def __init__(
        self,
        rule: str,
        facts: PairFacts,
        drawn: Sequence[int],
        share: float,
        *,
        most: float,
        met: Counter[int],
        most_met: float,
    ) -> None:
        self.rule, self.facts, self.share = rule, facts, share
        self.drawn, self.most, self.met, self.most_met = list(drawn), most, met, most_met
        self.full = {place for place, n in enumerate(drawn) if n >= most}
        self.met_enough = {place for place, n in met.items() if n >= most_met}
        self.information = facts.information(drawn)

    def draw(self, there: Collection[int], rng: Random) -> tuple[int, float]:
        """Draw one of the pairs that are ``there``: its place and its probability."""
        allowed = _without(_without(there, self.full), self.met_enough)
        chances = self.probabilities(allowed)
        sums = list(accumulate(chances))
        at = min(bisect(sums, rng.random() * sums[-1]), len(sums) - 1)
        self._add(allowed[at])
        return allowed[at], chances[at]

    def probabilities(self, places: Sequence[int]) -> list[float]:
        """The probabilities of these pairs, which sum to 1."""
        weights = self._weights(places)
        total = sum(weights)
        if not total > 0:
            return [1 / len(places)] * len(places)
        even, factor = self.share / len(places), (1 - self.share) / total
        return [even + factor * weight for weight in weights]

    def _weights(self, places: Sequence[int]) -> list[float]:
        if self.rule == ADAPTIVE:
            return [self.information[place] ** SHARPNESS for place in places]
        since = [self.drawn[place] - self.facts.drawn[place] for place in places]
        met = [self.facts.met[place] for place in places]
        least = min(compress(since, met), default=0)
        return [float(of_round and n == least) for n, of_round in zip(since, met, strict=True)]

    def _add(self, place: int) -> None:
        self.drawn[place] += 1
        self.met[place] += 1
        if self.drawn[place] >= self.most:
            self.full.add(place)
        if self.met[place] >= self.most_met:
            self.met_enough.add(place)
        self.information[place] /= 1 + self.information[place]


def _without(places: Collection[int], closed: Set[int]) -> list[int]:
    """The places that are not closed; all of them if none is left."""
    return [place for place in places if place not in closed] or list(places)


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
    """The rule by which a task chooses pairs; ``all`` for one that compares nothing.

    That goes for a method whose plug-in is gone, too: the list of studies counts its plan.
    """
    method = Method.registry.get(task.method, Method)()
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
