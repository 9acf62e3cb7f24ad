"""Contrasts of pairs of estimates, adjusted over the pairs compared; and the declared families."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from analysis.arrays import Floats
from analysis.statistics.comparisons.p_adjustment import adjust_p

Pair = tuple[int, int]
NO_VARIANCE = "the difference has no variance: a test is undefined"
_NO_WIDTH = 1e-24


def all_pairs(n: int) -> list[Pair]:
    """Every pair (a, b), a < b, of n conditions, in order."""
    return list(combinations(range(n), 2))


def pair_contrasts(pairs: Sequence[Pair], n: int) -> Floats:
    """The contrasts (m, n) of pairs (a, b) of n conditions: 1 at a, -1 at b."""
    rows, place = np.zeros((len(pairs), n)), np.arange(len(pairs))
    first, second = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    rows[place, first], rows[place, second] = 1.0, -1.0
    return rows


@dataclass(frozen=True)
class Comparison:
    """The difference ``condition`` minus ``versus`` with its interval at ``level`` and p.

    ``p_adjusted`` holds for the whole family, the interval for this difference alone (for
    intervals that hold together see `simultaneous`). Numbers are None where undefined, and
    ``note`` says why.
    """

    condition: str
    versus: str
    value: float
    se: float | None
    df: float
    statistic: float | None
    p: float | None
    p_adjusted: float | None
    adjustment: str
    low: float | None
    high: float | None
    level: float
    note: str


def compare(
    names: Sequence[str],
    values: ArrayLike,
    covariance: ArrayLike,
    pairs: Sequence[Pair] | None = None,
    *,
    df: float = np.inf,
    adjustment: str = "holm",
    level: float = 0.95,
    floors: Sequence[Floats] = (),
    note: str = "",
) -> list[Comparison]:
    """Wald contrasts of estimates (k,) with a covariance (k, k), adjusted over the given pairs.

    ``pairs`` (all by default) index the names. The variance of a - b is C_aa + C_bb - 2 C_ab, or
    that of a matrix in ``floors`` where it is larger; ``adjustment`` as in `adjust_p`. Source:
    Hothorn, Bretz and Westfall (2008), Simultaneous inference in general parametric models.
    """
    family = all_pairs(len(names)) if pairs is None else list(pairs)
    estimates = np.asarray(values, dtype=np.float64)
    matrices = [np.asarray(matrix, dtype=np.float64) for matrix in (covariance, *floors)]
    quantile = float(stats.t.ppf((1 + level) / 2, df))
    wald: list[tuple[float, float | None, float | None]] = []  # difference, standard error, p
    for a, b in family:
        value = float(estimates[a] - estimates[b])
        variance = max(float(c[a, a] + c[b, b] - 2 * c[a, b]) for c in matrices)
        se = float(np.sqrt(variance)) if variance > _NO_WIDTH else None
        wald.append((value, se, None if se is None else float(2 * stats.t.sf(abs(value / se), df))))
    p_adjusted = adjust_p([p for _, _, p in wald], adjustment)
    return [
        Comparison(
            condition=names[a],
            versus=names[b],
            value=value,
            se=se,
            df=df,
            statistic=None if se is None else value / se,
            p=p,
            p_adjusted=for_all,
            adjustment=adjustment,
            low=None if se is None else value - quantile * se,
            high=None if se is None else value + quantile * se,
            level=level,
            note=NO_VARIANCE if se is None else note,
        )
        for (a, b), (value, se, p), for_all in zip(family, wald, p_adjusted, strict=True)
    ]


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
