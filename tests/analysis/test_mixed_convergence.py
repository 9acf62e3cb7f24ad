"""R-hat, effective sample sizes and Pareto k equal ArviZ 0.23.4; the refusal says what to do."""

import numpy as np
import pytest
from scipy.signal import lfilter
from scipy.special import ndtri

from analysis.statistics.mixed.convergence import (
    Quality,
    diagnose,
    ess_bulk,
    ess_tail,
    pareto_k,
    r_hat,
)
from analysis.statistics.mixed.posterior import Posterior, highest_density

ARVIZ = {  # kind: (rhat, ess bulk, ess tail) of the chains below, as ArviZ 0.23.4 gave them
    "iid": (1.0026086077699803, 1613.16328671925, 1932.2795622179876),
    "slow": (1.0376396362773224, 91.21920853313708, 276.4028454916424),
    "alternating": (1.0016933037557212, 5087.83071666814, 1840.3138132844283),
    "shifted": (1.0339750635282074, 110.14640654900884, 1554.5563368266037),
    "heavy": (0.9990270307630347, 2073.9611395477755, 1951.6707595234595),
}


def chains(kind):
    rng = np.random.default_rng(7)
    normal = rng.standard_normal((4, 500))
    if kind == "slow":
        return lfilter([1], [1, -0.9], normal, axis=1)
    if kind == "alternating":
        return lfilter([1], [1, 0.5], normal, axis=1)
    if kind == "shifted":
        return normal + np.array([[0], [0], [0], [0.5]])
    return rng.standard_cauchy((4, 500)) if kind == "heavy" else normal


def alike():
    """360 independent draws: each chain holds the same values in an order of its own."""
    values = ndtri((np.arange(90) + 0.5) / 90)
    rng = np.random.default_rng(0)
    return np.array([rng.permutation(values) for _ in range(4)])


@pytest.mark.parametrize("kind", list(ARVIZ))
def test_r_hat_and_effective_sample_sizes_are_arvizs(kind):
    x = chains(kind)
    assert (r_hat(x), ess_bulk(x), ess_tail(x)) == pytest.approx(ARVIZ[kind], rel=1e-10)


@pytest.mark.parametrize("k", [0.2, 0.5, 0.9])
def test_pareto_k_recovers_the_shape_of_a_generalised_pareto_tail(k):
    u = np.random.default_rng(1).random(200_000)
    weights = 1 + (u**-k - 1) / k
    assert pareto_k(np.log(weights)) == pytest.approx(k, abs=0.06)


def test_equal_weights_have_no_tail_and_nearly_none_are_not_trusted():
    assert pareto_k(np.zeros(1000)) < 0
    assert pareto_k(np.full(1000, -np.inf)) == np.inf


@pytest.mark.parametrize(
    ("draws", "said"),
    [
        (chains("shifted"), "the chains disagree: R-hat of condition is 1.034, not below 1.01"),
        (alike(), "the bulk effective sample size of condition is"),
        (np.ones((4, 500)), "the chains disagree: R-hat of condition is nan"),
    ],
)
def test_bad_draws_are_refused_with_reason_and_remedy(draws, said):
    refusal = diagnose({"condition": draws}).refusal
    assert refusal.reason.startswith(said)
    assert refusal.remedy.startswith("take more draws")


def test_too_few_draws_after_all_that_may_be_taken_are_not_to_be_met_with_more():
    refusal = diagnose({"condition": alike()}, Quality(2880, 32, 0.1, 0.2)).refusal
    assert refusal.reason.endswith("not above 400, after 2,880 draws of each chain")
    assert refusal.remedy == "sample this model by NUTS (the general model)"


def test_a_bad_pareto_k_is_refused_and_good_draws_are_not():
    good = np.random.default_rng(0).standard_normal((4, 1000, 3))
    assert diagnose({"condition": good}, Quality(1000, 1, 0.8, 0.7)).refusal is None
    refused = diagnose({"condition": good}, Quality(1000, 1, 0.8, 0.71)).refusal
    assert str(refused) == (
        "Pareto k of the importance weights is 0.71, above 0.7;"
        " sample this model by NUTS (the general model)"
    )


def test_a_refused_posterior_gives_no_ranking():
    draws = {"condition": chains("shifted")[:, :, None] + np.zeros(2)}
    posterior = Posterior(draws, diagnose(draws), "none", 10)
    assert posterior.comparison(rope=0.1) == posterior.diagnostics.refusal


def test_the_highest_density_interval_is_arvizs():
    draws = np.random.default_rng(1).gamma(2, 1, 1000)[:, None]
    low, high = highest_density(draws)
    assert (low[0], high[0]) == pytest.approx((0.01429592, 4.65289728), abs=1e-7)
