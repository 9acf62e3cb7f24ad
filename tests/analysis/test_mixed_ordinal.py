"""The nested ordinal model equals adaptive quadrature (21 x 15) and the exact posterior."""

from typing import Any, NamedTuple

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit

from analysis.statistics.mixed import ordinal_fit
from analysis.statistics.mixed.exact_sampler import Sampling
from analysis.statistics.mixed.family_model import modelled, ordinal_counts
from analysis.statistics.mixed.model_contrasts import pairs
from analysis.statistics.mixed.model_errors import NotEstimable
from analysis.statistics.mixed.ordinal_fit import (
    FAST,
    FINE,
    Grid,
    MarginalLikelihood,
    OrdinalPrior,
    Points,
    expected_scores,
    label_counts,
    log_probabilities,
    ordinal_ml,
    ordinal_posterior,
)
from tests.analysis.mixed_data import att, column, mos, posterior_reference, values
from tests.analysis.reference import edge, expected

HLS = np.array([0.0, 0.5, 1.0])


class Parameters(NamedTuple):
    beta: Any
    cut: Any
    sd_rater: float
    sd_rater_condition: float


def points_of(*parameters):
    return Points(*(np.array(each, dtype=np.float64) for each in zip(*parameters, strict=True)))


def log_likelihood(model, p, grid=FINE):
    return model.values(points_of(p), grid)[0]


LARGE = pytest.param("att_s1", marks=pytest.mark.soak)  # 857 raters


def counts_of(data, label=None):
    label = data.label if label is None else label
    return label_counts(label, data.codes("rater"), data.codes("system"))


def parameters(r):
    cut = np.array([-r["d"], r["d"]])
    return Parameters(values(r["beta"]), cut, r["sd_rater"], r["sd_rs"])


def simulated_labels(rng, *, raters, repeats, p):
    """Labels of a complete design from the cumulative logit model: (label, rater, condition)."""
    s = len(p.beta)
    rater, condition, _ = (x.reshape(-1) for x in np.indices((raters, s, repeats), dtype=np.int64))
    eta = p.beta[condition] + p.sd_rater * rng.standard_normal(raters)[rater]
    eta = eta + p.sd_rater_condition * rng.standard_normal((raters, s))[rater, condition]
    latent = eta + rng.logistic(size=len(eta))
    return (latent[:, None] > p.cut).sum(axis=1).astype(np.int64), rater, condition


@pytest.mark.slow
@pytest.mark.parametrize("name", [LARGE, "att_s2"])
def test_the_maximum_is_that_of_adaptive_quadrature(name):
    r = posterior_reference(name)["aghq_mle"]
    fit = ordinal_ml(counts_of(att(name)))
    assert fit.log_likelihood == pytest.approx(r["logLik"], abs=2e-6)
    np.testing.assert_allclose(fit.estimate, values(r["beta"]), rtol=1e-5)
    np.testing.assert_allclose(fit.se, values(r["se"]), rtol=2e-6)
    assert fit.cut == pytest.approx([-r["d"], r["d"]], rel=1e-5)
    assert fit.sds["rater"] == pytest.approx(r["sd_rater"], rel=1e-5)
    assert fit.sds["rater:condition"] == pytest.approx(r["sd_rs"], rel=1e-5)
    found = pairs(fit)
    np.testing.assert_allclose(found.value, [x["est"] for x in r["diff"].values()], rtol=1e-5)
    np.testing.assert_allclose(found.se, [x["se"] for x in r["diff"].values()], rtol=2e-6)
    assert (found.degrees == np.inf).all()


@pytest.mark.slow
@pytest.mark.parametrize("name", [LARGE, "att_s2"])
def test_contrasts_are_clmms_but_for_its_laplace_error(name):
    fit, r = ordinal_ml(counts_of(att(name))), expected(name)["clmm"]
    names = att(name).names()
    mine = fit.estimate[1:] - fit.estimate[0]
    theirs = np.array([r["coef"][f"system{system}"] for system in names[1:]])
    np.testing.assert_allclose(mine, theirs, rtol=0.03)
    assert fit.sds["rater:condition"] > r["sd"]["rs"]


