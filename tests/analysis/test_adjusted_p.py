"""p values adjusted for many comparisons equal R's, hand-made and simulated ones."""

import numpy as np
import pytest
from scipy import stats

from analysis.statistics.comparisons.p_adjustment import adjust_p, tukey
from analysis.statistics.comparisons.pairwise_contrasts import REFERENCE as AGAINST_REFERENCE
from analysis.statistics.comparisons.pairwise_contrasts import (
    SYSTEMS,
    all_pairs,
    compare,
    declared_families,
)
from analysis.statistics.comparisons.test_result import Undefined
from tests.analysis.coded import expected

P = [0.01, 0.04, None, 0.03, 0.02, 0.5]


def test_bonferroni_holm_and_bh_by_hand_skip_what_has_no_test():
    assert adjust_p(P, "none") == P
    assert adjust_p(P, "bonferroni") == pytest.approx([0.05, 0.2, None, 0.15, 0.1, 1.0])
    assert adjust_p(P, "holm") == pytest.approx([0.05, 0.09, None, 0.09, 0.08, 0.5])
    assert adjust_p(P, "bh") == pytest.approx([0.05, 0.05, None, 0.05, 0.05, 0.5])


def test_no_p_at_all_is_no_error():
    for method in ("none", "bonferroni", "holm", "bh"):
        assert adjust_p([], method) == []
        assert adjust_p([None, None], method) == [None, None]


def test_an_unknown_adjustment_is_told():
    with pytest.raises(Undefined, match="known are none, bonferroni, holm, bh"):
        adjust_p([0.5], "sidak")


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
    assert adjust_p(plain, "holm") == pytest.approx(told, rel=1e-6)


@pytest.mark.parametrize("adjustment", ["bonferroni", "holm", "bh"])
def test_an_adjustment_never_makes_p_smaller(adjustment):
    covariance = np.diag([0.1, 0.2, 0.3, 0.4])
    for one in compare("abcd", [1.0, 1.1, 1.9, 3.0], covariance, df=20, adjustment=adjustment):
        assert one.p <= one.p_adjusted <= 1
        assert one.low < one.value < one.high


def test_families_of_pairs():
    assert all_pairs(3) == [(0, 1), (0, 2), (1, 2)]
    names = ["ref", "a", "anchor", "b"]
    families = declared_families(names, "ref", {"anchor"})
    assert families == {AGAINST_REFERENCE: [(0, 1), (0, 3)], SYSTEMS: [(1, 3)]}
    assert declared_families(["a", "b"]) == {SYSTEMS: [(0, 1)]}
    assert declared_families(["a"], "z") == {}


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
    one, two, _ = compare("abc", [1.0, 1.0, 2.0], np.diag([0.0, 0.0, 1.0]))
    assert (one.p, one.p_adjusted, one.low) == (None, None, None)
    assert "no variance" in one.note
    assert two.p is not None
    assert "no variance" not in two.note
