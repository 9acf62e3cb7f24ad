"""Pairs where (nearly) all answers are equal: decided where many raters agree, never by one."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from scipy import optimize, special, stats

from analysis.statistics.binomial import effective, exact_bounds, sign_test
from analysis.statistics.options import Options
from analysis.statistics.pairs.means_of_pairs import pair_means
from analysis.statistics.pairs.pair_interval import mean_of, share_right
from analysis.statistics.pairs.pair_ratings import pair_ratings
from analysis.statistics.unanimous import UNANIMOUS, edge_of
from tests.analysis.part_of import part_of, rows_of_table
from tests.analysis.reference import BLANK, from_rows
from tests.analysis.simulation import bounds, sizes

NO_RULES = Options(rules=(), replicates=100)


def codes(raters, items, each=1):
    """Every rater hears every item, ``each`` times."""
    rater = np.repeat(np.arange(raters), items * each)
    return rater, np.tile(np.repeat(np.arange(items), each), raters)


def answers(raters, items, losses=0, each=1, win=0.5, loss=-0.5):
    """Scores around 0 with so many losses, of different raters and items as far as there are."""
    rater, item = codes(raters, items, each)
    y = np.full(len(rater), win)
    order = np.lexsort((item, (item - rater) % items))  # one of each rater first
    y[order[:losses]] = loss
    return y, rater, item


def test_four_hundred_of_four_hundred_has_an_interval_and_a_test():
    found = mean_of(*answers(20, 20), farthest=0.5).moved(0.5)
    assert found.value == 1
    assert found.high == 1
    assert found.low == pytest.approx(0.025 ** (1 / 20))  # Clopper and Pearson of 20 of 20
    assert found.p == pytest.approx(2 * 0.5**20)
    assert found.interval == UNANIMOUS
    assert "all answers are equal: every rater, or item, counts as one answer (20" in found.note


@pytest.mark.parametrize("items", [2, 4, 20])
@pytest.mark.parametrize("raters", [2, 3, 5, 6, 8, 20])
@pytest.mark.parametrize("loss", [-0.5, 0.0])
def test_unanimous_answers_decide_no_less_than_nearly_unanimous_ones(raters, items, loss):
    each = 400 // (raters * items)
    every = [mean_of(*answers(raters, items, k, each, loss=loss), farthest=0.5) for k in range(6)]
    for fewer, more in pairwise(every):
        assert fewer.p <= more.p
        assert fewer.low >= more.low
    assert (every[0].p < 0.05) == (min(raters, items) > 5)
    assert (every[0].low > 0) == (every[0].p < 0.05)


def test_one_rater_or_one_item_is_no_claim():
    for y, rater, item in (answers(1, 8), answers(8, 1)):
        found = mean_of(y, rater, item)
        assert (found.low, found.high, found.p) == (None, None, None)
        assert "only: how" in found.note


def test_two_raters_are_no_claim_however_much_they_answer():
    found = mean_of(*answers(2, 20, each=10))
    assert found.p == pytest.approx(0.5)
    assert found.low < 0 < found.high


def test_one_busy_rater_beside_many_counts_little_more_than_one():
    rater = np.array([0] * 390 + list(range(1, 11)))
    item = np.arange(400) % 40
    found = mean_of(np.ones(400), rater, item)
    assert effective(rater) == pytest.approx(400**2 / (390**2 + 10))
    assert found.p > 0.9
    assert found.low < 0


def test_graded_answers_that_are_all_one_reach_as_far_as_anybodys():
    """A over B always by 1, C over D by up to 3: an unseen answer may be -1, or 3."""
    rater, item = codes(12, 10)
    n = len(rater)
    names = [["A"] * n + ["C"] * n, ["B"] * n + ["D"] * n]
    scores = [1.0] * n + [3.0, 1.0] * (n // 2)
    who = [[str(code) for code in np.tile(each, 2)] for each in (rater, item)]
    one, _ = pair_means(pair_ratings(*names, scores, [0.0] * 2 * n, *who))
    unseen = 1 - 0.025 ** (1 / 10)
    assert (one.mean.value, one.mean.p) == (1, pytest.approx(2 * 0.5**10))
    assert one.mean.low == pytest.approx(1 - 2 * unseen)
    assert one.mean.high == pytest.approx(1 + 2 * unseen)
    assert (one.share.value, one.share.p) == (1, one.mean.p)
    assert one.share.low == pytest.approx(1 - unseen)
    assert one.mean.p_adjusted is not None


def test_ties_alone_prefer_nobody():
    y, rater, item = answers(12, 10, win=0.0, loss=0.5)
    found = mean_of(y, rater, item, farthest=0.5)
    assert found.p == 1
    assert found.low == -found.high < 0
    nothing = mean_of(y, rater, item)  # there is no score to measure by
    assert (nothing.low, nothing.p) == (None, None)
    assert "all answers are equal" in nothing.note


def test_where_six_raters_and_items_differ_the_usual_interval_holds():
    y, rater, item = answers(20, 20, losses=6)
    assert edge_of(y, rater, item, 0.95, 0.5) is None
    assert edge_of(*answers(20, 20, losses=5), 0.95, 0.5) is not None
    y[:60] = -0.5  # under nine tenths: three raters who are of another mind
    assert edge_of(y, rater, item, 0.95, 0.5) is None


def test_the_exact_bounds_and_the_sign_test_are_scipys():
    for x, n in ((8, 8), (7, 8), (3, 9), (0, 5)):
        test = stats.binomtest(x, n)
        ends = test.proportion_ci(0.9, "exact")
        assert exact_bounds(x / n, n, 0.9) == pytest.approx((ends.low, ends.high))
        assert sign_test(x / n, n) == pytest.approx(test.pvalue)


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


def test_a_report_says_that_x_was_always_told():
    (row,) = rows_of_table(part_of("pairs", compared("abx", [1.0] * 64, 8, 8), NO_RULES), "abx")
    assert (row["p"], row["low"]) == (pytest.approx(2**-7), pytest.approx(0.025**0.125))
    told = part_of("pairs", compared("abx", [1.0] * 64, 8, 8), NO_RULES)["sentences"][0]
    assert "more often than by guessing" in told


def test_a_report_makes_no_claim_of_one_listener():
    told = part_of("pairs", compared("abx", [1.0] * 8, 1, 8), NO_RULES)["sentences"][0]
    assert "No test for other listeners and items: one rater only" in told
    assert "more often than by guessing" not in told
    told = part_of("pairs", compared("ab", [1.0] * 8, 1, 8), NO_RULES)["sentences"][0]
    assert "no interval (one rater only" in told
    assert "is preferred" not in told


def test_both_orders_have_the_interval_too():
    shown = part_of("pairs", compared("cmos", [2.0] * 64, 8, 8), NO_RULES)
    (row,) = rows_of_table(shown, "pairs_by_order")
    assert row["balanced"] == 2
    assert row["balanced_low"] == pytest.approx(2 - 4 * (1 - 0.025**0.125))
    assert row["order_low"] is None
    assert pd.isna(row["order_p"])


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
    """Of 400: .998 each; the two-way clustered t alone .66, .92 and .71."""
    rng = np.random.default_rng(11)
    held = 0
    for _ in range(runs):
        found = share_right(*simulated(rng, share, turned=turned))
        held += found.low <= share <= found.high
    assert held / runs >= bounds(0.92, 1, of=400, runs=runs)[0]


@pytest.mark.slow
@sizes(300, 3000)
def test_raters_of_one_mind_each_are_seldom_taken_for_a_majority(runs):
    """Half of all people always prefer a, half b: six or eight of them agree by chance."""
    rng = np.random.default_rng(12)
    rater, item = codes(6, 6)
    found = [
        mean_of(rng.choice([-0.5, 0.5], 6)[rater], rater, item, farthest=0.5).p < 0.05
        for _ in range(runs)
    ]
    assert np.mean(found) <= 0.05 + 3 * (0.05 * 0.95 / runs) ** 0.5


@pytest.mark.medium
def test_pairs_without_a_test_are_not_counted_as_undecided():
    rows = [compared("ab", [1.0] * 64, 8, 8), compared("ab", [1.0, 0.0] * 4, 1, 8)]
    rows[1] = rows[1].assign(condition="c", versus_condition="d", rater="z", session="z")
    told = part_of("pairs", pd.concat(rows, ignore_index=True), NO_RULES)["sentences"][0]
    assert "1 of 1 pairs differ clearly" in told
    assert "No test for c and d" in told
    rows[0] = rows[1].assign(condition="e", rater="y", session="y")
    told = part_of("pairs", pd.concat(rows, ignore_index=True), NO_RULES)["sentences"][0]
    assert told.startswith("No pair can be tested: one rater only")
