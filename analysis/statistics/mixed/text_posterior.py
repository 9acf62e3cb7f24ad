"""The Gaussian posterior with text and clip effects: exact where that is quick, else interpolated.

The effects and the means are integrated out, as in `gaussian`, by the likelihood of `crossed`. One
value of it may take a second, and draws need thousands: they are made from an interpolation, whose
error is measured at some of the draws; where it is too large they are exact, or refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from analysis.statistics.mixed import linear_model
from analysis.statistics.mixed.crossed import Crossed
from analysis.statistics.mixed.exact_sampler import USUAL, Sampling, x_of
from analysis.statistics.mixed.gaussian import (
    MOST_WORK,
    GaussianPrior,
    MarginalPosterior,
    posterior_of_sds,
)
from analysis.statistics.mixed.interpolated_likelihood import Interpolated, box_around
from analysis.statistics.mixed.model_errors import NotEstimable
from analysis.statistics.mixed.nuts import RESIDUAL, SD_NAMES
from analysis.statistics.mixed.posterior import Posterior
from analysis.statistics.mixed.reml import RemlFit
from analysis.statistics.mixed.sufficient_statistics import Codes, Floats, floats

MOST_ERROR = 0.2  # standard deviation of the error of the log density, among draws
MOST_EXACT = 3e11  # floating-point operations: ten seconds or so
_OPERATIONS = MOST_EXACT / MOST_WORK  # of an exact value, that count as one number of `MOST_WORK`
_CHECKED = 12
_VALUES = 8000  # of the likelihood, that exact draws need


def text_posterior(
    y: Floats,
    design: Floats,
    condition: Codes,
    effects: Mapping[str, Codes],
    fit: RemlFit | None,
    prior: GaussianPrior,
    sampling: Sampling = USUAL,
) -> Posterior:
    """Draws of the C means (``condition``), an SD of each effect and that of the residual.

    Arguments are those of `linear.crossed_reml`, and its fit, None where there is none. Raises
    NotEstimable where exact draws would take too long and others would be wrong.
    """
    sides = linear_model.sides_of(effects)
    model = Crossed(y, design, condition, sides)
    names = [name for name in linear_model.ORDER if name in effects]
    levels = floats([int(effects[name].max()) + 1 for name in names])
    sds = [*(SD_NAMES[name] for name in names), RESIDUAL]
    work = model.plan.work / _OPERATIONS
    exact = MarginalPosterior(model.at, len(names), len(y), model.centre, prior, work=work)
    problem = "its variances cannot be told"
    if fit is not None:
        near = Interpolated(model.at, box_around(fit, levels))
        work = near.n_values * (design.shape[1] + 2.0) ** 2 / 2.0
        quick = MarginalPosterior(near.at, len(names), len(y), model.centre, prior, work=work)
        start = np.maximum(floats([*fit.sds.values()]), _LEAST * fit.sds["residual"])
        posterior = posterior_of_sds(quick, sds, sampling, start)
        error = _error(posterior, sds, quick, exact)
        if error <= MOST_ERROR:
            approximation = f"{near.n_values} exact values of the likelihood (error {error:.2g})"
            return replace(posterior, approximation=f"between {approximation}")
        problem = f"an interpolated likelihood is off by {error:.2g}"
    if model.plan.work * _VALUES > MOST_EXACT:
        raise NotEstimable(f"{problem}, and exact draws would take too long", _REMEDY)
    return posterior_of_sds(exact, sds, sampling)


_LEAST = 0.02  # of the residual SD: where the mode is sought from for an effect that vanished
_REMEDY = "ask for the general model (--part general_gaussian)"


def _error(
    posterior: Posterior, sds: list[str], quick: MarginalPosterior, exact: MarginalPosterior
) -> float:
    """How far the two log densities are apart, but for a constant: SD among some of the draws."""
    flat = np.column_stack([posterior.draws[name].reshape(-1) for name in sds])
    some = flat[np.linspace(0, len(flat) - 1, _CHECKED).astype(np.int64)]
    x = x_of(some, exact.scale)  # one coordinate of each SD: the design tells them apart
    return float(np.std(exact.log_density(x) - quick.log_density(x), ddof=1))
