"""p values adjusted for many comparisons: Bonferroni, Holm, Benjamini-Hochberg, Tukey, Šidák.

p values are floats in [0, 1] or None (no test); None stays None and is not counted. SciPy has
Benjamini-Hochberg and the studentised range; Holm is ours: five lines against statsmodels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from analysis.arrays import Floats
from analysis.statistics.comparisons.test_result import Undefined
from analysis.statistics.intervals import holm

Ps = Sequence[float | None]
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
    known = [value for value in p if value is not None]
    adjusted_p = iter(stats.false_discovery_control(known).tolist() if known else [])
    return [None if value is None else next(adjusted_p) for value in p]


ADJUSTMENTS: dict[str, Callable[[Ps], list[float | None]]] = {
    "none": list,
    "bonferroni": bonferroni,
    "holm": holm,
    "bh": benjamini_hochberg,
}


def adjust_p(p: Ps, method: str = "holm") -> list[float | None]:
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
