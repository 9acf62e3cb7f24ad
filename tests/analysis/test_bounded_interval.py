"""The interval of bounded scores: Korn and Graubard's, its two laws, and what it decides."""

import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize, special, stats

from analysis.ratings.table import read_csv
from analysis.statistics.bounded_interval import Combinations, Gaps, Shares, clopper_pearson
from analysis.statistics.clustered_variance import WIDENED, limits_of, two_way_intervals
from analysis.statistics.estimators.mean_score import MeanScore
from analysis.statistics.intervals import TWO_WAY, clustered
from analysis.statistics.options import Options
from analysis.statistics.pairs.means_of_pairs import (
    mean_against,
    means_against,
    pair_means,
    share_right,
)
from analysis.statistics.pairs.pair_ratings import pair_ratings
from tests.analysis.korn_graubard import korn_graubard
from tests.analysis.part_of import part_of, rows_of_table
from tests.analysis.reference import BLANK, DATA, from_rows
from tests.analysis.simulation import bounds, sizes

NO_RULES = Options(rules=(), replicates=100)
pytestmark = pytest.mark.usefixtures("without_models", "answer_alone")


def codes(raters, items, each=1):
    """Every rater hears every item, ``each`` times."""
    rater = np.repeat(np.arange(raters), items * each)
    return rater, np.tile(np.repeat(np.arange(items), each), raters)


@pytest.mark.parametrize(("raters", "items", "at"), [(20, 20, 0.9), (7, 30, 0.6), (40, 4, 0.97)])
def test_the_interval_is_korn_and_graubards_with_the_clustered_variance(raters, items, at):
    rng = np.random.default_rng(4)
    mind = rng.normal(0, 0.8, (raters, 1)) + rng.normal(0, 0.4, (1, items))
    latent = stats.norm.ppf(at) * 1.4 + mind + rng.normal(size=(raters, items))
    for y in (latent > 0).astype(float), np.clip(np.rint(2 * latent) / 4 + 0.5, 0, 1):
        found = mean_against(y.ravel(), *codes(raters, items), null=0.5, ends=(0.0, 1.0))
        expected = korn_graubard(y.ravel(), *codes(raters, items), (0, 1))
        assert (found.low, found.high) == pytest.approx(expected, abs=1e-9)


def test_the_bounds_are_scipys_exact_ones():
    for x, n in ((8, 8), (7, 8), (3, 9), (0, 5)):
        ends = stats.binomtest(x, n).proportion_ci(0.9, "exact")
        low, high = clopper_pearson(np.array([x / n]), np.array([float(n)]), 0.1)
        assert (low[0], high[0]) == pytest.approx((ends.low, ends.high))


def shares(p, n, groups=1e6):
    """Independent answers of which the share p is 1, as if nothing had to be estimated."""
    p, n = (np.atleast_1d(np.asarray(x, dtype=np.float64)) for x in (p, n))
    return Shares(p, p * (1 - p) / n, np.zeros_like(p), p * (1 - p), n, np.full_like(p, groups))


def test_a_difference_of_independent_shares_is_newcombes_by_exact_limits():
    """Method 10 of Newcombe (1998), with Clopper and Pearson's limits in place of Wilson's."""
    one, other = shares(0.93, 58), shares(0.62, 71)
    gap = Gaps(one, other, one.variance + other.variance)
    df = np.array([1e6])
    (a, b), (c, d) = ([end[0] for end in each.bounds(df, 0.05)] for each in (one, other))
    low = 0.31 - ((0.93 - a) ** 2 + (d - 0.62) ** 2) ** 0.5
    high = 0.31 + ((b - 0.93) ** 2 + (0.62 - c) ** 2) ** 0.5
    assert [end[0] for end in gap.bounds(df, 0.05)] == pytest.approx([low, high])
    p = gap.p_against(0.0, df)
    assert gap.bounds(df, p)[0] == pytest.approx(0.0, abs=1e-6)
    assert p < 0.001


def test_far_from_the_ends_a_difference_is_the_t_interval():
    rng = np.random.default_rng(5)
    rater, item, condition = (grid.ravel() for grid in np.indices((40, 30, 2)))
    y = 50 + rng.normal(0, 3, 40)[rater] + rng.normal(0, 2, (30, 2))[item, condition]
    y += rng.normal(0, 4, len(y))
    rows = np.array([[1.0, -1.0]])
    bounded, plain = (
        limits_of(rows, clustered(y, condition, rater, item, 2, ends=ends)).bounds(0.05)
        for ends in ((0.0, 100.0), None)
    )
    assert np.ravel(bounded) == pytest.approx(np.ravel(plain), abs=0.02)


