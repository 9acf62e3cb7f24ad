"""The exact Gaussian posterior equals the references, integration by hand, and its prior."""

import json

import numpy as np
import pytest
from scipy import stats

from analysis.statistics.mixed.convergence import LEAST_ESS
from analysis.statistics.mixed.exact_sampler import Sampling
from analysis.statistics.mixed.gaussian import (
    HLS_PRIOR,
    GaussianPrior,
    effects,
    gaussian_posterior,
    prior_for,
)
from analysis.statistics.mixed.linear_model import nested_reml
from analysis.statistics.mixed.posterior import compare
from analysis.statistics.mixed.sufficient_statistics import sums
from tests.analysis.mixed_data import att, posterior_reference, simulated
from tests.analysis.reference import DATA
from tests.analysis.simulation import sizes

SDS = {"sd_rater": "sd_rater", "sd_rater_condition": "sd_rs", "sd_residual": "sigma"}


def monte_carlo_errors(mean, mcse, r):
    """How many Monte Carlo standard errors two means are apart."""
    return abs(mean - r["mean"]) / np.hypot(mcse, r["sd"] / r["ess_bulk"] ** 0.5)


LARGE = pytest.param("att_s1", marks=pytest.mark.soak)  # 857 raters


@pytest.fixture(scope="module", params=[LARGE, "att_s2"])
def case(request):
    data = att(request.param)
    found = sums(data.y, data.codes("rater"), data.codes("system"))
    posterior = gaussian_posterior(found, HLS_PRIOR, Sampling(seed=3))
    return data, found, posterior, posterior_reference(request.param)["gaussian"]


@pytest.mark.slow
def test_conditions_and_sds_are_the_references(case):
    data, _, posterior, r = case
    said = posterior.summaries()
    for i, name in enumerate(data.names()):
        mine, theirs = said["condition"], r["system"][name]
        assert monte_carlo_errors(mine.mean[i], mine.mcse[i], theirs) < 4
        assert mine.sd[i] == pytest.approx(theirs["sd"], rel=0.06)
        ends = tuple(np.quantile(posterior.draws["condition"][:, :, i], [0.025, 0.975]))
        assert ends == pytest.approx(theirs["eti95"], abs=0.15 * theirs["sd"])
        assert (mine.low[i], mine.high[i]) == pytest.approx(theirs["hdi95"], abs=0.3 * theirs["sd"])
    for mine, theirs in SDS.items():
        assert monte_carlo_errors(said[mine].mean[0], said[mine].mcse[0], r["sd"][theirs]) < 4
        assert said[mine].sd[0] == pytest.approx(r["sd"][theirs]["sd"], rel=0.06)


@pytest.mark.slow
def test_differences_ranks_and_equivalence_are_the_references(case):
    data, _, posterior, r = case
    names = data.names()
    found = posterior.comparison(rope=r["rope"])
    for k, (i, j) in enumerate(zip(found.first, found.second, strict=True)):
        theirs = r["pairs"][f"{names[i]} - {names[j]}"]
        difference = found.difference
        assert monte_carlo_errors(difference.mean[k], difference.mcse[k], theirs) < 4
        assert found.p_greater[k] == pytest.approx(theirs["p_gt_0"], abs=0.03)
        assert found.p_equivalent[k] == pytest.approx(theirs["p_in_rope"], abs=0.04)
    for i, name in enumerate(names):
        assert found.p_best[i] == pytest.approx(r["p_best"][name], abs=0.03)
        assert found.expected_rank[i] == pytest.approx(r["mean_rank"][name], abs=0.03)
        np.testing.assert_allclose(found.rank_probability[i], r["rank_prob"][name], atol=0.03)


@pytest.mark.slow
def test_the_draws_are_nearly_independent(case):
    diagnostics = case[2].diagnostics
    assert max(diagnostics.r_hat.values()) < 1.01
    assert min(diagnostics.ess_bulk.values()) > 2000
    assert min(diagnostics.ess_tail.values()) > LEAST_ESS
    assert diagnostics.pareto_k < 0.5
    assert diagnostics.acceptance > 0.75


@pytest.mark.slow
def test_rater_effects_are_those_of_the_mixed_model_equations(case):
    """Averaged over draws they are near the predictions at the REML fit, shrunk alike."""
    _, found, posterior, _ = case
    u, w = effects(found, posterior, thin=10)
    fit = nested_reml(found)
    n, lam = found.count, (fit.sds["rater"] ** 2, fit.sds["rater:condition"] ** 2)
    precision = 1 / (lam[1] + fit.sds["residual"] ** 2 / np.maximum(n, 1e-9))
    residual = np.where(n > 0, found.total / np.maximum(n, 1e-9) + found.centre - fit.estimate, 0)
    blup = (precision * residual).sum(axis=1) / (1 / lam[0] + precision.sum(axis=1))
    assert u.shape == (400, len(n))
    assert w.shape == (400, *n.shape)
    assert np.corrcoef(u.mean(axis=0), blup)[0, 1] > 0.99
    assert u.mean(axis=0).std() == pytest.approx(blup.std(), rel=0.03)
    assert u.std(axis=1).mean() == pytest.approx(fit.sds["rater"], rel=0.08)


@pytest.mark.slow
def test_the_same_seed_gives_the_same_draws():
    data = att("att_s2")
    found = sums(data.y, data.codes("rater"), data.codes("system"))
    once, again, other = (gaussian_posterior(found, HLS_PRIOR, Sampling(seed=s)) for s in (1, 1, 2))
    for name in once.draws:
        np.testing.assert_array_equal(once.draws[name], again.draws[name])
        assert not np.array_equal(once.draws[name], other.draws[name])


