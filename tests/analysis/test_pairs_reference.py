"""CMOS, preference, Bradley-Terry, Davidson and Thurstone equal R's on the reference sets."""

import json

import numpy as np
import pytest
from scipy import stats

from analysis.statistics.pairs.comparison_graph import circular_triads, triads_summary
from analysis.statistics.pairs.means_of_pairs import order_effect, pair_means
from analysis.statistics.pairs.win_models import bradley_terry, cumulative, davidson, least_squares
from tests.analysis.pairs_of import reference_pairs
from tests.analysis.reference import DATA, expected

SETS = ("cmos_s1", "cmos_s2")
OURS = {"sec": "second_advantage"}
MODELS = {
    "bt_half_ties": (bradley_terry, {}, 1e-6),
    "bt_drop_ties": (bradley_terry, {"ties": "drop"}, 1e-5),
    "davidson": (davidson, {}, 1e-4),
    "davidson_order": (davidson, {"order": True}, 1e-6),
    "clm_symmetric_logit": (cumulative, {"link": "logit"}, 1e-6),
    "clm_symmetric_probit": (cumulative, {"link": "probit"}, 1e-6),
    "thurstone_lm": (least_squares, {}, 1e-9),
}


@pytest.mark.parametrize("name", SETS)
@pytest.mark.medium
def test_every_pairs_mean_and_tests_are_rs(name):
    found = {(one.condition, one.versus): one for one in pair_means(reference_pairs(name))}
    rows = expected(name)["pairs"]
    assert len(found) == len(rows)
    for row in rows:
        mine, close = found.get((row["a"], row["b"])), {"rel": 1e-6, "abs": 1e-12}
        sign = 1 if mine else -1
        mine = mine or found[row["b"], row["a"]]
        assert (mine.wins, mine.ties, mine.losses)[::sign] == (row["win"], row["tie"], row["loss"])
        assert mine.n_ratings == row["n"]
        bounds = (mine.mean.naive_low * sign, mine.mean.naive_high * sign)[::sign]
        got = (mine.mean.value * sign, *bounds, mine.mean.naive_p, mine.sign_p)
        told = (row["cmos"], row["lo"], row["hi"], row["p"], row["sign_p"])
        assert got == pytest.approx(told, **close)
        assert mine.wilcoxon_p == pytest.approx(row["wilcoxon_p"], **close)
        if sign == 1:
            assert mine.wilcoxon_v == pytest.approx(row["wilcoxon_V"])
        assert mine.naive_p_adjusted == pytest.approx(row["p_holm"], **close)


@pytest.mark.parametrize("name", SETS)
@pytest.mark.medium
def test_clustered_intervals_are_made_of_rs_one_way_errors(name):
    """Two-way variance lies between the larger one-way one and their sum, which are R's.

    Of each pair by itself; the interval of a share is a little wider than the t interval.
    """
    ratings = reference_pairs(name)
    for row in expected(name)["pairs"]:
        codes = [ratings.names.index(row[side]) for side in "ab"]
        (one,) = pair_means(ratings.among(codes))
        half, groups = (one.mean.high - one.mean.low) / 2, (one.n_raters, one.n_items)
        rater, text = row["se_cluster_rater"], row["se_cluster_text"]
        narrowest = stats.t.ppf(0.975, sum(groups)) * max(rater, text)
        small = (max(n / (n - 1) for n in groups)) ** 0.5  # factor, and fewest degrees of freedom
        widest = stats.t.ppf(0.975, min(groups) - 1) * (rater**2 + text**2) ** 0.5 * small
        assert narrowest <= half <= 1.08 * widest


@pytest.mark.parametrize("name", SETS)
def test_the_order_effect_is_rs(name):
    found, row = order_effect(reference_pairs(name)), expected(name)["order_bias"]
    got = (found.value, found.naive_low, found.naive_high, found.naive_p)
    assert got == pytest.approx((row["mean_score_raw"], row["lo"], row["hi"], row["p"]), rel=1e-6)
    assert found.low < found.naive_low < found.naive_high < found.high


