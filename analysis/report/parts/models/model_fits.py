"""The fits behind one family's models: REML, the exact posterior, and what each could not do."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from analysis.arrays import Bools
from analysis.name_spans import condition_span
from analysis.ratings.breakdowns import Breakdown
from analysis.report.part import PartInput
from analysis.statistics.comparisons.simultaneous import ranking_draws
from analysis.statistics.comparisons.systems_under_test import Candidates, candidates
from analysis.statistics.intervals import clustered
from analysis.statistics.mixed import linear_model
from analysis.statistics.mixed.family_model import (
    MOST_CELLS,
    Modelled,
    family_posterior,
    model_effects,
    modelled,
    uneven,
)
from analysis.statistics.mixed.linear_model import PATIENT, QUICK, Effects, affordable
from analysis.statistics.mixed.model_contrasts import Means, Pairs, means, pair_matrix, pairs
from analysis.statistics.mixed.model_errors import NotEstimable, Refusal
from analysis.statistics.mixed.posterior import Comparison, Posterior, Ranks, ranks_of
from analysis.statistics.mixed.reml import RemlFit
from analysis.statistics.mixed.sufficient_statistics import Codes, Floats, sums
from analysis.statistics.mixed.table_model import Arrays, allowed_effects, arrays_of, reml_of
from analysis.statistics.options import Options

ALONE = (
    "The model is of the systems alone: it takes all conditions to vary alike, which the reference "
    "and the anchors at the ends of the scale do not"
)


@dataclass(frozen=True)
class Tested:
    """What REML is made of: ``arrays``, and the codes of their conditions among all ``size``."""

    arrays: Arrays
    codes: Codes
    size: int

    def means(self, fit: RemlFit, level: float) -> Means:
        """The means of all conditions; NaN for those that are not in the fit."""
        estimates = means(fit, level=level)
        return replace(estimates, **_spread_out(vars(estimates), self.codes, self.size))

    def pairs(self, fit: RemlFit, level: float) -> Pairs:
        """The differences of all pairs of conditions; NaN for those that are not in the fit."""
        contrasts = pairs(fit, level=level)
        first, second, _ = pair_matrix(self.size)
        place = np.zeros((self.size, self.size), dtype=np.int64)
        place[first, second] = np.arange(len(first))
        where = place[self.codes[contrasts.first], self.codes[contrasts.second]]
        wide = _spread_out(vars(contrasts), where, len(first)) | {"first": first, "second": second}
        return replace(contrasts, **wide)


def tested(modelled: Modelled, options: Options) -> tuple[Candidates, Tested]:
    """Who is a candidate, and what REML compares: all, on a large scale the systems alone."""
    among = candidates(modelled.table, modelled.names, options.reference)
    every = np.arange(len(modelled.names))
    if not (uneven(modelled) and among.told and any(among.ranked)):
        return among, Tested(modelled.arrays, every, len(every))
    systems = [name for name, ranked in zip(modelled.names, among.ranked, strict=True) if ranked]
    table = modelled.table[modelled.table["condition"].isin(systems)]
    return among, Tested(arrays_of(table), every[np.array(among.ranked)], len(every))


def _spread_out(
    values: dict[str, object], where: Codes | Sequence[int], size: int
) -> dict[str, Any]:
    wide: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, np.ndarray) and name not in ("first", "second"):
            wide[name] = np.full(size, np.nan)
            wide[name][where] = value
    return wide


MANY = 40  # conditions; draws of more are made when asked for by name

TOO_NARROW = (
    "the mixed model leaves out how texts or clips differ, because this design is too large for "
    "that: its intervals are too narrow, and its tests find too much. The two-way clustered "
    "intervals hold for other texts too"
)


@dataclass(frozen=True)
class Fits:
    """What was fitted to one family; None where it could not be, with the reason in ``notes``.

    ``comparison`` is a Refusal where the draws are not to be trusted. ``ranks`` are by variances of
    the answer's own intervals. ``too_large`` names effects that are in neither model, because
    this design makes them too much work.
    """

    of: Modelled
    reml: RemlFit | None
    means: Means | None
    pairs: Pairs | None
    posterior: Posterior | None
    comparison: Comparison | Refusal | None
    ranks: Ranks | None
    notes: tuple[str, ...]
    among: Candidates
    too_large: tuple[str, ...] = ()

    @property
    def falling(self) -> list[int]:
        """The codes of the conditions, the highest mean first."""
        value = np.full(len(self.of.names), np.nan)
        if self.means is not None:
            value = self.means.value
        if self.posterior is not None and np.isnan(value).any():
            value = self.posterior.draws["condition"].mean(axis=(0, 1))
        if np.isnan(value).all():
            return []
        return [int(i) for i in np.lexsort((np.arange(len(value)), -value))]

    @property
    def compared(self) -> Comparison | None:
        """The comparison by draws, where one may be shown."""
        return self.comparison if isinstance(self.comparison, Comparison) else None


def sized(inputs: PartInput) -> list[tuple[Modelled, Effects]]:
    """The families that a mixed model compares, and the effects that it takes in, by their size.

    Made once a report, for the answer and the models.
    """
    if _SIZED not in inputs.shared:
        most = _most(inputs.options)
        models = [(each, model_effects(each, most)) for each in modelled(inputs.kept)]
        inputs.shared[_SIZED] = models
    made: list[tuple[Modelled, Effects]] = inputs.shared[_SIZED]
    return made


def _most(options: Options) -> float:
    return PATIENT if MODELS in options.parts else QUICK


MODELS = "models"  # the part that shows them
_SIZED = "mixed models: families and effects"


def fits_of(modelled: Modelled, effects: Effects, options: Options) -> Fits:
    """REML and posterior of one family; asked for by name, larger designs are fitted too."""
    notes: list[str] = [
        f"{condition_span(name)} has one rating: no model" for name in modelled.alone
    ]
    fit = posterior = comparison = None
    among, compared = tested(modelled, options)
    own = compared.arrays is modelled.arrays
    of_reml = effects
    if not own:
        of_reml = affordable(
            allowed_effects(compared.arrays), compared.arrays.condition, _most(options)
        )
    try:
        fit = reml_of(compared.arrays, of_reml)
    except NotEstimable as error:
        notes.append(f"no mixed model: {error}")
    try:
        posterior = _posterior(modelled, options, effects, fit if own else None)
        rope = modelled.rope(options)
        comparison = posterior.comparison(rope=rope, level=options.level, ranked=among.ranked)
        notes += [] if effects.of_texts else _weak(modelled)
    except NotEstimable as error:
        notes.append(f"no posterior: {error}")
    return Fits(
        of=modelled,
        reml=fit,
        means=compared.means(fit, options.level) if fit else None,
        pairs=compared.pairs(fit, options.level) if fit else None,
        posterior=posterior,
        comparison=comparison,
        ranks=standing_of(modelled, among, options)[0],
        notes=tuple(dict.fromkeys(notes)),
        too_large=effects.too_large,
        among=among,
    )


def standing_of(
    modelled: Modelled, among: Candidates, options: Options
) -> tuple[Ranks | None, Bools]:
    """Ranks of the candidates by the answer's own variances, and which differences are claimed.

    None with fewer than two candidates that have two ratings, raters and items.
    """
    arrays, names = modelled.arrays, modelled.names
    codes = arrays.condition, arrays.rater, arrays.item
    means = clustered(arrays.y, *codes, len(names), ends=modelled.family.ends)
    draws, claimed = ranking_draws(
        means, np.flatnonzero(among.ranked).tolist(), level=options.level
    )
    drawn = np.isfinite(draws[0, 0])
    if drawn.sum() < 2:
        return None, claimed
    ranks = ranks_of(draws, drawn.tolist())
    return ranks.limited(claimed, (1 + options.level) / 2), claimed


def _posterior(
    modelled: Modelled, options: Options, effects: Effects, fit: RemlFit | None
) -> Posterior:
    arrays = modelled.arrays
    size = (int(arrays.rater.max()) + 1) * len(arrays.names)
    large = size > MOST_CELLS and (uneven(modelled) or not effects.of_texts)
    if (large or len(arrays.names) > MANY) and MODELS not in options.parts:
        raise NotEstimable(
            "so many raters and conditions take too long for every report",
            "ask for it by name: --part models",
        )
    return family_posterior(modelled, options, effects, fit)


def _weak(modelled: Modelled) -> list[str]:
    arrays = modelled.arrays
    refused = linear_model.refused_effects(sums(arrays.y, arrays.rater, arrays.cell))
    return [
        f"how much {_PLURAL[name]} is mostly assumed in the posterior (by its prior): {why}"
        for name, why in refused.items()
        if why
    ]


_PLURAL = {
    linear_model.RATER: "raters differ in leniency",
    linear_model.RATER_CONDITION: "raters differ in what they like",
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
    fit = linear_model.nested_reml(sums(arrays.y, arrays.rater, arrays.cell, arrays.cell_condition))
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
