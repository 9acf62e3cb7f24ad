"""Decisions and simultaneous intervals come from one procedure, and are the known ones."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import special, stats

from analysis.statistics.clustered_variance import Spread, spread_of
from analysis.statistics.comparisons.pairwise_contrasts import all_pairs
from analysis.statistics.comparisons.simultaneous import (
    NO_RATER_IN_COMMON,
    NO_VARIANCE,
    Family,
    decide,
    decide_pairs,
)
from analysis.statistics.comparisons.tests_by_name import samples_of
from analysis.statistics.intervals import clustered
from tests.analysis.coded import isolation


def against(reference, n):
    """Every other one of n conditions minus the reference."""
    return [(i, reference) for i in range(n) if i != reference]


def decide_means(names, means, null, **options):
    """The family of the means themselves against a neutral point."""
    return decide(np.eye(len(names)), [(name, "") for name in names], means, null=null, **options)


def rated(rng, raters=12, items=8, conditions=4, shift=0.0):
    """Every rater hears every item in every condition: rater, item, and their tastes, and noise."""
    shape = raters, items, conditions
    rater, item, condition = (grid.ravel() for grid in np.indices(shape))
    y = rng.normal(0, 0.5, (raters, 1, 1)) + rng.normal(0, 0.3, (1, items, 1))
    y = y + rng.normal(0, 0.3, (raters, 1, conditions)) + rng.normal(0, 0.3, (1, items, conditions))
    y = (y + rng.normal(0, 0.6, shape) + shift * np.arange(conditions)).ravel()
    return clustered(y, condition, rater, item, conditions)


def equal_family(estimates, df, pairs, seed=0, variances=None):
    """Differences of independent means (of variance 1) that share one variance estimate."""
    each = np.ones(len(estimates)) if variances is None else np.asarray(variances)
    rows = np.zeros((len(pairs), len(estimates)))
    for i, (a, b) in enumerate(pairs):
        rows[i, a], rows[i, b] = 1, -1
    spread = Spread(rows**2 @ each, np.full(len(pairs), df), each)
    return Family(rows, spread, rows @ np.asarray(estimates), 0.95, seed, joint_df=df)


@pytest.mark.slow
def test_an_interval_leaves_the_neutral_point_out_exactly_where_its_p_is_below_one_minus_level():
    rng = np.random.default_rng(11)
    outcomes = set()
    for trial in range(30):
        shift, level = rng.uniform(0, 0.6), rng.choice([0.8, 0.9, 0.95, 0.99])
        means = rated(rng, *rng.integers([4, 3], [20, 12]), 4, shift)
        families = (
            decide_pairs(all_pairs(4), "abcd", means, level=level, seed=trial),
            decide_pairs(against(1, 4), "abcd", means, level=level, seed=trial),
            decide_means("abcd", means, 0.5, level=level, seed=trial),
            decide_pairs([(0, 3)], "abcd", means, level=level),
        )
        for one in (each for family in families for each in family):
            assert one.claimed == (one.p < 1 - level)
            assert one.low <= one.low_alone < one.value < one.high_alone <= one.high
            assert one.p_alone <= one.p <= 1
            outcomes.add((one.versus == "", one.claimed))
    assert len(outcomes) == 4


def test_where_the_interval_ends_at_the_neutral_point_the_adjusted_p_is_one_minus_level():
    means = rated(np.random.default_rng(3))
    spread = spread_of(np.eye(4), means)
    family = Family(np.eye(4), spread, np.zeros(4), 0.95, 0)
    ends = Family(np.eye(4), spread, family.half_widths(), 0.95, 0)
    assert ends.p == pytest.approx([0.05] * 4, rel=1e-9)


@pytest.mark.slow
def test_with_a_shared_variance_estimate_all_pairs_are_tukeys():
    for conditions, df in ((3, 4.0), (6, 20.0)):
        family = equal_family(np.zeros(conditions), df, all_pairs(conditions))
        critical = stats.studentized_range.ppf(0.95, conditions, df) / 2**0.5
        assert -special.stdtrit(df, family.local_alpha / 2) == pytest.approx(critical, abs=2e-3)
    estimates = np.array([0.0, 1.0, 2.5, 5.0])
    found = equal_family(estimates, 9.0, all_pairs(4)).p
    told = [
        stats.studentized_range.sf(abs(estimates[a] - estimates[b]), 4, 9) for a, b in all_pairs(4)
    ]
    assert found == pytest.approx(told, rel=2e-3)


def dunnett_holds(others, df, critical):
    """P(all |T| <= critical) by quadrature over the reference's mean and the variance estimate."""
    x, weight = np.polynomial.hermite_e.hermegauss(60)
    s = (stats.chi2.ppf((np.arange(400) + 0.5) / 400, df) / df) ** 0.5
    reach = 2**0.5 * critical * s[:, None]
    all_within = (special.ndtr(reach + x) - special.ndtr(x - reach)) ** others
    return float((all_within @ weight).mean() / weight.sum())


