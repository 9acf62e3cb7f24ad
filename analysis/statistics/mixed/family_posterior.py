"""The exact Gaussian posterior of a family: with a spread of each condition on large scales."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from analysis.ratings.estimands import estimand_of
from analysis.statistics.mixed.family_model import (
    MOST_LABELS,
    Modelled,
    gaussian_prior,
    model_draws,
)
from analysis.statistics.mixed.gaussian import GaussianPrior
from analysis.statistics.mixed.heteroscedastic import spread_posterior
from analysis.statistics.mixed.linear_model import Effects
from analysis.statistics.mixed.model_errors import NotEstimable
from analysis.statistics.mixed.posterior import Posterior
from analysis.statistics.mixed.reml import RemlFit

if TYPE_CHECKING:
    from analysis.statistics.options import Options


def large_scale(modelled: Modelled) -> bool:
    """Whether scores are numbers on a scale of many steps, which no ordinal model can take."""
    many = len(np.unique(modelled.arrays.y)) > MOST_LABELS
    return many or estimand_of(modelled.family.estimand).continuous


def uneven(modelled: Modelled) -> bool:
    """Whether conditions get spreads of their own: several of them, on a large scale."""
    return large_scale(modelled) and len(modelled.names) > 1


def posterior_of(
    modelled: Modelled,
    options: Options,
    effects: Effects | None = None,
    fit: RemlFit | None = None,
) -> Posterior:
    """Draws of `model_draws`, texts and clips included; where `uneven`, of conditions' own spreads.

    A spread of each condition has a closed form without effects of texts only. So they are
    estimated by that (`spread_posterior`); then the scores, in units of their condition's spread
    around its mean, have the model with all effects. Raises NotEstimable with reason and remedy.
    """
    arrays = modelled.arrays
    for what, codes in (("rater", arrays.rater), ("item", arrays.item)):
        if len(np.unique(codes)) < 2:
            raise NotEstimable(
                f"there is one {what}: how {what}s differ cannot be estimated",
                f"collect ratings of more {what}s",
            )
    if not uneven(modelled):
        return model_draws(modelled, options, effects, fit)
    prior, sampling = gaussian_prior(modelled), modelled.sampling(options)
    spreads = spread_posterior(arrays.y, arrays.rater, arrays.condition, prior, sampling)
    if spreads.diagnostics.refusal is not None:
        return spreads
    spread = np.exp(np.log(spreads.draws["spread"]).mean(axis=(0, 1)))
    count = np.bincount(arrays.condition)
    middle = np.bincount(arrays.condition, weights=arrays.y) / count
    even = (arrays.y - middle[arrays.condition]) / spread[arrays.condition]
    width = prior.sd / float(spread.min())
    scaled = replace(
        modelled,
        arrays=replace(arrays, y=even),
        prior=GaussianPrior(0.0, width, prior.sd_scale),
    )
    made = model_draws(scaled, options, effects)
    mean = middle + spread * made.draws["condition"]
    if prior.ends is not None:
        mean = np.clip(mean, *prior.ends)
    draws = {**made.draws, "condition": mean, "spread": spreads.draws["spread"]}
    return replace(made, draws=draws, prior=spreads.prior)
