"""Pairs of duplicates joined to groups: what is connected by pairs stands in one group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

from analysis.statistics.linking.linked_studies import groups_of

Pair = TypeVar("Pair")


def connected_groups(
    ends: Sequence[tuple[int, int]], pairs: Sequence[Pair]
) -> list[tuple[list[int], list[Pair]]]:
    """Return the numbers that pairs connect, in their order, each group with its pairs.

    ``ends`` are the two numbers of each of the ``pairs``.
    """
    groups = groups_of(sorted({number for both in ends for number in both}), ends)
    place = {number: at for at, group in enumerate(groups) for number in group}
    inside: list[list[Pair]] = [[] for _ in groups]
    for (first, _), pair in zip(ends, pairs, strict=True):
        inside[place[first]].append(pair)
    return list(zip(groups, inside, strict=True))
