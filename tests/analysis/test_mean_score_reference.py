"""Mean scores of the reference sets equal R's: t intervals, clustered errors, bootstrap ends."""

import json

import pytest

from analysis.ratings.breakdowns import cells, families
from analysis.ratings.grouping import Breakdown
from analysis.statistics.estimators.mean_score import MeanScore
from analysis.statistics.intervals import BOOTSTRAP, NAIVE, NAIVE_RATERS, TWO_WAY, clustered
from analysis.statistics.screening.screened import DEFAULT, screen
from tests.analysis.reference import expected, heard_on_headphones, table_of


@pytest.fixture(scope="module")
def att():
    return screen(table_of("att_s1")).kept(DEFAULT)


@pytest.fixture(scope="module")
def isolation():
    table = heard_on_headphones("mos_s1")
    return table[table["task"] == "isolation"]


def by_condition(estimates, interval, weighting="ratings"):
    return {
        estimate.condition: estimate
        for estimate in estimates
        if (estimate.interval, estimate.weighting) == (interval, weighting)
    }


@pytest.mark.medium
def test_hls_and_its_t_interval_are_rs(att):
    found = by_condition(MeanScore(intervals=("two_way",)).fit(att), NAIVE)
    rows = expected("att_s1")["hls"]["system"]
    assert len(rows) == len(found) == 5
    for row in rows:
        mine = found[row["system"]]
        assert (mine.n_ratings, mine.n_raters) == (row["n"], row["n_rater"])
        assert mine.value == pytest.approx(row["mean"], abs=1e-12)
        assert (mine.low, mine.high) == pytest.approx((row["t_lo"], row["t_hi"]), abs=1e-12)


@pytest.mark.medium
def test_rater_weighted_hls_is_rs(att):
    found = by_condition(MeanScore(intervals=("two_way",)).fit(att), NAIVE_RATERS, "raters")
    for row in expected("att_s1")["hls"]["system_rater_weighted"]:
        mine = found[row["system"]]
        assert mine.n_raters == row["n"]
        assert mine.value == pytest.approx(row["mean"], abs=1e-12)
        assert (mine.low, mine.high) == pytest.approx((row["t_lo"], row["t_hi"]), abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("by", "key"),
    [
        (("voice",), "system_voice"),
        (("dimension",), "system_dimension"),
        (("split",), "system_split"),
        (("voice", "dimension"), "cell"),
    ],
)
def test_every_breakdown_of_hls_is_rs(att, by, key):
    made = MeanScore(Breakdown(by=by), intervals=("two_way",), weightings=("ratings",))
    found = {
        (e.condition, *(e.group[name] for name in by)): e
        for e in made.fit(att)
        if e.interval == NAIVE
    }
    rows = expected("att_s1")["hls"][key]
    assert len(rows) == len(found)
    for row in rows:
        mine = found[(row["system"], *(row[name] for name in by))]
        assert mine.value == pytest.approx(row["mean"], abs=1e-12)
        assert (mine.low, mine.high) == pytest.approx((row["t_lo"], row["t_hi"]), abs=1e-12)


@pytest.mark.medium
def test_label_shares_are_rs(att):
    found = {(e.condition, e.estimand): e for e in MeanScore().shares(att) if e.interval == NAIVE}
    for row in expected("att_s1")["hls"]["system"]:
        for label, key in [("Human", "pH"), ("Unclear", "pU"), ("Machine", "pM")]:
            share = found[row["system"], f"share of {label}"]
            assert share.value == pytest.approx(row[key], abs=1e-12)


@pytest.mark.medium
def test_mos_per_task_and_its_t_interval_are_rs():
    found = {
        (e.group["task"], e.condition): e
        for e in MeanScore(intervals=("two_way",)).fit(heard_on_headphones("mos_s1"))
        if e.interval == NAIVE
    }
    rows = expected("mos_s1")["mos"]["ratings"]
    assert len(rows) == len(found) == 36
    for row in rows:
        mine = found[row["condition"], row["system"]]
        assert mine.n_ratings == row["n"]
        assert mine.value == pytest.approx(row["mean"], abs=1e-12)
        assert (mine.low, mine.high) == pytest.approx((row["t_lo"], row["t_hi"]), abs=1e-12)


@pytest.mark.medium
def test_cmos_per_pair_is_rs():
    made = MeanScore(intervals=("two_way",), weightings=("ratings",))
    found = {
        (e.condition, e.group["versus_condition"]): e
        for e in made.fit(table_of("cmos_s1"))
        if e.interval == NAIVE
    }
    for row in expected("cmos_s1")["pairs"]:
        mine = found[row["a"], row["b"]]
        assert mine.n_ratings == row["n"]
        assert mine.value == pytest.approx(row["cmos"], abs=1e-12)
        assert (mine.low, mine.high) == pytest.approx((row["lo"], row["hi"]), abs=1e-12)


