"""Traps: which a block gets, and where they stand, so that no rater can predict the place."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any, Literal, TypeVar

from listening.methods.base import Method, Scale

T = TypeVar("T")


@dataclass(frozen=True)
class TrapKind:
    """A kind of trap: how many a set holds, the labels that pass, and how many must pass."""

    kind: str
    count: int
    expected: tuple[str, ...]
    pass_at_least: int
    tolerance: float = 0.0  # a score this near to an expected one passes too
    criterion: str = ""  # which answer is judged; "" is the first criterion
    text: bool = False  # the item's text, which holds the instruction, is shown


@dataclass(frozen=True)
class TrapPlan:
    """The traps of a task: per set of `per` clips, beside them or among them."""

    kinds: tuple[TrapKind, ...] = ()
    placement: Literal["outside", "inside"] = "outside"
    per: int = 10

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> TrapPlan:
        kinds = tuple(
            TrapKind(**{**k, "expected": tuple(k.get("expected", ()))})
            for k in data.get("kinds", ())
        )
        return cls(kinds, data.get("placement", "outside"), data.get("per", 10))

    @property
    def traps_per_set(self) -> int:
        return sum(k.count for k in self.kinds)

    @property
    def rated_per_set(self) -> int:
        """Rated clips of one set: all of `per`, or what the traps inside it leave."""
        return self.per if self.placement == "outside" else self.per - self.traps_per_set

    def sets_for(self, rated: int) -> int:
        """Sets that a block of `rated` clips makes; a block that came back short is one set."""
        return -(-rated // self.rated_per_set) if self.kinds else 0


def passing_labels(
    scale: Scale,
    expected: Sequence[str],
    tolerance: float = 0.0,
    stored: Callable[[float], float | None] = lambda score: score,
) -> list[str]:
    """The labels that a rater may choose: those whose stored score is near an expected one.

    `stored` turns the score of an answer as the trial's order asks; what is expected is said of
    the trap's own stimulus against the other.
    """
    if scale.span is not None:
        low, high, step = scale.span
        labels = [f"{low + k * step:g}" for k in range(round((high - low) / step) + 1)]
    else:
        labels = list(scale.labels)
    wanted = [scale.score(label) for label in expected]
    if scale.widget in ("many", "text") or None in wanted:
        return list(expected)
    passing = []
    for label in labels:
        given = scale.score(label)
        score = None if given is None else stored(given)
        if any(score is not None and abs(score - (w or 0.0)) <= tolerance + 1e-9 for w in wanted):
            passing.append(label)
    return passing


def labels_to_pass(
    method: Method,
    scale: Scale,
    expected: Sequence[str],
    tolerance: float,
    *,
    versus_first: bool,
    draws: str,
) -> list[str]:
    """The labels that pass in one trial, whose order and draws (a seed) turn the scores."""

    def stored(score: float) -> float | None:
        return method.stored_score(score, versus_first=versus_first, rng=Random(draws))

    return passing_labels(scale, expected, tolerance, stored)


def draw_traps(
    plan: TrapPlan, pool: Mapping[str, Sequence[int]], heard: set[int], sets: int, rng: Random
) -> list[tuple[TrapKind, int]]:
    """Trap stimuli for so many sets: those that the rater has not heard come first."""
    drawn: list[tuple[TrapKind, int]] = []
    for kind in plan.kinds:
        candidates = list(pool.get(kind.kind, ()))
        if not candidates:
            raise ValueError(f"there is no stimulus for the trap kind “{kind.kind}”")
        rng.shuffle(candidates)
        candidates.sort(key=lambda pk: pk in heard)  # stable: fresh ones first, each part shuffled
        wanted = kind.count * sets
        drawn += [(kind, candidates[k % len(candidates)]) for k in range(wanted)]
    return drawn


def weave(rated: Sequence[T], traps: Sequence[T], sets: int, rng: Random) -> list[T]:
    """Rated clips in their order with each set's traps at places drawn evenly from all places."""
    woven: list[T] = []
    order = list(traps)
    rng.shuffle(order)
    for k in range(max(sets, 1)):
        clips = list(rated[_share(len(rated), sets, k) : _share(len(rated), sets, k + 1)])
        own = order[_share(len(order), sets, k) : _share(len(order), sets, k + 1)]
        places = set(rng.sample(range(len(clips) + len(own)), len(own)))
        sources = {True: iter(own), False: iter(clips)}
        woven += [next(sources[p in places]) for p in range(len(clips) + len(own))]
    return woven


def _share(total: int, parts: int, k: int) -> int:
    return total * k // max(parts, 1)
