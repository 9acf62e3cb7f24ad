"""The Gaussian model of ratings on a bounded scale: conditions near its ends vary less.

score = beta_c + k_c (u[rater] + w[rater, c] + e): a spread k_c of each condition, 1 on (geometric)
average, is what a score that a bounded scale squeezes has to first order, be it squeezed at the top
(a hidden reference) or at the bottom (an anchor). To the residual comes the rounding of scores to
steps. Effects and means are integrated out in closed form as in `gaussian` (Searle, Casella and
McCulloch 1992, app. M); spreads and SDs are sampled, then the means, between the scale's ends.
"""

from __future__ import annotations

import numpy as np
from scipy import linalg

from analysis.statistics.mixed.exact_sampler import (
    USUAL,
    Sample,
    Sampling,
    by_differences,
    near_mode,
    samples,
    sd_of,
    slope,
    x_of,
)
from analysis.statistics.mixed.gaussian import MOST_WORK, SDS, GaussianPrior, truncated_normal
from analysis.statistics.mixed.model_errors import NotEstimable
from analysis.statistics.mixed.posterior import Posterior, trusted_posterior
from analysis.statistics.mixed.sufficient_statistics import (
    Codes,
    Floats,
    checked_codes,
    floats,
    in_chunks,
    residuals,
)

SPREAD_SD = 1.0  # of the prior of a spread's logarithm
_ENOUGH = 0.4
_MOST_LOG = 12.0  # of a spread, either way


def spread_posterior(
    y: Floats,
    rater: Codes,
    condition: Codes,
    prior: GaussianPrior,
    sampling: Sampling = USUAL,
) -> Posterior:
    """Draws of the S means (``condition``), three SDs, and ``spread`` (chains, draws, S).

    ``y`` (n,) are scores, the others codes (n,) from 0. The SDs are those of a condition of average
    spread. Raises NotEstimable where scores do not vary or there are fewer than 2 raters.
    """
    checked_codes(y, rater, condition)
    if rater.max() < 1:
        raise NotEstimable("there is one rater", "collect ratings from more raters")
    model = _MarginalPosterior(y, rater, condition, prior)
    s = model.n_conditions
    start = np.concatenate([np.zeros(s - 1), x_of(np.full(3, model.middle / 2), model.scale)])
    bounds = [(-_MOST_LOG, _MOST_LOG)] * (s - 1) + [(-8.0, 8.0)] * 3
    peak = near_mode(by_differences(model.log_density), start, bounds)
    attempts = samples(
        model.log_density,
        peak,
        np.random.default_rng(sampling.seed),
        chains=sampling.chains,
        draws=sampling.draws,
        degrees=max(6.0, float(s)),
        even=3,
        enough=_ENOUGH,
        conditional=model.means,
        most=MOST_WORK / (model.count.size * sampling.n),
    )

    def named(sample: Sample) -> dict[str, Floats]:
        sds = sd_of(sample.draws[:, :, s - 1 :], model.scale)
        draws = {"condition": sample.conditional} | {
            name: sds[:, :, i] for i, name in enumerate(SDS)
        }
        return draws | {"spread": model.spreads(sample.draws)}

    return trusted_posterior(attempts, named, f"{prior}; {spread_prior_text(s)}", len(y))


def spread_prior_text(conditions: int) -> str:
    """The prior of the spreads in words."""
    return f"log spreads of the {conditions} conditions ~ Normal(0, {SPREAD_SD:g}), adding up to 0"


def rounding(y: Floats) -> float:
    """The SD of what rounding to the steps of the scores took away: the step over root 12."""
    gaps = np.diff(np.unique(y))
    return float(gaps.min() / np.sqrt(12.0)) if len(gaps) else 0.0


