"""The interval procedures against hand-computed cases, brute force and scipy."""

import math

import numpy as np
import pytest
from scipy import stats

from analysis.statistics import intervals as iv


def codes(*values):
    return np.asarray(values, dtype=np.int64)


def grid(means_r, means_t):
    """Additive scores of crossed raters and items: y = 3 + a_r + b_t."""
    rater, item = np.divmod(np.arange(len(means_r) * len(means_t)), len(means_t))
    y = 3.0 + np.asarray(means_r)[rater] + np.asarray(means_t)[item]
    return y, rater.astype(np.int64), item.astype(np.int64)


def test_two_way_variance_of_three_by_three_by_hand():
    y, rater, item = grid([-1, 0, 1], [-1, 0, 1])
    means = iv.clustered(y, np.zeros(9, dtype=np.int64), rater, item, 1)
    # rater sums 3a: 9 * 2 / 81; items the same; single ratings: sum (a+b)^2 = 12, / 81
    assert means.by_rater[0, 0] == pytest.approx(18 / 81)
    assert means.by_item[0, 0] == pytest.approx(18 / 81)
    assert means.by_both[0, 0] == pytest.approx(12 / 81)
    assert means.variance(0) == pytest.approx(24 / 81)
    assert means.degrees(0) == 2
    low, high = iv.t_interval(3.0, math.sqrt(24 / 81), 2, 0.95)
    assert (low, high) == pytest.approx((3 - 4.302653 * 0.5443311, 3 + 4.302653 * 0.5443311))


def test_two_way_variance_never_falls_below_a_one_way_variance():
    y, rater, item = grid([-1, 1], [-2, 2])
    means = iv.clustered(y, np.zeros(4, dtype=np.int64), rater, item, 1)
    # items: (4² + 4²) / 16 = 2; raters: (2² + 2²) / 16 = 0.5; both: (9+1+1+9) / 16 = 1.25
    sums = means.by_rater + means.by_item - means.by_both
    assert sums[0, 0] == pytest.approx(2 + 0.5 - 1.25)
    assert means.variance(0) == pytest.approx(2.0)


def test_a_shared_rater_offset_cancels_in_the_difference():
    y, rater, item = grid([-1.5, 0.25, 1.25], [-1, 0, 1])
    rng = np.random.default_rng(5)
    other = y + 1 + rng.normal(0, 0.1, len(y))
    condition = np.repeat([0, 1], len(y)).astype(np.int64)
    means = iv.clustered(
        np.concatenate([y, other]), condition, np.tile(rater, 2), np.tile(item, 2), 2
    )
    together = means.variance(0, 1)
    assert together < 0.02 * (means.variance(0) + means.variance(1))
    # by definition: the same sums over the one vector of +e/n and -e/n
    e = np.concatenate([(y - y.mean()) / 9, -(other - other.mean()) / 9])
    rater2, item2 = np.tile(rater, 2), np.tile(item, 2)
    v = [
        sum(e[key == k].sum() ** 2 for k in np.unique(key))
        for key in (rater2, item2, rater2 * 3 + item2)
    ]
    assert together == pytest.approx(max(v[0] + v[1] - v[2], v[0], v[1]))


def test_rater_weights_make_the_mean_of_rater_means():
    y = np.array([1.0, 1, 1, 1, 5])
    rater, item = codes(0, 0, 0, 0, 1), codes(0, 1, 2, 3, 0)
    condition = np.zeros(5, dtype=np.int64)
    weights = iv.rater_weights(condition, rater, 1)
    assert weights == pytest.approx([0.125] * 4 + [0.5])
    assert iv.clustered(y, condition, rater, item, 1).value[0] == pytest.approx(1.8)
    assert iv.clustered(y, condition, rater, item, 1, weights).value[0] == pytest.approx(3.0)


def test_naive_interval_is_the_textbook_one():
    y = np.array([1.0, 2, 2, 4, 5])
    scipys = stats.t.interval(0.9, 4, loc=y.mean(), scale=stats.sem(y))
    assert iv.naive_interval(y, 0.9) == pytest.approx(scipys)
    assert iv.naive_interval(y[:1], 0.9) is None


def test_welch_is_scipys():
    rng = np.random.default_rng(1)
    a, b = rng.normal(3, 1, 20), rng.normal(3.4, 2, 31)
    found = stats.ttest_ind(a, b, equal_var=False)
    interval = found.confidence_interval(0.95)
    assert iv.welch_interval(a, b, 0.95) == pytest.approx(
        (interval.low, interval.high, found.pvalue)
    )
    assert iv.welch_interval(np.ones(3), np.ones(4), 0.95) == (0.0, 0.0, None)
    assert iv.welch_interval(np.ones(1), b, 0.95) is None


@pytest.mark.parametrize("by_rater", [False, True])
def test_bootstrap_means_are_those_of_the_drawn_multiplicities(by_rater):
    rng = np.random.default_rng(2)
    rater, item = rng.integers(0, 5, 30), rng.integers(0, 6, 30)
    y = rng.normal(size=30)
    draws = iv.PigeonholeWeights(5, 6, 40, seed=9)
    assert (draws.rater.sum(axis=1) == 5).all()
    assert (draws.item.sum(axis=1) == 6).all()
    found = draws.means(y, rater, item, by_rater)
    for b in range(40):
        w, v = draws.rater[b].astype(float), draws.item[b].astype(float)
        if by_rater:
            sums = [(w[r], (v[item] * (rater == r))) for r in range(5)]
            own = [(wr, (k * y).sum() / k.sum()) for wr, k in sums if k.sum() > 0 and wr > 0]
            total = sum(wr for wr, _ in own)
            brute = sum(wr * m for wr, m in own) / total if total else math.nan
        else:
            k = w[rater] * v[item]
            brute = (k * y).sum() / k.sum() if k.sum() else math.nan
        assert found[b] == pytest.approx(brute, nan_ok=True)


def test_the_same_seed_draws_the_same_and_another_seed_others():
    one, same, other = (iv.PigeonholeWeights(7, 8, 50, seed=s) for s in (4, 4, 5))
    assert (one.rater == same.rater).all()
    assert (one.item == same.item).all()
    assert (one.rater != other.rater).any()


def test_percentiles_leave_empty_replicates_out_and_refuse_when_many_are():
    draws = np.arange(101.0)
    assert iv.percentile_interval(draws, 0.9) == pytest.approx((5, 95))
    draws[:5] = np.nan
    assert iv.percentile_interval(draws, 0.9) == pytest.approx((9.75, 95.25))
    draws[:50] = np.nan
    assert iv.percentile_interval(draws, 0.9) is None


def test_holm_by_hand():
    assert iv.holm([0.01, None, 0.04, 0.03]) == [0.03, None, 0.06, 0.06]
    assert iv.holm([0.5, 0.6]) == [1.0, 1.0]
    assert iv.holm([]) == []