@pytest.mark.medium
def test_with_a_shared_variance_estimate_those_against_a_reference_are_dunnetts():
    for others, df in ((2, 10.0), (4, 20.0), (9, 60.0)):
        family = equal_family(np.zeros(others + 1), df, [(i, 0) for i in range(1, others + 1)])
        critical = -special.stdtrit(df, family.local_alpha / 2)
        assert dunnett_holds(others, df, critical) == pytest.approx(0.95, abs=3e-4)
    rng = np.random.default_rng(4)
    samples = [rng.normal(0.5 * k, 1, 6) for k in range(4)]
    theirs = stats.dunnett(*samples[1:], control=samples[0], rng=1).pvalue
    pooled = np.mean([np.var(sample, ddof=1) for sample in samples])
    standard = [float(np.mean(sample)) / (pooled / 6) ** 0.5 for sample in samples]
    found = equal_family(standard, 20.0, [(1, 0), (2, 0), (3, 0)]).p
    assert found == pytest.approx(theirs, abs=3e-4)


@pytest.mark.medium
def test_ratings_of_uneven_numbers_against_a_reference_are_scipys_dunnett():
    samples = samples_of(isolation("mos_s2"))
    theirs = stats.dunnett(*samples[1:], control=samples[0], rng=1)
    bounds = theirs.confidence_interval()
    sizes = np.array([len(sample) for sample in samples])
    df = float(sizes.sum() - len(samples))
    pooled = sum(float(np.var(sample)) * len(sample) for sample in samples) / df
    means = [float(sample.mean()) for sample in samples]
    family = equal_family(means, df, against(0, 5), 1, pooled / sizes)
    assert family.distance / family.se == pytest.approx(theirs.statistic)
    assert family.p == pytest.approx(theirs.pvalue, abs=2e-4)
    half = family.half_widths()
    assert family.distance - half == pytest.approx(bounds.low, abs=1e-3)
    assert family.distance + half == pytest.approx(bounds.high, abs=1e-3)


def test_the_same_seed_gives_the_same_p():
    first, again = (equal_family([0, 1, 2, 2.5], 30.0, against(0, 4), 3) for _ in range(2))
    assert list(first.p) == list(again.p)


def test_simultaneous_intervals_hold_together_in_ninety_five_of_a_hundred():
    """20,000 simulated studies of four equal means: all three differences at once."""
    each = np.array([0.02, 0.05, 0.05, 0.1])
    half = equal_family(np.zeros(4), 1e9, against(0, 4), variances=each).half_widths()
    rng = np.random.default_rng(8)
    means = rng.multivariate_normal(np.zeros(4), np.diag(each), size=20_000)
    missed = np.mean(np.any(np.abs(means[:, 1:] - means[:, :1]) > half, axis=1))
    assert missed == pytest.approx(0.05, abs=3 * (0.05 * 0.95 / 20_000) ** 0.5)