@pytest.mark.soak
def test_two_labels_are_the_binary_model():
    """glmer is Laplace: its log-likelihood and SD are too low, its contrasts 1 % off."""
    data, r = att("att_s1"), expected("att_s1")["glmm_binary"]
    fit = ordinal_ml(counts_of(data, (data.label == 2).astype(np.int64)))
    assert fit.cut.tolist() == [0.0]
    assert fit.sds["rater:condition"] == pytest.approx(0.541, abs=5e-4)
    mine, theirs = pairs(fit), r["pairs_none"]
    np.testing.assert_allclose(mine.value, column(theirs, "estimate"), rtol=0.015)
    np.testing.assert_allclose(mine.se, column(theirs, "SE"), rtol=0.07)
    assert fit.log_likelihood > r["logLik"]


@pytest.fixture(scope="module", params=[LARGE, "att_s2"])
def case(request):
    data = att(request.param)
    posterior = ordinal_posterior(counts_of(data), scores=HLS, sampling=Sampling(seed=2))
    return data, posterior, posterior_reference(request.param)["ordinal"]


def monte_carlo_errors(mean, mcse, r):
    return abs(mean - r["mean"]) / np.hypot(mcse, r["sd"] / r.get("ess_bulk", 10_000) ** 0.5)


@pytest.mark.slow
def test_the_posterior_is_the_reference(case):
    data, posterior, r = case
    said = posterior.summaries()
    for i, name in enumerate(data.names()):
        for mine, theirs in (("condition", "system"), ("score", "hls_population")):
            found, known = said[mine], r[theirs][name]
            assert monte_carlo_errors(found.mean[i], found.mcse[i], known) < 4
            assert found.sd[i] == pytest.approx(known["sd"], rel=0.07)
            ends = tuple(np.quantile(posterior.draws[mine][:, :, i], [0.025, 0.975]))
            assert ends == pytest.approx(known["eti95"], abs=0.2 * known["sd"])
    for mine, theirs in (("sd_rater", "sd_rater"), ("sd_rater_condition", "sd_rs")):
        assert monte_carlo_errors(said[mine].mean[0], said[mine].mcse[0], r["sd"][theirs]) < 4
    assert monte_carlo_errors(said["cut"].mean[1], said["cut"].mcse[1], r["cut"][1]) < 4


@pytest.mark.slow
def test_differences_and_ranks_are_the_reference(case):
    data, posterior, r = case
    names = data.names()
    found = posterior.comparison(rope=r["rope"])
    for k, (i, j) in enumerate(zip(found.first, found.second, strict=True)):
        theirs = r["pairs"][f"{names[i]} - {names[j]}"]
        assert monte_carlo_errors(found.difference.mean[k], found.difference.mcse[k], theirs) < 4
        assert found.p_greater[k] == pytest.approx(theirs["p_gt_0"], abs=0.03)
        assert found.p_equivalent[k] == pytest.approx(theirs["p_in_rope"], abs=0.04)
    for i, name in enumerate(names):
        np.testing.assert_allclose(found.rank_probability[i], r["rank_prob"][name], atol=0.03)


@pytest.mark.slow
def test_the_draws_are_trusted(case):
    diagnostics = case[1].diagnostics
    assert diagnostics.refusal is None
    assert min(diagnostics.ess_bulk.values()) > 1000
    assert diagnostics.pareto_k < 0.7


