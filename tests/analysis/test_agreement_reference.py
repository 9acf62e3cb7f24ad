"""Measures of agreement on the reference sets equal R's (psych, lme4, own R of the README)."""

import csv
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

from analysis.ratings.table import read_csv
from analysis.statistics.agreement.agreement_result import coded
from analysis.statistics.agreement.concordance import kendall_w
from analysis.statistics.agreement.icc import crossed_reml, icc_mixed, intraclass_correlations
from analysis.statistics.agreement.kappa import kappa
from analysis.statistics.agreement.krippendorff import krippendorff_alpha
from analysis.statistics.agreement.scale_use import sos_parameter
from analysis.statistics.agreement.versus_rest import versus_rest
from analysis.statistics.screening.screened import DEFAULT, screen
from tests.analysis.reference import DATA, expected, heard_on_headphones, mushra_s1, table_of

PAIRS = {
    "condition": "system_a",
    "versus_condition": "system_b",
    "item": "text",
    "stimulus": "pair",
    "trap": "is_trap",
}


def triple(table):
    return table["stimulus"], table["rater"], table["score"]


@pytest.fixture(scope="module")
def align():
    return triple(table_of("align_s1"))


@pytest.fixture(scope="module")
def mushra():
    table = mushra_s1()
    return table[~table["rater"].isin(expected("mushra_s1")["post_screening"]["removed"])]


def isolation(name):
    table = heard_on_headphones(name)
    return table[table["task"] == "isolation"]


