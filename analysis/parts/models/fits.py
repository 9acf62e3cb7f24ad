"""The fits behind one family's models: REML, the exact posterior, and what each could not do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from analysis.mixed import linear
from analysis.mixed.comparisons import Means, Pairs, means, pairs
from analysis.mixed.effects import PATIENT, QUICK
from analysis.mixed.errors import NotEstimable, Refusal
from analysis.mixed.family import MOST_CELLS, Modelled, gaussian_draws
from analysis.mixed.posterior import Comparison, Posterior
from analysis.mixed.reml import RemlFit
from analysis.mixed.sufficient import Floats, sums
from analysis.mixed.table import arrays_of, fitted_reml
from analysis.options import Breakdown, Options

MANY = 40  # conditions; texts and draws of more are fitted when asked for by name
_SIMPLE = 0.0  # operations: nothing but raters and rater by condition
_WIDER = 1.1  # standard errors with texts and stimuli over those without, that is worth a warning


@dataclass(frozen=True)
class Fits:
    """What was fitted to one family; None where it could not be, with the reason in ``notes``.

    ``comparison`` is a Refusal where the draws must not be ranked.
    """

    of: Modelled
    reml: RemlFit | None
    means: Means | None
    pairs: Pairs | None
    posterior: Posterior | None
    comparison: Comparison | Refusal | None
    notes: tuple[str, ...]

    @property
    def falling(self) -> list[int]:
        """The codes of the conditions, the highest mean first."""
        if self.means is not None:
            value = self.means.value
        elif self.posterior is not None:
            value = self.posterior.draws["condition"].mean(axis=(0, 1))
        else:
            return []
        return [int(i) for i in np.lexsort((np.arange(len(value)), -value))]

    @property
    def ranked(self) -> Comparison | None:
        """The comparison by draws, where one may be shown."""
        return self.comparison if isinstance(self.comparison, Comparison) else None


def fits_of(modelled: Modelled, options: Options, *, asked: bool) -> Fits:
    """REML and posterior of one family; ``asked`` for by name, larger designs are fitted too."""
    notes: list[str] = [f"{name} has one rating: no model" for name in modelled.alone]
    fit = posterior = comparison = None
    try:
        quick = QUICK if len(modelled.names) <= MANY else _SIMPLE
        fit = fitted_reml(modelled.arrays, most=PATIENT if asked else quick)
    except NotEstimable as error:
        notes.append(f"no mixed model: {error}")
    try:
        posterior = _posterior(modelled, options, asked)
        comparison = posterior.comparison(rope=modelled.rope(options), level=options.level)
        notes += _weak(modelled)
    except NotEstimable as error:
        notes.append(f"no posterior: {error}")
    return Fits(
        of=modelled,
        reml=fit,
        means=means(fit, level=options.level) if fit else None,
        pairs=pairs(fit, level=options.level) if fit else None,
        posterior=posterior,
        comparison=comparison,
        notes=tuple(dict.fromkeys(notes)),
    )


def too_sure(fits: Fits) -> float | None:
    """How much wider REML's differences are than the posterior's, which keeps clips as they are.

    The median ratio of standard errors, where REML has text or stimulus effects and it is worth a
    warning; else None.
    """
    if fits.reml is None or fits.pairs is None or fits.ranked is None:
        return None
    if not {linear.ITEM, linear.STIMULUS} & set(fits.reml.sds) or not len(fits.pairs.se):
        return None
    ratio = float(np.median(fits.pairs.se / fits.ranked.difference.sd))
    return ratio if ratio > _WIDER else None


def _posterior(modelled: Modelled, options: Options, asked: bool) -> Posterior:
    arrays = modelled.arrays
    size = (int(arrays.rater.max()) + 1) * len(arrays.names)
    if (size > MOST_CELLS or len(arrays.names) > MANY) and not asked:
        raise NotEstimable(
            "so many raters and conditions take too long for every report",
            "ask for it by name: --part models",
        )
    return gaussian_draws(modelled, options)


def _weak(modelled: Modelled) -> list[str]:
    arrays = modelled.arrays
    refused = linear.refused_effects(sums(arrays.y, arrays.rater, arrays.cell))
    return [
        f"how much {_PLURAL[name]} is mostly assumed in the posterior (by its prior): {why}"
        for name, why in refused.items()
        if why
    ]


_PLURAL = {
    linear.RATER: "raters differ in leniency",
    linear.RATER_CONDITION: "raters differ in what they like",
}


@dataclass(frozen=True)
class CellModel:
    """The means of conditions by cells of a crossing: ``names`` (condition, values), and averages.

    ``average`` has one row per condition in ``averaged``: the mean of its cells, each weighing the
    same, for conditions that have all cells.
    """

    breakdown: Breakdown
    names: tuple[tuple[str, ...], ...]
    counts: list[int]
    means: Means
    averaged: Sequence[str]
    average: Means
    notes: tuple[str, ...]


def cell_model(modelled: Modelled, breakdown: Breakdown, level: float) -> CellModel:
    """REML of means per cell with rater and rater by condition (M3); raises NotEstimable."""
    arrays = arrays_of(modelled.table, breakdown.compare, breakdown.by)
    fit = linear.nested_reml(sums(arrays.y, arrays.rater, arrays.cell, arrays.cell_condition))
    weights, averaged = _averages(arrays.names)
    return CellModel(
        breakdown,
        arrays.names,
        np.bincount(arrays.cell).tolist(),
        means(fit, level=level),
        averaged,
        means(_Averaged(fit, weights), level=level),
        fit.notes,
    )


@dataclass(frozen=True)
class _Averaged:
    """A fit seen through fixed combinations (A, C) of its means."""

    fit: RemlFit
    weights: Floats

    @property
    def estimate(self) -> Floats:
        return np.asarray(self.weights @ self.fit.estimate, dtype=np.float64)

    def variances(self, contrasts: Floats) -> Floats:
        return self.fit.variances(contrasts @ self.weights)

    def degrees(self, contrasts: Floats) -> Floats:
        return self.fit.degrees(contrasts @ self.weights)


def _averages(names: Sequence[tuple[str, ...]]) -> tuple[Floats, list[str]]:
    values = {name[1:] for name in names}
    owners = sorted({name[0] for name in names})
    whole = [owner for owner in owners if sum(name[0] == owner for name in names) == len(values)]
    weights = [[(name[0] == owner) / len(values) for name in names] for owner in whole]
    return np.array(weights, dtype=np.float64).reshape(len(whole), len(names)), whole
