"""What mean scores say when there is little, equal or lopsided data: words, never NaN."""

import json

import pytest

from analysis.ratings.grouping import Breakdown
from analysis.ratings.table import read_csv
from analysis.statistics.estimators.mean_score import MeanScore
from analysis.statistics.intervals import BOOTSTRAP, NAIVE, TWO_WAY
from analysis.statistics.pairs.means_of_pairs import share_right
from analysis.statistics.screening.screened import screen
from tests.analysis.reference import DATA, EDGE_COLUMNS, edge, expected, rows_of


def fitted(name, **options):
    table = screen(edge(name)).kept([])
    return {
        (e.condition, e.interval): e
        for e in MeanScore(weightings=("ratings",), **options).fit(table)
    }


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    sorted(name for name, told in expected("edge").items() if "system" in told),
)
def test_means_and_naive_intervals_of_the_edge_files_are_as_written_down(name):
    found = fitted(name)
    for system, row in expected("edge")[name]["system"].items():
        naive = found[system, NAIVE]
        assert naive.n_ratings == row["n"]
        assert naive.value == pytest.approx(row["mean"])
        if row["t_lo"] is None:
            assert (naive.low, naive.high) == (None, None)
            assert naive.note
        else:
            assert (naive.low, naive.high) == pytest.approx((row["t_lo"], row["t_hi"]))


def test_no_ratings_give_no_estimates():
    table = edge("empty")
    made = MeanScore()
    assert (made.fit(table), made.contrasts(table), made.shares(table)) == ([], [], [])


def test_one_rating_has_a_mean_and_reasons():
    found = fitted("one_rating")
    for interval in (TWO_WAY, BOOTSTRAP, NAIVE):
        assert found["A", interval].value == 0.5
        assert found["A", interval].low is None
        assert "one rating only" in found["A", interval].note


@pytest.mark.medium
def test_one_rater_has_a_naive_interval_and_no_clustered_one():
    found = fitted("one_rater")
    assert found["A", NAIVE].low is not None
    for interval in (TWO_WAY, BOOTSTRAP):
        assert found["A", interval].low is None
        assert "one rater only" in found["A", interval].note


def test_one_item_has_no_clustered_interval():
    table = rows_of({("A", f"r{n}", "i"): n % 3 for n in range(9)})
    two_way = next(e for e in MeanScore().fit(table) if e.interval == TWO_WAY)
    assert two_way.low is None
    assert "one item only" in two_way.note


@pytest.mark.medium
def test_equal_ratings_have_an_interval_on_their_scale():
    table = edge("all_equal")
    found = fitted("all_equal")
    told = found["A", TWO_WAY]
    assert 1 < told.low < 3 < told.high < 5
    assert "all answers are equal: how raters and items differ cannot be estimated" in told.note
    for interval in (BOOTSTRAP, NAIVE):
        estimate = found["A", interval]
        assert (estimate.low, estimate.high) == (3.0, 3.0)
        assert "no width" in estimate.note
    for contrast in MeanScore().contrasts(table):
        clustered = contrast.interval == TWO_WAY
        assert contrast.p == (1.0 if clustered else None)
        assert contrast.claimed == (False if clustered else None)
        assert (contrast.low, contrast.high) == (-contrast.high, -contrast.low)


def test_shares_that_nobody_contradicts_have_bounds_too():
    shares = {e.estimand: e for e in MeanScore().shares(edge("all_equal")) if e.interval == TWO_WAY}
    assert shares["share of 3"].high == 1.0
    assert 0 < shares["share of 3"].low < 1


@pytest.mark.parametrize("method", ["ab", "abx"])
def test_a_unanimous_pair_has_the_same_bounds_among_estimates_and_pairs(method):
    scores = {("A", f"r{r}", f"i{i}"): 1.0 for r in range(12) for i in range(8)}
    table = rows_of(scores, method=method, estimand=method, versus="B")
    (told,) = (
        e for e in MeanScore().fit(table) if e.interval == TWO_WAY and e.weighting == "ratings"
    )
    codes = (table[name].astype("category").cat.codes.to_numpy() for name in ("rater", "item"))
    pair = share_right(table["score"].to_numpy(), *codes)
    assert (told.value, told.low, told.high) == pytest.approx((1.0, pair.low, pair.high))
    assert told.low < 1.0


def test_effects_that_cancel_leave_the_whole_scale_and_without_one_say_so():
    table = rows_of({("A", f"r{r}", f"i{i}"): 3 + (-1) ** (r + i) for r in (0, 1) for i in (0, 1)})
    two_way = next(e for e in MeanScore().fit(table) if e.interval == TWO_WAY)
    assert two_way.value == 3
    assert (two_way.low, two_way.high) == pytest.approx((1, 5), abs=0.01)
    free = table.assign(method="free_choice", estimand="choice")
    two_way = next(e for e in MeanScore().fit(free) if e.interval == TWO_WAY)
    assert (two_way.value, two_way.low) == (3, None)
    assert "cancel" in two_way.note


