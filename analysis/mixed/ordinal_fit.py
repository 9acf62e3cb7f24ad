"""The ordinal and binary model fitted: by maximum likelihood, and exact posterior draws.

Likelihood: `ordinal`. Two labels make it the binary logit model with both random effects.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from itertools import compress

import numpy as np

from analysis.mixed.convergence import diagnose
from analysis.mixed.descent import descend
from analysis.mixed.errors import NotEstimable
from analysis.mixed.folded import sd_of, slope, x_of
from analysis.mixed.linear import RATER, RATER_CONDITION, refused_by
from analysis.mixed.ordinal import (
    FAST,
    FINE,
    Grid,
    NestedOrdinal,
    Parameters,
    expected_scores,
)
from analysis.mixed.posterior import Posterior
from analysis.mixed.sampler import THIN, Bounds, Density, independence, mode, slope_of
from analysis.mixed.sufficient import Floats, Truths, floats

_SCALE = floats([1.0, 0.5])  # of the SDs' coordinates
_IMPOSSIBLE = -1e15  # in place of minus infinity, which has no slope
_MOST_LOG_GAP = 30.0
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
    model = NestedOrdinal(counts)
    refused = refused_by(counts.sum(axis=2))
    free = np.array([True] * (len(_start(counts)) - 2) + [not refused[name] for name in _SDS])
    fast, fine = (_partly(_likelihood(model, grid), free) for grid in (FAST, FINE))
    bounds = list(compress(_bounds(model), free))
    start = descend(partial(slope_of, fast), _start(counts)[free], bounds, flat=0.1)
    peak = mode(fine, start, bounds, remedy=_USE_PRIOR)
    s = model.n_conditions
    x, errors = np.zeros(len(free)), np.zeros(len(free))
    x[free], errors[free] = peak.x, np.sqrt(np.diag(peak.covariance))
    p = _unpacked(x, model)
    sds = [p.sd_rater, p.sd_rater_condition]
    errors = errors[-2:] * slope(x[-2:], _SCALE)
    gone = [sd < _VANISHED for sd in sds]
    return OrdinalFit(
        estimate=p.beta,
        covariance=peak.covariance[:s, :s],
        cut=p.cut,
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
    seed: int = 0,
    chains: int = 4,
    draws: int = 1000,
) -> Posterior:
    """Draws of condition logits, ``cut`` points, SDs and, given ``scores`` (K,), of mean scores.

    ``counts`` (R, S, K) as `ordinal.label_counts` gives them. ``score`` (chains, draws, S) is the
    mean score of each condition for raters drawn anew, in the unit of ``scores``.
    """
    prior = prior or OrdinalPrior()
    model = NestedOrdinal(counts)
    start = descend(
        partial(slope_of, _with_prior(model, _likelihood(model, FAST), prior)),
        _start(counts),
        _bounds(model),
        flat=0.1,
    )
    peak = mode(_with_prior(model, _likelihood(model, FINE), prior), start, _bounds(model))
    fast, rng = _with_prior(model, _likelihood(model, FAST), prior), np.random.default_rng(seed)
    for thin in THIN:
        sample = independence(
            fast, peak, rng, chains=chains, draws=draws, thin=thin, degrees=8.0, even=2
        )
        found = _named(sample.draws, model, scores)
        diagnostics = diagnose(found, pareto_k=sample.pareto_k, acceptance=sample.acceptance)
        if diagnostics.refusal is None:
            break
    return Posterior(found, diagnostics, str(prior), model.n)


def _named(draws: Floats, model: NestedOrdinal, scores: Floats | None) -> dict[str, Floats]:
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


def _unpacked(x: Floats, model: NestedOrdinal) -> Parameters:
    s = model.n_conditions
    rater, inner = sd_of(x[-2:], _SCALE)
    return Parameters(x[:s], _cuts(x[None, s:-2])[0], float(rater), float(inner))


def _bounds(model: NestedOrdinal) -> Bounds:
    logits, gaps = model.n_conditions, model.n_labels - 2
    return [(-20.0, 20.0)] * logits + [(-9.0, 4.0)] * gaps + [(-3.5, 3.5)] * 2


def _partly(log_density: Density, free: Truths) -> Density:
    """The density of the free coordinates, the others being 0."""

    def of_free(points: Floats) -> Floats:
        full = np.zeros((len(points), len(free)))
        full[:, free] = points
        return log_density(full)

    return of_free


def _likelihood(model: NestedOrdinal, grid: Grid) -> Density:
    def log_density(points: Floats) -> Floats:
        found = [model.log_likelihood(_unpacked(x, model), grid) for x in points]
        return np.maximum(floats(found), _IMPOSSIBLE)

    return log_density


def _with_prior(model: NestedOrdinal, likelihood: Density, prior: OrdinalPrior) -> Density:
    s = model.n_conditions
    widths = floats([prior.sd_rater, prior.sd_rater_condition])

    def log_density(points: Floats) -> Floats:
        beta, gaps, x = points[:, :s], points[:, s:-2], points[:, -2:]
        out = -0.5 * ((beta / prior.beta) ** 2).sum(axis=1)
        out += (gaps - 0.5 * (np.exp(np.minimum(gaps, _MOST_LOG_GAP)) / prior.gap) ** 2).sum(axis=1)
        out += (np.log(slope(x, _SCALE)) - 0.5 * (sd_of(x, _SCALE) / widths) ** 2).sum(axis=1)
        return floats(likelihood(points) + out)

    return log_density


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