def test_independent_means_with_unequal_df_are_sidaks():
    t, df = np.array([1.0, 2.0, 3.0, 4.0]), np.array([3.0, 7.0, 30.0, 4.0])
    family = Family(np.eye(4), Spread(np.ones(4), df, np.ones(4)), t, 0.95, 0)
    alone = 2 * stats.t.sf(t, df)
    assert family.p_alone == pytest.approx(alone)
    assert family.p == pytest.approx(1 - (1 - alone) ** 4, abs=2e-4)
    local = 1 - 0.95**0.25
    assert family.local_alpha == pytest.approx(local, rel=2e-3)
    assert family.half_widths() == pytest.approx(stats.t.isf(local / 2, df), rel=2e-3)


def test_contrasts_that_are_the_same_cost_nothing():
    rows = np.array([[1.0, -1, 0], [-1, 1, 0], [2, -2, 0]])
    spread = Spread(np.array([2.0, 2, 8]), np.full(3, 9.0), np.ones(3))
    family = Family(rows, spread, np.array([3.0, -3, 6]), 0.95, 0, joint_df=9.0)
    assert family.p == pytest.approx(family.p_alone)
    assert family.local_alpha == pytest.approx(0.05)


@pytest.mark.medium
def test_variances_estimated_apart_lie_between_sidaks_level_and_the_normal_one():
    """Paired t tests of all pairs of independent conditions, one value an item, none different."""
    rng, pairs = np.random.default_rng(19), all_pairs(6)
    rows = np.array([[(k == a) - (k == b) for k in range(6)] for a, b in pairs], dtype=np.float64)
    normal = 2 * stats.norm.sf(stats.studentized_range.ppf(0.95, 6, 1e5) / 2**0.5)
    sidak = 1 - 0.95 ** (1 / 15)
    for items in (4, 10, 40):
        y = rng.normal(size=(20_000, items, 6)) @ rows.T
        t = y.mean(axis=1) / (y.std(axis=1, ddof=1) / items**0.5)
        least = 2 * special.stdtr(items - 1, -np.abs(t).max(axis=1))
        spread = Spread(np.full(15, 2.0), np.full(15, items - 1.0), np.ones(6))
        local = Family(rows, spread, np.zeros(15), 0.95, 0).local_alpha
        assert sidak < local < normal
        assert np.mean(least <= local) == pytest.approx(0.05, abs=0.006)


def test_conditions_that_hardly_vary_beside_others_are_tested_like_any():
    sd = np.array([1e-7, 1e-7, 1.0, 1.0])
    rows = np.array([[1.0, -1, 0, 0], [0, 0, 1, -1]])
    variance = rows**2 @ sd**2
    spread = Spread(variance, np.full(2, 30.0), sd**2)
    family = Family(rows, spread, 2.2 * np.sqrt(variance), 0.95, 0)
    assert family.p == pytest.approx(1 - (1 - family.p_alone) ** 2, abs=2e-4)


def test_few_items_do_not_make_contrasts_seem_alike():
    """Three items leave a covariance of two dimensions; the family is as large all the same."""
    rng = np.random.default_rng(17)
    rater, item, condition = (grid.ravel() for grid in np.indices((4, 3, 5)))
    y = rng.normal(0, 1, (3, 5))[item, condition]
    means = clustered(y + 1e-3 * rng.normal(size=60), condition, rater, item, 5)
    found = decide_pairs(all_pairs(5), "abcde", means)
    widening = [(one.high - one.value) / (one.high_alone - one.value) for one in found]
    df = found[0].df
    sidak = stats.t.isf((1 - 0.95 ** (1 / 10)) / 2, df) / stats.t.isf(0.025, df)
    assert min(widening) > 0.8 * sidak