@pytest.mark.parametrize("key", MODELS)
def test_models_of_pairs_are_rs(key):
    model, options, close = MODELS[key]
    fit, row = model(reference_pairs("cmos_s1"), **options), expected("cmos_s1")[key]
    against_base = fit.contrasts([(i, 0) for i in range(1, 6)], kind="model")
    found = {one.condition: (one.value, one.se) for one in against_base}
    found |= {term.name: (term.value, term.se) for term in fit.terms}
    assert set(found) == {OURS.get(name, name) for name in row["coef"]}
    for name, told in row["coef"].items():
        got = found[OURS.get(name, name)]
        assert got == pytest.approx((told, row["se"][name]), rel=close, abs=1e-7)
    if "logLik" in row and not key.startswith("bt"):  # R's counts of wins are binomial there
        assert fit.log_likelihood == pytest.approx(row["logLik"], rel=1e-9)


@pytest.mark.parametrize("key", ["bt_half_ties", "bt_drop_ties"])
def test_the_whole_covariance_of_bradley_terry_is_rs(key):
    model, options, _ = MODELS[key]
    fit = model(reference_pairs("cmos_s1"), **options)
    c = fit.covariance
    mine = c[1:, 1:] - c[1:, :1] - c[:1, 1:] + c[0, 0]
    assert mine == pytest.approx(np.array(expected("cmos_s1")[key]["vcov"]), rel=1e-5)


def test_no_majority_of_cmos_s1_goes_round():
    (all_of_them,) = circular_triads(reference_pairs("cmos_s1"), ())
    assert all_of_them.circular == expected("cmos_s1")["circular_triads_of_majorities"] == 0
    assert all_of_them.consistence == 1.0
    each = triads_summary(circular_triads(reference_pairs("cmos_s1")))
    assert each["share"] < 0.25


@pytest.mark.parametrize("model", [bradley_terry, davidson, cumulative, least_squares])
def test_every_model_recovers_what_the_ratings_were_made_from(model):
    """The scale is the model's own; the order and the distances are those of the truth."""
    truth = json.loads((DATA / "cmos_s1.truth.json").read_text("utf-8"))["realised_theta"]
    fit = model(reference_pairs("cmos_s1"))
    made = np.array([truth[name] for name in fit.names])
    made = made - made.mean()
    unit = float(fit.ability @ made / (made @ made))
    assert np.corrcoef(fit.ability, made)[0, 1] > 0.99
    for one in fit.contrasts():
        a, b = fit.names.index(one.condition), fit.names.index(one.versus)
        assert abs(one.value - unit * (made[a] - made[b])) < 3 * one.se


def test_clustered_errors_are_wider_than_the_models_here():
    fit = cumulative(reference_pairs("cmos_s1"))
    for wide, narrow in zip(fit.contrasts(), fit.contrasts(kind="model"), strict=True):
        assert 1.5 * narrow.se < wide.se
        assert "too narrow" in narrow.note


@pytest.mark.parametrize("name", SETS)
def test_points_are_those_of_choix_and_of_the_arenas_and_the_arenas_intervals_are_narrower(name):
    """choix 0.4.1 (ties dropped) and arena-rank 0.1.1 (ties half, 400 points per factor of 10).

    The arena's interval takes answers as independent. Its Hessian has a small ridge.
    """
    reference = json.loads((DATA / "pairs_boards.ref.json").read_text())[name]
    ratings = reference_pairs(name)
    dropped = bradley_terry(ratings, ties="drop")
    assert dict(zip(dropped.names, dropped.ability, strict=True)) == pytest.approx(
        reference["choix"], abs=1e-6
    )
    half, point = bradley_terry(ratings), 400 / np.log(10)
    independent = np.sqrt((half.influence**2).sum(axis=0)) * stats.norm.ppf(0.975)
    for one, spread in zip(half.abilities(), independent, strict=True):
        value, low, high = reference["arena-rank"][one.condition]
        assert one.value * point + 1000 == pytest.approx(value, abs=1e-4)
        assert 2 * spread * point == pytest.approx(high - low, rel=2e-3)
        assert one.high - one.low > 1.2 * (high - low) / point