class _MarginalPosterior:
    """The posterior of log spreads (S - 1 free ones) and SDs, means integrated out."""

    def __init__(self, y: Floats, rater: Codes, condition: Codes, prior: GaussianPrior) -> None:
        shape = (int(rater.max()) + 1, int(condition.max()) + 1)
        place, length = rater * shape[1] + condition, shape[0] * shape[1]
        sizes = np.bincount(condition, minlength=shape[1])
        if (sizes == 0).any():
            raise NotEstimable("a condition has no ratings", "leave it out")
        self.centre = floats(np.bincount(condition, weights=y, minlength=shape[1]) / sizes)
        apart = residuals(y, self.centre[condition])
        self.count = floats(np.bincount(place, minlength=length)).reshape(shape)
        self._total = floats(np.bincount(place, weights=apart, minlength=length)).reshape(shape)
        self._shared = self._total / np.maximum(self.count, 1.0)
        square = np.bincount(condition, weights=apart**2, minlength=shape[1])
        self._within = floats(square - (self._total * self._shared).sum(axis=0))
        self._more = floats(sizes - (self.count > 0).sum(axis=0))
        self._filled = self.count > 0
        self._prior, self.n_conditions = prior, shape[1]
        self._basis = linalg.null_space(np.ones((1, shape[1]))).T  # (S - 1, S)
        self._rounding = rounding(y)
        self.scale = np.full(3, prior.sd_scale / 2.0)
        self.middle = float(np.sqrt(square.sum() / len(y)))
        if not self.middle > 0:
            raise NotEstimable(
                "the scores of each condition are all the same: no variation to model",
                "report the means without a test",
            )

    def spreads(self, x: Floats) -> Floats:
        """The spread of each condition (..., S) at x (..., D)."""
        logs = x[..., : self.n_conditions - 1] @ self._basis
        return np.asarray(np.exp(np.clip(logs, -_MOST_LOG, _MOST_LOG)))

    def log_density(self, x: Floats) -> Floats:
        """The log posterior density (B,) at x (B, D), but for a constant."""
        (likelihood,) = in_chunks(lambda part: (self._likelihood(part),), x, self.count.size)
        free, folded = x[:, : self.n_conditions - 1], x[:, self.n_conditions - 1 :]
        sds = sd_of(folded, self.scale)
        half_normal = -0.5 * (sds**2).sum(axis=1) / self._prior.sd_scale**2
        logs = -0.5 * (free**2).sum(axis=1) / SPREAD_SD**2
        volume = np.log(slope(folded, self.scale)).sum(axis=1)
        return floats(likelihood + half_normal + logs + volume)

    def means(self, x: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Means (B, S) given x (B, D), between the scale's ends, and the logs of their weights."""
        h, right = in_chunks(lambda part: self._parts(part)[:2], x, self.count.size)
        covariance = np.linalg.inv(h)
        mean = self.centre + np.einsum("bij,bj->bi", covariance, right)
        ends = self._prior.ends or (-np.inf, np.inf)
        return truncated_normal(mean, np.linalg.cholesky(covariance), ends, rng)

    def _likelihood(self, x: Floats) -> Floats:
        h, right, logdet, squares = self._parts(x)
        root = np.linalg.cholesky(h)
        solved = np.linalg.solve(root, right[:, :, None])[:, :, 0]
        logdet = logdet + 2.0 * np.log(np.diagonal(root, axis1=1, axis2=2)).sum(axis=1)
        ahead = self._prior.mean - self.centre
        squares = squares + float(ahead @ ahead) / self._prior.sd**2 - (solved**2).sum(axis=1)
        return floats(-0.5 * (squares + logdet))

    def _parts(self, x: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        """Precision (B, S, S) of the centred means, right side (B, S), log |V|, y' V^-1 y."""
        k = self.spreads(x)
        u, w, e = np.moveaxis(sd_of(x[:, self.n_conditions - 1 :], self.scale), 1, 0)
        residual = (k * e[:, None]) ** 2 + self._rounding**2
        cell = residual[:, None] + self.count * ((k * w[:, None]) ** 2)[:, None]
        load = (k * u[:, None])[:, None]
        information = self.count / cell
        pulled = self._total / cell
        q = information * load
        precision = 1.0 + (q * load).sum(axis=2)
        reached = (pulled * load).sum(axis=2)
        a = -np.matmul((q / precision[:, :, None]).swapaxes(1, 2), q)
        here = np.arange(self.n_conditions)
        a[:, here, here] += information.sum(axis=1) + self._prior.sd**-2
        b = pulled.sum(axis=1) - np.einsum("br,brc->bc", reached / precision, q)
        b += (self._prior.mean - self.centre) / self._prior.sd**2
        squares = (self._within / residual).sum(axis=1)
        squares += (self._shared * pulled).sum(axis=(1, 2)) - (reached**2 / precision).sum(axis=1)
        logdet = (self._more * np.log(residual)).sum(axis=1) + np.log(precision).sum(axis=1)
        logdet += (np.log(cell) * self._filled).sum(axis=(1, 2))
        return a, floats(b), floats(logdet), floats(squares)
