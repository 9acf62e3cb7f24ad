"""p values adjusted for many comparisons equal R's, hand-made and simulated ones."""

import numpy as np
import pytest
from scipy import stats

from analysis.statistics.comparisons import (
    Undefined,
    adjusted,
    against_best,
    against_reference,
    all_pairs,
    compare,
    dunnett,
    max_t,
    samples_of,
    tukey,
)
from tests.analysis.coded import expected, isolation

P = [0.01, 0.04, None, 0.03, 0.02, 0.5]


def test_bonferroni_holm_and_bh_by_hand_skip_what_has_no_test():
    assert adjusted(P, "none") == P
    assert adjusted(P, "bonferroni") == pytest.approx([0.05, 0.2, None, 0.15, 0.1, 1.0])
    assert adjusted(P, "holm") == pytest.approx([0.05, 0.09, None, 0.09, 0.08, 0.5])
    assert adjusted(P, "bh") == pytest.approx([0.05, 0.05, None, 0.05, 0.05, 0.5])


def test_no_p_at_all_is_no_error():
    for method in ("none", "bonferroni", "holm", "bh"):
        assert adjusted([], method) == []
        assert adjusted([None, None], method) == [None, None]


def test_an_unknown_adjustment_is_told():
    with pytest.raises(Undefined, match="known are none, bonferroni, holm, bh"):
        adjusted([0.5], "sidak")


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mos_s2", "mos_s1"])
def test_tukey_and_holm_are_emmeans(name):
    fit = expected(name)["lmm_isolation"]
    rows, k = fit["pairs_tukey"], len(fit["emmeans"])
    t, df = ([row[key] for row in rows] for key in ("t.ratio", "df"))
    told = [row["p.value"] for row in rows]
    assert tukey(t, k, df) == pytest.approx(told, rel=1e-4, abs=5e-9)
    plain = [row["p.value"] for row in fit["pairs_none"]]
    told = [row["p.value"] for row in fit["pairs_holm"]]
    assert adjusted(plain, "holm") == pytest.approx(told, rel=1e-6)


@pytest.mark.slow
def test_the_multivariate_t_of_all_balanced_pairs_is_tukeys():
    for df in (12.0, np.inf):
        found = compare("abcd", [0.0, 0.5, 1.1, 1.6], np.eye(4) / 4, df=df, adjustment="dunnett")
        told = compare("abcd", [0.0, 0.5, 1.1, 1.6], np.eye(4) / 4, df=df, adjustment="tukey")
        for mine, wanted in zip(found, told, strict=True):
            assert mine.p_adjusted == pytest.approx(wanted.p_adjusted, rel=2e-3)
            assert mine.high_all == pytest.approx(wanted.high_all, abs=1e-3)


def test_dunnett_is_scipys():
    samples = samples_of(isolation("mos_s2"))
    found = dunnett(samples, "ABCDE", "A", seed=1)
    theirs = stats.dunnett(*samples[1:], control=samples[0], rng=1)
    bounds = theirs.confidence_interval()
    assert [one.condition for one in found] == list("BCDE")
    assert [one.statistic for one in found] == pytest.approx(list(theirs.statistic))
    assert [one.p_adjusted for one in found] == pytest.approx(list(theirs.pvalue), abs=2e-4)
    assert [one.low_all for one in found] == pytest.approx(list(bounds.low), abs=1e-3)
    assert [one.high_all for one in found] == pytest.approx(list(bounds.high), abs=1e-3)


def test_max_t_is_what_a_simulation_says():
    covariance = np.array([[1.0, 0.7, 0.1], [0.7, 2.0, 0.4], [0.1, 0.4, 1.5]])
    rng = np.random.default_rng(5)
    z = rng.multivariate_normal(np.zeros(3), covariance, size=200_000) / np.diag(covariance) ** 0.5
    largest = np.abs(z / np.sqrt(rng.chisquare(9, 200_000) / 9)[:, None]).max(axis=1)
    for t, p in zip((1.5, 2.5), max_t([1.5, 2.5, 0.0], covariance, 9)[:2], strict=True):
        assert p == pytest.approx(np.mean(largest > t), abs=4 * (p / 200_000) ** 0.5)


