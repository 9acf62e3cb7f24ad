"""Which differences a report decides: those with the reference, and those among the systems."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from itertools import combinations

from analysis.statistics.comparisons.pairwise_contrasts import Pair

REFERENCE, SYSTEMS = "against the reference", "among the systems"


def declared_families(
    names: Sequence[str], reference: str = "", anchors: Collection[str] = ()
) -> dict[str, list[Pair]]:
    """The pairs (a, b), a < b, of indices of ``names`` that each declared family holds.

    Each family is adjusted by itself. What meets an anchor is in none: anchors are made to be
    heard, and to claim that they are would cost the others power.
    """
    families: dict[str, list[Pair]] = {REFERENCE: [], SYSTEMS: []}
    for a, b in combinations(range(len(names)), 2):
        if names[a] in anchors or names[b] in anchors:
            continue
        met = reference != "" and reference in (names[a], names[b])
        families[REFERENCE if met else SYSTEMS].append((a, b))
    return {name: pairs for name, pairs in families.items() if pairs}
