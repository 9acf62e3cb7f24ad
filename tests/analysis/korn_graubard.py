"""Korn and Graubard's (1998) interval written apart from the analysis: loops and SciPy alone."""

import numpy as np
from scipy import stats


def effective(groups):
    """n²/Σn_g²: the number of groups where they are of equal size."""
    counts = np.bincount(groups)
    return counts.sum() ** 2 / (counts**2).sum()


def korn_graubard(y, rater, item, ends, level=0.95):
    """Of one mean of scores (n,), by codes of raters and items (n,), on a scale with these ends.

    The variance is that of the two-way layout (Searle, Casella and McCulloch 1992), with the larger
    one-way variance as its floor; n* = p (1 - p) / V (z / t)² of Korn and Graubard, at most that of
    independent answers that differ as these and two more at the far end do.
    """
    low, high = ends
    y = (np.asarray(y, dtype=np.float64) - low) / (high - low)
    raters, items, n, p, alpha = effective(rater), effective(item), len(y), y.mean(), 1 - level
    e, of_raters, of_items = (y - p) / n, raters / (raters - 1), items / (items - 1)
    sums = {}
    for name, codes in (("r", rater), ("i", item), ("b", rater * 10_000 + item)):
        sums[name] = sum(e[codes == code].sum() ** 2 for code in np.unique(codes))
    both = (sums["r"] + sums["i"] - sums["b"]) * of_raters * of_items
    by_rater, by_item = sums["r"] * of_raters, sums["i"] * of_items
    variance, least = max(both, by_rater, by_item), min(raters, items) - 1
    share = (by_rater / variance) ** 2 / (raters - 1) + (by_item / variance) ** 2 / (items - 1)
    t, t_most = (stats.t.isf(alpha / 2, df) for df in (max(1 / share, least), 2 * least))
    z, spread = stats.norm.isf(alpha / 2), p * (1 - p)
    most, unseen = min(n * (z / t_most) ** 2, 4**least / 2), 2 * max(p, 1 - p) ** 2
    one = (most * y.var() + unseen) / (most * spread + unseen)
    answers = 1 / max(variance / spread * (t / z) ** 2, one / most)
    x = p * answers
    bounds = (
        stats.beta.ppf(alpha / 2, x, answers - x + 1),
        stats.beta.ppf(1 - alpha / 2, x + 1, answers - x),
    )
    return tuple(low + (high - low) * bound for bound in bounds)