@pytest.mark.slow
def test_the_likelihood_is_the_integral_by_brute_force():
    rng = np.random.default_rng(3)
    p = Parameters(np.array([-0.5, 0.8]), np.array([-1.0, 0.2, 0.8]), 1.2, 0.6)
    counts = label_counts(*simulated_labels(rng, raters=3, repeats=4, p=p))
    u, w = np.linspace(-9, 9, 1201), np.linspace(-5, 5, 801)
    density_u, density_w = np.exp(-0.5 * (u / 1.2) ** 2), np.exp(-0.5 * (w / 0.6) ** 2)
    total = 0.0
    for rater in counts:
        inner = np.ones_like(u)
        for s, n in enumerate(rater):
            at = (p.beta[s] + u[:, None] + w).ravel()
            heights = np.exp(n @ log_probabilities(at, p.cut)).reshape(len(u), -1)
            inner *= heights @ density_w / density_w.sum()
        total += np.log(inner @ density_u / density_u.sum())
    model = MarginalLikelihood(counts)
    assert log_likelihood(model, p, FINE) == pytest.approx(total, abs=1e-9)
    assert log_likelihood(model, p, FAST) == pytest.approx(total, abs=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("name", [LARGE, "att_s2"])
def test_both_grids_are_fine_enough(name):
    model, p = (
        MarginalLikelihood(counts_of(att(name))),
        parameters(posterior_reference(name)["aghq_mle"]),
    )
    best = log_likelihood(model, p, Grid(0.4, 9.0))
    assert log_likelihood(model, p, FINE) == pytest.approx(best, abs=1e-7)
    assert log_likelihood(model, p, FAST) == pytest.approx(best, abs=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("sd", [0.01, pytest.param(0.003, marks=pytest.mark.soak)])
def test_the_rule_for_next_to_no_variance_is_the_other_rule(sd, monkeypatch):
    r = posterior_reference("att_s2")["aghq_mle"]
    model, p = MarginalLikelihood(counts_of(att("att_s2"))), parameters(r)
    small = Parameters(p.beta, p.cut, p.sd_rater, sd)
    few = log_likelihood(model, small)
    monkeypatch.setattr(ordinal_fit, "HERMITE", 10**6)  # the trapezoid rule, however many nodes
    many = log_likelihood(model, small)
    assert few != many
    assert few == pytest.approx(many, abs=1e-8)


@pytest.mark.medium
def test_an_effect_of_no_size_is_no_effect():
    r = posterior_reference("att_s2")["aghq_mle"]
    model, p = MarginalLikelihood(counts_of(att("att_s2"))), parameters(r)
    none, tiny = (
        log_likelihood(model, Parameters(p.beta, p.cut, p.sd_rater, sd)) for sd in (1e-7, 1e-4)
    )
    assert none == pytest.approx(tiny, abs=1e-5)


def test_probabilities_of_labels_sum_to_one_even_far_out():
    cut = np.array([-1.0, 0.0, 1.0])
    x = np.array([-300.0, -5.0, 0.3, 40.0, 700.0])
    logs = log_probabilities(x, cut)
    assert np.isfinite(logs).all()
    np.testing.assert_allclose(np.exp(logs).sum(axis=0), 1.0, rtol=1e-12)
    by_hand = np.array([expit(-1.3), expit(-0.3) - expit(-1.3), expit(0.7) - expit(-0.3)])
    np.testing.assert_allclose(np.exp(logs[:3, 2]), by_hand, rtol=1e-12)


def test_expected_scores_average_over_new_raters():
    rng = np.random.default_rng(0)
    beta, cut = np.array([[0.4, -1.0]]), np.array([[-0.7, 0.7]])
    found = expected_scores(beta, cut, np.array([1.5]), np.array([1.0, 2.0, 4.0]))
    eta = beta[0] + 1.5 * rng.standard_normal((400_000, 1))
    brute = 1.0 + expit(eta + 0.7) + 2 * expit(eta - 0.7)
    np.testing.assert_allclose(found[0], brute.mean(axis=0), atol=0.005)


@pytest.mark.slow
def test_known_parameters_come_back_with_nine_labels():
    truth = Parameters(
        np.array([1.0, 0.0, -1.0]), np.linspace(-2.4, 2.4, 7), sd_rater=0.8, sd_rater_condition=0.4
    )
    rng = np.random.default_rng(6)
    fit = ordinal_ml(label_counts(*simulated_labels(rng, raters=300, repeats=6, p=truth)))
    np.testing.assert_array_less(np.abs(fit.estimate - truth.beta) / fit.se, 3.0)
    np.testing.assert_allclose(fit.cut, truth.cut, atol=0.12)
    for name, sd in (("rater", 0.8), ("rater:condition", 0.4)):
        assert abs(fit.sds[name] - sd) < 3 * fit.sd_errors[name]


@pytest.mark.slow
def test_contrasts_of_mos_s2_are_near_the_truth():
    """Without text effects they are a little closer to 0 than clmm's with them."""
    data, r = mos("mos_s2"), expected("mos_s2")["clmm_isolation"]["coef"]
    label = np.unique(data.y, return_inverse=True)[1]
    fit = ordinal_ml(counts_of(data, label))
    mine = fit.estimate[1:] - fit.estimate[0]
    np.testing.assert_allclose(mine, [r[f"system{s}"] for s in "BCDE"], atol=0.08)


@pytest.mark.soak
def test_separated_conditions_have_no_maximum_but_a_posterior():
    label = np.repeat([2, 0, 1], 20)
    condition = np.repeat([0, 1, 2], 20)
    counts = label_counts(label, np.tile(np.arange(5), 12), condition)
    with pytest.raises(NotEstimable, match="condition 0 got one extreme label only"):
        ordinal_ml(counts)
    posterior = ordinal_posterior(counts, scores=HLS)
    assert posterior.diagnostics.refusal is None
    score = posterior.summaries()["score"].mean
    assert score[0] > 0.9
    assert score[1] < 0.1
    assert score[2] == pytest.approx(0.5, abs=0.05)


@pytest.mark.medium
def test_an_effect_that_is_not_there_is_zero_and_said_so():
    label = np.tile([0, 1, 2, 1], 30)
    rater, condition = np.repeat(np.arange(20), 6), np.tile([0, 1], 60)
    fit = ordinal_ml(label_counts(label, rater, condition))
    assert fit.sds == {"rater": 0.0, "rater:condition": 0.0}
    assert "no variance was found for rater: it is estimated as 0" in fit.notes


def test_labels_that_tell_nothing_are_refused_in_words():
    codes = np.zeros(4, dtype=np.int64)
    with pytest.raises(NotEstimable, match="all ratings carry the same label"):
        label_counts(codes, np.arange(4), codes)
    with pytest.raises(NotEstimable, match="there is one rater"):
        label_counts(np.arange(4), codes, codes)
    with pytest.raises(NotEstimable, match="a label or a condition was never used"):
        label_counts(np.array([0, 2, 2, 0]), np.arange(4), codes)


def test_the_prior_is_told_in_words():
    assert str(OrdinalPrior()).startswith("condition logits ~ Normal(0, 2.5); gaps between cut")


@pytest.mark.soak
@pytest.mark.no_cover
def test_ranks_of_the_truth_among_draws_are_uniform():
    """Simulation-based calibration (Talts et al. 2018): parameters drawn from the prior."""
    rng = np.random.default_rng(12)
    ranks = []
    for seed in range(30):
        gap, rater, inner = np.abs(rng.standard_normal(3)) * (2.0, 2.0, 1.0)
        p = Parameters(2.5 * rng.standard_normal(2), np.array([-gap, gap]) / 2, rater, inner)
        labels = simulated_labels(rng, raters=10, repeats=4, p=p)
        if len(np.unique(labels[0])) < 3:
            continue  # nearly always the smallest gap: the rank of the gap is not tested
        draws = ordinal_posterior(
            label_counts(*labels), sampling=Sampling(seed=seed, draws=100)
        ).draws
        named = [draws["condition"][:, :, 0], draws["sd_rater"], draws["sd_rater_condition"]]
        ranks.append(
            [(d < t).mean() for d, t in zip(named, (p.beta[0], rater, inner), strict=True)]
        )
    for found in np.array(ranks).T:
        assert stats.kstest(found, "uniform").pvalue > 0.001


def test_effects_that_the_design_cannot_tell_apart_are_left_out():
    """Raters of one condition each: only one of the two effects can be estimated."""
    rng = np.random.default_rng(1)
    p = Parameters(np.array([0.0]), np.array([-1.0, 1.0]), 1.0, 1e-9)
    label, rater, _ = simulated_labels(rng, raters=40, repeats=6, p=p)
    fit = ordinal_ml(label_counts(label, rater, rater % 2))
    assert fit.sds["rater"] > 0.3
    assert fit.sds["rater:condition"] == 0
    assert fit.notes[0].startswith("rater:condition was left out: no rater rated two conditions")


def test_one_rating_a_rater_is_logistic_regression_of_shares():
    label = np.repeat([0, 1, 0, 1], [30, 10, 15, 25])
    condition = np.repeat([0, 1], 40)
    fit = ordinal_ml(label_counts(label, np.arange(80), condition))
    assert fit.estimate == pytest.approx([np.log(10 / 30), np.log(25 / 15)], abs=1e-6)
    assert fit.se == pytest.approx([(1 / 10 + 1 / 30) ** 0.5, (1 / 25 + 1 / 15) ** 0.5], rel=1e-5)


def test_three_ratings_have_no_maximum_and_say_so():
    label, rater, condition = np.array([0, 2, 1]), np.array([0, 1, 1]), np.array([0, 0, 1])
    with pytest.raises(NotEstimable, match="as the logit of condition 1 falls; use the Bayes"):
        ordinal_ml(label_counts(label, rater, condition))


def test_large_leanings_of_raters_who_are_otherwise_alike_are_integrated():
    rng = np.random.default_rng(5)
    p = Parameters(np.array([0.5, -0.5]), np.array([-1.0, 0.0, 1.0]), 1e-5, 6.0)
    model = MarginalLikelihood(label_counts(*simulated_labels(rng, raters=10, repeats=20, p=p)))
    assert log_likelihood(model, p) == pytest.approx(log_likelihood(model, p, Grid(0.2, 9.0)), 1e-7)


@pytest.mark.parametrize("inner", [1e-3, 0.5, 3.0])
def test_slopes_are_those_of_the_likelihood(inner):
    rng = np.random.default_rng(8)
    p = Parameters(np.array([0.5, -0.5]), np.array([-1.0, 0.0, 1.0]), 0.7, inner)
    model = MarginalLikelihood(label_counts(*simulated_labels(rng, raters=8, repeats=5, p=p)))
    value, slopes = model.slopes(points_of(p), FINE)
    assert value[0] == log_likelihood(model, p)

    def moved(name, place, by):
        changed = {key: np.array(each, dtype=np.float64) for key, each in p._asdict().items()}
        changed[name][place] += by
        return log_likelihood(model, Parameters(**changed))

    for name, place, step in (
        ("beta", 0, 1e-4),
        ("beta", 1, 1e-4),
        ("cut", 0, 1e-4),
        ("cut", 1, 1e-4),
        ("cut", 2, 1e-4),
        ("sd_rater", (), 1e-4),
        ("sd_rater_condition", (), 1e-4 * inner),
    ):
        found = (moved(name, place, step) - moved(name, place, -step)) / (2 * step)
        assert np.atleast_1d(getattr(slopes, name)[0])[place or 0] == pytest.approx(
            found, 1e-5, 1e-5
        )


@pytest.mark.medium
def test_many_parameters_at_once_give_what_each_gives_alone():
    rng = np.random.default_rng(9)
    p = Parameters(np.array([0.5, -0.5]), np.array([-1.0, 0.0, 1.0]), 0.7, 0.4)
    model = MarginalLikelihood(label_counts(*simulated_labels(rng, raters=8, repeats=5, p=p)))
    sds = np.exp(rng.uniform(-8, 3.5, (40, 2)))
    several = [p._replace(sd_rater=a, sd_rater_condition=b) for a, b in sds]
    together = model.values(points_of(*several), FINE)
    alone = np.array([log_likelihood(model, each) for each in several])
    assert np.isneginf(together).any()  # an SD above 25
    np.testing.assert_array_equal(np.isneginf(together), np.isneginf(alone))
    held = np.isfinite(alone)
    np.testing.assert_allclose(together[held], alone[held], atol=1e-6)


@pytest.mark.slow
def test_a_small_study_takes_few_evaluations(monkeypatch):
    """57 ratings once took 30,000 one by one."""
    counted = []
    plain = MarginalLikelihood.values
    monkeypatch.setattr(
        MarginalLikelihood,
        "values",
        lambda self, p, grid: counted.append(len(p.beta)) or plain(self, p, grid),
    )
    (each,) = modelled(edge("missing"))
    posterior = ordinal_posterior(ordinal_counts(each)[0])
    assert posterior.diagnostics.refusal is None
    assert sum(counted) < 20_000
    assert len(counted) < 20
