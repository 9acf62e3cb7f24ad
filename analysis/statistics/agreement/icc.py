"""Intraclass correlations: Shrout and Fleiss' six forms, crossed REML, moments, and of means."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg, optimize, sparse, special, stats

from analysis.arrays import Floats
from analysis.citations import cite
from analysis.name_spans import resolve
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
from analysis.statistics.flat_row import FlatRow
from analysis.statistics.intervals import Clustered, clustered

FORMS = {
    "ICC1": "one rater, each unit by other raters (one-way)",
    "ICC2": "one rater of a population of raters, absolute agreement",
    "ICC3": "one of these raters, consistency",
    "ICC1k": "mean of k raters, each unit by other raters (one-way)",
    "ICC2k": "mean of k raters of a population, absolute agreement",
    "ICC3k": "mean of these k raters, consistency (Cronbach's alpha)",
}
F_INTERVAL = f"F distribution {resolve(cite('shrout1979'))}"
SATTERTHWAITE = f"F distribution, Satterthwaite degrees {resolve(cite('shrout1979'))}"


@dataclass(frozen=True)
class IntraclassCorrelation(FlatRow):
    """One form of the ICC: value, interval, the F test of no difference between units, counts.

    ``form`` is a key of ``FORMS``. All numbers are None where undefined; ``note`` says why.
    """

    form: str
    value: float | None
    low: float | None
    high: float | None
    level: float
    interval: str
    f: float | None
    df1: int | None
    df2: int | None
    p: float | None
    n_units: int
    n_raters: int
    n_ratings: int
    note: str = ""


@dataclass(frozen=True)
class _Squares:
    n: int
    k: int
    between: float
    within: float
    raters: float
    error: float


def intraclass_correlations(
    unit: Names, rater: Names, score: Scores, *, level: float = 0.95
) -> list[IntraclassCorrelation]:
    """The six forms for ratings (n,), in the order of ``FORMS``; values at most 1.

    Only units that every rater rated count (the note says how many were left out); for designs
    where raters hear different clips use `icc_mixed`. Undefined, with the reason, for fewer than
    two raters or complete units, or when nothing varies. Raises AgreementError on a level outside
    0..1. Shrout and Fleiss (1979), Psychological Bulletin 86, Table 4 and pp. 424-426.
    """
    if not 0 < level < 1:
        raise AgreementError(f"level {level} is not between 0 and 1")
    ratings = coded(unit, rater, score)
    complete, note = ratings.complete()
    why = _anova_problem(ratings, complete)
    if why:
        return [_undefined_icc(form, ratings, level, why) for form in FORMS]
    squares = _squares(complete)
    if squares.between <= 0 and squares.within <= 0:
        return [_undefined_icc(form, ratings, level, ALL_EQUAL) for form in FORMS]
    numbers = _forms(squares, level)
    return [_form(form, *numbers[form], squares, level, note) for form in FORMS]


def _anova_problem(ratings: CodedRatings, complete: Floats) -> str:
    if not len(ratings.y):
        return NOTHING
    if len(ratings.raters) < 2:
        return "one rater only: agreement between raters is undefined"
    if len(complete) < 2:
        held = len(complete)
        return f"{held} of 2 or more units needed were rated by every rater: use the mixed model"
    return ALL_EQUAL if np.ptp(complete) == 0 else ""


def _squares(x: Floats) -> _Squares:
    n, k = x.shape
    grand, unit, rater = x.mean(), x.mean(axis=1), x.mean(axis=0)
    between = k * float(((unit - grand) ** 2).sum()) / (n - 1)
    within = float(((x - unit[:, None]) ** 2).sum()) / (n * (k - 1))
    raters = n * float(((rater - grand) ** 2).sum()) / (k - 1)
    rest = x - unit[:, None] - rater[None, :] + grand
    error = float((rest**2).sum()) / ((n - 1) * (k - 1))
    return _Squares(n, k, between, within, raters, error)


Form = tuple[float | None, float | None, float | None, float | None]  # value, low, high, F


def _forms(s: _Squares, level: float) -> dict[str, Form]:
    n, k = s.n, s.k
    one = _ratio(s.between - s.within, s.between + (k - 1) * s.within)
    two = _ratio(s.between - s.error, s.between + (k - 1) * s.error + k * (s.raters - s.error) / n)
    three = _ratio(s.between - s.error, s.between + (k - 1) * s.error)
    one_k = _ratio(s.between - s.within, s.between)
    two_k = _ratio(s.between - s.error, s.between + (s.raters - s.error) / n)
    three_k = _ratio(s.between - s.error, s.between)
    f_one, f_two = _ratio(s.between, s.within), _ratio(s.between, s.error)
    within = _f_bounds(f_one, n - 1, n * (k - 1), level)
    error = _f_bounds(f_two, n - 1, (n - 1) * (k - 1), level)
    absolute = _absolute_bounds(s, two, level)
    return {
        "ICC1": (one, *_single_bounds(within, k), f_one),
        "ICC2": (two, *absolute, f_two),
        "ICC3": (three, *_single_bounds(error, k), f_two),
        "ICC1k": (one_k, *_average_bounds(within), f_one),
        "ICC2k": (two_k, *(_spearman_brown(end, k) for end in absolute), f_two),  # type: ignore[dict-item]
        "ICC3k": (three_k, *_average_bounds(error), f_two),
    }


def _ratio(a: float, b: float) -> float | None:
    return a / b if b > 0 else None


Pair = tuple[float | None, float | None]


def _f_bounds(f: float | None, df1: int, df2: int, level: float) -> Pair:
    """The interval of the true F: F / F(1 - a/2; df1, df2) and F * F(1 - a/2; df2, df1)."""
    if f is None:
        return None, None
    tail = (1 + level) / 2
    low, high = f / stats.f.ppf(tail, df1, df2), f * stats.f.ppf(tail, df2, df1)
    return float(low), float(high)


def _single_bounds(bounds: Pair, k: int) -> Pair:
    low, high = bounds
    if low is None or high is None:
        return None, None
    return (low - 1) / (low + k - 1), (high - 1) / (high + k - 1)


def _average_bounds(bounds: Pair) -> Pair:
    low, high = bounds
    if low is None or high is None or low <= 0:  # F of 0: the mean is the same for every unit
        return None, None
    return 1 - 1 / low, 1 - 1 / high


def _spearman_brown(icc: float | None, k: int) -> float | None:
    """Spearman-Brown: the reliability of a mean of k, from that of one."""
    below = 1 + (k - 1) * (icc or 0.0)
    return None if icc is None or below == 0 else k * icc / below  # at its lowest it has no end


def _absolute_bounds(s: _Squares, icc: float | None, level: float) -> Pair:
    """Shrout and Fleiss (1979), p. 424: Satterthwaite's degrees for a sum of mean squares."""
    if icc is None or s.error <= 0:
        return None, None
    n, k, f = s.n, s.k, s.raters / s.error
    a = n * (1 + (k - 1) * icc) - k * icc
    top = (k - 1) * (n - 1) * (k * icc * f + a) ** 2
    degrees = top / ((n - 1) * k**2 * icc**2 * f**2 + a**2)
    tail = (1 + level) / 2
    upper = float(stats.f.ppf(tail, n - 1, degrees))
    lower = float(stats.f.ppf(tail, degrees, n - 1))
    rest = k * s.raters + (k * n - k - n) * s.error
    low = n * (s.between - upper * s.error) / (upper * rest + n * s.between)
    high = n * (lower * s.between - s.error) / (rest + n * lower * s.between)
    return low, high


