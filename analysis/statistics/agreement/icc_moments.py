"""ICC of big incomplete designs by moments: no matrix of raters, so a million ratings will do."""

from __future__ import annotations

import numpy as np
from scipy import special

from analysis.arrays import Floats
from analysis.statistics.agreement.agreement_result import (
    ALL_EQUAL,
    Agreement,
    AgreementError,
    Bounds,
    CodedRatings,
    Names,
    Scores,
    coded,
    measured,
    undefined,
)
from analysis.statistics.agreement.icc_mixed import CrossedVariances, unfit

GROUPS, FEW_GROUPS = 40, 20
_MANY = 200_000
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
    if raters_per_unit < 1:
        raise AgreementError(f"raters per unit is {raters_per_unit}; give 1 or more")
    k = raters_per_unit
    names = ("icc_2_1_absolute", "icc_3_1_consistency", f"icc_1_{k}_mean_of_{k}_raters")
    ratings = coded(unit, rater, score)
    why = unfit(ratings)
    if why:
        return [undefined(name, ratings, level, why, JACKKNIFE) for name in names]
    weights = ((1.0, 1.0), (0.0, 1.0), (1 / k, 1 / k))
    whole = crossed_moments(ratings)
    groups = min(GROUPS if len(ratings.y) < _MANY else FEW_GROUPS, len(ratings.raters))
    drawn = [crossed_moments(_without(ratings, group, groups)) for group in range(groups)]
    found = []
    for name, noise in zip(names, weights, strict=True):
        value = _icc(whole, noise)
        if value is None:
            found.append(undefined(name, ratings, level, ALL_EQUAL, JACKKNIFE))
            continue
        bounds = _bounds(value, [_icc(each, noise) for each in drawn], level)
        note = "" if bounds else "a variance is estimated as 0: no interval"
        found.append(measured(name, value, bounds, ratings, level, JACKKNIFE, note))
    return found


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
    found = np.linalg.lstsq(expected, squares, rcond=None)[0]
    variances = np.maximum(found[1:], 0.0)
    unit, rater, residual = (float(v) for v in variances)
    return CrossedVariances(unit, rater, residual, None)


def _without(ratings: CodedRatings, group: int, groups: int) -> CodedRatings:
    kept = ratings.rater % groups != group
    return CodedRatings(
        ratings.y[kept], ratings.unit[kept], ratings.rater[kept], ratings.units, ratings.raters
    )


def _icc(variances: CrossedVariances, noise: tuple[float, float]) -> float | None:
    total = variances.unit + noise[0] * variances.rater + noise[1] * variances.residual
    return variances.unit / total if total > 0 else None


def _bounds(value: float, drawn: list[float | None], level: float) -> Bounds:
    left = [each for each in drawn if each is not None and 0 < each < 1]
    if not 0 < value < 1 or len(left) < len(drawn) or len(drawn) < 2:
        return None
    logits: Floats = special.logit(np.array(left))
    groups = len(logits)
    se = float((groups - 1) / groups * ((logits - logits.mean()) ** 2).sum()) ** 0.5
    half = float(special.stdtrit(groups - 1, (1 + level) / 2)) * se
    middle = float(special.logit(value))
    return float(special.expit(middle - half)), float(special.expit(middle + half))
