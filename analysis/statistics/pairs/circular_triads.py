"""Circular triads (a beats b beats c beats a) of each rater, and the coefficient of consistence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypedDict

import numpy as np

from analysis.arrays import Codes, Floats
from analysis.statistics.comparisons.test_result import Undefined
from analysis.statistics.pairs.pair_ratings import PairRatings

BY_CHANCE = 0.25  # of three pairs decided by coin tosses


@dataclass(frozen=True)
class Triads:
    """The triads of one judge (a rater, a rater and item, or the majority of all).

    ``triads`` had all three pairs decided, ``circular`` of them go round. ``consistence`` is
    Kendall's zeta in [0, 1], for a judge who decided every pair; else it is None and ``note``
    says why. ``tied`` pairs were judged and left undecided.
    """

    judge: tuple[int, ...]
    conditions: int
    pairs: int
    tied: int
    triads: int
    circular: int
    consistence: float | None
    note: str = ""

    @property
    def share(self) -> float | None:
        """Circular among decided triads; 0.25 by chance. None where there is none."""
        return self.circular / self.triads if self.triads else None


class TriadsSummary(TypedDict):
    """All judges together, as a row of a table."""

    judges: int
    triads: int
    circular: int
    share: float | None
    share_by_chance: float
    mean_consistence: float | None
    judges_with_all_pairs: int
    note: str


def circular_triads(ratings: PairRatings, by: Sequence[str] = ("rater",)) -> list[Triads]:
    """The triads of each judge: by ("rater",), ("rater", "item"), ("item",), or () for all.

    A judge's several ratings of a pair are summed; the sign of the sum decides. Kendall and
    Babington Smith (1940): d circular triads of at most (k³ - k)/24 (k odd) or (k³ - 4k)/24
    (k even); zeta = 1 - d / most. ``judge`` holds the codes of rater or item, in the order of
    ``by``.
    """
    known = {"rater": ratings.rater, "item": ratings.item}
    if any(name not in known for name in by):
        raise Undefined(f"judges are by rater, by item or by both, not {tuple(by)!r}")
    columns = [known[name] for name in by] or [np.zeros(len(ratings.y), dtype=np.int64)]
    judges, judge = np.unique(np.column_stack(columns), axis=0, return_inverse=True)
    order = np.argsort(judge.reshape(-1), kind="stable")
    ends = np.cumsum(np.bincount(judge.reshape(-1)))[:-1]
    return [
        _triads(tuple(int(part) for part in name) if by else (), ratings, rows)
        for rows, name in zip(np.split(order, ends), judges, strict=True)
    ]


def most_circular(conditions: int) -> int:
    """The most circular triads among k conditions, all pairs decided (Kendall, Babington Smith)."""
    k = conditions
    return (k**3 - k) // 24 if k % 2 else (k**3 - 4 * k) // 24


def _triads(judge: tuple[int, ...], ratings: PairRatings, rows: Codes) -> Triads:
    k = len(ratings.names)
    total, met = np.zeros((k, k)), np.zeros((k, k))
    a, b, y = ratings.a[rows], ratings.b[rows], ratings.y[rows]
    np.add.at(total, (a, b), y)
    np.add.at(total, (b, a), -y)
    np.add.at(met, (a, b), 1.0)
    np.add.at(met, (b, a), 1.0)
    beats = (total > 1e-9).astype(np.float64)
    decided = beats + beats.T
    pairs, settled = int(np.sum(met > 0)) // 2, int(decided.sum()) // 2
    circular, triads = round(_closed(beats) / 3), round(_closed(decided) / 6)
    consistence, note = None, ""
    if k < 3:
        note = "fewer than three conditions: no triads"
    elif settled == k * (k - 1) // 2:
        consistence = 1 - circular / most_circular(k)
    else:
        undecided = pairs - settled
        note = f"{settled} of {k * (k - 1) // 2} pairs decided ({undecided} tied): no coefficient"
    return Triads(judge, k, pairs, pairs - settled, triads, circular, consistence, note)


def _closed(matrix: Floats) -> float:
    """Closed walks of three steps."""
    return float(np.trace(matrix @ matrix @ matrix))


def triads_summary(judges: Sequence[Triads]) -> TriadsSummary:
    """All judges together: triads, circular ones, their share, and the mean coefficient."""
    triads, circular = sum(one.triads for one in judges), sum(one.circular for one in judges)
    zetas = [one.consistence for one in judges if one.consistence is not None]
    return {
        "judges": len(judges),
        "triads": triads,
        "circular": circular,
        "share": circular / triads if triads else None,
        "share_by_chance": BY_CHANCE,
        "mean_consistence": float(np.mean(zetas)) if zetas else None,
        "judges_with_all_pairs": len(zetas),
        "note": "" if triads else "nobody decided all three pairs of any three conditions",
    }
