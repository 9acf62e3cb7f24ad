"""Paragraph MOS predicted from sentence MOS, for paragraphs of any number of sentences.

Clark et al. (2019, section 7) leave open how paragraphs of unequal length are put into one model.
Here a sentence's weight is its share of the mean, and more at some places: the mean of all
sentences, the first and the last one, and the worst one are the regressors.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from analysis.arrays import Floats
from analysis.statistics.comparisons.p_adjustment import sidak_level
from analysis.statistics.longform import ParagraphScores

FEWEST_PARAGRAPHS = 10
PLAIN = "plain"  # the mean sentence MOS as it is: nothing is fitted
MODELS: dict[str, tuple[str, ...]] = {  # the regressors beside an intercept for each speaker
    PLAIN: (),
    "fitted_mean": ("mean",),
    "place": ("mean", "first", "last"),
    "worst": ("mean", "min"),
    "place_and_worst": ("mean", "first", "last", "min"),
}


@dataclass(frozen=True)
class Weight:
    """A regressor's weight: points of paragraph MOS for a point of it, with its interval."""

    term: str
    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Difference:
    """A model's mean absolute error minus another's, in points; negative: the model is better."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Prediction:
    """How well a model predicts paragraphs that it was not fitted on.

    ``mae`` and ``rmse`` in points; ``r2`` is 1 - squared error / squared error of the speaker's
    mean over the other paragraphs, below 0 where a model is worse than that. ``versus_plain`` is
    the mean absolute error minus that of PLAIN, with an interval; None of PLAIN itself. Fitted
    models are nested, where such intervals are too narrow: their weights compare them.
    """

    model: str
    n: int
    n_paragraphs: int
    mae: float
    rmse: float
    r2: float
    versus_plain: Difference | None
    weights: tuple[Weight, ...] = ()


def predict_paragraphs(several: Sequence[ParagraphScores], level: float = 0.95) -> list[Prediction]:
    """Each of MODELS, cross-validated by leaving one paragraph out, of all speakers at once.

    Every speaker has an intercept of its own. Errors of the left-out rows of a paragraph are
    (I - H_gg)^-1 e_g (Cook and Weisberg 1982). Differences are means over paragraphs of paired
    absolute errors with t intervals, together at ``level`` by Šidák's over the fitted models;
    weights have intervals of the jackknife over paragraphs, t with G - columns degrees of freedom
    (simulated: both cover at their levels from 40 paragraphs on). Empty below FEWEST_PARAGRAPHS
    paragraphs; a model whose regressors say the same is left out.
    """
    y = np.concatenate([one.whole for one in several]) if several else np.zeros(0)
    names = [name for one in several for name in one.paragraphs]
    paragraphs, group = np.unique(np.array(names, dtype=str), return_inverse=True)
    if len(paragraphs) < FEWEST_PARAGRAPHS:
        return []
    own = np.repeat(np.arange(len(several)), [len(one.whole) for one in several])
    speakers = np.eye(len(several))[own]
    baseline = _fit(y, speakers, group, 0, level)
    total = float(np.sum(baseline.errors**2)) if baseline else 0.0
    fits: dict[str, _Fit] = {}
    for model, terms in MODELS.items():
        x = [np.concatenate([one.values(term) for one in several]) for term in terms]
        if model == PLAIN:
            means = np.concatenate([one.values("mean") for one in several])
            fits[model] = _Fit(y - means)
        elif fit := _fit(y, np.column_stack([*x, speakers]), group, len(terms), level):
            fits[model] = fit
    wider = sidak_level(level, max(len(fits) - 1, 1))
    return [
        Prediction(
            model,
            len(y),
            len(paragraphs),
            float(np.mean(np.abs(fit.errors))),
            sqrt(float(np.mean(fit.errors**2))),
            1 - float(np.sum(fit.errors**2)) / total if total > 0 else float("nan"),
            None if model == PLAIN else _difference(fit, fits[PLAIN], group, wider),
            tuple(
                Weight(term, value, *bounds)
                for term, value, bounds in zip(MODELS[model], fit.weights, fit.bounds, strict=True)
            ),
        )
        for model, fit in fits.items()
    ]


@dataclass(frozen=True)
class _Fit:
    """Errors (n,) of left-out rows; the weights (k,) of the regressors and their bounds."""

    errors: Floats
    weights: tuple[float, ...] = ()
    bounds: tuple[tuple[float, float], ...] = ()


def _fit(y: Floats, design: Floats, group: NDArray[np.intp], k: int, level: float) -> _Fit | None:
    """Least squares with each group left out; None where the design or a fold has no full rank."""
    n_groups, width = int(group.max()) + 1, design.shape[1]
    if n_groups <= width or np.linalg.matrix_rank(design) < width:
        return None
    inverse = np.linalg.inv(design.T @ design)
    beta = inverse @ design.T @ y
    residuals = y - design @ beta
    errors, left_out = np.empty(len(y)), np.empty((n_groups, width))
    for g in range(n_groups):
        rows = np.flatnonzero(group == g)
        own = design[rows]
        remaining = np.eye(len(rows)) - own @ inverse @ own.T
        if np.linalg.cond(remaining) > 1e10:  # the fold lacks a speaker, or a regressor
            return None
        errors[rows] = np.linalg.solve(remaining, residuals[rows])
        left_out[g] = beta - inverse @ own.T @ errors[rows]
    deviations = left_out[:, :k] - left_out[:, :k].mean(axis=0)
    se = np.sqrt((n_groups - 1) / n_groups * np.sum(deviations**2, axis=0))
    reach = stats.t.ppf((1 + level) / 2, n_groups - width) * se
    bounds = zip((beta[:k] - reach).tolist(), (beta[:k] + reach).tolist(), strict=True)
    return _Fit(errors, tuple(beta[:k].tolist()), tuple(bounds))


def _difference(fit: _Fit, plain: _Fit, group: NDArray[np.intp], level: float) -> Difference:
    """Paired by paragraph: the rows of a paragraph are one value of the t interval."""
    paired = np.abs(fit.errors) - np.abs(plain.errors)
    sums, n_groups = np.bincount(group, weights=paired), int(group.max()) + 1
    value = float(paired.mean())
    spread = sums - value * np.bincount(group)  # of a ratio, as rows may differ by paragraph
    se = sqrt(n_groups / (n_groups - 1) * float(spread @ spread)) / len(paired)
    reach = float(stats.t.ppf((1 + level) / 2, n_groups - 1)) * se
    return Difference(value, value - reach, value + reach)