@pytest.mark.parametrize("metric", ["nominal", "ordinal", "interval"])
def test_krippendorffs_alpha_of_clips_by_ten_raters_is_rs(align, metric):
    mine = krippendorff_alpha(*align, metric)
    assert mine.value == pytest.approx(
        expected("align_s1")["agreement"][f"krippendorff_{metric}"], rel=1e-12
    )
    assert mine.low < mine.value < mine.high
    assert (mine.n_units, mine.n_raters, mine.n_ratings) == (200, 10, 2000)


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["nominal", "ordinal", "interval"])
def test_krippendorffs_alpha_of_a_big_incomplete_study_is_rs(metric):
    kept = screen(table_of("att_s1")).kept(DEFAULT)
    mine = krippendorff_alpha(*triple(kept), metric, replicates=50)
    known = expected("att_s1")["agreement"][f"krippendorff_{metric}"]
    assert mine.value == pytest.approx(known, rel=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("metric", ["ordinal", "interval"])
@pytest.mark.parametrize("name", ["mos_s1", "mos_s2", "mushra_s1", "cmos_s1", "cmos_s2"])
def test_krippendorffs_alpha_of_every_other_set_is_rs(name, metric, mushra):
    known = expected(name)["agreement"]
    if name.startswith("mos"):
        table, known = isolation(name), known["isolation"]
    elif name == "mushra_s1":
        table = mushra
    else:
        how = {"constants": {"method": "cmos"}, "ignore": ["first"]}
        table = read_csv(DATA / f"{name}.csv.gz", PAIRS, **how).table
    mine = krippendorff_alpha(*triple(table), metric, replicates=50)
    assert mine.value == pytest.approx(known[f"krippendorff_{metric}"], rel=1e-10)


@pytest.mark.parametrize("name", ["align_s1", "mushra_s1"])
def test_six_intraclass_correlations_with_their_intervals_are_psychs(name, align, mushra):
    ratings = align if name == "align_s1" else triple(mushra)
    rows = expected(name)["icc"]
    for mine, row in zip(intraclass_correlations(*ratings), rows, strict=True):
        assert mine.form == row["type"]
        assert mine.value == pytest.approx(row["ICC"], rel=1e-10)
        assert mine.low == pytest.approx(row["lower bound"], rel=1e-9)
        assert mine.high == pytest.approx(row["upper bound"], rel=1e-9)
        assert mine.f == pytest.approx(row["F"], rel=1e-10)
        assert (mine.df1, mine.df2) == (row["df1"], row["df2"])
        assert mine.p == pytest.approx(row["p"], rel=1e-6)


def test_cronbachs_alpha_is_the_last_form(align):
    last = intraclass_correlations(*align)[-1]
    assert last.value == pytest.approx(expected("align_s1")["cronbach_alpha"], rel=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mos_s1", "mos_s2"])
def test_the_icc_of_an_incomplete_design_is_lme4s(name):
    ratings = triple(isolation(name))
    known = expected(name)["icc_lmm_isolation"]
    fit = crossed_reml(coded(*ratings))
    assert fit.unit == pytest.approx(known["var"]["stimulus"], rel=2e-6)
    assert fit.rater == pytest.approx(known["var"]["rater"], rel=2e-6)
    assert fit.residual == pytest.approx(known["var"]["Residual"], rel=2e-6)
    absolute, consistent, of_eight = icc_mixed(*ratings, raters_per_unit=8)
    assert absolute.value == pytest.approx(known["icc_2_1_absolute"], rel=1e-6)
    assert consistent.value == pytest.approx(known["icc_3_1_consistency"], rel=1e-6)
    assert of_eight.value == pytest.approx(known["icc_1_8_mean_of_8_raters"], rel=1e-6)
    assert absolute.low < absolute.value < absolute.high < of_eight.low


@pytest.mark.medium
def test_on_complete_data_the_mixed_model_gives_shrout_and_fleiss(align):
    by_anova = {f.form: f.value for f in intraclass_correlations(*align)}
    absolute, consistent, _ = icc_mixed(*align)
    assert absolute.value == pytest.approx(by_anova["ICC2"], rel=1e-6)
    assert consistent.value == pytest.approx(by_anova["ICC3"], rel=1e-6)


def test_kendalls_w_with_ties_is_rs(align, mushra):
    known = expected("align_s1")["kendall_W_raters_over_clips"]
    mine = kendall_w(*align, replicates=100)
    assert mine.value == pytest.approx(known["W_tie_corrected"], rel=1e-12)
    assert (mine.chi2, mine.df) == (pytest.approx(known["chi2"], rel=1e-12), known["df"])
    means = mushra.groupby(["rater", "condition"], as_index=False)["score"].mean()
    mine = kendall_w(means["condition"], means["rater"], means["score"])
    known = expected("mushra_s1")["friedman_rater_means"]
    assert mine.value == pytest.approx(known["kendall_W"], rel=1e-12)
    assert mine.p == pytest.approx(known["p"], rel=1e-9)
    assert "fewer than 10 units" in mine.note


def test_quadratic_kappa_of_two_raters_and_over_all_pairs_is_rs():
    known = expected("align_s1")["agreement"]
    table = table_of("align_s1").pivot_table(index="stimulus", columns="rater", values="score")
    pairs = combinations(table.columns, 2)
    every = [kappa(table[a], table[b], replicates=0)[0] for a, b in pairs]
    assert np.mean(every) == pytest.approx(known["mean_pairwise_qwk"], rel=1e-12)
    value, (low, high) = kappa(table["A1"], table["A10"])  # R's second column: names sort as text
    assert value == pytest.approx(known["qwk_A1_A2"], rel=1e-12)
    assert low < value < high


def test_metric_scores_are_rounded_half_up_for_kappa_as_r_did():
    means = table_of("align_s1").groupby("stimulus")["score"].mean()
    predicted = pd.read_csv(DATA / "align_s1.pred.csv.gz").set_index("stimulus")
    for name, row in expected("align_s1")["predictors"].items():
        value, _ = kappa(predicted[name].loc[means.index], means, replicates=20)
        assert value == pytest.approx(row["qwk"], abs=1e-12), name


def test_each_rater_against_the_rest_in_five_measures_is_rs(align):
    rows = {row["rater"]: row for row in expected("align_s1")["leave_one_rater_out"]}
    found = versus_rest(*align)
    assert len(found) == 5 * len(rows) == 50
    for mine in found:
        assert mine.value == pytest.approx(rows[mine.rater][mine.measure], rel=1e-10)
        assert mine.low < mine.value < mine.high


@pytest.mark.slow
@pytest.mark.parametrize("name", ["mos_s1", "mos_s2"])
def test_correlations_with_the_rest_in_incomplete_designs_are_rs(name):
    table = table_of(name)
    table = table[table["task"] == "isolation"]
    steps = np.arange(1, 5.1, 0.5)
    found = {(m.rater, m.measure): m for m in versus_rest(*triple(table), categories=steps)}
    rows = expected(name)["rater_loo_correlation_isolation"]
    for row in rows:
        for ours, theirs in (("plcc", "pearson"), ("srcc", "spearman")):
            mine = found[row["rater"], ours]
            assert mine.n_units == row["n"]
            assert mine.value == pytest.approx(row[theirs], rel=1e-9)
    assert len(found) == 5 * len(rows)


@pytest.mark.parametrize("name", ["align_s1", "mos_s1", "mos_s2"])
@pytest.mark.medium
def test_the_sos_parameter_is_rs(name, align):
    ratings = align if name == "align_s1" else triple(isolation(name))
    fit = sos_parameter(*ratings)
    assert fit.a.value == pytest.approx(expected(name)["sos"]["a"], rel=1e-12)
    assert fit.a.low < fit.a.value < fit.a.high
    top = fit.parabola[50]
    assert top == pytest.approx((3.0, 4 * fit.a.value))


def test_a_panel_as_noisy_as_lfs_benchs_gives_that_papers_five_measures():
    """Raters simulated to each published PLCC: the other four measures then come near as well."""
    with (DATA / "published" / "lfs_table6_rater_vs_rest.csv").open() as file:
        published = {row["rater"]: row for row in csv.DictReader(file)}
    rng = np.random.default_rng(6)
    quality = rng.normal(3.1, 0.85, 1500)
    rater, unit, score = [], [], []
    for name, row in published.items():
        variance = 0.85**2 * (1 / (float(row["plcc"]) / 0.98) ** 2 - 1) - 1 / 12  # less rounding
        heard = quality + rng.normal(0, variance**0.5, len(quality))
        rater += [name] * len(quality)
        unit += range(len(quality))
        score += list(np.clip(np.floor(heard + 0.5), 1, 5))
    near = {"plcc": 0.03, "srcc": 0.03, "krcc": 0.06, "qwk": 0.08, "mae": 0.09}
    for mine in versus_rest(unit, rater, score, replicates=20):
        theirs = float(published[mine.rater][mine.measure])
        assert mine.value == pytest.approx(theirs, abs=near[mine.measure])


def test_an_icc_at_its_lowest_has_an_end_of_its_mean_less():
    """Two raters of two clips, as in a study that has just begun: -1 has no stepped-up value."""
    found = intraclass_correlations(["a", "a", "b", "b"], ["x", "y", "x", "y"], [-2, 1, -1, -1])
    (mean,) = (each for each in found if each.form == "ICC2k")
    assert (mean.low, mean.note) == (None, "its interval has no lower end")
