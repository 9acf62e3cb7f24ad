"""Repeated-measures ANOVA of complete tables, one or two factors within units, by least squares.

Ours: statsmodels has no correction for sphericity; pingouin has, and brings eight packages along.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import linalg, stats

from analysis.arrays import Floats
from analysis.statistics.comparisons.test_result import Undefined

UNBALANCED = (
    "repeated-measures ANOVA needs one value for every unit and cell; with gaps, use a mixed model"
)


@dataclass(frozen=True)
class WithinEffect:
    """A within-unit effect: F and its p, plain and with Greenhouse and Geisser's correction.

    ``epsilon`` in [1/df, 1] shrinks both df where the differences between cells vary unequally;
    ``p_gg`` is the p to report. Effect sizes: partial η², and generalised η² (Olejnik and Algina
    2003; units and all their errors in the denominator).
    """

    effect: str
    f: float | None
    df: float
    df2: float
    p: float | None
    epsilon: float | None
    p_gg: float | None
    partial_eta2: float | None
    generalised_eta2: float | None
    n_units: int
    note: str = ""


def rm_anova(values: ArrayLike, factors: tuple[str, ...] = ("condition",)) -> list[WithinEffect]:
    """The effects of one factor, values (units, a), or of two and their interaction, (units, a, b).

    Each F has the effect's interaction with units as its error, as R's aov with
    Error(unit/(a*b)). Raises Undefined for gaps, fewer than two units, or a factor of one level.
    Source: Winer, Brown and Michels (1991), ch. 4 and 7; ε: Greenhouse and Geisser (1959).
    """
    x = np.asarray(values, dtype=np.float64)
    if x.ndim != len(factors) + 1 or x.ndim not in (2, 3):
        raise Undefined("values are (units, levels) or (units, levels, levels), one name a factor")
    if not np.all(np.isfinite(x)):
        raise Undefined(UNBALANCED)
    if min(x.shape) < 2:
        raise Undefined("fewer than two units or levels: no repeated-measures ANOVA")
    bases = [_contrasts(levels) for levels in x.shape[1:]]
    means = [_mean_of(levels) for levels in x.shape[1:]]
    if len(factors) == 1:
        parts = {factors[0]: bases[0]}
    else:
        parts = {
            factors[0]: _kron(bases[0], means[1]),
            factors[1]: _kron(means[0], bases[1]),
            ":".join(factors): _kron(bases[0], bases[1]),
        }
    flat = x.reshape(len(x), -1)
    errors = _sum_squares(flat.mean(axis=1, keepdims=True) - flat.mean()) * flat.shape[1]
    scores = {name: flat @ basis.T for name, basis in parts.items()}
    errors += sum(_sum_squares(z - z.mean(axis=0)) for z in scores.values())
    dust = 1e-20 * max(1.0, _sum_squares(flat))
    return [_effect(name, z, errors, dust) for name, z in scores.items()]


def _effect(name: str, z: Floats, errors: float, dust: float) -> WithinEffect:
    """An effect from its orthonormal contrasts in every unit, z (units, df)."""
    n, df = z.shape
    df2 = df * (n - 1)
    between = n * _sum_squares(z.mean(axis=0))
    around = _sum_squares(z - z.mean(axis=0))
    if around <= dust:
        note = "the effect is the same in every unit: a test is undefined"
        return WithinEffect(name, None, df, df2, None, None, None, None, None, n, note)
    f = between / df / (around / df2)
    s = np.atleast_2d(np.cov(z, rowvar=False))
    epsilon = float(np.trace(s)) ** 2 / (df * _sum_squares(s))
    return WithinEffect(
        effect=name,
        f=f,
        df=df,
        df2=df2,
        p=float(stats.f.sf(f, df, df2)),
        epsilon=epsilon,
        p_gg=float(stats.f.sf(f, epsilon * df, epsilon * df2)),
        partial_eta2=between / (between + around),
        generalised_eta2=between / (between + errors),
        n_units=n,
    )


def _contrasts(levels: int) -> Floats:
    """Orthonormal contrasts of the levels (levels - 1, levels)."""
    return np.asarray(linalg.helmert(levels), dtype=np.float64)


def _mean_of(levels: int) -> Floats:
    return np.full((1, levels), levels**-0.5)


def _sum_squares(values: Floats) -> float:
    return float(np.sum(values**2))


def _kron(a: Floats, b: Floats) -> Floats:
    return np.asarray(np.kron(a, b), dtype=np.float64)
