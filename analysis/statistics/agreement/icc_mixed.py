"""ICC where raters hear different clips: two crossed random effects, fitted by REML."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg, optimize, sparse, stats

from analysis.arrays import Floats
from analysis.statistics.agreement.agreement_result import (
    ALL_EQUAL,
    NOTHING,
    Agreement,
    AgreementError,
    Bounds,
    CodedRatings,
    Names,
    Scores,
    coded,
)
from analysis.statistics.agreement.order_effects import swept

WALD = "Wald on the logit, REML information by finite differences"
_CLOSELY: Any = {"xatol": 1e-10, "fatol": 1e-12, "maxiter": 2000}
_FURTHEST = 1e4  # relative SD
_STEP = 1e-3
_EDGE = 1e-7
Noise = tuple[float, float]


@dataclass(frozen=True)
class CrossedVariances:
    """Variances (score units squared) of ``score ~ 1 + (1|unit) + (1|rater)`` by REML.

    ``covariance`` (3, 3) is that of the logarithms of (unit, rater, residual), or None when a
    variance lies at 0.
    """

    unit: float
    rater: float
    residual: float
    covariance: Floats | None

    def icc(self, noise: Noise) -> float | None:
        """The unit variance over itself and these shares of the others; None where both are 0."""
        total = self.unit + (noise[0] * self.rater + noise[1] * self.residual)
        return self.unit / total if total > 0 else None


def icc_mixed(
    unit: Names, rater: Names, score: Scores, *, raters_per_unit: int = 8, level: float = 0.95
) -> list[Agreement]:
    """ICC(2,1), ICC(3,1) and ICC(1,k) of ratings (n,) from a mixed model; each within 0..1.

    ``icc_2_1_absolute`` = u / (u + r + e), ``icc_3_1_consistency`` = u / (u + e),
    ``icc_1_k_mean`` = u / (u + (r + e) / k) for k = ``raters_per_unit``, with the REML variances u
    (unit), r (rater), e (rest); any pattern of missing ratings. Undefined with a reason when fewer
    than two raters or units, no unit with two ratings, or no variation. Raises AgreementError when
    k < 1. Nakagawa and Schielzeth (2010), Biological Reviews 85; Shrout and Fleiss (1979).
    """
    forms = noise_of_forms(raters_per_unit)
    ratings = coded(unit, rater, score)
    why = unfit(ratings)
    if why:
        return [ratings.undefined(name, level, why, WALD) for name in forms]
    fit = crossed_reml(ratings)

    def bounds_of(value: float, noise: Noise) -> Bounds:
        return _bounds(fit, value, noise, level)

    return iccs(ratings, fit, forms, bounds_of, level, WALD)


def noise_of_forms(raters_per_unit: int) -> dict[str, Noise]:
    """What counts as noise in each form: the shares of the rater and the residual variance."""
    k = raters_per_unit
    if k < 1:
        raise AgreementError(f"raters per unit is {k}; give 1 or more")
    return {
        "icc_2_1_absolute": (1.0, 1.0),
        "icc_3_1_consistency": (0.0, 1.0),
        f"icc_1_{k}_mean_of_{k}_raters": (1 / k, 1 / k),
    }


def iccs(
    ratings: CodedRatings,
    fit: CrossedVariances,
    forms: Mapping[str, Noise],
    bounds_of: Callable[[float, Noise], Bounds],
    level: float,
    interval: str,
) -> list[Agreement]:
    """Every form from the variances of a fit."""
    results = []
    for name, noise in forms.items():
        value = fit.icc(noise)
        if value is None:
            results.append(ratings.undefined(name, level, ALL_EQUAL, interval))
            continue
        bounds = bounds_of(value, noise)
        note = "" if bounds else "a variance is estimated as 0: no interval"
        results.append(ratings.measured(name, value, bounds, level, interval, note))
    return results


def crossed_reml(ratings: CodedRatings) -> CrossedVariances:
    """The REML variances of unit, rater and residual; raises AgreementError if unfit.

    The profiled criterion of Bates et al. (2015), J. Stat. Software 67(1), eq. 42, with the unit
    effects eliminated (their block is diagonal), minimised over the two relative SDs.
    """
    why = unfit(ratings)
    if why:
        raise AgreementError(why)
    model = _Crossed(ratings)
    start = min(
        ((a, b) for a in (0.3, 1.0) for b in (0.3, 1.0)),
        key=lambda theta: model.deviance(np.array(theta)),
    )
    best = optimize.minimize(
        model.deviance,
        np.array(start),
        method="L-BFGS-B",
        bounds=[(0.0, _FURTHEST)] * 2,
        options={"ftol": 1e-15, "gtol": 1e-9, "maxiter": 500},
    )
    polished = optimize.minimize(
        model.folded_deviance,
        np.asarray(best.x, dtype=np.float64),
        method="Nelder-Mead",
        options=_CLOSELY,
    )
    theta = np.abs(polished.x) if polished.fun <= best.fun else best.x
    theta = np.where(theta < _EDGE**0.5, 0.0, theta)
    residual = model.residual_variance(theta)
    variances = np.array([theta[0] ** 2, theta[1] ** 2, 1.0]) * residual
    return CrossedVariances(
        float(variances[0]), float(variances[1]), residual, _log_covariance(model, variances)
    )


class _Crossed:
    """The REML criterion of an intercept with crossed unit and rater effects."""

    def __init__(self, ratings: CodedRatings) -> None:
        self.n = len(ratings.y)
        y = ratings.y - ratings.y.mean()
        self.shape = (len(ratings.units), len(ratings.raters))
        self.counts = sparse.csr_array(
            (np.ones(self.n), (ratings.unit, ratings.rater)), shape=self.shape
        )
        self.per_unit = np.bincount(ratings.unit, minlength=self.shape[0]).astype(np.float64)
        self.per_rater = np.bincount(ratings.rater, minlength=self.shape[1]).astype(np.float64)
        self.unit_sum = np.bincount(ratings.unit, weights=y, minlength=self.shape[0])
        self.rater_sum = np.bincount(ratings.rater, weights=y, minlength=self.shape[1])
        self.total, self.square = float(y.sum()), float(y @ y)

    def deviance(self, theta: Floats) -> float:
        """-2 REML log-likelihood, profiled over the residual variance, up to a constant."""
        log_det, log_fixed, rest = self._parts(theta)
        return log_det + log_fixed + (self.n - 1) * float(np.log(rest))

    def folded_deviance(self, theta: Floats) -> float:
        """The same on the whole plane: a relative SD counts by its size."""
        return self.deviance(np.abs(theta))

    def full_deviance(self, log_variances: Floats) -> float:
        """-2 REML log-likelihood at log(unit, rater, residual variance), up to a constant."""
        v = np.exp(log_variances)
        log_det, log_fixed, rest = self._parts(np.sqrt(v[:2] / v[2]))
        return log_det + log_fixed + (self.n - 1) * float(log_variances[2]) + rest / float(v[2])

    def residual_variance(self, theta: Floats) -> float:
        return self._parts(theta)[2] / (self.n - 1)

    def _shrunk_counts(self, shrink: Floats) -> Floats:
        """counts' diag(shrink) counts (R, R)."""
        root = sparse.csr_array(self.counts, copy=True)
        root.data *= np.repeat(np.sqrt(shrink), np.diff(self.counts.indptr))
        return np.asarray((root.T @ root).toarray(), dtype=np.float64)

    def _parts(self, theta: Floats) -> tuple[float, float, float]:
        """log|V|, log(1'V^-1 1) and the residual sum y'Py, for V in residual units."""
        a, b = float(theta[0]) ** 2, float(theta[1]) ** 2
        shrink = a / (1 + a * self.per_unit)  # (I + aZZ')^-1 = I - Z shrink Z'
        inner = np.diag(self.per_rater) - self._shrunk_counts(shrink)
        core = np.eye(self.shape[1]) + b * inner
        factor = linalg.cho_factor(core, lower=True)
        log_det = float(np.log1p(a * self.per_unit).sum() + 2 * np.log(np.diag(factor[0])).sum())
        ones = self.per_rater - self.counts.T @ (shrink * self.per_unit)
        ys = self.rater_sum - self.counts.T @ (shrink * self.unit_sum)
        one_one = self.n - float(shrink @ self.per_unit**2)
        one_y = self.total - float(shrink @ (self.per_unit * self.unit_sum))
        y_y = self.square - float(shrink @ self.unit_sum**2)
        solved = linalg.cho_solve(factor, np.column_stack([ones, ys]))
        one_one -= b * float(ones @ solved[:, 0])
        one_y -= b * float(ones @ solved[:, 1])
        y_y -= b * float(ys @ solved[:, 1])
        return log_det, float(np.log(one_one)), max(y_y - one_y**2 / one_one, 1e-300)


