"""A score that does not fall with the rate: monotone fit, and the rate that reaches a score."""

from __future__ import annotations

import numpy as np

from analysis.arrays import Floats

FEWEST_RATES = 3
_LEAST_FILLED = 0.9  # of the replicates, for an interval


def monotone_fit(means: Floats, weights: Floats) -> Floats:
    """Return the means (k,) made non-decreasing by weighted least squares, in the order of rates.

    Isotonic regression by pooling adjacent violators (Barlow et al. 1972). ``weights`` (k,) are
    above 0, such as numbers of ratings. Raises ValueError for an empty input.
    """
    from scipy.optimize import isotonic_regression

    if not len(means):
        raise ValueError("no means to fit")
    return np.asarray(isotonic_regression(means, weights=weights).x, dtype=np.float64)


def equivalent_rate(rates: Floats, fitted: Floats, score: float) -> float:
    """Return the lowest rate at which the fitted curve reaches a score.

    ``rates`` (k,) are above 0 and increase, ``fitted`` (k,) does not fall; between two rates the
    curve is linear in the logarithm of the rate. -inf: the score lies below the curve at the lowest
    rate. inf: above it at the highest. NaN where the score or a fitted value is NaN.
    """
    if np.isnan(score) or np.isnan(fitted).any():
        return float("nan")
    if score < fitted[0]:
        return float("-inf")
    if score > fitted[-1]:
        return float("inf")
    k = int(np.searchsorted(fitted, score, side="left"))
    if fitted[k] == score:
        return float(rates[k])
    share = (score - fitted[k - 1]) / (fitted[k] - fitted[k - 1])
    log = (1 - share) * np.log(rates[k - 1]) + share * np.log(rates[k])
    return float(np.exp(log))


def rate_interval(replicates: Floats, level: float) -> tuple[float, float] | None:
    """Return the middle ``level`` of replicated rates (B,), whose ends may be -inf or inf.

    Ends are replicates themselves, so that none is interpolated with infinity. None where over
    10 % of the replicates are NaN.
    """
    known = np.sort(replicates[~np.isnan(replicates)])
    if len(known) < max(_LEAST_FILLED * len(replicates), 1):
        return None
    tail = (1 - level) / 2
    low = int(np.floor(tail * (len(known) - 1)))
    return float(known[low]), float(known[len(known) - 1 - low])