def _form(
    form: str,
    value: float | None,
    low: float | None,
    high: float | None,
    f: float | None,
    s: _Squares,
    level: float,
    note: str,
) -> IntraclassCorrelation:
    df1, df2 = s.n - 1, s.n * (s.k - 1) if form.startswith("ICC1") else (s.n - 1) * (s.k - 1)
    if value is None:
        low = high = None
        note = "the units do not differ: undefined"
    elif low is None:
        why = "raters agree fully: no interval" if high is None else "its interval has no lower end"
        note = "; ".join(filter(None, (note, why)))
    return IntraclassCorrelation(
        form=form,
        value=value,
        low=low,
        high=high,
        level=level,
        interval=SATTERTHWAITE if form.startswith("ICC2") else F_INTERVAL,
        f=f,
        df1=df1,
        df2=df2,
        p=None if f is None else float(stats.f.sf(f, df1, df2)),
        n_units=s.n,
        n_raters=s.k,
        n_ratings=s.n * s.k,
        note=note,
    )


def _undefined_icc(
    form: str, ratings: CodedRatings, level: float, note: str
) -> IntraclassCorrelation:
    nothing = (None, None, None, None)
    return IntraclassCorrelation(
        form, None, None, None, level, F_INTERVAL, *nothing, *ratings.counts, note
    )