@pytest.mark.medium
def test_disjoint_raters_are_flagged_in_the_contrast():
    table = edge("disjoint_raters")
    contrast = next(c for c in MeanScore().contrasts(table) if c.interval == TWO_WAY)
    assert "no rater in common" in contrast.note
    assert contrast.n_raters == 8
    welch = expected("edge")["disjoint_raters"]["welch"]["A - B"]
    naive = next(c for c in MeanScore().contrasts(table) if c.interval.startswith("naive"))
    assert naive.value == pytest.approx(welch["diff"])
    assert naive.p == pytest.approx(welch["p"])


def test_a_row_that_stands_twice_and_a_missing_score_are_left_out_and_counted():
    path = DATA / "edge" / "edge_missing.csv"
    reading = read_csv(path, EDGE_COLUMNS, constants={"method": "mos"})
    assert "1 row repeats another row in every column and does not count again." in reading.notes
    screened = screen(reading.table)
    assert len(screened.kept([])) == expected("edge")["missing"]["after_dropping_duplicate_and_nan"]
    counts = {row["rule"]: row["ratings"] for row in screened.counts()}
    assert (counts["missing_score"], counts["duplicate"]) == (1, 0)


@pytest.mark.medium
def test_traps_never_enter_an_estimate():
    table = rows_of({("A", "r1", "i1"): 0.5, ("A", "r2", "i2"): 1})
    with_trap = rows_of({("A", "r1", "i1"): 0}, trap="flawed", trap_passed=True)
    import pandas as pd

    both = pd.concat([table, with_trap], ignore_index=True)
    assert {e.value for e in MeanScore().fit(both)} == {0.75}


@pytest.mark.slow
def test_tasks_criteria_and_estimands_are_kept_apart():
    import pandas as pd

    tables = [
        rows_of({("A", "r1", "i1"): 1, ("A", "r2", "i2"): 2}, task="one"),
        rows_of({("A", "r1", "i1"): 4, ("A", "r2", "i2"): 5}, task="two"),
        rows_of({("A", "r1", "i1"): 3, ("A", "r2", "i2"): 3}, criterion="accuracy"),
    ]
    found = {
        (e.group["task"], e.group["criterion"]): e.value
        for e in MeanScore().fit(pd.concat(tables, ignore_index=True))
    }
    assert found == {
        ("one", "naturalness"): 1.5,
        ("two", "naturalness"): 4.5,
        ("t", "accuracy"): 3,
    }


@pytest.mark.medium
def test_systems_can_be_compared_instead_of_conditions():
    import pandas as pd

    tables = [
        rows_of({("A1", "r1", "i1"): 1, ("A1", "r2", "i2"): 2}, system="A", voice="x"),
        rows_of({("A2", "r1", "i3"): 3, ("A2", "r2", "i4"): 4}, system="A", voice="y"),
    ]
    table = pd.concat(tables, ignore_index=True)
    (found,) = {(e.condition, e.value) for e in MeanScore(Breakdown("system")).fit(table)}
    assert found == ("A", 2.5)
    by_voice = MeanScore(Breakdown("system", ("voice",))).fit(table)
    assert {(e.condition, e.group["voice"], e.value) for e in by_voice} == {
        ("A", "x", 1.5),
        ("A", "y", 3.5),
    }


def test_rater_weighting_counts_every_rater_once():
    scores = {("A", "busy", f"i{n}"): 1.0 for n in range(4)} | {("A", "rare", "i0"): 5.0}
    values = {e.weighting: e.value for e in MeanScore().fit(rows_of(scores))}
    assert values == {"ratings": pytest.approx(1.8), "raters": pytest.approx(3.0)}


@pytest.mark.slow
def test_there_is_no_nan_in_any_output():
    for name in ["one_rating", "one_rater", "all_equal", "separated", "missing", "single_system"]:
        table, made = edge(name), MeanScore(Breakdown(by=("voice",)))
        rows = [line.row() for line in [*made.fit(table), *made.contrasts(table)]]
        json.dumps(rows, allow_nan=False)


@pytest.mark.medium
def test_the_naive_interval_is_never_alone():
    for options in [{}, {"intervals": ("two_way",)}, {"intervals": ("bootstrap",)}]:
        found = MeanScore(**options).fit(edge("single_system"))
        kinds = {e.interval.startswith("naive") for e in found}
        assert kinds == {True, False}
    with pytest.raises(ValueError, match="intervals are"):
        MeanScore(intervals=())
