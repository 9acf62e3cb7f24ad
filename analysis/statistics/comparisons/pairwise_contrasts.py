"""Which pairs are compared (all, against the best, against a reference), and their contrasts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from analysis.arrays import Floats
from analysis.statistics.comparisons.p_adjustment import (
    adjusted,
    max_t,
    max_t_critical,
    tukey,
    tukey_critical,
)
from analysis.statistics.comparisons.test_result import Undefined

Pair = tuple[int, int]
CHOSEN_BY_THE_DATA = (
    "the best was chosen by these data: its lead is flattered, adjusted p values hold for a "
    "reference named beforehand"
)
NO_VARIANCE = "the difference has no variance: a test is undefined"
_NO_WIDTH = 1e-24
_ROUNDING = 1e-12


def all_pairs(n: int) -> list[Pair]:
    """Every pair (a, b), a < b, of n conditions, in order."""
    return list(combinations(range(n), 2))


def against_reference(names: Sequence[str], reference: str) -> list[Pair]:
    """Every other condition minus the reference; Undefined if it is not among the names."""
    if reference not in names:
        raise Undefined(f"no condition {reference!r}; there are {', '.join(names)}")
    at = list(names).index(reference)
    return [(i, at) for i in range(len(names)) if i != at]


def against_best(values: ArrayLike, low_is_best: bool = False) -> list[Pair]:
    """Every other condition minus the best of ``values`` (n,); the first of equals is the best."""
    array = np.asarray(values, dtype=np.float64)
    if not len(array):
        raise Undefined("no condition: there is no best one")
    best = int(np.argmin(array) if low_is_best else np.argmax(array))
    return [(i, best) for i in range(len(array)) if i != best]


@dataclass(frozen=True)
class Comparison:
    """The difference ``condition`` minus ``versus``: interval, p, and both for the whole family.

    ``low`` and ``high`` hold at ``level`` for this difference alone, ``low_all`` and ``high_all``
    for all of the family at once (None where the adjustment has no intervals: Holm, BH). Numbers
    are None where undefined, and ``note`` says why.
    """

    condition: str
    versus: str
    value: float
    se: float | None = None
    df: float = np.inf
    statistic: float | None = None
    p: float | None = None
    p_adjusted: float | None = None
    adjustment: str = "none"
    low: float | None = None
    high: float | None = None
    low_all: float | None = None
    high_all: float | None = None
    level: float = 0.95
    note: str = ""

    def row(self) -> dict[str, Any]:
        """The comparison as one flat row of plain values; an infinite df is None."""
        row = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return row | {"df": self.df if np.isfinite(self.df) else None}


def compare(
    names: Sequence[str],
    values: ArrayLike,
    covariance: ArrayLike,
    pairs: Sequence[Pair] | None = None,
    *,
    df: ArrayLike = np.inf,
    adjustment: str = "holm",
    level: float = 0.95,
    floors: Sequence[Floats] = (),
    seed: int = 0,
    note: str = "",
) -> list[Comparison]:
    """Wald contrasts of estimates (k,) with a covariance (k, k), adjusted over the given pairs.

    ``pairs`` (all by default) index the names; ``df`` is one number or one per pair. The variance
    of a - b is C_aa + C_bb - 2 C_ab, or that of a matrix in ``floors`` where it is larger.
    ``adjustment`` is none, bonferroni, holm, bh, tukey (all pairs) or dunnett (max |t| of the
    multivariate t with this covariance; what a floor adds is taken as independent); with unequal
    df, the intervals for all of tukey and dunnett, and dunnett's p, take the least. Source:
    Hothorn, Bretz and Westfall (2008), Simultaneous inference in general parametric models.
    """
    chosen = all_pairs(len(names)) if pairs is None else list(pairs)
    estimates = np.asarray(values, dtype=np.float64)
    matrices = [np.asarray(matrix, dtype=np.float64) for matrix in (covariance, *floors)]
    difference = np.array([estimates[a] - estimates[b] for a, b in chosen])
    variance = np.array([max(_variance(m, pair) for m in matrices) for pair in chosen])
    degrees = np.broadcast_to(np.asarray(df, dtype=np.float64), (len(chosen),))
    tested = variance > _NO_WIDTH
    se = np.sqrt(np.maximum(variance, 0.0))
    t = np.divide(difference, se, out=np.full(len(chosen), np.nan), where=tested)
    p = [float(2 * stats.t.sf(abs(t[i]), degrees[i])) if tested[i] else None for i in range(len(t))]
    joint = _Joint(len(names), matrices[0], chosen, variance, degrees, level, seed)
    p_all, critical = joint.adjusted(t, p, adjustment)
    rows = []
    for i, (a, b) in enumerate(chosen):
        value, degree, chance = float(difference[i]), float(degrees[i]), p[i]
        make = partial(Comparison, names[a], names[b], value, df=degree, adjustment=adjustment)
        if chance is None:
            rows.append(make(level=level, note=NO_VARIANCE))
            continue
        half = float(stats.t.ppf((1 + level) / 2, degree)) * float(se[i])
        wide = None if critical is None else float(critical[i] * se[i])
        rows.append(
            make(
                se=float(se[i]),
                statistic=float(t[i]),
                p=chance,
                p_adjusted=p_all[i],
                low=value - half,
                high=value + half,
                low_all=None if wide is None else value - wide,
                high_all=None if wide is None else value + wide,
                level=level,
                note=note,
            )
        )
    return rows


class _Joint:
    """The family as a whole: adjusted p and the critical value of simultaneous intervals."""

    def __init__(
        self,
        n_names: int,
        covariance: Floats,
        pairs: list[Pair],
        variance: Floats,
        degrees: Floats,
        level: float,
        seed: int,
    ) -> None:
        self.n_names, self.level, self.seed = n_names, level, seed
        self.tested = np.flatnonzero(variance > _NO_WIDTH)
        self.degrees = degrees
        self.df = float(degrees.min()) if len(degrees) else np.inf
        rows = np.zeros((len(pairs), n_names))
        for i, (a, b) in enumerate(pairs):
            rows[i, a], rows[i, b] = 1.0, -1.0
        rows = rows[self.tested]
        self.joint = rows @ _without_negative(covariance) @ rows.T
        lacking = variance[self.tested] - np.diag(self.joint)
        self.joint += np.diag(np.maximum(lacking, 0.0))  # a floor goes its own way: conservative

    def adjusted(
        self, t: Floats, p: list[float | None], adjustment: str
    ) -> tuple[list[float | None], Floats | None]:
        """Adjusted p, and the critical |t| of each pair (m,) where there are intervals for all."""
        if adjustment not in ("tukey", "dunnett"):
            several = len(self.tested)
            if adjustment != "bonferroni" or not several:
                return adjusted(p, adjustment), None
            tail = 1 - (1 - self.level) / (2 * several)
            each = np.asarray(stats.t.ppf(tail, self.degrees), dtype=np.float64)
            return adjusted(p, adjustment), each
        result: list[float | None] = [None] * len(t)
        if not len(self.tested):
            return result, None
        known = t[self.tested]
        if adjustment == "tukey":
            found = tukey(known, self.n_names, self.degrees[self.tested])
            critical = tukey_critical(self.n_names, self.df, self.level)
        else:
            found = max_t(known, self.joint, self.df, self.seed)
            critical = max_t_critical(self.joint, self.df, self.level, self.seed)
        for i, value in zip(self.tested, found, strict=True):
            result[int(i)] = float(min(1.0, max(value, p[int(i)] or 0.0)))
        return result, np.full(len(t), critical)


def _without_negative(covariance: Floats) -> Floats:
    """The matrix with negative eigenvalues set to 0 (Cameron, Gelbach and Miller 2011, sec. 2.3).

    A two-way clustered covariance of few groups may have some; a covariance without stays as it is.
    """
    values, vectors = np.linalg.eigh(covariance)
    if values[0] >= -_ROUNDING * values[-1]:
        return covariance
    kept = np.maximum(values, 0.0)
    result: Floats = (vectors * kept) @ vectors.T
    return result


def _variance(matrix: Floats, pair: Pair) -> float:
    a, b = pair
    return float(matrix[a, a] + matrix[b, b] - 2 * matrix[a, b])


def dunnett(
    samples: Sequence[ArrayLike],
    names: Sequence[str],
    reference: str,
    *,
    level: float = 0.95,
    seed: int = 0,
) -> list[Comparison]:
    """Dunnett's (1955) test of independent samples, each (n_i,), against one of them.

    Pooled variance, N - k degrees of freedom; by `max_t` (scipy.stats.dunnett is the check). It
    takes the values as independent: give it ratings and it ignores raters.
    """
    arrays = [np.asarray(sample, dtype=np.float64) for sample in samples]
    pairs = against_reference(names, reference)
    sizes = np.array([len(array) for array in arrays])
    df = int(sizes.sum()) - len(arrays)
    if sizes.min() < 1 or df < 1:
        raise Undefined("too few values: every condition needs one, and one of them two")
    pooled = sum(float(np.sum((array - array.mean()) ** 2)) for array in arrays) / df
    means = [float(array.mean()) for array in arrays]
    covariance = np.diag(pooled / sizes)
    return compare(
        names, means, covariance, pairs, df=df, adjustment="dunnett", level=level, seed=seed
    )
