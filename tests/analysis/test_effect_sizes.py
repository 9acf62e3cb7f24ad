"""Effect sizes by hand, their intervals by simulation, and the decisions that they lead to."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from analysis.statistics.clustered_variance import variances_and_df
from analysis.statistics.comparisons.effect_sizes import (
    cliffs_delta,
    clustered_d,
    clustered_delta,
    cohen_d,
    cohen_d_paired,
    noncentral_interval,
)
from analysis.statistics.comparisons.simultaneous import rope_decision
from analysis.statistics.comparisons.test_result import Undefined
from analysis.statistics.comparisons.tests_by_name import samples_of
from analysis.statistics.comparisons.two_sample_tests import mann_whitney
from analysis.statistics.intervals import clustered
from tests.analysis.coded import isolation
from tests.analysis.simulation import bounds, sizes

SCORES = st.lists(st.integers(1, 5), min_size=2, max_size=12)


def test_cohens_d_by_hand():
    a, b = [1, 2, 3, 4], [3, 4, 5]
    pooled = ((3 * np.var(a, ddof=1) + 2 * 1.0) / 5) ** 0.5
    assert cohen_d(a, b).value == pytest.approx(-1.5 / pooled)


def test_cohens_d_times_its_approximate_factor_is_pingouins_hedges_g():
    samples = samples_of(isolation("mos_s2"))
    factor = 1 - 3 / (4 * (len(samples[0]) + len(samples[4])) - 9)
    d = cohen_d(samples[0], samples[4]).value
    assert d * factor == pytest.approx(0.7831527834549, rel=1e-10)


def test_the_interval_of_d_is_where_the_noncentral_t_puts_the_tails():
    a, b = samples_of(isolation("mos_s2"))[:2]
    found, scale = cohen_d(a, b), (1 / len(a) + 1 / len(b)) ** 0.5
    df, t = len(a) + len(b) - 2, found.value / scale
    assert stats.nct.cdf(t, df, found.low / scale) == pytest.approx(0.975)
    assert stats.nct.cdf(t, df, found.high / scale) == pytest.approx(0.025)


def test_the_paired_d_by_hand():
    found = cohen_d_paired([1.0, 2.0, 3.0])
    assert found.value == pytest.approx(2.0)
    assert found.low < 2 < found.high


def test_cliffs_delta_by_hand():
    found = cliffs_delta([1, 2, 3], [1, 1, 2])  # wins 0+2+3, ties 2+1+0, losses 1 of 9
    assert found.value == pytest.approx((5 - 1) / 9)
    rows, columns = np.array([-1 / 3, 2 / 3, 1.0]), np.array([2 / 3, 2 / 3, 0.0])
    cells = np.sign(np.subtract.outer([1, 2, 3], [1, 1, 2]))
    d = 4 / 9
    variance = 9 * sum((rows - d) ** 2) + 9 * sum((columns - d) ** 2) - ((cells - d) ** 2).sum()
    variance /= 9 * 4
    z2 = stats.norm.ppf(0.975) ** 2 * variance
    half = (z2 * ((1 - d**2) ** 2 + z2)) ** 0.5
    low, high = ((d - d**3 + s * half) / (1 - d**2 + z2) for s in (-1, 1))
    assert (found.low, found.high) == pytest.approx((low, high))


@pytest.mark.slow
@given(SCORES, SCORES)
def test_cliffs_delta_is_its_definition_and_stays_inside(a, b):
    found, turned = cliffs_delta(a, b), cliffs_delta(b, a)
    signs = np.sign(np.subtract.outer(a, b))
    assert found.value == pytest.approx(signs.mean(), abs=1e-12)
    assert turned.value == pytest.approx(-found.value, abs=1e-12)
    if found.low is not None:
        assert -1 <= found.low <= found.value + 1e-12 <= found.high + 2e-12 <= 1 + 3e-12
        assert turned.low == pytest.approx(-found.high, abs=1e-9)
    u = mann_whitney(a, b).statistic
    if u is not None:
        assert found.value == pytest.approx(2 * u / (len(a) * len(b)) - 1, abs=1e-12)


@pytest.mark.slow
@pytest.mark.no_cover
@sizes(100, 2000)
@pytest.mark.parametrize("shift", [0.0, 0.8])
def test_intervals_of_effects_cover(shift, runs):
    """Simulated pairs of samples of 30 normal values."""
    rng, hits = np.random.default_rng(4), np.zeros(2)
    delta = 2 * stats.norm.cdf(shift / 2**0.5) - 1
    for _ in range(runs):
        a, b = rng.normal(shift, 1, 30), rng.normal(0, 1, 30)
        for i, (found, true) in enumerate(((cohen_d(a, b), shift), (cliffs_delta(a, b), delta))):
            hits[i] += found.low <= true <= found.high
    low, high = bounds(0.935, 0.965, of=2000, runs=runs)
    assert np.all((hits / runs > low) & (hits / runs < high))


@pytest.mark.parametrize(
    ("found", "words"),
    [
        (cohen_d([3, 3], [3, 3]), "all equal"),
        (cohen_d([3], [4]), "fewer than two"),
        (cohen_d([], [4, 5, 6]), "fewer than two"),
        (cohen_d_paired([1.0]), "fewer than two pairs"),
        (cohen_d_paired([0.5, 0.5]), "all equal"),
        (cliffs_delta([], [1.0]), "no value"),
    ],
)
def test_an_undefined_effect_says_why(found, words):
    assert (found.value, found.low, found.high) == (None, None, None)
    assert words in found.note


def test_complete_separation_has_a_delta_and_no_interval():
    found = cliffs_delta([1, 1, 1], [0, 0, 0])
    assert (found.value, found.low) == (1.0, None)
    assert "no interval" in found.note


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        (-0.01, 0.015, "practically equal"),
        (0.021, 0.1, "above"),
        (-0.3, -0.03, "below"),
        (0.01, 0.1, "undecided"),
        (-0.5, 0.5, "undecided"),
        (None, None, "undecided"),
    ],
)
def test_a_rope_decides_by_the_whole_interval(low, high, said):
    assert rope_decision(low, high, 0.02) == said


def test_a_rope_without_width_is_refused():
    with pytest.raises(Undefined, match="wider than 0"):
        rope_decision(0, 1, 0)
    with pytest.raises(Undefined, match="wider than 0"):
        rope_decision(0, 1, -1)


@pytest.mark.medium
def test_a_gigantic_t_has_an_interval_that_joins_on():
    near, far = noncentral_interval(9_999, 12, 0.95), noncentral_interval(10_001, 12, 0.95)
    assert far == pytest.approx(near, rel=1e-3)
    assert noncentral_interval(-1e6, 30, 0.9)[0] < -1e6 < noncentral_interval(-1e6, 30, 0.9)[1]


@pytest.mark.parametrize("effect", [cohen_d, cliffs_delta, mann_whitney])
def test_a_missing_value_is_refused_not_passed_on(effect):
    with pytest.raises(Undefined, match="missing or infinite"):
        effect([1.0, np.nan, 2.0], [2.0, 3.0])


def crossed(rng, shift, raters=20, items=20, each=5):
    """Two conditions: raters (SD 0.42), raters by condition (0.3), items (0.27), the rest 0.6."""
    rater = np.concatenate([rng.choice(raters, each, replace=False) for _ in range(2 * items)])
    item, second = np.repeat(np.arange(items), 2 * each), np.tile(np.repeat([0, 1], each), items)
    y = 3 - shift * second + rng.normal(0, 0.42, raters)[rater] + rng.normal(0, 0.27, items)[item]
    y += rng.normal(0, 0.3, (raters, 2))[rater, second] + rng.normal(0, 0.6, len(y))
    return y, second == 0, rater.astype(np.int64), item


def test_clustered_effect_sizes_are_the_plain_ones_with_other_intervals():
    y, first, rater, item = crossed(np.random.default_rng(1), 0.5)
    for careful, plain in ((clustered_d, cohen_d), (clustered_delta, cliffs_delta)):
        found, bare = careful(y, first, rater, item), plain(y[first], y[~first])
        assert found.name == bare.name
        assert found.value == pytest.approx(bare.value)
        assert found.high - found.low > 1.1 * (bare.high - bare.low)
        back = careful(y, ~first, rater, item)
        assert (back.low, back.high) == pytest.approx((-found.high, -found.low))
        shuffled = np.random.default_rng(2).permutation(len(y))
        again = careful(y[shuffled], first[shuffled], rater[shuffled], item[shuffled])
        assert again.low == pytest.approx(found.low)


def test_the_clustered_interval_of_d_is_the_delta_methods_by_differences():
    """Each rating weighed a little more tells its part (the infinitesimal jackknife)."""
    y, first, rater, item = crossed(np.random.default_rng(3), 0.5, raters=8, items=6, each=4)
    weight, step, base = np.ones(len(y)), 1e-5, clustered_d(y, first, rater, item).value

    def weighted(w):
        means = [np.average(y[side], weights=w[side]) for side in (first, ~first)]
        square = sum(
            w[s] @ (y[s] - mean) ** 2 for s, mean in zip((first, ~first), means, strict=True)
        )
        return (means[0] - means[1]) / (square / (len(y) - 2)) ** 0.5

    part = np.empty(len(y))
    for k in range(len(y)):
        moved = weight.copy()
        moved[first == first[k]] -= step / first[first == first[k]].size  # sums stay as they are
        moved[k] += step
        part[k] = (weighted(moved) - base) / step
    sign = np.where(first, 1.0, -1.0)
    sums = clustered(sign * part * weight.sum() / 2, (~first).astype(int), rater, item, 2)
    variance, df = (x[0] for x in variances_and_df(np.array([[1.0, -1.0]]), sums))
    found = clustered_d(y, first, rater, item)
    half = stats.t.ppf(0.975, df) * variance**0.5
    assert (found.high - found.low) / 2 == pytest.approx(half, rel=1e-3)


def test_conditions_that_never_overlap_have_a_delta_with_an_interval():
    y = np.array([5.0] * 16 + [1.0] * 16)
    rater, item = np.tile(np.repeat(np.arange(4), 4), 2), np.tile(np.arange(4), 8)
    found = clustered_delta(y, y > 3, rater, item)
    assert (found.value, found.high) == (1.0, 1.0)
    most_df = 2 * (4 - 1)  # that differences between four raters may have
    answers = 16 * (stats.norm.isf(0.025) / stats.t.isf(0.025, most_df)) ** 2
    assert found.low == pytest.approx(2 * 0.025 ** (1 / answers) - 1)
    assert clustered_delta(y, y < 3, rater, item).high == pytest.approx(-found.low)
    assert clustered_d(y, y > 3, rater, item).value is None
    alone = clustered_delta(y, y > 3, np.zeros(32, dtype=int), item)
    assert (alone.value, alone.low) == (1.0, None)
    assert "one rater" in alone.note


@pytest.mark.slow
@sizes(30, 800)
@pytest.mark.parametrize("shift", [0.0, 1.5])
def test_clustered_effect_sizes_hold_for_other_raters_and_items(shift, runs):
    """Of normal scores: delta = 2 Phi(d / sqrt 2) - 1, d by the SDs that were put in."""
    d = shift / (0.42**2 + 0.3**2 + 0.27**2 + 0.6**2) ** 0.5
    truth = {clustered_d: d, clustered_delta: 2 * stats.norm.cdf(d / 2**0.5) - 1}
    rng = np.random.default_rng(6)
    studies = [crossed(rng, shift) for _ in range(runs)]
    for make, value in truth.items():
        held = [found.low <= value <= found.high for found in (make(*s) for s in studies)]
        low, high = bounds(0.92, 0.98, of=800, runs=runs)
        assert low <= np.mean(held) <= high