WALD = "Wald on the logit, REML information by finite differences"
_NELDER_MEAD: Any = {"xatol": 1e-10, "fatol": 1e-12, "maxiter": 2000}
_LARGEST_RELATIVE_SD = 1e4
_LOG_VARIANCE_STEP = 1e-3
_SMALLEST_VARIANCE_RATIO = 1e-7
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
        return _wald_bounds(fit, value, noise, level)

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
        bounds=[(0.0, _LARGEST_RELATIVE_SD)] * 2,
        options={"ftol": 1e-15, "gtol": 1e-9, "maxiter": 500},
    )
    polished = optimize.minimize(
        model.folded_deviance,
        np.asarray(best.x, dtype=np.float64),
        method="Nelder-Mead",
        options=_NELDER_MEAD,
    )
    theta = np.abs(polished.x) if polished.fun <= best.fun else best.x
    theta = np.where(theta < _SMALLEST_VARIANCE_RATIO**0.5, 0.0, theta)
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
    if variances.min() <= _SMALLEST_VARIANCE_RATIO * variances.max():
        return None
    at, eye = np.log(variances), np.eye(3) * _LOG_VARIANCE_STEP
    f = model.full_deviance
    hessian = np.empty((3, 3))
    for i in range(3):
        for j in range(3):
            corners = f(at + eye[i] + eye[j]) - f(at + eye[i] - eye[j])
            corners -= f(at - eye[i] + eye[j]) - f(at - eye[i] - eye[j])
            hessian[i, j] = corners / (4 * _LOG_VARIANCE_STEP**2)
    if np.linalg.eigvalsh(hessian).min() <= 0:
        return None
    return np.asarray(2 * np.linalg.inv(hessian), dtype=np.float64)


def _wald_bounds(fit: CrossedVariances, value: float, noise: Noise, level: float) -> Bounds:
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


MOST_GROUPS, FEW_GROUPS = 40, 20  # of the jackknife
_MANY_RATINGS = 200_000
JACKKNIFE = "jackknife over groups of raters, t on the logit"


def icc_moments(
    unit: Names, rater: Names, score: Scores, *, raters_per_unit: int = 8, level: float = 0.95
) -> list[Agreement]:
    """As `icc_mixed`, of ratings (n,), from Henderson's moments instead of REML.

    Same three statistics, each within 0..1 (variances below 0 count as 0); unbiased variances, a
    little less precise than REML on unbalanced data. The interval leaves out one of up to 40 groups
    of raters at a time: it is about other raters and these units. Undefined with the reason where
    `icc_mixed` is. Henderson (1953), Biometrics 9, method 1; jackknife: Efron and Stein (1981).
    """
    forms = noise_of_forms(raters_per_unit)
    ratings = coded(unit, rater, score)
    why = unfit(ratings)
    if why:
        return [ratings.undefined(name, level, why, JACKKNIFE) for name in forms]
    most = MOST_GROUPS if len(ratings.y) < _MANY_RATINGS else FEW_GROUPS
    groups = min(most, len(ratings.raters))
    of_group = ratings.rater % groups
    left_out = [crossed_moments(ratings.subset(of_group != group)) for group in range(groups)]

    def bounds_of(value: float, noise: Noise) -> Bounds:
        return _jackknife_bounds(value, [variances.icc(noise) for variances in left_out], level)

    return iccs(ratings, crossed_moments(ratings), forms, bounds_of, level, JACKKNIFE)


