"""Means of pairs, order effects and circular triads, by hand and at the edges."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from analysis.statistics.comparisons.test_result import Undefined
from analysis.statistics.pairs.comparison_graph import (
    circular_triads,
    most_circular,
    triads_summary,
)
from analysis.statistics.pairs.means_of_pairs import order_effect, pair_means, within_pairs
from analysis.statistics.pairs.pair_ratings import pair_ratings, pairs_of
from tests.analysis.korn_graubard import korn_graubard
from tests.analysis.pairs_of import edge_pairs, met
from tests.analysis.reference import rows_of, table_of


def rated_in_orders(second, first):
    """A against B: scores with A second, and with A first; a rater and an item each."""
    y, n = [*second, *first], len(second) + len(first)
    order = [1.0] * len(second) + [-1.0] * len(first)
    return pair_ratings(
        ["A"] * n,
        ["B"] * n,
        y,
        order,
        [f"r{i % 4}" for i in range(n)],
        [f"t{i % 3}" for i in range(n)],
    )


def test_an_unequal_order_is_balanced_out():
    ratings = rated_in_orders([2.0, 1.0, 3.0, 2.0, 2.0, 2.0], [0.0, 0.0, 1.0])
    (one,) = pair_means(ratings)
    assert one.mean.value == pytest.approx(13 / 9)
    assert one.balanced.value == pytest.approx((2 + 1 / 3) / 2)
    assert one.order.value == pytest.approx((2 - 1 / 3) / 2)
    assert (one.wins, one.ties, one.losses, one.share.value) == (7, 2, 0, pytest.approx(8 / 9))
    assert within_pairs(ratings).value == pytest.approx(one.order.value)
    assert order_effect(ratings).value == pytest.approx((12 - 1) / 9)


def test_the_clustered_interval_by_hand():
    ratings = rated_in_orders([1.0, 2.0, 0.0], [1.0, -1.0, 3.0])
    (one,) = pair_means(ratings)
    expected = korn_graubard(ratings.y, ratings.rater, ratings.item, (-3, 3))
    assert (one.mean.low, one.mean.high) == pytest.approx(expected)
    assert one.mean.note == "only 3 raters or items: a rough interval"


def test_a_pair_is_told_in_the_direction_that_was_asked_more_often():
    ratings = met(("B", "A", 1.0), ("B", "A", 2.0), ("A", "B", -1.0), ("A", "C", 1.0))
    found = {(one.condition, one.versus): one for one in pair_means(ratings)}
    assert set(found) == {("B", "A"), ("A", "C")}
    assert found["B", "A"].mean.value == pytest.approx(4 / 3)
    assert found["B", "A"].wins == 3
    assert found["B", "A"].row()["mean"] == pytest.approx(4 / 3)


def test_a_pair_asked_as_often_both_ways_is_told_by_the_alphabet():
    (one,) = pair_means(met(("B", "A", 1.0), ("A", "B", 1.0), ("B", "A", 0.0), ("A", "B", 0.0)))
    assert (one.condition, one.versus) == ("A", "B")


def test_swapped_sides_are_the_same_pair():
    told = met(("A", "B", 1.0), ("A", "B", 2.0), ("A", "B", -1.0), ("A", "B", 0.0), repeat=3)
    order = told.order
    half = np.arange(len(told.y)) % 3 == 0
    swapped = pair_ratings(
        ["B" if turn else "A" for turn in half],
        ["A" if turn else "B" for turn in half],
        list(np.where(half, -told.y, told.y)),
        list(np.where(half, -order, order)),
        list(told.rater),
        list(told.item),
    )
    assert pair_means(swapped) == pair_means(told)
    assert within_pairs(swapped) == within_pairs(told)
    assert order_effect(swapped).value == pytest.approx(order_effect(told).value)


def test_one_order_has_no_order_effect_and_says_so():
    ratings = met(("A", "B", 1.0), ("A", "B", 0.0), repeat=3, orders=(1.0,))
    (one,) = pair_means(ratings)
    assert (one.order, one.balanced) == (None, None)
    assert "no order effect" in one.note
    with pytest.raises(Undefined, match="no order effect"):
        within_pairs(ratings)
    with pytest.raises(Undefined, match="no order effect"):
        order_effect(met(("A", "B", 1.0), orders=(0.0,)))


def test_only_ties_have_means_and_no_tests():
    for one in pair_means(edge_pairs("bt_all_ties")):
        assert (one.mean.value, one.ties, one.share.value) == (0.0, 4, 0.5)
        assert (one.mean.p, one.mean.naive_p, one.sign_p, one.wilcoxon_p) == (None,) * 4
        assert "undefined" in one.mean.note or "only" in one.mean.note
        assert one.mean.p_adjusted is None


def test_one_rating_and_one_rater_have_no_clustered_interval():
    (one,) = pair_means(met(("A", "B", 1.0)))
    assert (one.mean.value, one.mean.low, one.mean.naive_low) == (1.0, None, None)
    assert "one rating only" in one.mean.note


def test_circular_triads_by_hand():
    ratings = edge_pairs("bt_cycle")
    (all_of_them,) = circular_triads(ratings, ())
    assert (all_of_them.triads, all_of_them.circular) == (1, 1)
    assert (all_of_them.consistence, all_of_them.share) == (0.0, 1.0)
    assert most_circular(3) == 1
    assert (most_circular(4), most_circular(5), most_circular(6)) == (2, 5, 8)


def test_ties_and_gaps_leave_no_coefficient():
    tied = met(("A", "B", 1.0), ("B", "C", 1.0), ("C", "A", 0.0))
    (one,) = circular_triads(tied, ())
    assert (one.triads, one.circular, one.tied, one.consistence) == (0, 0, 1, None)
    assert one.share is None
    assert one.note == "2 of 3 pairs decided (1 tied): no coefficient"
    (two,) = circular_triads(met(("A", "B", 1.0)), ())
    assert two.note == "fewer than three conditions: no triads"
    summary = triads_summary(circular_triads(tied))
    assert summary["share"] is None
    assert "nobody decided" in summary["note"]
    with pytest.raises(Undefined, match="by rater, by item"):
        circular_triads(tied, ("study",))


@pytest.mark.slow
@settings(max_examples=30)
@given(st.integers(3, 7), st.data())
def test_triads_of_a_full_tournament_are_kendalls_formula(k, data):
    names = "ABCDEFG"[:k]
    pairs = [(a, b) for i, a in enumerate(names) for b in names[i + 1 :]]
    results = [(a, b, data.draw(st.sampled_from([1.0, -1.0]))) for a, b in pairs]
    (one,) = circular_triads(met(*results), ())
    scores = [
        sum(y == (1 if a == name else -1) for a, b, y in results if name in (a, b))
        for name in names
    ]
    assert one.circular == k * (k - 1) * (2 * k - 1) / 12 - sum(s**2 for s in scores) / 2
    assert one.triads == k * (k - 1) * (k - 2) / 6
    assert 0 <= one.consistence <= 1


def test_judges_are_raters_items_or_both():
    rows = [("A", "B", 1.0), ("B", "C", 1.0), ("C", "A", 1.0)]
    ratings = pair_ratings(
        *[[row[i] for row in rows * 2] for i in range(3)], [0.0] * 6, list("rrrsss"), list("xxxxyy")
    )
    by_rater = circular_triads(ratings)
    assert [one.judge for one in by_rater] == [(0,), (1,)]
    assert triads_summary(by_rater)["circular"] == 2
    assert [one.judge for one in circular_triads(ratings, ("rater", "item"))] == [
        (0, 0),
        (1, 0),
        (1, 1),
    ]
    assert triads_summary(circular_triads(ratings, ("rater", "item")))["triads"] == 1


def test_a_ratings_table_is_read_with_its_orders():
    table = rows_of(
        {("A", "r", "x"): 1.0, ("A", "s", "x"): -2.0},
        versus_condition="B",
        presented_first="versus",
        method="cmos",
        estimand="cmos",
    )
    ratings = pairs_of(table)
    assert (ratings.names, ratings.order.tolist()) == (("A", "B"), [1.0, 1.0])
    assert sorted(ratings.y) == [-2.0, 1.0]
    assert len(pairs_of(table_of("cmos_s1")).y) == 3600


def test_ab_scores_are_centred_so_that_a_half_is_a_tie():
    table = rows_of(
        {("A", "r", "x"): 1.0, ("A", "s", "x"): 0.0, ("A", "t", "x"): 0.5},
        versus_condition="B",
        presented_first="rated",
        method="ab",
        estimand="ab",
    )
    (one,) = pair_means(pairs_of(table))
    assert (one.wins, one.ties, one.losses, one.share.value) == (1, 1, 1, 0.5)


def test_what_is_no_comparison_is_refused():
    mos = rows_of({("A", "r", "x"): 1.0})
    with pytest.raises(Undefined, match="MOS is no comparison"):
        pairs_of(mos)
    with pytest.raises(Undefined, match="no ratings of pairs yet"):
        pairs_of(mos[:0])
    with pytest.raises(Undefined, match="several values of criterion"):
        pairs_of(rows_of({("A", "r", "x"): 1.0, ("A", "r", "y"): 1.0}).assign(criterion=["p", "q"]))
    with pytest.raises(Undefined, match="'A' is compared with itself"):
        pair_ratings(["A"], ["A"], [1.0], [0.0], ["r"], ["x"])
    with pytest.raises(Undefined, match="no score"):
        pair_ratings(["A"], ["B"], [np.nan], [0.0], ["r"], ["x"])
    with pytest.raises(Undefined, match="no ratings of pairs yet"):
        pair_ratings([], [], [], [], [], [])


def test_the_share_has_the_interval_and_p_of_the_mean_of_answers():
    """Answers 1, 0 and -1 only: the share is half the mean above one half."""
    ratings = met(("A", "B", 1.0), ("A", "B", 0.0), ("A", "B", -1.0), ("A", "B", 1.0), repeat=8)
    (one,) = pair_means(ratings)
    assert one.share.value == pytest.approx(0.5 + one.mean.value / 2)
    assert (one.share.low, one.share.naive_high) == pytest.approx(
        (0.5 + one.mean.low / 2, 0.5 + one.mean.naive_high / 2)
    )
    assert one.share.p == pytest.approx(one.mean.p)
    assert one.row()["share_low"] == one.share.low
