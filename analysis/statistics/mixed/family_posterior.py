"""The exact Gaussian posterior of a family: with a spread of each condition on large scales."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from analysis.ratings.estimands import estimand_of
from analysis.statistics.mixed.family_model import (
    MOST_LABELS,
    Modelled,
    gaussian_prior,
    model_draws,
)
from analysis.statistics.mixed.heteroscedastic import spread_posterior
from analysis.statistics.mixed.posterior import Posterior
from analysis.statistics.mixed.random_effects import Effects
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
    """Draws of `model_draws`, texts and clips included; of `spreads` without them where `uneven`.

    The model with spreads has no closed form with effects of texts. Raises NotEstimable with reason
    and remedy.
    """
    if not uneven(modelled):
        return model_draws(modelled, options, effects, fit)
    arrays = modelled.arrays
    return spread_posterior(
        arrays.y,
        arrays.rater,
        arrays.condition,
        gaussian_prior(modelled),
        modelled.sampling(options),
    )