def test_variances_of_the_correlation_are_those_of_the_differences():
    each = np.array([0.5, 1.0, 2.0, 4.0])
    rng = np.random.default_rng(18)
    rater, item, condition = (grid.ravel() for grid in np.indices((100, 80, 4)))
    y = 9 * rng.normal(size=100)[rater] + (each**0.5)[condition] * rng.normal(size=32000)
    means = clustered(y, condition, rater, item, 4)
    rows = np.array([[1.0, -1, 0, 0], [0, 1, 0, -1], [0, 0, 1, -1]])
    found = spread_of(rows, means).each
    assert found / found.sum() == pytest.approx(each / each.sum(), abs=0.05)
    assert spread_of(np.eye(4), means).each.min() > 10 * found.max()


def test_a_single_contrast_has_the_plain_t_interval_and_p():
    means = rated(np.random.default_rng(1), shift=0.2)
    (one,) = decide_pairs([(0, 3)], "abcd", means)
    assert one.p == one.p_alone == pytest.approx(2 * stats.t.sf(abs(one.value) / one.se, one.df))
    assert (one.low, one.high) == (one.low_alone, one.high_alone)
    half = stats.t.ppf(0.975, one.df) * one.se
    assert (one.low, one.high) == pytest.approx((one.value - half, one.value + half))


def test_the_variance_of_a_balanced_layout_is_that_of_its_mean_squares():
    rng = np.random.default_rng(6)
    raters, items = 5, 4
    d = rng.normal(0, 3, (raters, 1)) + rng.normal(0, 3, (1, items)) + rng.normal(0, 1, (5, 4))
    rater, item = (grid.ravel() for grid in np.indices(d.shape))
    means = clustered(d.ravel(), np.zeros(d.size, dtype=np.int64), rater, item, 1)
    spread = spread_of(np.array([[1.0]]), means)
    by_rater, by_item = d.mean(axis=1), d.mean(axis=0)
    rest = d - by_rater[:, None] - by_item + d.mean()
    msr, msi = items * np.var(by_rater, ddof=1), raters * np.var(by_item, ddof=1)
    mse = (rest**2).sum() / ((raters - 1) * (items - 1))
    variance = (msr + msi - mse) / d.size
    assert spread.variance == pytest.approx([variance])
    df = variance**2 / ((msr / d.size) ** 2 / 4 + (msi / d.size) ** 2 / 3)
    assert spread.df == pytest.approx([max(df, 3)])
    assert df > 3


@pytest.mark.slow
def test_degrees_of_freedom_lie_between_the_fewer_groups_and_all_of_them():
    rng = np.random.default_rng(8)
    for _ in range(20):
        raters, items = rng.integers(3, 15, 2)
        pairs = decide_pairs(all_pairs(3), "abc", rated(rng, raters, items, 3))
        for one in pairs:
            assert min(raters, items) - 1 <= one.df + 1e-9
            assert one.df <= raters + items - 2 + 1e-9


def test_where_items_do_not_matter_degrees_are_those_of_the_raters():
    rng = np.random.default_rng(2)
    rater, item = (grid.ravel() for grid in np.indices((10, 4)))
    y = rng.normal(0, 1, 10)[rater]
    (one,) = decide_means("a", clustered(y, 0 * rater, rater, item, 1), 0.0)
    assert one.df == pytest.approx(9)


def test_raters_with_most_of_the_ratings_count_as_few():
    rng = np.random.default_rng(15)
    heard = np.repeat([20, 2], [3, 17])
    rater = np.repeat(np.arange(20), heard)
    item = np.concatenate([rng.permutation(20)[:n] for n in heard])
    y = rng.normal(0, 1, 20)[rater] + rng.normal(0, 0.3, len(rater))
    means = clustered(y, np.zeros(len(rater), dtype=np.int64), rater, item, 1)
    effective = heard.sum() ** 2 / (heard**2).sum()
    assert effective < 8
    assert means.effective_raters == pytest.approx([effective])
    (one,) = decide_means("a", means, 0.0)
    assert effective - 1 <= one.df + 1e-9 < 10
    even = clustered(y, np.zeros(len(rater), dtype=np.int64), rater, item, 1, _of_raters(heard))
    assert even.effective_raters == pytest.approx([20])