def test_the_same_seed_gives_the_same_p():
    covariance = np.eye(4) + 0.3
    first = max_t([1.0, 2.0, 2.5, 3.0], covariance, 30, seed=3)
    assert list(first) == list(max_t([1.0, 2.0, 2.5, 3.0], covariance, 30, seed=3))


@pytest.mark.slow
@pytest.mark.parametrize("adjustment", ["bonferroni", "holm", "tukey", "dunnett"])
def test_an_adjustment_never_makes_p_smaller(adjustment):
    covariance = np.diag([0.1, 0.2, 0.3, 0.4])
    for one in compare("abcd", [1.0, 1.1, 1.9, 3.0], covariance, df=20, adjustment=adjustment):
        assert one.p <= one.p_adjusted <= 1
        if one.low_all is not None:
            assert one.low_all < one.low < one.high < one.high_all


def test_families_of_pairs():
    assert all_pairs(3) == [(0, 1), (0, 2), (1, 2)]
    assert against_reference("abc", "b") == [(0, 1), (2, 1)]
    assert against_best([1.0, 3.0, 3.0]) == [(0, 1), (2, 1)]
    assert against_best([2.0, 3.0, 1.0], low_is_best=True) == [(0, 2), (1, 2)]
    with pytest.raises(Undefined, match="no condition 'z'; there are a, b"):
        against_reference("ab", "z")
    with pytest.raises(Undefined, match="no condition"):
        against_best([])


def test_contrasts_by_hand_use_the_covariance_and_its_floor():
    covariance = np.array([[0.5, 0.2], [0.2, 0.4]])
    (one,) = compare(["x", "y"], [2.0, 1.0], covariance, df=10, adjustment="none")
    assert (one.value, one.se, one.df) == (1.0, pytest.approx(0.5**0.5), 10)
    assert one.p == pytest.approx(2 * stats.t.sf(1 / 0.5**0.5, 10))
    half = stats.t.ppf(0.975, 10) * 0.5**0.5
    assert (one.low, one.high) == pytest.approx((1 - half, 1 + half))
    (floored,) = compare(["x", "y"], [2.0, 1.0], covariance, floors=[np.eye(2)])
    assert floored.se == pytest.approx(2**0.5)


def test_a_difference_without_variance_has_no_test_and_says_so():
    one, two, _ = compare("abc", [1.0, 1.0, 2.0], np.diag([0.0, 0.0, 1.0]), adjustment="dunnett")
    assert (one.p, one.p_adjusted, one.low) == (None, None, None)
    assert "no variance" in one.note
    assert two.p is not None
    assert "no variance" not in two.note
    assert one.row()["df"] is None
    with pytest.raises(Undefined, match="no variance"):
        max_t([1.0, 2.0], np.zeros((2, 2)))


def test_dunnett_refuses_single_values():
    with pytest.raises(Undefined, match="too few values"):
        dunnett([[1.0], [2.0]], "ab", "a")


def test_simultaneous_intervals_hold_together_in_ninety_five_of_a_hundred():
    """20,000 simulated studies of four equal means: all three differences at once."""
    covariance = np.diag([0.02, 0.05, 0.05, 0.1])
    pairs = against_reference("abcd", "a")
    found = compare("abcd", np.zeros(4), covariance, pairs, adjustment="dunnett")
    half = np.array([one.high_all for one in found])
    means = np.random.default_rng(8).multivariate_normal(np.zeros(4), covariance, size=20_000)
    missed = np.mean(np.any(np.abs(means[:, 1:] - means[:, :1]) > half, axis=1))
    assert missed == pytest.approx(0.05, abs=3 * (0.05 * 0.95 / 20_000) ** 0.5)


def test_bonferroni_intervals_by_hand_use_each_pairs_df():
    covariance = np.diag([0.2, 0.3, 0.4])
    found = compare("abc", [1.0, 2.0, 4.0], covariance, df=[5, 8, 20], adjustment="bonferroni")
    for one, df, variance in zip(found, (5, 8, 20), (0.5, 0.6, 0.7), strict=True):
        half = stats.t.ppf(1 - 0.05 / 6, df) * variance**0.5
        assert (one.low_all, one.high_all) == pytest.approx((one.value - half, one.value + half))