@st.composite
def designs(draw):
    """Raters and items of each answer: up to 14 of both, in part of all crossings; six or more."""
    raters, items = draw(st.integers(2, 14)), draw(st.integers(3, 14))
    rater, item = codes(raters, items)
    there = np.array(draw(st.lists(st.booleans(), min_size=len(rater), max_size=len(rater))))
    there |= (rater == item % raters) | (item == rater % items) | (raters * items < 12)
    return rater[there], item[there]


def interval(y, design, ends):
    """Low and high of the mean of answers."""
    one = np.zeros(len(y), dtype=np.int64)
    sums = clustered(np.asarray(y, dtype=np.float64), one, *design, 1, ends=ends)
    low, high = limits_of(np.ones((1, 1)), sums).bounds(0.05)
    return float(low[0]), float(high[0])


@settings(max_examples=15)
@given(design=designs(), data=st.data())
@pytest.mark.medium
def test_no_answers_are_more_certain_than_equal_ones(design, data):
    """Unanimity has the narrowest interval of all, and decides whenever any answers do."""
    n = len(design[0])
    scores = data.draw(st.sampled_from([(0, 1), (0, 0.5, 1), (1, 2, 3, 4, 5), (-1, 0, 1)]))
    ends = scores[0], scores[-1]
    y = data.draw(st.lists(st.sampled_from(scores), min_size=n, max_size=n))
    (low, high), (some_low, some_high) = (
        interval(answers, design, ends) for answers in (np.full(n, ends[1]), y)
    )
    assert some_high - some_low >= high - low - 1e-9
    assert max(some_low, sum(ends) - some_high) <= low + 1e-9
    assert ends[0] <= some_low <= np.mean(y) <= some_high <= ends[1]


@settings(max_examples=15)
@given(
    design=designs(),
    common=st.integers(1, 5),
    other=st.integers(1, 5),
    where=st.integers(0, 10_000),
)
@pytest.mark.medium
def test_one_dissenting_answer_never_narrows_an_interval(design, common, other, where):
    n = len(design[0])
    y = np.full(n, float(common))
    low, high = interval(y, design, (1, 5))
    y[where % n] = other
    after_low, after_high = interval(y, design, (1, 5))
    nearly_all = high - low > 0.85 * 4  # of the scale: a few answers, which say nothing
    assert after_high - after_low >= (high - low) * (0.99 if nearly_all else 1) - 1e-9


def gap(raters, items, means, dissent=None, alpha=0.05):
    """Low and high of the difference of two conditions whose answers are equal, but for one."""
    condition, rater, item = (grid.ravel() for grid in np.indices((2, raters, items)))
    y = np.array(means, dtype=np.float64)[condition]
    y[0] = means[0] if dissent is None else dissent
    sums = clustered(y, condition, rater, item, 2, ends=(1, 5))
    low, high = limits_of(np.array([[1.0, -1.0]]), sums).bounds(alpha)
    return float(low[0]), float(high[0])


@pytest.mark.parametrize(("raters", "items"), [(5, 4), (8, 12)])
@pytest.mark.medium
def test_one_dissenting_answer_never_narrows_a_difference(raters, items):
    """By more than a hundredth: the interval of one mean gains at one side what it loses."""
    for means in itertools.product((1, 3, 5), repeat=2):
        low, high = gap(raters, items, means)
        for dissent in {1, 2, 4, 5} - {means[0]}:
            after_low, after_high = gap(raters, items, means, dissent)
            assert after_high - after_low >= 0.99 * (high - low)


@pytest.mark.parametrize(
    ("raters", "items", "decides"), [(5, 4, True), (4, 5, True), (2, 20, False), (20, 2, False)]
)
def test_systems_apart_in_all_answers_differ_by_five_raters_but_not_by_two(raters, items, decides):
    """Also at the level of ten pairs: .05 adjusted by Šidák."""
    for means in ((5, 1), (4, 2)):
        assert (gap(raters, items, means, alpha=1 - 0.95**0.1)[0] > 0) == decides


def test_a_few_items_cost_little_power_where_raters_are_many():
    """60 raters, 5 items, answers that scatter: t with 4 degrees of freedom was asked of them."""
    rng = np.random.default_rng(6)
    rater, item = codes(60, 5)
    condition = (rater + item) % 7
    y = np.clip(np.rint(rng.normal(3 + 0.15 * condition, 0.8)), 1, 5)
    rows = np.array([[-1.0, 0, 0, 0, 0, 0, 1]])
    bounded, plain = (
        limits_of(rows, clustered(y, condition, rater, item, 7, ends=ends)).bounds(0.005)
        for ends in ((1, 5), None)
    )
    assert np.ptp(np.ravel(bounded)) <= 1.1 * np.ptp(np.ravel(plain))


