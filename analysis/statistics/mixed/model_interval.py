"""The variance of a weighted mean of ratings by the variance components of a mixed model.

For weights w the mean sum of w_i y_i has the variance sum over effects of sd^2 (sum over levels of
(sum of w in the level)^2) + residual sd^2 (sum of w^2): Searle, Casella and McCulloch, Variance
Components, 1992, ch. 1. Degrees of freedom are Satterthwaite's, as in `reml.RemlFit.degrees`.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from analysis.statistics.mixed import linear_model
from analysis.statistics.mixed.crossed import crossing
from analysis.statistics.mixed.random_effects import QUICK, affordable, effects_of
from analysis.statistics.mixed.reml import RemlFit
from analysis.statistics.mixed.sufficient_statistics import Codes, Floats, sums

MIXED = "mixed model"


class ComponentVariance:
    """Variances of means and differences by components fitted once to n ratings.

    ``y`` scores, ``condition``, ``rater`` and ``item`` codes (n,) from 0. An item within a
    condition is taken as one clip. Raises NotEstimable with reason and remedy.
    """

    def __init__(self, y: Floats, condition: Codes, rater: Codes, item: Codes) -> None:
        rater, item = (np.unique(x, return_inverse=True)[1].astype(np.int64) for x in (rater, item))
        effects = effects_of(rater, condition, item, crossing(item, condition))
        effects = affordable(effects, condition, QUICK)
        if effects.of_texts:
            design = np.eye(int(condition.max()) + 1)[condition]
            fit = linear_model.crossed_reml(y, design, condition, effects.codes)
        else:
            fit = linear_model.nested_reml(sums(y, rater, condition))
        self._fit: RemlFit = fit
        known: Mapping[str, Codes] = {**effects.codes, linear_model.RATER: rater}
        self._effects = {
            name: known[name] for name in fit.sds if name != "residual" and fit.sds[name] > 0
        }

    @property
    def name(self) -> str:
        """The interval's name, with the effects that were found."""
        effects = ", ".join(self._effects) or "no random effect"
        return f"{MIXED} ({effects}): REML variances, Satterthwaite t"

    def se_and_degrees(self, weights: Floats) -> tuple[float, float]:
        """Standard error and degrees of freedom of sum of weights (n,) times scores."""
        sds = self._fit.sds
        parts = [
            sds[name] ** 2 * float((np.bincount(codes, weights=weights) ** 2).sum())
            for name, codes in self._effects.items()
        ]
        variance = sum(parts) + sds["residual"] ** 2 * float((weights**2).sum())
        gradient = np.array([*parts, variance])
        spread = float(gradient @ self._fit.parameter_covariance @ gradient)
        return variance**0.5, 2.0 * variance**2 / spread
