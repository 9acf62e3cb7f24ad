"""Correlations of metrics with human scores agree with R, and say when they are undefined."""

import csv
import gzip
import json

import numpy as np
import pytest
from scipy import stats

from analysis.correlations import (
    CONDITION,
    STIMULUS,
    WITHIN,
    bootstrap_replicates,
    correlations,
    fisher_interval,
    points,
    scores_from_csv,
    scores_from_rows,
)
from analysis.ratings import RatingsError
from tests.analysis.reference import DATA, expected, rows_of, table_of


@pytest.fixture(scope="module")
def aligned():
    rows = []
    with gzip.open(DATA / "align_s1.pred.csv.gz", "rt") as file:
        for row in csv.DictReader(file):
            stimulus = row.pop("stimulus")
            rows += [
                {"stimulus": stimulus, "metric": name, "version": "1", "value": float(value)}
                for name, value in row.items()
            ]
    found = correlations(table_of("align_s1"), scores_from_rows(rows), seed=2)
    return {(c.metric, c.unit, c.statistic, c.interval.split()[0]): c for c in found}


@pytest.mark.parametrize(
    "metric", ["judge_best", "judge_mid", "judge_weak", "mosnet_a", "mosnet_b"]
)
def test_coefficients_and_intervals_are_rs(aligned, metric):
    told = expected("align_s1")["predictors"][metric]
    for statistic, key in [("pearson",) * 2, ("spearman",) * 2, ("kendall", "kendall_b")]:
        fisher = aligned[metric, STIMULUS, statistic, "Fisher"]
        assert fisher.n == told["n"] == 200
        assert fisher.n_ratings == 2000
        assert fisher.value == pytest.approx(told[key], abs=1e-12)
    for statistic, key in [("pearson", "ci_fisher"), ("spearman", "ci_bonett_wright")]:
        fisher = aligned[metric, STIMULUS, statistic, "Fisher"]
        assert (fisher.low, fisher.high) == pytest.approx(told[f"{statistic}_{key}"], abs=1e-10)
        boot = aligned[metric, STIMULUS, statistic, "bootstrap"]
        low, high = told[f"boot_{statistic}"]
        assert boot.low == pytest.approx(low, abs=0.08 * (high - low))
        assert boot.high == pytest.approx(high, abs=0.08 * (high - low))


def test_a_constant_metric_has_no_correlation_and_says_so(aligned):
    for statistic in ("pearson", "spearman", "kendall"):
        found = aligned["judge_const", STIMULUS, statistic, "bootstrap"]
        assert (found.value, found.low, found.high) == (None, None, None)
        assert found.note == "undefined: the metric is constant"


def test_one_condition_has_no_correlation_over_conditions(aligned):
    found = aligned["judge_best", CONDITION, "pearson", "bootstrap"]
    assert found.value is None
    assert "1 of the 3 or more units" in found.note


@pytest.mark.parametrize("statistic", ["pearson", "spearman", "kendall"])
def test_bootstrap_replicates_are_those_of_scipy_on_the_same_draws(statistic):
    rng = np.random.default_rng(0)
    x = rng.integers(0, 6, 25).astype(float)
    y = x + rng.integers(-2, 3, 25)
    found = bootstrap_replicates(statistic, x, y, np.random.default_rng(8), 50)
    drawn = np.random.default_rng(8).integers(0, 25, size=(50, 25))
    scipys = {"pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau}
    brute = [scipys[statistic](x[d], y[d]).statistic for d in drawn]
    assert found == pytest.approx(brute)


def test_fisher_needs_units_and_a_coefficient_below_one():
    assert fisher_interval("pearson", 0.5, 3, 0.95) is None
    assert fisher_interval("pearson", 1.0, 30, 0.95) is None
    assert fisher_interval("kendall", 0.5, 4, 0.95) is None
    low, high = fisher_interval("pearson", 0.5, 28, 0.95)
    half = 1.959964 / 5
    middle = np.arctanh(0.5)
    assert (low, high) == pytest.approx((np.tanh(middle - half), np.tanh(middle + half)))


def mixed():
    """Four conditions apart in both; within each, the metric runs against the human score."""
    human, metric = {}, []
    for c in range(4):
        for i in range(5):
            for r in range(2):
                human[f"c{c}", f"r{r}", f"i{i}"] = c + 0.1 * i + 0.01 * r
            name = f"c{c}_i{i}"
            metric.append({"stimulus": name, "metric": "m", "version": "1", "value": c - 0.1 * i})
    return rows_of(human), scores_from_rows(metric)


def test_pooling_conditions_hides_what_happens_within_them():
    table, scores = mixed()
    found = {(c.unit, c.statistic): c for c in correlations(table, scores)}
    assert found[STIMULUS, "pearson"].value > 0.9
    assert found[CONDITION, "pearson"].value == pytest.approx(1)
    assert found[WITHIN, "pearson"].value == pytest.approx(-1)
    assert found[CONDITION, "pearson"].n == 4
    assert found[WITHIN, "pearson"].n == 20


def test_points_are_the_means_of_metric_and_human_per_condition():
    table, scores = mixed()
    found = {p["condition"]: p for p in points(table, scores)}
    assert found["c2"]["metric_mean"] == pytest.approx(1.8)
    assert found["c2"]["human_mean"] == pytest.approx(2.205)
    assert (found["c2"]["n_stimuli"], found["c2"]["n_ratings"]) == (5, 10)


def test_stimuli_without_a_score_are_left_out_and_counted():
    table, scores = mixed()
    scores.loc[:2, "value"] = float("nan")
    found = correlations(table, scores)
    assert {c.n for c in found if c.unit == STIMULUS} == {17}
    assert {c.n_ratings for c in found if c.unit == STIMULUS} == {34}


def test_comparisons_are_correlated_with_the_difference_of_the_metric():
    table, scores = mixed()
    table["versus_condition"] = "base"
    table["versus_stimulus"] = "c0_i0"
    (first, *_) = correlations(table, scores)
    assert first.value > 0.9
    shifted = scores.assign(value=scores["value"] + 7)
    assert correlations(table, shifted)[0].value == pytest.approx(first.value)
    assert points(table, shifted)[2]["metric_mean"] == pytest.approx(1.8)


def test_no_scores_give_no_correlations_and_rows_are_plain_json():
    table, scores = mixed()
    assert correlations(table, scores_from_rows([])) == []
    rows = [c.row() for c in correlations(table, scores)]
    assert json.loads(json.dumps(rows, allow_nan=False)) == rows


def test_the_same_seed_gives_the_same_intervals():
    table, scores = mixed()
    rows = [[c.row() for c in correlations(table, scores, seed=s)] for s in (1, 1, 2)]
    assert rows[0] == rows[1]
    assert rows[0] != rows[2]


def test_scores_are_read_from_csv_and_mistakes_are_named(tmp_path):
    path = tmp_path / "scores.csv"
    path.write_text("sha256,stimulus,metric,version,value\nx,s1,m,1,2.5\nx,s2,m,1,\n")
    table = scores_from_csv(path)
    assert table["value"].tolist()[0] == 2.5
    assert np.isnan(table["value"].tolist()[1])
    path.write_text("stimulus,metric,version,value\ns1,m,1,abc\n")
    with pytest.raises(RatingsError, match=r"scores.csv, row 2, column value: 'abc'"):
        scores_from_csv(path)
    path.write_text("stimulus,value\ns1,1\n")
    with pytest.raises(RatingsError, match="no column metric, version"):
        scores_from_csv(path)
    with pytest.raises(RatingsError, match="no such file"):
        scores_from_csv(tmp_path / "none.csv")