@settings(max_examples=15)
@given(raters=st.integers(2, 12), items=st.integers(2, 12), loss=st.sampled_from([0.0, 0.5]))
@pytest.mark.medium
def test_more_unanimity_never_decides_less(raters, items, loss):
    """Dissent that is spread over raters and items, from none of it to half of the answers."""
    rater, item = codes(raters, items)
    order = np.lexsort((rater, (item - rater) % items))
    y = np.ones(len(rater))
    decided, (first_low, first_high) = True, interval(y, (rater, item), (0, 1))
    for place in order[: len(y) // 2]:
        y[place] = loss
        low, high = interval(y, (rater, item), (0, 1))
        assert decided or low <= 0.5
        assert high - low >= first_high - first_low - 1e-9
        decided = low > 0.5


@pytest.mark.parametrize(("groups", "decides"), [(2, False), (3, True), (5, True), (20, True)])
def test_unanimous_answers_decide_but_not_those_of_two(groups, decides):
    for raters, items in ((groups, 40), (40, groups)):
        found = share_right(np.ones(raters * items), *codes(raters, items))
        assert (found.low > 0.5, found.p < 0.05) == (decides, decides)
        assert found.high == 1
        assert "all answers are equal" in found.note


@pytest.mark.parametrize(
    "name", ["ab_4items_88", "ab_4items_91", "cmos_5raters_88", "cmos_5raters_93"]
)
@pytest.mark.medium
def test_a_report_claims_a_preference_of_nine_in_ten(name):
    """Of 88 % a preference was claimed, of 91 % it was not."""
    table = read_csv(DATA / "claims" / f"{name}.csv").table
    assert "preferred (p < 0.05)" in part_of("answer", table)["sentences"][0]


@pytest.mark.medium
def test_a_condition_at_the_ceiling_has_an_interval_on_its_scale(tmp_path):
    """288 of 288, then with one Machine among them: [.832, 1] was followed by [.992, 1.003]."""
    table = pd.read_csv(DATA / "claims" / "att_ceiling.csv")
    widths = []
    for place in range(2):
        path = tmp_path / f"{place}.csv"
        table.to_csv(path, index=False)
        ratings = read_csv(path, {}, {"method": "att"}).table
        (mean,) = [
            each
            for each in MeanScore(intervals=("two_way",), weightings=("ratings",)).fit(ratings)
            if (each.condition, each.interval) == ("TTS", TWO_WAY)
        ]
        assert 0 <= mean.low < mean.high <= 1
        widths.append(mean.high - mean.low)
        table.loc[table.index[table["condition"] == "TTS"][0], "label"] = "Machine"
    assert widths[0] < widths[1]


@pytest.mark.parametrize(
    ("answers", "noted"), [([5.0] + [4.0] * 11, True), ([2.0, 4.0] * 30, False)]
)
def test_a_mean_says_that_its_interval_is_wider_than_its_variance_gives(answers, noted):
    """Raters of one text each: eleven equal answers may be alike by chance."""
    n = len(answers)
    weights, place = np.full(n, 1 / n), np.arange(n)
    means = clustered(np.array(answers), np.zeros(n, int), place, place, 1, weights, (1.0, 5.0))
    (((low, high), note),) = two_way_intervals(means, 0.95)
    by_variance = 2 * stats.t.ppf(0.975, n - 1) * np.std(answers, ddof=1) / np.sqrt(n)
    assert (high - low > 1.1 * by_variance, WIDENED in note) == (noted, noted)


def test_one_rater_or_one_item_is_no_claim():
    for raters, items in ((1, 8), (8, 1)):
        found = share_right(np.ones(8), *codes(raters, items))
        assert (found.low, found.high, found.p) == (None, None, None)
        assert "only: how" in found.note


def test_one_busy_rater_beside_many_counts_little_more_than_one():
    rater = np.array([0] * 390 + list(range(1, 11)))
    found = share_right(np.ones(400), rater, np.arange(400) % 40)
    assert found.p > 0.5
    assert found.low < 0.5


def test_ties_alone_prefer_nobody():
    found = mean_against(np.full(120, 0.5), *codes(12, 10), null=0.5, ends=(0.0, 1.0))
    assert found.p == 1
    assert found.high - 0.5 == pytest.approx(0.5 - found.low)
    nothing = mean_against(np.zeros(120), *codes(12, 10))  # no scale is known
    assert (nothing.low, nothing.p) == (None, None)
    assert "all answers are equal" in nothing.note


def test_a_pair_borrows_the_design_effect_of_the_others():
    """Everybody agrees on the first pair; raters are of one mind each on the second."""
    rater, item = (np.tile(code, 2) for code in codes(12, 10))
    pair = np.repeat([0, 1], 120)
    y = np.concatenate([np.ones(120), (np.arange(120) // 10 % 2).astype(float)])
    together, _ = means_against(y, pair, rater, item, null=0.5, ends=(0.0, 1.0))
    alone = share_right(y[:120], rater[:120], item[:120])
    assert together.value == alone.value == 1
    assert together.low < alone.low


def test_graded_answers_reach_as_far_as_anybodys():
    """A over B always by 1, C over D by up to 3: an unseen answer may be -3."""
    rater, item = codes(12, 10)
    n = len(rater)
    names = [["A"] * n + ["C"] * n, ["B"] * n + ["D"] * n]
    scores = [1.0] * n + [3.0, 1.0] * (n // 2)
    who = [[str(code) for code in np.tile(each, 2)] for each in (rater, item)]
    one, _ = pair_means(pair_ratings(*names, scores, [0.0] * 2 * n, *who))
    few, _ = pair_means(
        pair_ratings(*names, [1.0] * n + [1.0, 0.0] * (n // 2), [0.0] * 2 * n, *who)
    )
    assert one.mean.low < few.mean.low < 1 == few.mean.high < one.mean.high


def compared(estimand, scores, raters, items):
    """A table of a against b: score by rater and item, in turn."""
    kind = {"task": estimand, "method": estimand, "estimand": estimand, "criterion": ""}
    rater, item = codes(raters, items)
    rows = [
        BLANK
        | kind
        | {"rater": f"r{r}", "session": f"r{r}", "condition": "a", "versus_condition": "b"}
        | {"item": f"t{t}", "stimulus": f"a_{t}", "versus_stimulus": f"b_{t}", "score": score}
        | {"presented_first": ("rated", "versus")[n % 2]}
        for n, (r, t, score) in enumerate(zip(rater, item, scores, strict=True))
    ]
    return from_rows(rows)


@pytest.mark.parametrize("estimand", ["ab", "cmos", "preference"])
@pytest.mark.medium
def test_a_report_says_who_won_every_answer(estimand):
    table = compared(estimand, [1.0] * 400, 20, 20)
    (told,) = part_of("pairs", table, NO_RULES)["sentences"][:1]
    assert "a is preferred" in told
    (row,) = rows_of_table(part_of("pairs", table, NO_RULES), "pairs")
    assert row["p"] < 1e-5
    answer = part_of("answer", table, NO_RULES)["sentences"][0]
    assert "No pair can be tested" not in answer
    assert "a (" in answer.split("preferred")[0]


@pytest.mark.medium
def test_a_report_says_that_x_was_always_told():
    (row,) = rows_of_table(part_of("pairs", compared("abx", [1.0] * 64, 8, 8), NO_RULES), "abx")
    assert row["p"] < 1e-4
    assert row["low"] > 0.9
    told = part_of("pairs", compared("abx", [1.0] * 64, 8, 8), NO_RULES)["sentences"][0]
    assert "more often than by guessing" in told


@pytest.mark.medium
def test_a_report_makes_no_claim_of_one_listener():
    told = part_of("pairs", compared("abx", [1.0] * 8, 1, 8), NO_RULES)["sentences"][0]
    assert "No test for other listeners and items: one rater only" in told
    assert "more often than by guessing" not in told
    told = part_of("pairs", compared("ab", [1.0] * 8, 1, 8), NO_RULES)["sentences"][0]
    assert "no interval (one rater only" in told
    assert "is preferred" not in told


@pytest.mark.medium
def test_both_orders_have_the_interval_too():
    shown = part_of("pairs", compared("cmos", [2.0] * 64, 8, 8), NO_RULES)
    (row,) = rows_of_table(shown, "pairs_by_order")
    assert row["balanced"] == 2
    assert row["balanced_low"] < 2 == row["balanced_high"]
    assert row["order"] == 0
    assert row["order_low"] < 0 < row["order_high"]
    assert row["order_p"] == 1


def simulated(rng, share, raters=20, items=20, each=5, turned=0.0):
    """Answers whose log odds differ by rater (SD 1) and item (SD 1); some raters the wrong way."""
    at = optimize.brentq(lambda m: normal_mean(m, turned) - share, -10, 20)
    rater = np.concatenate([rng.choice(raters, each, replace=False) for _ in range(items)])
    item = np.repeat(np.arange(items), each)
    odds = at + rng.normal(0, 1, raters)[rater] + rng.normal(0, 1, items)[item]
    p = special.expit(np.where((rng.random(raters) < turned)[rater], -odds, odds))
    return (rng.random(len(p)) < p).astype(float), rater, item


def normal_mean(at, turned):
    z, w = np.polynomial.hermite_e.hermegauss(40)
    p = float(w @ special.expit(at + 2**0.5 * z) / w.sum())
    return (1 - turned) * p + turned * (1 - p)


@pytest.mark.slow
@pytest.mark.parametrize(("share", "turned"), [(0.99, 0.0), (0.97, 0.0), (0.94, 0.04)])
@sizes(40, 400)
def test_intervals_near_the_edge_hold(runs, share, turned):
    """The two-way clustered t alone: .66, .92 and .71."""
    rng = np.random.default_rng(11)
    held = 0
    for _ in range(runs):
        found = share_right(*simulated(rng, share, turned=turned))
        held += found.low <= share <= found.high
    assert held / runs >= bounds(0.92, 1, of=400, runs=runs)[0]


@pytest.mark.slow
@sizes(100, 3000)
def test_raters_of_one_mind_each_are_seldom_taken_for_a_majority(runs):
    """Half of all people always prefer a, half b: six or eight of them agree by chance."""
    rng = np.random.default_rng(12)
    rater, item = codes(6, 6)
    found = [
        share_right(rng.choice([0.0, 1.0], 6)[rater], rater, item).p < 0.05 for _ in range(runs)
    ]
    assert np.mean(found) <= 0.05 + 3 * (0.05 * 0.95 / runs) ** 0.5


@pytest.mark.medium
def test_pairs_without_a_test_are_not_counted_as_undecided():
    rows = [compared("ab", [1.0] * 64, 8, 8), compared("ab", [1.0, 0.0] * 4, 1, 8)]
    rows[1] = rows[1].assign(condition="c", versus_condition="d", rater="z", session="z")
    told = part_of("pairs", pd.concat(rows, ignore_index=True), NO_RULES)["sentences"][0]
    assert "1 of 1 pair differs significantly" in told
    assert "No test for c and d" in told
    rows[0] = rows[1].assign(condition="e", rater="y", session="y")
    told = part_of("pairs", pd.concat(rows, ignore_index=True), NO_RULES)["sentences"][0]
    assert told.startswith("No pair can be tested: one rater only")


def some_shares(rng: np.random.Generator, count: int) -> Shares:
    """Means of any kind: few or many raters, near the middle or the ends."""
    share = rng.uniform(0.05, 0.95, count)
    variance = share * (1 - share) / rng.uniform(5, 200, count)
    spread = share * (1 - share) * rng.uniform(0.3, 1, count)
    answers, least = rng.uniform(10, 300, count), rng.uniform(2, 30, count)
    return Shares(share, variance, np.zeros(count), spread, answers, least)


def test_a_p_below_a_level_and_an_interval_that_leaves_no_difference_out_are_the_same():
    """Also where raters agree on both systems, so that the difference varies little."""
    rng = np.random.default_rng(5)
    count = 500
    df, share = rng.uniform(0.5, 40, count), rng.uniform(0.02, 1.2, count)
    first, second = some_shares(rng, count), some_shares(rng, count)
    gaps = Gaps(first, second, (first.variance + second.variance) * share)
    shares = some_shares(rng, 6)
    weights = rng.normal(size=(count, 6))
    weights -= weights.mean(axis=1, keepdims=True)
    sums = Combinations(weights, shares, weights**2 @ shares.variance * share)
    for each in (gaps, sums):
        p = each.p_against(0.0, df)
        low, high = each.bounds(df, 0.05)
        clear = np.abs(p - 0.05) > 1e-6
        assert np.array_equal((p < 0.05)[clear], ((low > 0) | (high < 0))[clear])


def test_an_interval_of_a_sum_is_never_narrower_at_a_smaller_level():
    rng = np.random.default_rng(6)
    shares, df = some_shares(rng, 6), rng.uniform(2, 40, 200)
    weights = rng.normal(size=(200, 6))
    sums = Combinations(weights, shares, weights**2 @ shares.variance * rng.uniform(0.05, 1.5, 200))
    bounds = np.array([sums.bounds(df, np.exp(level)) for level in np.linspace(-40, -0.1, 50)])
    assert np.diff(bounds[:, 0], axis=0).min() >= -1e-9
    assert np.diff(bounds[:, 1], axis=0).max() <= 1e-9
