"""The ordinal and binary model fitted: by maximum likelihood, and exact posterior draws.

Likelihood: `ordinal`. Two labels make it the binary logit model with both random effects.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import compress

import numpy as np

from analysis.statistics.mixed.exact_sampler import (
    USUAL,
    Bounds,
    Density,
    Sampling,
    Slopes,
    downhill,
    mode,
    near_mode,
    samples,
    sd_of,
    slope,
    x_of,
)
from analysis.statistics.mixed.linear_model import RATER, RATER_CONDITION, refused_by
from analysis.statistics.mixed.marginal_likelihood import (
    FAST,
    FINE,
    Grid,
    MarginalLikelihood,
    Points,
)
from analysis.statistics.mixed.model_errors import NotEstimable
from analysis.statistics.mixed.optimise import minimise
from analysis.statistics.mixed.ordered_labels import expected_scores
from analysis.statistics.mixed.posterior import Posterior, trusted_posterior
from analysis.statistics.mixed.sufficient_statistics import Floats, Truths, floats

_SCALE = floats([1.0, 0.5])  # of the SDs' coordinates
_IMPOSSIBLE = -1e15  # in place of minus infinity, which has no slope
_MOST_LOG_GAP = 30.0
MOST_WORK = 5e9  # numbers gone through for draws, about a minute: then no more are taken
_ENOUGH = 0.25  # effective share of the first proposals; each costs much
_VANISHED = 0.01  # an SD on the logit scale that is none


@dataclass(frozen=True)
class OrdinalFit:
    """The maximum likelihood fit on the logit scale.

    ``estimate`` (S,) of the conditions, ``covariance`` (S, S) from the observed information, cut
    points ``cut`` (K - 1,) with sum 0, ``sds`` of the effects (0 where one vanished) and their
    approximate ``sd_errors``.
    """

    estimate: Floats
    covariance: Floats
    cut: Floats
    sds: dict[str, float]
    sd_errors: dict[str, float]
    log_likelihood: float
    n: int
    notes: tuple[str, ...] = ()

    @property
    def se(self) -> Floats:
        """The standard error of each condition (S,)."""
        return floats(np.sqrt(np.diag(self.covariance)))

    def variances(self, contrasts: Floats) -> Floats:
        """The variances (M,) of the linear combinations ``contrasts`` (M, S)."""
        return floats(np.einsum("mi,ij,mj->m", contrasts, self.covariance, contrasts))

    def degrees(self, contrasts: Floats) -> Floats:
        """Infinite (M,): normal, not t, as is usual for these models."""
        return np.full(len(contrasts), np.inf)


@dataclass(frozen=True)
class OrdinalPrior:
    """Half-widths of the priors, logit scale: means normal, the others half-normal."""

    beta: float = 2.5
    gap: float = 2.0
    sd_rater: float = 2.0
    sd_rater_condition: float = 1.0

    def __str__(self) -> str:
        return (
            f"condition logits ~ Normal(0, {self.beta:g}); gaps between cut points ~ "
            f"HalfNormal({self.gap:g}), cut points sum to 0; SD of rater ~ "
            f"HalfNormal({self.sd_rater:g}), of rater by condition ~ "
            f"HalfNormal({self.sd_rater_condition:g})"
        )


def ordinal_ml(counts: Floats) -> OrdinalFit:
    """The maximum likelihood fit of label counts (R, S, K), as `ordinal.label_counts` gives them.

    An effect that the design cannot tell from another is left out, and ``notes`` says so. Raises
    NotEstimable where a condition got one extreme label only (its logit is then infinite), or where
    so few ratings have no maximum.
    """
    _refuse_separation(counts)
    model = MarginalLikelihood(counts)
    refused = refused_by(counts.sum(axis=2))
    free = np.array([True] * (len(_start(counts)) - 2) + [not refused[name] for name in _SDS])
    fast, fine = (_partly(_likelihood_slopes(model, grid), free) for grid in (FAST, FINE))
    bounds = list(compress(_bounds(model), free))
    start = minimise(lambda x: downhill(fast, x), _start(counts)[free], bounds, flat=0.1)
    peak = mode(fine, start, bounds, list(compress(_names(model), free)), _USE_PRIOR)
    s = model.n_conditions
    x, errors = np.zeros(len(free)), np.zeros(len(free))
    x[free], errors[free] = peak.x, np.sqrt(np.diag(peak.covariance))
    p = _unpacked(x[None], model)
    sds = [float(p.sd_rater[0]), float(p.sd_rater_condition[0])]
    errors = errors[-2:] * slope(x[-2:], _SCALE)
    gone = [sd < _VANISHED for sd in sds]
    return OrdinalFit(
        estimate=p.beta[0],
        covariance=peak.covariance[:s, :s],
        cut=p.cut[0],
        sds={name: 0.0 if g else sd for name, sd, g in zip(_SDS, sds, gone, strict=True)},
        sd_errors=dict(zip(_SDS, errors.tolist(), strict=True)),
        log_likelihood=peak.height,
        n=model.n,
        notes=tuple(
            f"{name} was left out: {refused[name]}"
            if refused[name]
            else f"no variance was found for {name}: it is estimated as 0"
            for name, g in zip(_SDS, gone, strict=True)
            if g
        ),
    )


_SDS = (RATER, RATER_CONDITION)
_USE_PRIOR = "use the Bayesian fit, whose prior keeps estimates finite, or collect more ratings"


def ordinal_posterior(
    counts: Floats,
    prior: OrdinalPrior | None = None,
    *,
    scores: Floats | None = None,
    sampling: Sampling = USUAL,
) -> Posterior:
    """Draws of condition logits, ``cut`` points, SDs and, given ``scores`` (K,), of mean scores.

    ``counts`` (R, S, K) as `ordinal.label_counts` gives them. ``score`` (chains, draws, S) is the
    mean score of each condition for raters drawn anew, in the unit of ``scores``.
    """
    prior = prior or OrdinalPrior()
    model = MarginalLikelihood(counts)
    slopes = _with_prior_slopes(model, FAST, prior)
    peak = near_mode(slopes, _start(counts), _bounds(model))
    fast, rng = _with_prior(model, FAST, prior), np.random.default_rng(sampling.seed)
    work = int(model.work(_unpacked(peak.x[None], model), FAST)[0]) * sampling.n
    attempts = samples(
        fast,
        peak,
        rng,
        chains=sampling.chains,
        draws=sampling.draws,
        degrees=max(8.0, float(len(peak.x))),
        even=2,
        enough=_ENOUGH,
        most=MOST_WORK / work,
    )
    return trusted_posterior(
        attempts, lambda sample: _named(sample.draws, model, scores), str(prior), model.n
    )


def _named(draws: Floats, model: MarginalLikelihood, scores: Floats | None) -> dict[str, Floats]:
    chains, length, size = draws.shape
    flat = draws.reshape(-1, size)
    s = model.n_conditions
    cut = _cuts(flat[:, s:-2])
    sds = sd_of(flat[:, -2:], _SCALE)
    named = {"condition": flat[:, :s], "sd_rater": sds[:, 0], "sd_rater_condition": sds[:, 1]}
    if model.n_labels > 2:
        named["cut"] = cut
    if scores is not None:
        both = np.sqrt((sds**2).sum(axis=1))
        named["score"] = expected_scores(flat[:, :s], cut, both, scores)
    return {name: x.reshape(chains, length, *x.shape[1:]) for name, x in named.items()}


def _cuts(log_gaps: Floats) -> Floats:
    """Cut points (B, K - 1) with sum 0 of the logs of the gaps between them (B, K - 2)."""
    gaps = np.exp(np.minimum(log_gaps, _MOST_LOG_GAP))
    steps = np.concatenate([np.zeros((len(gaps), 1)), np.cumsum(gaps, axis=1)], axis=1)
    return floats(steps - steps.mean(axis=1, keepdims=True))


def _unpacked(points: Floats, model: MarginalLikelihood) -> Points:
    s = model.n_conditions
    sds = sd_of(points[:, -2:], _SCALE)
    return Points(points[:, :s], _cuts(points[:, s:-2]), sds[:, 0], sds[:, 1])


def _bounds(model: MarginalLikelihood) -> Bounds:
    logits, gaps = model.n_conditions, model.n_labels - 2
    return [(-20.0, 20.0)] * logits + [(-9.0, 4.0)] * gaps + [(-3.5, 3.5)] * 2


def _names(model: MarginalLikelihood) -> list[str]:
    """What each coordinate is, in words."""
    gaps = [f"the gap between thresholds {k} and {k + 1}" for k in range(1, model.n_labels - 1)]
    means = [f"the logit of condition {i}" for i in range(model.n_conditions)]
    return [*means, *gaps, *(f"the SD of {name}" for name in _SDS)]


def _partly(slopes: Slopes, free: Truths) -> Slopes:
    """The density of the free coordinates, the others being 0."""

    def of_free(points: Floats) -> tuple[Floats, Floats]:
        full = np.zeros((len(points), len(free)))
        full[:, free] = points
        value, slope = slopes(full)
        return value, slope[:, free]

    return of_free


def _likelihood(model: MarginalLikelihood, grid: Grid) -> Density:
    def log_density(points: Floats) -> Floats:
        return np.maximum(model.values(_unpacked(points, model), grid), _IMPOSSIBLE)

    return log_density


def _likelihood_slopes(model: MarginalLikelihood, grid: Grid) -> Slopes:
    s = model.n_conditions

    def slopes(points: Floats) -> tuple[Floats, Floats]:
        value, by = model.slopes(_unpacked(points, model), grid)
        # a gap moves all cuts above it up, and by the mean that is taken off, all down
        above = by.cut[:, ::-1].cumsum(axis=1)[:, ::-1][:, 1:]
        size = by.cut.shape[1]
        share = np.arange(size - 1, 0, -1) / size
        gaps = above - share * by.cut.sum(axis=1, keepdims=True)
        gaps = gaps * np.exp(np.minimum(points[:, s:-2], _MOST_LOG_GAP))
        sds = np.column_stack([by.sd_rater, by.sd_rater_condition])
        sds = sds * slope(points[:, -2:], _SCALE) * np.sign(points[:, -2:])
        return np.maximum(value, _IMPOSSIBLE), np.hstack([by.beta, gaps, sds])

    return slopes


def _with_prior(model: MarginalLikelihood, grid: Grid, prior: OrdinalPrior) -> Density:
    likelihood = _likelihood(model, grid)

    def log_density(points: Floats) -> Floats:
        return floats(likelihood(points) + _log_prior(points, model, prior)[0])

    return log_density


def _with_prior_slopes(model: MarginalLikelihood, grid: Grid, prior: OrdinalPrior) -> Slopes:
    likelihood = _likelihood_slopes(model, grid)

    def slopes(points: Floats) -> tuple[Floats, Floats]:
        value, by = likelihood(points)
        more, more_by = _log_prior(points, model, prior)
        return floats(value + more), floats(by + more_by)

    return slopes


def _log_prior(
    points: Floats, model: MarginalLikelihood, prior: OrdinalPrior
) -> tuple[Floats, Floats]:
    """The log of the prior of coordinates (B, D), `folded`'s factors in it, and its slopes."""
    s = model.n_conditions
    widths = floats([prior.sd_rater, prior.sd_rater_condition])
    beta, gaps, x = points[:, :s], points[:, s:-2], points[:, -2:]
    wide = (np.exp(np.minimum(gaps, _MOST_LOG_GAP)) / prior.gap) ** 2
    sds = sd_of(x, _SCALE)
    value = -0.5 * ((beta / prior.beta) ** 2).sum(axis=1) + (gaps - 0.5 * wide).sum(axis=1)
    value += (np.log(slope(x, _SCALE)) - 0.5 * (sds / widths) ** 2).sum(axis=1)
    by_x = np.tanh(x) - sds / widths**2 * slope(x, _SCALE) * np.sign(x)
    return floats(value), np.hstack([-beta / prior.beta**2, 1.0 - wide, by_x])


def _start(counts: Floats) -> Floats:
    shares = (counts.sum(axis=0) + 0.5) / (counts.sum(axis=(0, 2))[:, None] + 0.5 * counts.shape[2])
    pooled = shares.mean(axis=0).cumsum()[:-1]
    cut = 1.3 * np.log(pooled / (1.0 - pooled))
    below = shares.cumsum(axis=1)[:, :-1]
    beta = (cut - 1.3 * np.log(below / (1.0 - below))).mean(axis=1) - cut.mean()
    gaps = np.log(np.maximum(np.diff(cut), 1e-3))
    return floats([*beta, *gaps, *x_of(floats([0.8, 0.4]), _SCALE)])


def _refuse_separation(counts: Floats) -> None:
    by_label = counts.sum(axis=0)
    alone = (by_label[:, [0, -1]] == by_label.sum(axis=1)[:, None]).any(axis=1)
    if alone.any():
        raise NotEstimable(
            f"condition {int(np.argmax(alone))} got one extreme label only, so that its logit has"
            " no finite maximum likelihood estimate",
            "use the Bayesian fit, whose prior keeps it finite",
        )