def crossed_moments(ratings: CodedRatings) -> CrossedVariances:
    """The variances of unit, rater and rest that make four sums of squares what they are.

    Sums over all ratings, over units, over raters and of the total, set equal to their expectations
    and solved; a variance below 0 is given as 0. Henderson (1953), method 1.
    """
    n, y = len(ratings.y), ratings.y - ratings.y.mean()
    u, r = ratings.unit, ratings.rater
    per_unit, per_rater = np.bincount(u), np.bincount(r)
    has_unit, has_rater = per_unit > 0, per_rater > 0
    cell, count = np.unique(u * len(per_rater) + r, return_counts=True)
    held = count.astype(np.float64) ** 2
    unit_sum, rater_sum = np.bincount(u, weights=y), np.bincount(r, weights=y)
    squares = np.array(
        [
            y @ y,
            (unit_sum[has_unit] ** 2 / per_unit[has_unit]).sum(),
            (rater_sum[has_rater] ** 2 / per_rater[has_rater]).sum(),
            y.sum() ** 2 / n,
        ]
    )
    raters_in_units = float((held / per_unit[cell // len(per_rater)]).sum())
    units_in_raters = float((held / per_rater[cell % len(per_rater)]).sum())
    expected = np.array(
        [
            [n, n, n, n],
            [n, n, raters_in_units, has_unit.sum()],
            [n, units_in_raters, n, has_rater.sum()],
            [n, (per_unit**2).sum() / n, (per_rater**2).sum() / n, 1],
        ],
        dtype=np.float64,
    )
    solution = np.linalg.lstsq(expected, squares, rcond=None)[0]
    variances = np.maximum(solution[1:], 0.0)
    unit, rater, residual = (float(v) for v in variances)
    return CrossedVariances(unit, rater, residual, None)


def _jackknife_bounds(value: float, left_out: list[float | None], level: float) -> Bounds:
    inside = [each for each in left_out if each is not None and 0 < each < 1]
    if not 0 < value < 1 or len(inside) < len(left_out) or len(left_out) < 2:
        return None
    logits: Floats = special.logit(np.array(inside))
    groups = len(logits)
    se = float((groups - 1) / groups * ((logits - logits.mean()) ** 2).sum()) ** 0.5
    half = float(special.stdtrit(groups - 1, (1 + level) / 2)) * se
    middle = float(special.logit(value))
    return float(special.expit(middle - half)), float(special.expit(middle + half))


MEAN_ICC = "icc_condition_mean"
F_OF_MEANS = "F(conditions-1, min(groups)-1), two-way clustered error"


def icc_of_means(
    condition: Names, rater: Names, item: Names, score: Scores, *, level: float = 0.95
) -> Agreement:
    """1 - error / spread of the means of C conditions, for ratings (n,); at most 1.

    The spread is the variance of the C means, the error half the mean variance of a difference of
    two of them, clustered over raters and items (what all conditions share cancels, so this is
    consistency, as ICC(3,k)). No model and no complete design is needed. The interval takes
    spread / error as F distributed and the conditions as a sample of conditions. At or below 0 the
    means differ no more than noise makes them differ. Undefined, with the reason, for one condition
    or fewer than two raters or items in some. Variance: `intervals.Clustered`; ICC from F
    as in Shrout and Fleiss (1979), eq. for ICC(3,k).
    """
    by_condition = coded(condition, rater, score)
    by_item = coded(item, rater, score)
    why = _means_problem(by_condition)
    if why:
        return by_condition.undefined(MEAN_ICC, level, why, F_OF_MEANS)
    n = len(by_condition.units)
    means = clustered(by_condition.y, by_condition.unit, by_condition.rater, by_item.unit, n)
    groups = int(min(means.n_raters.min(), means.n_items.min()))
    if groups < 2:
        why = "a condition has one rater or one item only: the noise of its mean is unknown"
        return by_condition.undefined(MEAN_ICC, level, why, F_OF_MEANS)
    error = _error_variance(means)
    spread = float(np.var(means.value, ddof=1))
    if spread <= 1e-15 or error <= 1e-15:
        same = "the means are all equal" if spread <= 1e-15 else "the means have no noise"
        return by_condition.undefined(MEAN_ICC, level, f"{same}: undefined", F_OF_MEANS)
    ratio = spread / error
    tail = (1 + level) / 2
    low = 1 - float(stats.f.ppf(tail, n - 1, groups - 1)) / ratio
    low = max(low, min(0.0, 1 - 1 / ratio))  # a share is not below 0
    high = 1 - 1 / (ratio * float(stats.f.ppf(tail, groups - 1, n - 1)))
    note = "two conditions only: rough" if n == 2 else ""
    if ratio <= 1:
        note = "the means differ no more than noise makes them differ"
    return by_condition.measured(MEAN_ICC, 1 - 1 / ratio, (low, high), level, F_OF_MEANS, note)


def _error_variance(means: Clustered) -> float:
    """Half the mean variance of a difference, over all pairs of conditions."""
    rater, item, both = (
        _differences(gram) for gram in (means.by_rater, means.by_item, means.by_both)
    )
    variance = np.maximum(np.maximum(rater + item - both, rater), item)
    return float(variance[np.triu_indices(len(variance), 1)].mean()) / 2


def _differences(gram: Floats) -> Floats:
    own = np.diag(gram)
    return np.asarray(own[:, None] + own[None, :] - 2 * gram, dtype=np.float64)


def _means_problem(ratings: CodedRatings) -> str:
    if not len(ratings.y):
        return NOTHING
    if len(ratings.units) < 2:
        return "one condition only: there is no spread of means"
    return ALL_EQUAL if np.ptp(ratings.y) == 0 else ""
