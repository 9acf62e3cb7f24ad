"""The ICC of a condition's mean: how much of the spread of the means is true, not noise."""

from __future__ import annotations

import numpy as np
from scipy import stats

from analysis.arrays import Floats
from analysis.statistics.agreement.agreement_result import (
    ALL_EQUAL,
    NOTHING,
    Agreement,
    CodedRatings,
    Names,
    Scores,
    coded,
)
from analysis.statistics.intervals import Clustered, clustered

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
    why = _unfit(by_condition)
    if why:
        return by_condition.undefined(MEAN_ICC, level, why, F_OF_MEANS)
    n = len(by_condition.units)
    means = clustered(by_condition.y, by_condition.unit, by_condition.rater, by_item.unit, n)
    groups = int(min(means.n_raters.min(), means.n_items.min()))
    if groups < 2:
        why = "a condition has one rater or one item only: the noise of its mean is unknown"
        return by_condition.undefined(MEAN_ICC, level, why, F_OF_MEANS)
    error = _error(means)
    spread = float(np.var(means.value, ddof=1))
    if spread <= 1e-15 or error <= 1e-15:
        same = "the means are all equal" if spread <= 1e-15 else "the means have no noise"
        return by_condition.undefined(MEAN_ICC, level, f"{same}: undefined", F_OF_MEANS)
    ratio = spread / error
    tail = (1 + level) / 2
    low = 1 - float(stats.f.ppf(tail, n - 1, groups - 1)) / ratio
    high = 1 - 1 / (ratio * float(stats.f.ppf(tail, groups - 1, n - 1)))
    note = "two conditions only: rough" if n == 2 else ""
    if ratio <= 1:
        note = "the means differ no more than noise makes them differ"
    return by_condition.measured(MEAN_ICC, 1 - 1 / ratio, (low, high), level, F_OF_MEANS, note)


def _error(means: Clustered) -> float:
    """Half the mean variance of a difference, over all pairs of conditions."""
    rater, item, both = (
        _differences(gram) for gram in (means.by_rater, means.by_item, means.by_both)
    )
    variance = np.maximum(np.maximum(rater + item - both, rater), item)
    return float(variance[np.triu_indices(len(variance), 1)].mean()) / 2


def _differences(gram: Floats) -> Floats:
    own = np.diag(gram)
    return np.asarray(own[:, None] + own[None, :] - 2 * gram, dtype=np.float64)


def _unfit(ratings: CodedRatings) -> str:
    if not len(ratings.y):
        return NOTHING
    if len(ratings.units) < 2:
        return "one condition only: there is no spread of means"
    return ALL_EQUAL if np.ptp(ratings.y) == 0 else ""
