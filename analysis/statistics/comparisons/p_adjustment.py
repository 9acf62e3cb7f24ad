"""p values adjusted for many comparisons: Bonferroni, Holm, Benjamini-Hochberg, Tukey, max-t.

p values are floats in [0, 1] or None (no test); None stays None and is not counted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize, stats

from analysis.arrays import Floats
from analysis.statistics.comparisons.test_result import Undefined
from analysis.statistics.intervals import holm

__all__ = [
    "ADJUSTMENTS",
    "adjusted",
    "benjamini_hochberg",
    "bonferroni",
    "holm",
    "max_t",
    "max_t_critical",
    "tukey",
    "tukey_critical",
]
Ps = Sequence[float | None]
_LOG_POINTS = 14  # 2^14 directions
_NO_EIGENVALUE = 1e-10
_NORMAL_FROM = 1e5


def sidak(p: float, m: int) -> float:
    """The adjusted p of one of m tests (Šidák 1967): 1 - (1 - p)^m.

    It holds for normal means of any correlation; see `sidak_level` for the intervals.
    """
    return min(1.0, -float(np.expm1(m * np.log1p(-min(p, 1 - 1e-16)))))


def sidak_level(level: float, m: int) -> float:
    """The level at which each of m intervals is made so that all hold at ``level`` at once."""
    return float(level ** (1 / max(m, 1)))


def bonferroni(p: Ps) -> list[float | None]:
    """min(1, m p), m the number of tests (Dunn 1961): the chance of any false claim is bounded."""
    m = sum(value is not None for value in p)
    return [None if value is None else min(1.0, m * value) for value in p]


def benjamini_hochberg(p: Ps) -> list[float | None]:
    """Step-up adjusted p (Benjamini and Hochberg 1995): bounds the share of false claims."""
    known = sorted(((value, i) for i, value in enumerate(p) if value is not None), reverse=True)
    result: list[float | None] = [None] * len(p)
    lowest = 1.0
    for place, (value, i) in enumerate(known):
        lowest = min(lowest, value * len(known) / (len(known) - place))
        result[i] = lowest
    return result


def _unadjusted(p: Ps) -> list[float | None]:
    return list(p)


def _holm(p: Ps) -> list[float | None]:
    return holm(list(p))


ADJUSTMENTS: dict[str, Callable[[Ps], list[float | None]]] = {
    "none": _unadjusted,
    "bonferroni": bonferroni,
    "holm": _holm,
    "bh": benjamini_hochberg,
}


def adjusted(p: Ps, method: str = "holm") -> list[float | None]:
    """p adjusted by name: none, bonferroni, holm or bh; Undefined names the known ones."""
    if method not in ADJUSTMENTS:
        raise Undefined(f"no adjustment {method!r}; known are {', '.join(ADJUSTMENTS)}")
    return ADJUSTMENTS[method](p)


def tukey(t: ArrayLike, means: int, df: ArrayLike = np.inf) -> Floats:
    """p of all pairs of ``means`` means from their t (m,): P(q > |t| √2) (Tukey; Kramer 1956).

    ``df`` is a number or (m,); exact for balanced independent means, conservative otherwise.
    """
    q = np.abs(np.asarray(t, dtype=np.float64)) * 2**0.5
    degrees = np.minimum(np.asarray(df, dtype=np.float64), _NORMAL_FROM)
    return np.asarray(stats.studentized_range.sf(q, means, degrees), dtype=np.float64)


def tukey_critical(means: int, df: float, level: float) -> float:
    """The |t| that all pairs of ``means`` means stay under with probability ``level``."""
    q = stats.studentized_range.ppf(level, means, min(df, _NORMAL_FROM))
    return float(q) / 2**0.5


def max_t(t: ArrayLike, covariance: ArrayLike, df: float = np.inf, seed: int = 0) -> Floats:
    """Single-step adjusted p: P(max |T| >= |t_j|), T multivariate t (Hothorn et al. 2008, eq. 4).

    ``t`` (m,) are the statistics, ``covariance`` (m, m) that of their estimates, singular or not.
    With the family "against a reference" this is Dunnett's test (Dunnett 1955), for any design.
    The radius is integrated exactly and the direction by scrambled Sobol points from ``seed``
    (Genz and Bretz 2009, sec. 4.1): p has a relative error of about 1e-3, however small it is.
    """
    largest, rank = _largest_on_sphere(_correlation(covariance), seed)
    statistics = np.abs(np.asarray(t, dtype=np.float64))
    return np.array([_exceeds(float(value), largest, rank, df) for value in statistics])


def max_t_critical(covariance: ArrayLike, df: float, level: float, seed: int = 0) -> float:
    """The |t| that all m statistics stay under with probability ``level`` (equicoordinate)."""
    largest, rank = _largest_on_sphere(_correlation(covariance), seed)
    one = float(stats.t.ppf((1 + level) / 2, df))
    all_of_them = float(stats.t.ppf(1 - (1 - level) / (2 * len(np.atleast_2d(covariance))), df))

    def excess(value: float) -> float:
        return _exceeds(value, largest, rank, df) - (1 - level)

    return float(optimize.brentq(excess, 0.9 * one, 1.1 * all_of_them, xtol=1e-9))


def _correlation(covariance: ArrayLike) -> Floats:
    matrix = np.atleast_2d(np.asarray(covariance, dtype=np.float64))
    sd = np.sqrt(np.diag(matrix))
    if not np.all(np.isfinite(matrix)) or np.any(sd <= 0):
        raise Undefined("a difference has no variance: its simultaneous test is undefined")
    result: Floats = matrix / np.outer(sd, sd)
    return result


def _largest_on_sphere(correlation: Floats, seed: int) -> tuple[Floats, int]:
    """max_j |l_j'u| over uniform directions u (n,), with correlation = L L', and L's rank."""
    values, vectors = np.linalg.eigh(correlation)
    kept = values > _NO_EIGENVALUE * values[-1]
    root = vectors[:, kept] * np.sqrt(values[kept])
    rank = int(kept.sum())
    if rank == 1:
        return np.abs(root[:, :1]).max(axis=0), 1
    points = stats.qmc.Sobol(rank, rng=np.random.default_rng(seed)).random_base2(_LOG_POINTS)
    normal = stats.norm.ppf(np.clip(points, 1e-12, 1 - 1e-12))
    direction = normal / np.linalg.norm(normal, axis=1, keepdims=True)
    return np.asarray(np.abs(direction @ root.T).max(axis=1), dtype=np.float64), rank


def _exceeds(value: float, largest: Floats, rank: int, df: float) -> float:
    """P(max |T| >= value): the squared radius over rank is F on (rank, df)."""
    squared = (value / largest) ** 2
    if df >= _NORMAL_FROM:
        return float(np.mean(stats.chi2.sf(squared, rank)))
    return float(np.mean(stats.f.sf(squared / rank, rank, df)))
