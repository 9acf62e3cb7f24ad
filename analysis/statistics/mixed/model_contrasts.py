"""All pairs of conditions: differences with t intervals, and p plain, by Holm and by Tukey."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Protocol

import numpy as np
from scipy import special, stats

from analysis.statistics.intervals import holm
from analysis.statistics.mixed.sufficient_statistics import Codes, Floats, floats

_Z_NODES, _S_NODES, _S_NODES_OF_FEW = 80, 60, 300
_FEW_DEGREES = 10  # below, s is spread widely and needs more nodes
_MANY_DEGREES = 1e7  # as good as infinitely many


class Fitted(Protocol):
    """A fit whose C means can be compared: estimates, variances and degrees of combinations."""

    @property
    def estimate(self) -> Floats:
        """The means (C,)."""

    def variances(self, contrasts: Floats) -> Floats:
        """The variances (M,) of combinations (M, C)."""

    def degrees(self, contrasts: Floats) -> Floats:
        """The degrees of freedom (M,) of combinations (M, C), infinite where z is meant."""


@dataclass(frozen=True)
class Means:
    """The C means with standard error, Satterthwaite degrees and t interval: arrays (C,)."""

    value: Floats
    se: Floats
    degrees: Floats
    low: Floats
    high: Floats
    level: float = 0.95


@dataclass(frozen=True)
class Pairs:
    """The M = C (C - 1) / 2 differences ``first`` minus ``second`` (codes (M,)): arrays (M,).

    ``low`` and ``high`` are plain t intervals at ``level``. ``p`` is two-sided against no
    difference; ``p_holm`` and ``p_tukey`` are adjusted over all pairs. A difference without
    standard error has NaN for t and p.
    """

    first: Codes
    second: Codes
    value: Floats
    se: Floats
    degrees: Floats
    t: Floats
    p: Floats
    p_holm: Floats
    p_tukey: Floats
    low: Floats
    high: Floats
    level: float


def means(fit: Fitted, *, level: float = 0.95) -> Means:
    """Each fixed effect with its interval: estimate ± t(level, Satterthwaite) SE."""
    alone = np.eye(len(fit.estimate))
    degrees, se = fit.degrees(alone), floats(np.sqrt(fit.variances(alone)))
    half = stats.t.ppf((1 + level) / 2, degrees) * se
    return Means(fit.estimate, se, degrees, fit.estimate - half, fit.estimate + half, level)


def pair_matrix(n: int) -> tuple[Codes, Codes, Floats]:
    """All pairs (M,), (M,) of n codes, first before second, and their contrasts (M, n)."""
    first, second = np.triu_indices(n, 1)
    contrasts = np.zeros((len(first), n))
    contrasts[np.arange(len(first)), first] = 1.0
    contrasts[np.arange(len(first)), second] = -1.0
    return first.astype(np.int64), second.astype(np.int64), contrasts


def pairs(fit: Fitted, *, level: float = 0.95) -> Pairs:
    """All pairwise differences of a fit's C means, as emmeans gives them; none when C is 1."""
    n = len(fit.estimate)
    first, second, contrasts = pair_matrix(n)
    value, se = contrasts @ fit.estimate, np.sqrt(fit.variances(contrasts))
    degrees = fit.degrees(contrasts)
    t = np.divide(value, se, out=np.full_like(value, np.nan), where=se > 0)
    p = floats(2.0 * stats.t.sf(np.abs(t), degrees))
    half = stats.t.ppf((1 + level) / 2, degrees) * se
    return Pairs(
        first,
        second,
        value,
        se,
        degrees,
        t,
        p,
        np.array(holm([float(x) for x in p]), dtype=np.float64),
        studentized_range_tail(np.abs(t) * np.sqrt(2.0), n, degrees),
        value - half,
        value + half,
        level,
    )


def studentized_range_tail(q: Floats, k: int, degrees: Floats) -> Floats:
    """P(range of k standard normals / s > q), s^2 chi-squared over its degrees: (M,) of (M,).

    Two Gauss-Legendre rules, over s and over the largest normal (Copenhaver and Holland 1988, J.
    Stat. Comput. Simul. 30, eq. 2.1); absolute error under 1e-10. `scipy.stats.studentized_range`
    gives the same for one value in 8 ms; this takes that long for hundreds.
    """
    if k < 2:
        return np.ones_like(q)
    z, z_weight = _legendre(-8.5, 8.5, _Z_NODES)
    upper, density = special.ndtr(z), k * z_weight * stats.norm.pdf(z)
    out = np.empty_like(q)
    finite = np.minimum(degrees, _MANY_DEGREES)
    for i, (value, nu) in enumerate(zip(q, finite, strict=True)):
        nodes = _S_NODES if nu >= _FEW_DEGREES else _S_NODES_OF_FEW
        lowest, highest = (float(f(1e-15, nu)) for f in (stats.chi2.ppf, stats.chi2.isf))
        root, weight = _legendre((lowest / nu) ** 0.25, (highest / nu) ** 0.25, nodes)
        s = root**2  # smooth at 0 even for odd degrees
        weight = weight * stats.chi2.pdf(nu * s**2, nu) * 4.0 * nu * s * root
        inside = density @ (upper[:, None] - special.ndtr(z[:, None] - value * s)) ** (k - 1)
        out[i] = np.clip(1.0 - weight @ inside / weight.sum(), 0.0, 1.0)
    return out


def _legendre(low: float, high: float, n: int) -> tuple[Floats, Floats]:
    x, w = _rule(n)
    half = (high - low) / 2.0
    return low + half * (x + 1.0), half * w


@cache
def _rule(n: int) -> tuple[Floats, Floats]:
    x, w = np.polynomial.legendre.leggauss(n)
    return np.asarray(x, dtype=np.float64), np.asarray(w, dtype=np.float64)
