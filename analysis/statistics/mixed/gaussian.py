"""The Gaussian model of ratings, Bayesian: exact draws from its closed form, without NUTS.

score = beta[cell] + u[rater] + w[rater, condition] + e. Effects and means are integrated out
(by the closed form of `nested`), so that only three standard deviations are sampled; then the
means given these are normal (Lindley and Smith 1972, J. R. Stat. Soc. B 34(1), section 2).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr, ndtri

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
from analysis.statistics.mixed.linear_model import RATER, RATER_CONDITION, refused_effects
from analysis.statistics.mixed.model_errors import NotEstimable
from analysis.statistics.mixed.posterior import Posterior, trusted_posterior
from analysis.statistics.mixed.sufficient_statistics import Floats, Nested, Quadratics, Sums, floats

SDS = ("sd_rater", "sd_rater_condition", "sd_residual")
MOST_WORK = 2e9  # raters x conditions x draws, about a minute: then no more are taken
_NOTHING = 1e-4  # of the scores' spread: a residual SD this small is none
_IN_REACH = 6.0  # SDs of a mean: an end of the scale that is farther away cuts nothing off


@dataclass(frozen=True)
class GaussianPrior:
    """beta ~ N(``mean``, ``sd``), each SD ~ HalfNormal(``sd_scale``), in the unit of the scores.

    Where ``ends`` are given, the means are known to lie between them.
    """

    mean: float
    sd: float
    sd_scale: float
    ends: tuple[float, float] | None = None

    def __str__(self) -> str:
        inside = f" between {self.ends[0]:g} and {self.ends[1]:g}" if self.ends else ""
        beta = f"means ~ Normal({self.mean:g}, {self.sd:g}){inside}"
        return f"{beta}; SDs of all effects and of the residual ~ HalfNormal({self.sd_scale:g})"


HLS_PRIOR = GaussianPrior(0.0, 1.0, 0.5)  # scores 0, 0.5, 1


def prior_for(lowest: float, highest: float) -> GaussianPrior:
    """The default prior for scores on a scale from ``lowest`` to ``highest``."""
    if (lowest, highest) == (0.0, 1.0):
        return HLS_PRIOR
    width = highest - lowest
    return GaussianPrior((lowest + highest) / 2, width / 2, width / 2)


def gaussian_posterior(sums: Sums, prior: GaussianPrior, sampling: Sampling = USUAL) -> Posterior:
    """Draws of the C means (``condition``) and the three SDs, in the unit of the scores.

    Raises NotEstimable where scores do not vary or there are fewer than 2 raters.
    """
    if len(sums.count) < 2:
        raise NotEstimable("there is one rater", "collect ratings from more raters")
    model = MarginalPosterior(
        Nested(sums).at,
        2,
        sums.n,
        sums.centre,
        prior,
        groups=_identified_groups(sums),
        work=sums.count.size,
    )
    return posterior_of_sds(model, SDS, sampling)


def posterior_of_sds(
    model: MarginalPosterior,
    names: Sequence[str],
    sampling: Sampling,
    start: Floats | None = None,
) -> Posterior:
    """Draws of the means (``condition``) and of the SDs called ``names``, of a marginal model.

    ``start`` (K + 1,) are SDs to seek the mode from, by default half of the scores' spread. More
    draws are taken until they suffice, or `MOST_WORK` is done. Raises NotEstimable where the
    effects explain every score, so that there is no residual.
    """
    d = len(model.scale)
    sizes = np.full(d, model.spread / 2) if start is None else model.sizes(start)
    slopes = by_differences(model.log_density)
    peak = near_mode(slopes, x_of(sizes, model.scale), [(-8.0, 8.0)] * d)
    near = model.prior.ends is not None and model.near_ends(peak.x)
    rng = np.random.default_rng(sampling.seed)

    def named(sample: Sample) -> dict[str, Floats]:
        draws = {"condition": sample.conditional} if near else model.means_of(sample.draws, rng)
        sds = model.parted(sd_of(sample.draws, model.scale), rng)
        if np.median(sds[:, :, -1]) < _NOTHING * model.spread:
            raise NotEstimable(
                "raters and clips explain every score exactly: no residual variation to model",
                "report the means without a model",
            )
        return draws | {name: sds[:, :, i] for i, name in enumerate(names)}

    attempts = samples(
        model.log_density,
        peak,
        rng,
        chains=sampling.chains,
        draws=sampling.draws,
        degrees=6.0,
        even=d,
        conditional=model.kept_inside if near else None,
        most=MOST_WORK / (model.work * sampling.n),
    )
    return trusted_posterior(attempts, named, str(model.prior), model.n)


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


class MarginalPosterior:
    """The posterior of the SDs of K effects and of the residual, with the means integrated out.

    ``likelihood`` gives the parts at variance ratios (B, K), for ``n`` scores around ``centre``;
    ``work`` is how many numbers it goes through for one of them. SDs of the same one of ``groups``
    (places, the residual's is K; by default each is alone) are those that the design cannot tell
    apart: they count in the likelihood by the root of the sum of their squares alone, so that of
    them there is one coordinate, and given it, every way to share it out is equally likely, as
    their prior is the same.
    """

    def __init__(
        self,
        likelihood: Callable[[Floats], Quadratics],
        n_effects: int,
        n: int,
        centre: Floats,
        prior: GaussianPrior,
        *,
        groups: Sequence[tuple[int, ...]] | None = None,
        work: float = 1.0,
    ) -> None:
        self._likelihood, self._n_sds = likelihood, n_effects + 1
        self.prior, self.n, self.centre, self.work = prior, n, centre, work
        self._ahead = prior.mean - centre
        self._groups = groups or [(i,) for i in range(self._n_sds)]
        self._members = floats([len(group) for group in self._groups])
        none = likelihood(np.zeros((1, n_effects)))
        self.scale = np.full(len(self._groups), prior.sd_scale / 2.0)
        self.spread = float(np.sqrt(none.c[0] / max(1, n)))
        if not self.spread > 0:
            raise NotEstimable(
                "the scores of each condition are all the same: no variation to model",
                "report the means without a test",
            )

    def log_density(self, x: Floats) -> Floats:
        """The log posterior density (B,) at `folded` sizes x (B, D), but for a constant."""
        sizes = sd_of(x, self.scale)
        variances = self._together(sizes) ** 2
        s2, tau = variances[:, -1], self.prior.sd**2
        q = self._likelihood(variances[:, :-1] / s2[:, None])
        h, right = self._normal(q.a, q.b, s2)
        root = np.linalg.cholesky(h)
        solved = np.linalg.solve(root, right[:, :, None])[:, :, 0]
        logdet = q.logdet + 2.0 * np.log(np.diagonal(root, axis1=1, axis2=2)).sum(axis=1)
        squares = q.c / s2 + float(self._ahead @ self._ahead) / tau - (solved**2).sum(axis=1)
        likelihood = -0.5 * (squares + logdet + self.n * np.log(s2))
        half_normal = -0.5 * (sizes**2).sum(axis=1) / self.prior.sd_scale**2
        volume = np.log(slope(x, self.scale)) + (self._members - 1.0) * np.log(sizes)
        return np.asarray(likelihood + half_normal + volume.sum(axis=1))

    def sizes(self, sds: Floats) -> Floats:
        """The size (D,) of each group of SDs (K + 1,)."""
        return floats([np.linalg.norm(sds[list(group)]) for group in self._groups])

    def means(self, x: Floats) -> tuple[Floats, Floats]:
        """Mean (B, C) and a root (B, C, C) of the covariance of the means, given x (B, D).

        root root' is the covariance.
        """
        variances = self._together(sd_of(x, self.scale)) ** 2
        q = self._likelihood(variances[:, :-1] / variances[:, -1:])
        h, right = self._normal(q.a, q.b, variances[:, -1])
        covariance = np.linalg.inv(h)
        mean = self.centre + np.einsum("bij,bj->bi", covariance, right)
        return mean, np.linalg.cholesky(covariance)

    def means_of(self, x: Floats, rng: np.random.Generator) -> dict[str, Floats]:
        """A draw of the means for each draw x (chains, draws, D)."""
        mean, root = self.means(x.reshape(-1, x.shape[2]))
        beta = mean + np.einsum("bij,bj->bi", root, rng.standard_normal(mean.shape))
        return {"condition": beta.reshape(*x.shape[:2], -1)}

    def near_ends(self, x: Floats) -> bool:
        """Whether at x (D,) some mean may lie beyond an end of the scale."""
        assert self.prior.ends is not None
        mean, root = self.means(x[None])
        sd = _IN_REACH * np.sqrt((root[0] ** 2).sum(axis=1))
        low, high = self.prior.ends
        return bool((mean[0] - sd < low).any() or (mean[0] + sd > high).any())

    def kept_inside(self, x: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
        """Means (B, C) between the ends given x (B, D), and the logs of their weights."""
        assert self.prior.ends is not None
        return truncated_normal(*self.means(x), self.prior.ends, rng)

    def parted(self, sizes: Floats, rng: np.random.Generator) -> Floats:
        """The SDs (chains, draws, K + 1), of those not told apart in all directions alike."""
        out = np.empty((*sizes.shape[:2], self._n_sds))
        for i, group in enumerate(self._groups):
            way = np.abs(rng.standard_normal((*sizes.shape[:2], len(group))))
            if len(group) == 1:
                way[:] = 1.0
            way /= np.linalg.norm(way, axis=2, keepdims=True)
            out[:, :, list(group)] = sizes[:, :, i, None] * way
        return out

    def _together(self, sizes: Floats) -> Floats:
        """SDs (B, K + 1) with the size (B,) of each group given to its last one, the others 0."""
        sds = np.zeros((len(sizes), self._n_sds))
        for i, group in enumerate(self._groups):
            sds[:, group[-1]] = sizes[:, i]
        return sds

    def _normal(self, a: Floats, b: Floats, s2: Floats) -> tuple[Floats, Floats]:
        tau = self.prior.sd**2
        h = a / s2[:, None, None] + np.eye(a.shape[1]) / tau
        return h, b / s2[:, None] + self._ahead / tau


def _identified_groups(sums: Sums) -> list[tuple[int, ...]]:
    """Which of the SDs (by place) the design cannot tell from one another."""
    refused = refused_effects(sums)
    if refused[RATER]:
        return [(0, 1, 2)]
    if refused[RATER_CONDITION]:
        once = (sums.by_condition(sums.count) <= 1).all()
        return [(0,), (1, 2)] if once else [(0, 1), (2,)]
    return [(0,), (1,), (2,)]


_LEAST = 1e-300


def truncated_normal(
    mean: Floats, root: Floats, ends: tuple[float, float], rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """Draws (B, C) between ``ends`` and the logs (B,) of their weights, which make them exact.

    The normal has ``mean`` (B, C) and covariance root root', ``root`` (B, C, C) lower triangular.
    Coordinates are drawn one after the other, each between the ends given those before (the GHK
    simulator: Hajivassiliou, McFadden and Ruud 1996, Journal of Econometrics 72, section 3.2); the
    weight is the product of the shares of the normal that were left to each.
    """
    z = np.zeros_like(mean)
    log_weight = np.zeros(len(mean))
    for i in range(mean.shape[1]):
        known = mean[:, i] + np.einsum("bj,bj->b", root[:, i, :i], z[:, :i])
        low, high = ((end - known) / root[:, i, i] for end in ends)
        flip = np.where(high > -low, -1.0, 1.0)  # the lower tail holds more digits
        left, right = np.where(flip > 0, low, -high), np.where(flip > 0, high, -low)
        below, share = ndtr(left), ndtr(right) - ndtr(left)
        drawn = ndtri(np.maximum(below + rng.random(len(mean)) * share, _LEAST))
        z[:, i] = flip * np.clip(drawn, left, right)
        log_weight += np.log(np.maximum(share, _LEAST))
    values = mean + np.einsum("bij,bj->bi", root, z)
    return floats(np.clip(values, *ends)), log_weight
