"""How differently shared systems stand in linked studies: a test, and what may be believed of it.

The statistic is Q = m'Pm, the weighted residual sum of squares of the linked means. Without
differences beyond sampling, Q / tr(PV) is about F distributed (the ANOVA-type statistic of Brunner,
Dette and Munk 1997), whatever the rank of V. Differences between studies with SD tau, over a half-t
prior (Gelman 2006), give the posterior of tau.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import special, stats
from scipy.optimize import brentq

from analysis.arrays import Floats

POINTS = 240  # of tau: quantiles of its prior, which so weigh the same
PRIOR_DF = 4  # tails that let the data speak where studies differ more than the prior expects
_NEAR = 1e-12


@dataclass(frozen=True)
class Residual:
    """Q of q contrasts that would be 0 if the studies agreed, and the matrices of its mean.

    ``sampling`` (q, q) is their covariance by sampling, with ``df`` degrees of freedom;
    ``between`` (q, q) that of differences between studies, per tau squared.
    """

    q: float
    sampling: Floats
    between: Floats
    df: float

    @property
    def contrasts(self) -> int:
        return len(self.sampling)


@dataclass(frozen=True)
class Heterogeneity:
    """The posterior of tau on a grid, and the test that it is 0 (None: nothing to test).

    ``contrasts`` are what it was learned from; with none the posterior is the prior.
    """

    tau: Floats
    weight: Floats
    scale: float
    contrasts: int
    statistic: float | None
    p: float | None

    @property
    def median(self) -> float:
        """The posterior median of tau."""
        return self.at(0.5)

    def at(self, share: float) -> float:
        """A quantile of the posterior."""
        return float(np.interp(share, np.cumsum(self.weight), self.tau))


def heterogeneity(residual: Residual, scale: float) -> Heterogeneity:
    """The test and the posterior; ``scale`` is that of the half-t prior of tau."""
    tau = scale * special.stdtrit(PRIOR_DF, 0.5 + (np.arange(POINTS) + 0.5) / (2 * POINTS))
    log_weight = np.zeros(POINTS)
    statistic = p = None
    if residual.contrasts and float(np.trace(residual.sampling)) > _NEAR:
        statistic, p = test_of(residual)
    if residual.contrasts:
        log_weight = log_weight + np.array([_log_density(residual, each) for each in tau])
    weight = np.exp(log_weight - log_weight.max())
    return Heterogeneity(tau, weight / weight.sum(), scale, residual.contrasts, statistic, p)


def test_of(residual: Residual) -> tuple[float, float]:
    """The statistic, and p of the hypothesis that all contrasts are 0, by sampling alone."""
    ratio, f, df = _of_tau(residual, 0.0)
    return ratio, float(stats.f.sf(ratio, f, df))


def _of_tau(residual: Residual, tau: float) -> tuple[float, float, float]:
    """Q over its mean, and the two degrees of freedom, where the studies differ with SD tau."""
    matrix = residual.sampling + (tau**2 * residual.between if tau else 0.0)
    trace = float(np.trace(matrix))
    f = trace**2 / float((matrix**2).sum())
    sampled = max(float(np.trace(residual.sampling)), _NEAR)
    return residual.q / trace, f, residual.df * (trace / sampled) ** 2


def _log_density(residual: Residual, tau: float) -> float:
    """The logarithm of the density of Q at tau."""
    ratio, f, df = _of_tau(residual, tau)
    mean = residual.q / ratio if ratio > 0 else 1.0
    near = max(ratio, 1e-6)  # with one contrast the density has a pole at 0
    return float(stats.f.logpdf(near, f, min(df, 1e6)) - np.log(mean))


# --- What it makes of a contrast -----------------------------------------------------------------


@dataclass(frozen=True)
class LinkedContrast:
    """A contrast of linked means: its variance by sampling with ``df``, and tau's part in it."""

    value: float
    variance: float
    df: float
    of_tau: float  # its variance per tau squared; 0: no linking error enters


def bounds(
    linked: LinkedContrast, spread: Heterogeneity | None, level: float
) -> tuple[float, float]:
    """The interval over what may be believed of tau: quantiles of a mixture of t distributions."""
    se, df, weight = _mixture(linked, spread)
    if not se.max() > 0:
        return linked.value, linked.value

    def quantile(share: float) -> float:
        ends = special.stdtrit(df, share) * se
        low, high = float(ends.min()), float(ends.max())
        if high - low < _NEAR:
            return low
        return float(brentq(lambda x: float(weight @ special.stdtr(df, x / se)) - share, low, high))

    high = quantile((1 + level) / 2)
    return linked.value - high, linked.value + high


def p_of(linked: LinkedContrast, spread: Heterogeneity | None) -> float | None:
    """Two-sided p of the contrast against 0 under the same mixture; None without a spread."""
    se, df, weight = _mixture(linked, spread)
    if not se.min() > 0:
        return None
    return float(2 * weight @ special.stdtr(df, -abs(linked.value) / se))


def _mixture(linked: LinkedContrast, spread: Heterogeneity | None) -> tuple[Floats, Floats, Floats]:
    if spread is None or linked.of_tau <= _NEAR:
        one = np.ones(1)
        return one * max(linked.variance, 0.0) ** 0.5, one * linked.df, one
    total = linked.variance + spread.tau**2 * linked.of_tau
    df = linked.df * (total / max(linked.variance, _NEAR)) ** 2
    return np.sqrt(total), np.minimum(df, 1e6), spread.weight