@pytest.mark.slow
def test_a_tiny_posterior_is_the_one_integrated_on_a_grid():
    """3 raters, 1 condition, SD of rater marginal by brute force over the three SDs."""
    y = np.array([0.1, 0.3, 0.8, 0.9, 0.4, 0.2])
    rater = np.array([0, 0, 1, 1, 2, 2])
    posterior = gaussian_posterior(
        sums(y, rater, np.zeros(6, dtype=np.int64)), HLS_PRIOR, Sampling(seed=4, draws=5000)
    )
    same = (rater[:, None] == rater).astype(float)
    grid = (np.arange(40) + 0.5) / 40 * 1.8
    rater_sd, sd, both = (x[..., None, None] for x in np.meshgrid(*[grid] * 3, indexing="ij"))
    v = 1.0 + sd**2 * np.eye(6) + (rater_sd**2 + both**2) * same
    distance = y * np.linalg.solve(v, np.broadcast_to(y[:, None], (*v.shape[:3], 6, 1)))[..., 0]
    log = -(np.linalg.slogdet(v).logabsdet + distance.sum(axis=-1)) / 2
    log -= 2 * (rater_sd**2 + sd**2 + both**2)[..., 0, 0]
    weight = np.exp(log - log.max()).sum(axis=2)
    weight /= weight.sum()
    said = posterior.summaries()
    sd_rater = weight.sum(axis=1) @ grid
    residual = weight.sum(axis=0) @ grid
    assert said["sd_rater"].mean[0] == pytest.approx(sd_rater, abs=5 * said["sd_rater"].mcse[0])
    assert said["sd_residual"].mean[0] == pytest.approx(
        residual, abs=5 * said["sd_residual"].mcse[0] + 0.002
    )


def test_priors_follow_the_scale():
    assert prior_for(0, 1) == HLS_PRIOR
    assert prior_for(1, 5) == GaussianPrior(3.0, 2.0, 2.0)
    assert str(prior_for(1, 5)).startswith("means ~ Normal(3, 2); SDs of all effects")


def test_ranks_count_the_best_first():
    draws = np.array([[[3.0, 2.0, 1.0], [1.0, 3.0, 2.0]]])
    draws = np.repeat(draws, 50, axis=1)
    found = compare(draws, rope=1.5)
    assert found.p_best.tolist() == [0.5, 0.5, 0.0]
    assert found.expected_rank.tolist() == [2.0, 1.5, 2.5]
    assert found.rank_probability.tolist() == [[0.5, 0, 0.5], [0.5, 0.5, 0], [0, 0.5, 0.5]]
    assert found.p_greater.tolist() == [0.5, 0.5, 1.0]
    assert found.p_equivalent.tolist() == [0.5, 0.5, 1.0]


@pytest.mark.medium
def test_a_half_normal_prior_keeps_its_mass_where_the_data_say_nothing():
    """One rating a rater and condition: rater:condition and error share what is left over."""
    rng = np.random.default_rng(0)
    truth = {"means": [0.4, 0.6], "sd_rater": 0.2, "sd_both": 0.1, "sd": 0.1}
    found = sums(*simulated(rng, raters=40, conditions=2, repeats=1, **truth))
    posterior = gaussian_posterior(found, HLS_PRIOR)
    assert posterior.diagnostics.refusal is None
    both, rest = posterior.draws["sd_rater_condition"], posterior.draws["sd_residual"]
    assert np.sqrt(both**2 + rest**2).mean() == pytest.approx(0.141, abs=0.03)
    assert np.corrcoef(both.ravel(), rest.ravel())[0, 1] < -0.5


@pytest.mark.slow
@pytest.mark.no_cover
@sizes(15, 200)
def test_ranks_of_the_truth_among_draws_are_uniform(runs):
    """Simulation-based calibration (Talts et al. 2018): parameters drawn from the prior."""
    rng = np.random.default_rng(11)
    ranks = []
    for seed in range(runs):
        sds = np.abs(rng.standard_normal(3)) * 0.5
        beta = rng.standard_normal(3)
        truth = {"means": beta, "sd_rater": sds[0], "sd_both": sds[1], "sd": sds[2]}
        data = simulated(rng, raters=10, conditions=3, repeats=3, **truth)
        draws = gaussian_posterior(sums(*data), HLS_PRIOR, Sampling(seed=seed, draws=250)).draws
        named = [draws["condition"][:, :, 0], *(draws[name] for name in SDS)]
        known = [beta[0], *sds]
        ranks.append([(d < t).mean() for d, t in zip(named, known, strict=True)])
    for column in np.array(ranks).T:
        assert stats.kstest(column, "uniform").pvalue > 0.001


@pytest.mark.slow
def test_the_posterior_of_att_s1_is_that_of_brms():
    """brms 2.18 drew by NUTS with the same priors: an independent sampler and likelihood."""
    rows = json.loads((DATA / "att_s1.brms.json").read_text("utf-8"))["summary"]
    theirs = {row["variable"]: row for row in rows}
    data = att("att_s1")
    found = sums(data.y, data.codes("rater"), data.codes("system"))
    said = gaussian_posterior(found, HLS_PRIOR).summaries()
    for name, mean, sd in zip(
        data.names(), said["condition"].mean, said["condition"].sd, strict=True
    ):
        row = theirs[f"b_system{name.replace('-', 'M')}"]
        assert mean == pytest.approx(row["mean"], abs=4 * row["sd"] / 950**0.5)
        assert sd == pytest.approx(row["sd"], rel=0.1)
    for mine, name in zip(SDS, ("sd_rater__", "sd_rater:system__", "sigma"), strict=True):
        row = theirs[name if name == "sigma" else f"{name}Intercept"]
        assert said[mine].mean[0] == pytest.approx(row["mean"], abs=4 * row["sd"] / 900**0.5)
