"""Cohen's kappa, plain and weighted (QWK), over fixed categories, rounding half up.

Ours, for its interval and many tables at once; scikit-learn's number is the same.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from analysis.arrays import Codes, Floats
from analysis.statistics.agreement.agreement_result import AgreementError, Bounds, Scores
from analysis.statistics.intervals import percentile_interval

FIVE = (1.0, 2.0, 3.0, 4.0, 5.0)
BOOTSTRAP = "bootstrap over units, percentile"
ONE_CATEGORY = "both sides hold one and the same category: kappa is undefined"


def rounded_half_up(values: Scores, categories: Sequence[float] = FIVE) -> Codes:
    """The index (n,) of each value's category: rounded half up, clipped to the first and last.

    ``categories`` (K,) are evenly spaced and ascending, such as 1..5 or 1, 1.5 .. 5. Raises
    AgreementError when they are not, or when a value is NaN. (LFS-Bench convention:
    floor(x + 0.5).)
    """
    steps = np.asarray(categories, dtype=np.float64)
    if len(steps) < 2 or np.ptp(np.diff(steps)) > 1e-9 or steps[1] <= steps[0]:
        raise AgreementError("categories must be two or more, ascending and evenly spaced")
    x = np.asarray(values, dtype=np.float64)
    if np.isnan(x).any():
        raise AgreementError("a value is NaN and has no category; leave such pairs out")
    place = np.floor((x - steps[0]) / (steps[1] - steps[0]) + 0.5 + 1e-9)
    return np.asarray(np.clip(place, 0, len(steps) - 1), dtype=np.int64)


def kappa(
    x: Floats,
    y: Floats,
    weights: str = "quadratic",
    categories: Sequence[float] = FIVE,
    level: float = 0.95,
    replicates: int = 1000,
    seed: int = 0,
) -> tuple[float | None, Bounds]:
    """Kappa (at most 1) of two ratings x and y (n,) of the same units, and its bounds.

    ``weights`` is none (Cohen 1960), linear or quadratic (Cohen 1968, 1 - sum w O / sum w E with
    w = |i - j| or (i - j)^2). Categories are fixed, so a constant side gives 0; kappa is None when
    both sides hold one and the same category. The interval resamples units.
    """
    k = len(categories)
    pairs = rounded_half_up(x, categories) * k + rounded_half_up(y, categories)
    table = np.bincount(pairs, minlength=k * k).reshape(k, k).astype(np.float64)
    value = float(kappas(table[None], weights)[0])
    if np.isnan(value):
        return None, None
    return value, bootstrap_bounds(table, weights, level, replicates, seed) if replicates else None


def bootstrap_bounds(
    table: Floats, weights: str, level: float, replicates: int, seed: int
) -> tuple[float, float] | None:
    """Percentile bounds of kappa from a table of counts (K, K); None when they cannot be made."""
    n = int(table.sum())
    if n < 2:
        return None
    rng = np.random.default_rng(seed)
    drawn = rng.multinomial(n, (table / n).reshape(-1), size=replicates)
    shaped = drawn.reshape(-1, *table.shape).astype(np.float64)
    return percentile_interval(kappas(shaped, weights), level)


def kappas(tables: Floats, weights: str) -> Floats:
    """1 - sum w O / sum w E for each table (B, K, K); NaN where the expected sum is 0."""
    k = tables.shape[1]
    apart = np.abs(np.arange(k)[:, None] - np.arange(k)[None, :]).astype(np.float64)
    w = {"none": (apart > 0).astype(np.float64), "linear": apart, "quadratic": apart**2}[weights]
    rows, columns, n = tables.sum(axis=2), tables.sum(axis=1), tables.sum(axis=(1, 2))
    observed = (tables * w).sum(axis=(1, 2))
    expected = np.einsum("bi,ij,bj->b", rows, w, columns) / np.maximum(n, 1)
    ratio = np.divide(observed, expected, out=np.full(len(n), np.nan), where=expected > 0)
    return np.asarray(1 - ratio, dtype=np.float64)
