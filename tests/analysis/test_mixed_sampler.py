"""Exact draws: ridges and bends are followed, more draws are taken where few do not suffice."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

from analysis.statistics.mixed import exact_sampler
from analysis.statistics.mixed.convergence import diagnose
from analysis.statistics.mixed.exact_sampler import (
    Mixture,
    Mode,
    by_differences,
    mode,
    near_mode,
    samples,
)
from analysis.statistics.mixed.gaussian import (
    GaussianPrior,
    gaussian_posterior,
    prior_for,
    truncated_normal,
)
from analysis.statistics.mixed.model_errors import NotEstimable
from analysis.statistics.mixed.sufficient_statistics import sums
from tests.analysis.mixed_data import simulated

TRUTH = {"means": [2.5, 3.0, 3.5, 4.0], "sd_rater": 0.5, "sd_both": 0.5, "sd": 0.5}
AT_0 = Mode(np.zeros(2), 0.0, np.diag([1.0, 0.09]))


def banana(x):
    """A normal ridge along x2 = x1^2: mean (0, 1), the SD of x1 is 1 and that across 0.3."""
    return -0.5 * x[:, 0] ** 2 - 0.5 * ((x[:, 1] - x[:, 0] ** 2) / 0.3) ** 2


def drawn(log_density, around=AT_0, seed=1, **options):
    given = {"chains": 4, "draws": 500, "degrees": 6.0, "even": 0, **options}
    return samples(log_density, around, np.random.default_rng(seed), **given)


@pytest.mark.medium
def test_a_bent_ridge_is_followed():
    for sample in drawn(banana):
        diagnostics = diagnose({"x": sample.draws}, sample.quality)
        if diagnostics.refusal is None:
            break
    assert diagnostics.refusal is None
    x = sample.draws.reshape(-1, 2)
    assert x[:, 0].std() == pytest.approx(1, rel=0.1)
    assert x[:, 1].mean() == pytest.approx(1, rel=0.15)
    assert (x[:, 1] - x[:, 0] ** 2).std() == pytest.approx(0.3, rel=0.1)


@pytest.mark.medium
def test_draws_are_taken_until_the_budget_is_used_up_and_counted(monkeypatch):
    monkeypatch.setattr(exact_sampler, "MOST_TIMES", 4)
    found = [sample.quality for sample in drawn(banana, draws=1000)]
    assert [each.taken for each in found] == [1000, 2000, 4000]
    assert [each.thin for each in found] == [1, 2, 4]
    shapes = [sample.draws.shape for sample in drawn(banana, draws=100)]
    assert shapes == [(4, 100, 2), (4, 200, 2), (4, 400, 2)]  # few are all kept
    assert len(list(drawn(banana, most=0.5))) == 1


@pytest.mark.medium
def test_a_mixture_has_the_density_of_what_it_draws():
    rng = np.random.default_rng(0)
    mixture = Mixture(
        np.array([0.3, 0.7]),
        np.array([[0.0, 0.4], [1.0, -0.2]]),
        np.array([[[0.5, 0.0], [0.2, 0.3]], [[0.4, 0.0], [-0.1, 0.6]]]),
        np.array([5.0, 3.0]),
        1,
    )
    x = mixture.draw(rng, 100_000)
    assert x[:, 1].min() >= 0
    flips = [np.array([1.0, sign]) for sign in (1, -1)]
    parts = [
        np.log(share) + stats.multivariate_t(centre, root @ root.T, degrees).logpdf(x * flip)
        for share, centre, root, degrees in zip(*list(vars(mixture).values())[:4], strict=True)
        for flip in flips
    ]
    np.testing.assert_allclose(mixture.log_density(x), logsumexp(parts, axis=0), atol=1e-9)
    inside = (x[:, 0] < 0.5) & (x[:, 1] < 0.5)
    box = np.stack(np.meshgrid(np.linspace(-8, 0.5, 800), np.linspace(0, 0.5, 200)), axis=-1)
    heights = np.exp(mixture.log_density(box.reshape(-1, 2)))
    assert inside.mean() == pytest.approx(heights.mean() * 8.5 * 0.5, abs=0.006)


@pytest.mark.medium
def test_raters_who_rate_each_condition_once_are_ranked():
    """Rater by condition and residual then add up, whatever their shares: a ridge."""
    data = simulated(np.random.default_rng(4), raters=100, conditions=4, repeats=1, **TRUTH)
    posterior = gaussian_posterior(sums(*data), prior_for(1, 5))
    assert posterior.diagnostics.refusal is None
    assert posterior.diagnostics.taken == 1000
    both, rest = posterior.draws["sd_rater_condition"], posterior.draws["sd_residual"]
    angle = np.arctan2(both, rest).ravel() / (np.pi / 2)
    assert stats.kstest(angle[::4], "uniform").pvalue > 0.001
    assert np.sqrt(both**2 + rest**2).mean() == pytest.approx(0.5**0.5, rel=0.1)


@pytest.mark.medium
@pytest.mark.parametrize(
    ("raters", "conditions", "pick"),
    [(60, 1, lambda rater, condition: rater >= 0), (40, 4, lambda r, c: r % 4 == c)],
    ids=["one rating a rater", "one condition a rater"],
)
def test_effects_that_no_design_tells_apart_share_one_size(raters, conditions, pick):
    repeats = 1 if conditions == 1 else 3
    y, rater, condition = simulated(
        np.random.default_rng(2),
        raters=raters,
        conditions=conditions,
        repeats=repeats,
        **{**TRUTH, "means": TRUTH["means"][:conditions]},
    )
    used = pick(rater, condition)
    posterior = gaussian_posterior(sums(y[used], rater[used], condition[used]), prior_for(1, 5))
    assert posterior.diagnostics.refusal is None
    u, w = posterior.draws["sd_rater"].ravel(), posterior.draws["sd_rater_condition"].ravel()
    assert stats.ks_2samp(u[::4], w[::4]).pvalue > 0.001
    told = u**2 + w**2
    if conditions == 1:
        told = told + posterior.draws["sd_residual"].ravel() ** 2
    assert np.sqrt(told.mean()) == pytest.approx((0.75 if conditions == 1 else 0.5) ** 0.5, rel=0.3)


@pytest.mark.medium
def test_means_near_an_end_of_the_scale_stay_on_it():
    rng = np.random.default_rng(3)
    y = np.clip(np.rint(rng.normal([4.9, 3.0], 0.5, (12, 6, 2))), 1, 5)
    rater, _, condition = np.indices(y.shape)
    found = sums(y.ravel(), rater.ravel(), condition.ravel())
    free, held = (
        gaussian_posterior(found, GaussianPrior(3.0, 2.0, 2.0, ends)) for ends in (None, (1, 5))
    )
    assert free.draws["condition"].max() > 5
    assert held.diagnostics.refusal is None
    assert held.draws["condition"].max() <= 5
    inside = free.draws["condition"].reshape(-1, 2)
    inside = inside[inside.max(axis=1) <= 5]
    mine = held.draws["condition"].reshape(-1, 2)
    np.testing.assert_allclose(mine.mean(axis=0), inside.mean(axis=0), atol=0.02)
    np.testing.assert_allclose(mine.std(axis=0), inside.std(axis=0), rtol=0.1)


def test_a_truncated_normal_is_scipys_and_its_weight_the_share_inside():
    rng = np.random.default_rng(0)
    mean, root = np.full((20_000, 1), 0.8), np.full((20_000, 1, 1), 0.5)
    values, weight = truncated_normal(mean, root, (0.0, 1.0), rng)
    exact = stats.truncnorm(-1.6, 0.4, 0.8, 0.5)
    assert stats.kstest(values.ravel(), exact.cdf).pvalue > 0.001
    share = stats.norm.cdf(0.4) - stats.norm.cdf(-1.6)
    np.testing.assert_allclose(weight, np.log(share))


def test_without_ends_it_is_the_normal_itself():
    mean, root = np.tile([1.0, -2.0], (4000, 1)), np.tile([[1.0, 0.0], [0.5, 2.0]], (4000, 1, 1))
    rng = np.random.default_rng(4)
    values, weight = truncated_normal(mean, root, (-np.inf, np.inf), rng)
    assert (weight == 0).all()
    assert stats.kstest(values[:, 0], stats.norm(1, 1).cdf).pvalue > 0.001
    assert stats.kstest(values[:, 1], stats.norm(-2, np.sqrt(4.25)).cdf).pvalue > 0.001


@pytest.mark.medium
def test_weights_make_two_truncated_normals_exact():
    rng = np.random.default_rng(1)
    root = np.array([[1.0, 0.0], [0.8, 0.6]])
    mean = np.array([0.9, 0.2])
    n = 40_000
    values, weight = truncated_normal(np.tile(mean, (n, 1)), np.tile(root, (n, 1, 1)), (0, 1), rng)
    plain = mean + rng.standard_normal((20 * n, 2)) @ root.T
    plain = plain[((plain >= 0) & (plain <= 1)).all(axis=1)]
    w = np.exp(weight) / np.exp(weight).sum()
    np.testing.assert_allclose(w @ values, plain.mean(axis=0), atol=0.005)
    assert np.exp(weight).mean() == pytest.approx(len(plain) / (20 * n), rel=0.02)


def test_far_beyond_an_end_draws_lie_at_it():
    mean, root = np.full((50, 1), 40.0), np.full((50, 1, 1), 0.5)
    values, weight = truncated_normal(mean, root, (0.0, 1.0), np.random.default_rng(0))
    assert (values == 1.0).all()
    assert (weight < -600).all()


def test_a_density_that_rises_to_its_bounds_is_named_in_words():
    def rising(x):
        return x[:, 1] - 0.5 * x[:, 0] ** 2

    bounds, names = [(-9.0, 9.0)] * 2, ["the first", "the second"]
    with pytest.raises(NotEstimable, match="keeps rising as the second grows; do this"):
        mode(by_differences(rising), np.zeros(2), bounds, names, "do this")

    def level(x):
        return -0.5 * x[:, 1] ** 2

    with pytest.raises(NotEstimable, match="it hardly falls wherever the first is put"):
        mode(by_differences(level), np.zeros(2), bounds, names, "do this")
    assert np.isfinite(near_mode(by_differences(level), np.zeros(2), bounds).covariance).all()