def _of_raters(heard):
    return np.repeat(1 / heard / len(heard), heard)


def test_one_rater_with_nearly_all_ratings_leaves_an_interval_that_is_finite_and_wide():
    rng = np.random.default_rng(16)
    rater, item = np.repeat([0, 1], [199, 1]), np.append(np.arange(199), 0)
    means = clustered(rng.normal(size=200), np.zeros(200, dtype=np.int64), rater, item, 1)
    (one,) = decide_means("a", means, 0.0)
    assert np.isfinite(one.high)
    assert one.high - one.value > 10


def test_what_cannot_be_tested_is_named_and_not_counted():
    rng = np.random.default_rng(5)
    whole = rated(rng)
    flat, alone, few = (np.ones(4, dtype=np.int64) for _ in range(3))
    alone[1] = 0
    still = replace(
        whole,
        value=np.array([1.0, 1, *whole.value[2:]]),
        by_rater=_without(whole.by_rater),
        by_item=_without(whole.by_item),
        by_both=_without(whole.by_both),
        n_raters=np.array([12, 12, 12, 1]),
        shared_raters=whole.shared_raters * np.outer(flat, few),
    )
    found = {(d.condition, d.versus): d for d in decide_pairs(all_pairs(4), "abcd", still)}
    assert found["a", "b"].se > 0  # by what the others vary
    assert "one rater only" in found["c", "d"].note
    assert (found["c", "d"].low, found["c", "d"].p, found["c", "d"].se) == (None, None, None)
    assert not found["c", "d"].claimed
    tested = [pair for pair, one in found.items() if one.tested]
    assert tested == [("a", "b"), ("a", "c"), ("b", "c")]
    again = decide_pairs([(0, 1), (0, 2), (1, 2)], "abcd", still)
    assert [d.p for d in again] == pytest.approx([found[pair].p for pair in tested])


def _without(gram):
    """The sums as if the first two conditions never varied."""
    kept = np.array([0.0, 0, 1, 1])
    return gram * np.outer(kept, kept)


def test_equal_ratings_everywhere_give_no_decision_and_no_error():
    rater, item, condition = (grid.ravel() for grid in np.indices((3, 3, 2)))
    means = clustered(np.full(18, 4.0), condition, rater, item, 2)
    (pair,) = decide_pairs([(0, 1)], "ab", means)
    assert (pair.p, pair.note) == (None, NO_VARIANCE)
    assert all("do not vary at all" in mean.note for mean in decide_means("ab", means, 0.0))
    assert decide_pairs([], "ab", means) == []


def test_a_unanimous_condition_against_one_that_varies_is_tested():
    rng = np.random.default_rng(9)
    rater, item, condition = (grid.ravel() for grid in np.indices((6, 5, 2)))
    y = np.where(condition == 0, 5.0, 3 + rng.normal(0, 1, 60))
    (one,) = decide_pairs([(0, 1)], "ab", clustered(y, condition, rater, item, 2))
    assert one.claimed
    assert one.se > 0


def test_conditions_without_a_rater_in_common_say_so():
    rng = np.random.default_rng(10)
    rater, item = (grid.ravel() for grid in np.indices((8, 5)))
    means = clustered(rng.normal(size=40), (rater >= 4).astype(np.int64), rater, item, 2)
    (one,) = decide_pairs([(0, 1)], "ab", means)
    assert one.note == NO_RATER_IN_COMMON
    assert one.tested


