"""Subsets of systems for screens that hold fewer clips than there are systems."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations
from math import gcd
from random import Random

SEED = 20050604  # of the search: the same material gives the same screens
ROUNDS, PROPOSALS = 3, 40  # over all items, and swaps tried for each screen in a round
Subsets = tuple[tuple[int, ...], ...]


def screens_per_item(systems: int, size: int) -> int:
    """How many screens of ``size`` clips show each of so many systems equally often."""
    return 1 if systems <= size else systems // gcd(systems, size)


@lru_cache(maxsize=32)
def balanced_subsets(items: tuple[tuple[int, ...], ...], size: int) -> tuple[Subsets, ...]:
    """The subsets of each item, of the systems (numbers) that the item has.

    Within an item each system is in equally many subsets. Over all items, swaps between the subsets
    of an item make the numbers of screens that two systems share as equal as the search finds: it
    lowers the sum of their squares, as in a nearly balanced incomplete block design. No two subsets
    of an item have the same system first, so that its first clip names a screen.
    """
    rng = Random(SEED)
    together: Counter[tuple[int, int]] = Counter()
    design = [_first_subsets(systems, size, rng) for systems in items]
    for subsets in design:
        for subset in subsets:
            _count(together, subset, 1)
    for _ in range(ROUNDS):
        for subsets in design:
            for _ in range(PROPOSALS * len(subsets) if len(subsets) > 1 else 0):
                _propose_swap(subsets, together, rng)
    return tuple(_with_distinct_firsts(subsets) for subsets in design)


def _first_subsets(systems: Sequence[int], size: int, rng: Random) -> list[set[int]]:
    """The systems in a random order, repeated and cut: none is twice in a subset."""
    if len(systems) <= size:
        return [set(systems)]
    count = screens_per_item(len(systems), size)
    order = rng.sample(list(systems), len(systems)) * size
    return [set(order[k * size : (k + 1) * size]) for k in range(count)]


def _propose_swap(subsets: list[set[int]], together: Counter[tuple[int, int]], rng: Random) -> None:
    """Swap a system of one subset for one of another, unless that balances pairs less well."""
    one, other = rng.sample(subsets, 2)
    ours, theirs = sorted(one - other), sorted(other - one)
    if not ours:
        return
    a, b = rng.choice(ours), rng.choice(theirs)
    change = 0
    for subset, leaving, entering in ((one, a, b), (other, b, a)):
        for mate in subset:
            if mate not in (leaving, entering):
                change += together[_pair(mate, entering)] - together[_pair(mate, leaving)] + 1
    if change > 0:
        return
    for subset in (one, other):
        _count(together, subset, -1)
    one.symmetric_difference_update((a, b))
    other.symmetric_difference_update((a, b))
    for subset in (one, other):
        _count(together, subset, 1)


def _with_distinct_firsts(subsets: Sequence[set[int]]) -> Subsets:
    """Each subset sorted, but for its first system, which no other subset has first.

    There are such systems (Hall 1935): a system is in no more subsets than a subset has systems.
    """
    owner: dict[int, int] = {}

    def give(number: int, seen: set[int]) -> bool:
        for system in sorted(subsets[number] - seen):
            seen.add(system)
            if system not in owner or give(owner[system], seen):
                owner[system] = number
                return True
        return False

    for number in range(len(subsets)):
        give(number, set())
    firsts = {number: system for system, number in owner.items()}
    return tuple(
        (firsts[number], *sorted(subset - {firsts[number]}))
        for number, subset in enumerate(subsets)
    )


def _count(together: Counter[tuple[int, int]], subset: set[int], by: int) -> None:
    for pair in combinations(sorted(subset), 2):
        together[pair] += by


def _pair(one: int, other: int) -> tuple[int, int]:
    return (one, other) if one < other else (other, one)