def unfit(ratings: CodedRatings) -> str:
    """Why no crossed model can be fitted to the ratings; empty where one can."""
    if not len(ratings.y):
        return NOTHING
    if len(ratings.raters) < 2:
        return "one rater only: agreement between raters is undefined"
    if len(ratings.units) < 2:
        return "one unit only: how units differ cannot be estimated"
    if np.ptp(ratings.y) == 0:
        return ALL_EQUAL
    if len(np.unique(ratings.unit)) == len(ratings.y):
        return "no unit has two ratings: agreement is undefined"
    if len(ratings.y) <= len(ratings.units) + len(ratings.raters) - 1:
        return "too few ratings to tell units, raters and noise apart"
    if float(np.abs(swept(ratings.y, ratings)).max()) <= 1e-9 * float(np.ptp(ratings.y)):
        return "raters differ by no more than a level of their own: without noise there is no fit"
    return ""


def _log_covariance(model: _Crossed, variances: Floats) -> Floats | None:
    """2 H^-1, H the second differences of the deviance in the log variances."""
    if variances.min() <= _EDGE * variances.max():
        return None
    at, eye = np.log(variances), np.eye(3) * _STEP
    f = model.full_deviance
    hessian = np.empty((3, 3))
    for i in range(3):
        for j in range(3):
            corners = f(at + eye[i] + eye[j]) - f(at + eye[i] - eye[j])
            corners -= f(at - eye[i] + eye[j]) - f(at - eye[i] - eye[j])
            hessian[i, j] = corners / (4 * _STEP**2)
    if np.linalg.eigvalsh(hessian).min() <= 0:
        return None
    return np.asarray(2 * np.linalg.inv(hessian), dtype=np.float64)


def _bounds(fit: CrossedVariances, value: float, noise: Noise, level: float) -> Bounds:
    """Delta method on log(u) - log(rest), the logit of the ICC."""
    if fit.covariance is None:
        return None
    parts = np.array([noise[0] * fit.rater, noise[1] * fit.residual])
    gradient = np.array([1.0, *(-parts / parts.sum())])
    se = float(gradient @ fit.covariance @ gradient) ** 0.5
    half = float(stats.norm.ppf((1 + level) / 2)) * se
    middle = float(np.log(value / (1 - value)))
    low, high = 1 / (1 + np.exp(-(middle - half))), 1 / (1 + np.exp(-(middle + half)))
    return float(low), float(high)
