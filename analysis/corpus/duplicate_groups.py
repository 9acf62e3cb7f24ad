"""Pairs of duplicates joined to groups: what is connected by pairs stands in one group."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TypeVar

Pair = TypeVar("Pair")


def connected_groups(
    ends: Sequence[tuple[int, int]], pairs: Sequence[Pair]
) -> list[tuple[list[int], list[Pair]]]:
    """Return the numbers that pairs connect, in their order, each group with its pairs.

    ``ends`` are the two numbers of each of the ``pairs``.
    """
    leader: dict[int, int] = {}

    def find(n: int) -> int:
        while leader.setdefault(n, n) != n:
            leader[n] = leader[leader[n]]
            n = leader[n]
        return n

    for a, b in ends:
        first, second = sorted((find(a), find(b)))
        leader[second] = first
    members: dict[int, list[int]] = defaultdict(list)
    inside: dict[int, list[Pair]] = defaultdict(list)
    for n in sorted(leader):
        members[find(n)].append(n)
    for (a, _), pair in zip(ends, pairs, strict=True):
        inside[find(a)].append(pair)
    return [(members[top], inside[top]) for top in sorted(members)]