def test_means_are_tested_against_the_neutral_point():
    rng = np.random.default_rng(12)
    rater, item, condition = (grid.ravel() for grid in np.indices((20, 10, 2)))
    share = np.array([0.5, 0.8])[condition]
    means = clustered((rng.random(400) < share).astype(float), condition, rater, item, 2)
    none, preferred = decide_means("ab", means, 0.5)
    assert (none.claimed, preferred.claimed) == (False, True)
    assert preferred.low > 0.5
    assert preferred.p < 0.05 < none.p
    assert none.versus == ""
    assert preferred.row()["claimed"] is True


def test_the_same_seed_gives_the_same_numbers_and_another_nearly_the_same():
    means = rated(np.random.default_rng(13), shift=0.15)
    first, again, other = (
        np.array([one.p for one in decide_pairs(all_pairs(4), "abcd", means, seed=seed)])
        for seed in (1, 1, 2)
    )
    assert list(first) == list(again)
    assert first == pytest.approx(other, abs=5e-4)
    assert list(first) != list(other)


def test_a_very_small_p_is_not_lost():
    spread = Spread(np.ones(3), np.full(3, 500.0), np.ones(3))
    family = Family(np.eye(3), spread, np.array([60.0, 0.0, 1.0]), 0.95, 0)
    assert 0 < family.p_alone[0] < 1e-200
    assert family.p[0] == pytest.approx(3 * family.p_alone[0], rel=1e-6)
    assert family.p[1] == 1


@pytest.mark.slow
def test_forty_conditions_are_tukeys_too():
    family = equal_family(np.zeros(40), 60.0, all_pairs(40))
    critical = 5.788948 / 2**0.5  # scipy's studentized_range.ppf(0.95, 40, 60)
    assert -special.stdtrit(60.0, family.local_alpha / 2) == pytest.approx(critical, abs=5e-3)


def test_any_contrast_may_be_in_a_family():
    means = rated(np.random.default_rng(14))
    rows = np.array([[1, -0.5, -0.5, 0], [0.5, 0.5, -0.5, -0.5]])
    found = decide(rows, [("a", "b and c"), ("a and b", "c and d")], means)
    assert [one.value for one in found] == pytest.approx(list(rows @ means.value))
    spread = spread_of(rows, means)
    assert [one.se for one in found] == pytest.approx(list(spread.variance**0.5))


def heard_once(rng, raters=400, items=5, conditions=5):
    """MOS without any difference in which few items matter most and conditions vary unequally."""
    rater, item = (grid.ravel() for grid in np.indices((raters, items)))
    condition = (rng.permutation(raters)[rater] + item) % conditions
    spread = np.array([0.25, 1.0, 1.0, 1.0, 2.0])[condition]
    own = 0.2 * rng.normal(size=(raters, conditions))[rater, condition]
    own += 0.22 * rng.normal(size=(items, conditions))[item, condition]
    own += 0.6 * rng.normal(size=len(rater))
    y = 3 + 0.42 * rng.normal(size=raters)[rater] + 0.16 * rng.normal(size=items)[item]
    y = np.clip(np.rint(y + spread * own), 1, 5)
    return clustered(y, condition, rater, item, conditions)


@pytest.mark.slow
@pytest.mark.soak
def test_a_family_claims_what_is_not_there_in_at_most_five_of_a_hundred_studies():
    """The hardest of the kinds of studies that `benchmarks/simulate_procedures.py` simulates."""
    rng, studies = np.random.default_rng(20261123), 1000
    among = [(a, b) for a, b in all_pairs(5) if a > 0]
    wrong = {"reference": 0, "systems": 0}
    for _ in range(studies):
        means = heard_once(rng)
        for family, pairs in (("reference", against(0, 5)), ("systems", among)):
            wrong[family] += any(one.claimed for one in decide_pairs(pairs, "abcde", means))
    most = 0.05 + 3 * (0.05 * 0.95 / studies) ** 0.5
    assert {family: count / studies <= most for family, count in wrong.items()} == {
        "reference": True,
        "systems": True,
    }
    assert wrong["systems"] > 0.01 * studies  # and it is no procedure that claims nothing
