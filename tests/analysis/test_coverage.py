"""How often intervals hold the truth, by simulation of new raters and new items."""

import numpy as np
import pytest

from analysis.statistics.intervals import (
    PigeonholeWeights,
    clustered,
    naive_interval,
    percentile_interval,
    t_interval,
)
from tests.analysis.simulation import bounds, sizes

RATERS, ITEMS, PER_ITEM, FULL = 20, 20, 5, 600


def simulated(rng):
    """MOS-like: rater SD 0.42, item SD 0.27, rest 0.6; five random raters per item; mean 3."""
    item = np.repeat(np.arange(ITEMS), PER_ITEM)
    rater = np.concatenate([rng.choice(RATERS, PER_ITEM, replace=False) for _ in range(ITEMS)])
    y = 3 + rng.normal(0, 0.42, RATERS)[rater] + rng.normal(0, 0.27, ITEMS)[item]
    return y + rng.normal(0, 0.6, len(y)), rater.astype(np.int64), item.astype(np.int64)


def coverage(interval, runs):
    rng = np.random.default_rng(20250501)
    held, widths = 0, []
    for _ in range(runs):
        low, high = interval(*simulated(rng))
        held += low <= 3 <= high
        widths.append(high - low)
    return held / runs, float(np.mean(widths))


def two_way(y, rater, item):
    means = clustered(y, np.zeros(len(y), dtype=np.int64), rater, item, 1)
    return t_interval(float(means.value[0]), means.variance(0) ** 0.5, means.degrees(0), 0.95)


def bootstrap(y, rater, item):
    draws = PigeonholeWeights(RATERS, ITEMS, 400, seed=int(1e6 * abs(y[0])))
    return percentile_interval(draws.means(y, rater, item), 0.95)


@pytest.mark.slow
@sizes(120, FULL)
def test_two_way_clustered_holds_and_naive_does_not(runs):
    naive, naive_width = coverage(lambda y, rater, item: naive_interval(y, 0.95), runs)
    crossed, width = coverage(two_way, runs)
    wide, wide_width = coverage(bootstrap, runs)
    assert naive < 0.83
    low, high = bounds(0.91, 0.98, of=FULL, runs=runs)
    assert low <= crossed <= high
    assert wide >= crossed
    assert naive_width < width < wide_width


@pytest.mark.slow
def test_naive_is_right_when_ratings_really_are_independent():
    rng = np.random.default_rng(3)
    held = 0
    for _ in range(FULL):
        low, high = naive_interval(rng.normal(3, 1, 60), 0.95)
        held += low <= 3 <= high
    assert 0.92 <= held / FULL <= 0.98
