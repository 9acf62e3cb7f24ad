"""The Gaussian model of ratings, Bayesian: exact draws from its closed form, without NUTS.

score = beta[cell] + u[rater] + w[rater, condition] + e. Effects and means are integrated out
(by the closed form of `nested`), so that only three standard deviations are sampled; then the
means given these are normal (Lindley and Smith 1972, J. R. Stat. Soc. B 34(1), section 2).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis.mixed.convergence import diagnose
from analysis.mixed.errors import NotEstimable
from analysis.mixed.folded import sd_of, slope, x_of
from analysis.mixed.nested import Nested
from analysis.mixed.posterior import Posterior
from analysis.mixed.sampler import THIN, independence, mode
from analysis.mixed.sufficient import Floats, Sums

SDS = ("sd_rater", "sd_rater_condition", "sd_residual")


@dataclass(frozen=True)
class GaussianPrior:
    """beta ~ N(``mean``, ``sd``), each of the three SDs ~ HalfNormal(``sd_scale``), score units."""

    mean: float
    sd: float
    sd_scale: float

    def __str__(self) -> str:
        beta = f"means ~ Normal({self.mean:g}, {self.sd:g})"
        return f"{beta}; SDs of rater, rater by condition, residual ~ HalfNormal({self.sd_scale:g})"


HLS_PRIOR = GaussianPrior(0.0, 1.0, 0.5)  # scores 0, 0.5, 1


def prior_for(lowest: float, highest: float) -> GaussianPrior:
    """The default prior for scores on a scale from ``lowest`` to ``highest``."""
    if (lowest, highest) == (0.0, 1.0):
        return HLS_PRIOR
    width = highest - lowest
    return GaussianPrior((lowest + highest) / 2, width / 2, width / 2)


def gaussian_posterior(
    sums: Sums, prior: GaussianPrior, *, seed: int = 0, chains: int = 4, draws: int = 1000
) -> Posterior:
    """Draws of the C means (``condition``) and the three SDs, in the unit of the scores.

    Raises NotEstimable where scores do not vary or there are fewer than 2 raters.
    """
    if len(sums.count) < 2:
        raise NotEstimable("there is one rater", "collect ratings from more raters")
    model = _Marginal(sums, prior)
    start = x_of(np.full(3, model.spread / 2), model.scale)
    peak = mode(model.log_density, start, [(-8.0, 8.0)] * 3)
    rng = np.random.default_rng(seed)
    for thin in THIN:
        sample = independence(
            model.log_density, peak, rng, chains=chains, draws=draws, thin=thin, even=3
        )
        found = _named(model, sums, sd_of(sample.draws, model.scale), rng)
        diagnostics = diagnose(found, pareto_k=sample.pareto_k, acceptance=sample.acceptance)
        if diagnostics.refusal is None:
            break
    return Posterior(found, diagnostics, str(prior), sums.n)


def _named(
    model: _Marginal, sums: Sums, sds: Floats, rng: np.random.Generator
) -> dict[str, Floats]:
    mean, root = model.means(sds.reshape(-1, 3))
    normal = rng.standard_normal(mean.shape)
    beta = sums.centre + mean + np.einsum("bij,bj->bi", root, normal)
    found = {"condition": beta.reshape(*sds.shape[:2], -1)}
    return found | {name: sds[:, :, i] for i, name in enumerate(SDS)}


def effects(
    sums: Sums, posterior: Posterior, *, seed: int = 0, thin: int = 1
) -> tuple[Floats, Floats]:
    """Draws of the rater effects (B, R) and rater-by-condition effects (B, R, S), given the rest.

    ``thin`` keeps every so many of the posterior's draws (B = chains x draws / thin): all 4,000 of
    857 raters x 5 conditions take 137 MB. u given beta and SDs is normal with precision 1 / sd_u^2
    + sum of p, then w given u, as Lindley and Smith (1972).
    """
    flat = {name: x.reshape(-1, *x.shape[2:])[::thin] for name, x in posterior.draws.items()}
    sd_u, sd_w, sd = (flat[name][:, None, None] for name in SDS)
    rng = np.random.default_rng(seed)
    n = sums.by_condition(sums.count)
    offset = sums.centre - flat["condition"]  # (B, C)
    left = np.stack([sums.by_condition(sums.total + sums.count * row) for row in offset])
    d = 1.0 / (sd**2 + n * sd_w**2)
    precision = 1.0 / sd_u[:, :, 0] ** 2 + (n * d).sum(axis=2)
    u = (left * d).sum(axis=2) / precision
    u = u + rng.standard_normal(u.shape) / np.sqrt(precision)
    gain = sd_w**2 * d
    w = gain * (left - n * u[:, :, None])
    return u, w + rng.standard_normal(w.shape) * np.sqrt(sd**2 * gain)


class _Marginal:
    """The posterior of the SDs (rater, rater by condition, residual), means integrated out."""

    def __init__(self, sums: Sums, prior: GaussianPrior) -> None:
        self._nested = Nested(sums)
        self._prior, self._n = prior, sums.n
        self._ahead = prior.mean - sums.centre
        none = self._nested.at(np.zeros((1, 2)))
        self.scale = np.full(3, prior.sd_scale / 2.0)
        self.spread = float(np.sqrt(none.c[0] / max(1, sums.n)))
        if not self.spread > 0:
            raise NotEstimable(
                "the scores of each condition are all the same: no variation to model",
                "report the means without a test",
            )

    def log_density(self, x: Floats) -> Floats:
        """The log posterior density (B,) at `folded` SDs x (B, 3), but for a constant."""
        variances = sd_of(x, self.scale) ** 2
        s2, tau = variances[:, 2], self._prior.sd**2
        q = self._nested.at(variances[:, :2] / s2[:, None])
        h, right = self._normal(q.a, q.b, s2)
        root = np.linalg.cholesky(h)
        solved = np.linalg.solve(root, right[:, :, None])[:, :, 0]
        logdet = q.logdet + 2.0 * np.log(np.diagonal(root, axis1=1, axis2=2)).sum(axis=1)
        squares = q.c / s2 + float(self._ahead @ self._ahead) / tau - (solved**2).sum(axis=1)
        likelihood = -0.5 * (squares + logdet + self._n * np.log(s2))
        half_normal = -0.5 * variances.sum(axis=1) / self._prior.sd_scale**2
        return np.asarray(likelihood + half_normal + np.log(slope(x, self.scale)).sum(axis=1))

    def means(self, sds: Floats) -> tuple[Floats, Floats]:
        """Mean (B, C) and a root (B, C, C) of the covariance of the centred means, given the SDs.

        root root' is the covariance.
        """
        variances = sds**2
        q = self._nested.at(variances[:, :2] / variances[:, 2:])
        h, right = self._normal(q.a, q.b, variances[:, 2])
        covariance = np.linalg.inv(h)
        return np.einsum("bij,bj->bi", covariance, right), np.linalg.cholesky(covariance)

    def _normal(self, a: Floats, b: Floats, s2: Floats) -> tuple[Floats, Floats]:
        tau = self._prior.sd**2
        h = a / s2[:, None, None] + np.eye(a.shape[1]) / tau
        return h, b / s2[:, None] + self._ahead / tau