@pytest.mark.medium
def test_the_shares_of_a_comparison_do_not_depend_on_which_clip_came_first():
    table = table_of("cmos_s1")
    table["label"] = [f"{score:g}" for score in table["score"]]
    turned = table.copy()
    turned.loc[::2, "label"] = [f"{-score:g}" for score in turned["score"][::2]]
    told, swapped = MeanScore().shares(table), MeanScore().shares(turned)
    assert told
    assert told == swapped
    pair = {(e.condition, e.group["versus_condition"]) for e in told}.pop()
    mine = [e for e in told if (e.condition, e.group["versus_condition"]) == pair]
    steps = [(float(e.estimand.removeprefix("share of ")), e) for e in mine if e.interval == NAIVE]
    rows = table[(table["condition"] == pair[0]) & (table["versus_condition"] == pair[1])]
    assert sum(step * e.value for step, e in steps) == pytest.approx(rows["score"].mean())
    assert [step for step, _ in steps] == sorted((step for step, _ in steps), reverse=True)


@pytest.mark.medium
@pytest.mark.parametrize("name", ["att_s1", "mos_s1"])
def test_one_way_and_two_way_standard_errors_are_rs(name, att, isolation):
    table = att if name == "att_s1" else isolation
    key = "intervals" if name == "att_s1" else "intervals_isolation"
    (family,) = families(table)
    (cell,) = cells(family, Breakdown())
    means = clustered(cell.y, cell.condition, cell.rater, cell.item, len(cell.names))
    for code, system in enumerate(cell.names):
        row = expected(name)[key]["cluster_se_CR0"][system]
        assert means.by_rater[code, code] ** 0.5 == pytest.approx(row["rater"], rel=1e-10)
        assert means.by_item[code, code] ** 0.5 == pytest.approx(row["text"], rel=1e-10)
        variance = (means.by_rater + means.by_item - means.by_both)[code, code]
        assert variance**0.5 == pytest.approx(row["twoway"], rel=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["att_s1", "mos_s1"])
def test_bootstrap_ends_are_rs_within_five_percent_of_the_width(name, att, isolation):
    table = att if name == "att_s1" else isolation
    key = "intervals" if name == "att_s1" else "intervals_isolation"
    made = MeanScore(intervals=("bootstrap",), weightings=("ratings",), replicates=12_000)
    found = by_condition(made.fit(table, seed=11), BOOTSTRAP)
    for system, row in expected(name)[key]["twoway_rater_text"].items():
        width = row["hi"] - row["lo"]
        assert found[system].low == pytest.approx(row["lo"], abs=0.05 * width)
        assert found[system].high == pytest.approx(row["hi"], abs=0.05 * width)


@pytest.mark.slow
def test_bootstrap_differences_are_paired_as_rs_are(att):
    made = MeanScore(intervals=("bootstrap",), weightings=("ratings",), replicates=12_000)
    found = {
        f"{c.condition} - {c.versus}": c
        for c in made.contrasts(att, seed=3)
        if c.interval == BOOTSTRAP
    }
    for pair, row in expected("att_s1")["intervals"]["diff_twoway"].items():
        width = row["hi"] - row["lo"]
        assert found[pair].low == pytest.approx(row["lo"], abs=0.05 * width)
        assert found[pair].high == pytest.approx(row["hi"], abs=0.05 * width)


@pytest.mark.medium
def test_naive_contrasts_are_rs_welch_tests_with_holm(att):
    made = MeanScore(intervals=("two_way",), weightings=("ratings",))
    found = {
        (c.condition, c.versus): c for c in made.contrasts(att) if c.interval.startswith("naive")
    }
    rows = expected("att_s1")["pairs_naive"]
    assert len(rows) == len(found) == 10
    for row in rows:
        mine = found[row["a"], row["b"]]
        assert mine.value == pytest.approx(row["diff"], abs=1e-12)
        assert (mine.low, mine.high) == pytest.approx((row["welch_lo"], row["welch_hi"]), abs=1e-12)
        assert mine.p == pytest.approx(row["welch_p"], rel=1e-8)


@pytest.mark.medium
def test_clustered_contrasts_agree_with_rs_mixed_model(att):
    """Another method on the same data: the widths differ by little more than a third."""
    made = MeanScore(intervals=("two_way",), weightings=("ratings",))
    found = {(c.condition, c.versus): c for c in made.contrasts(att) if c.interval == TWO_WAY}
    for row in expected("att_s1")["lmm_att"]["pairs_none"]:
        a, b = (name.strip("()") for name in row["contrast"].split(" - "))
        width = found[a, b].high - found[a, b].low
        assert width / (row["upper.CL"] - row["lower.CL"]) == pytest.approx(1, abs=0.35)


@pytest.mark.medium
def test_clustered_is_wider_than_naive_everywhere_here(att):
    estimates = MeanScore(weightings=("ratings",)).fit(att)
    naive, two_way = by_condition(estimates, NAIVE), by_condition(estimates, TWO_WAY)
    wide = by_condition(estimates, BOOTSTRAP)
    for system in naive:
        widths = [e[system].high - e[system].low for e in (naive, two_way, wide)]
        assert widths == sorted(widths)
        assert widths[1] > 1.5 * widths[0]


@pytest.mark.slow
def test_estimates_are_plain_json(att):
    rows = [e.row() for e in MeanScore().fit(att)]
    assert json.loads(json.dumps(rows, allow_nan=False)) == rows
