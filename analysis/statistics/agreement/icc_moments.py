"""ICC of big incomplete designs by moments: no matrix of raters, so a million ratings will do."""

from __future__ import annotations

import numpy as np
from scipy import special

from analysis.arrays import Floats
from analysis.statistics.agreement.agreement_result import (
    Agreement,
    Bounds,
    CodedRatings,
    Names,
    Scores,
    coded,
)
from analysis.statistics.agreement.icc_mixed import (
    CrossedVariances,
    Noise,
    iccs,
    noise_of_forms,
    unfit,
)

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
    forms = noise_of_forms(raters_per_unit)
    ratings = coded(unit, rater, score)
    why = unfit(ratings)
    if why:
        return [ratings.undefined(name, level, why, JACKKNIFE) for name in forms]
    groups = min(GROUPS if len(ratings.y) < _MANY else FEW_GROUPS, len(ratings.raters))
    of_group = ratings.rater % groups
    left_out = [crossed_moments(ratings.kept(of_group != group)) for group in range(groups)]

    def bounds_of(value: float, noise: Noise) -> Bounds:
        return _bounds(value, [variances.icc(noise) for variances in left_out], level)

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


def _bounds(value: float, left_out: list[float | None], level: float) -> Bounds:
    inside = [each for each in left_out if each is not None and 0 < each < 1]
    if not 0 < value < 1 or len(inside) < len(left_out) or len(left_out) < 2:
        return None
    logits: Floats = special.logit(np.array(inside))
    groups = len(logits)
    se = float((groups - 1) / groups * ((logits - logits.mean()) ** 2).sum()) ** 0.5
    half = float(special.stdtrit(groups - 1, (1 + level) / 2)) * se
    middle = float(special.logit(value))
    return float(special.expit(middle - half)), float(special.expit(middle + half))
