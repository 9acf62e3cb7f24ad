"""A mixed model of a ratings table: which arrays, which effects, and the names of the results."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from analysis.arrays import distinct_codes
from analysis.ratings.breakdowns import coded_column, items_of
from analysis.ratings.table import rows_where
from analysis.statistics.mixed import linear_model
from analysis.statistics.mixed.crossed import crossing
from analysis.statistics.mixed.exact_sampler import USUAL, Sampling
from analysis.statistics.mixed.gaussian import GaussianPrior, gaussian_posterior, prior_for
from analysis.statistics.mixed.large_fit import moments_fit
from analysis.statistics.mixed.linear_model import Effects, effects_of
from analysis.statistics.mixed.model_contrasts import Means, Pairs, means, pairs
from analysis.statistics.mixed.model_errors import NotEstimable, Refusal
from analysis.statistics.mixed.ordinal_fit import (
    OrdinalFit,
    label_counts,
    ordinal_ml,
    ordinal_posterior,
)
from analysis.statistics.mixed.posterior import Comparison, Posterior
from analysis.statistics.mixed.reml import RemlFit
from analysis.statistics.mixed.sufficient_statistics import Codes, Floats, Sums, sums
from analysis.statistics.mixed.text_posterior import text_posterior
from analysis.statistics.one_thread import on_one_thread

if TYPE_CHECKING:
    import pandas as pd

GAUSSIAN, ORDINAL, BINARY = "gaussian", "ordinal", "binary"


@dataclass(frozen=True)
class Arrays:
    """The ratings of a table as arrays (n,): scores, and codes of everything, from 0.

    ``names`` are the cells' (one tuple each: condition, then the values of the crossing) in sorted
    order; ``cell_condition`` (C,) gives the condition of each cell.
    """

    y: Floats
    rater: Codes
    cell: Codes
    item: Codes
    stimulus: Codes
    cell_condition: Codes
    names: tuple[tuple[str, ...], ...]

    @property
    def condition(self) -> Codes:
        """The condition of each rating (n,)."""
        return np.asarray(self.cell_condition[self.cell])


@dataclass(frozen=True)
class MixedResult:
    """A fitted model, its cells by name, and what it says about them.

    ``means`` and ``pairs`` come from ``fit`` (REML or maximum likelihood); ``posterior`` and
    ``comparison``, which may be a `Refusal`, are there if asked for. Ordinal and binary numbers are
    logits; their posterior also has the draws ``score``. ``notes`` are warnings in sentences.
    """

    names: tuple[tuple[str, ...], ...]
    fit: RemlFit | OrdinalFit | None
    means: Means | None
    pairs: Pairs | None
    posterior: Posterior | None
    comparison: Comparison | Refusal | None
    notes: tuple[str, ...]


@on_one_thread
def mixed_model(
    table: pd.DataFrame,
    kind: str = GAUSSIAN,
    *,
    compare: str = "condition",
    by: tuple[str, ...] = (),
    items: bool = True,
    bayesian: bool = False,
    above: float | None = None,
    scale: tuple[float, float] | None = None,
    rope: float = 0.02,
    level: float = 0.95,
    seed: int = 0,
) -> MixedResult:
    """The mixed model of a ratings table of one task and criterion; traps are left out.

    ``kind`` is gaussian, ordinal (labels ordered by score) or binary (score > ``above``).
    ``compare`` and ``by`` are columns: every combination found gets a mean, and a rater's leaning
    belongs to a value of ``compare`` (ordinal: to the combination). ``items`` has effects of item
    and stimulus, as far as the design tells them apart (gaussian only); without them the items
    count as the only ones there are. ``bayesian`` adds posterior and comparison; ``scale``, the
    lowest and highest score that can be given, sets the Gaussian prior (default: those found).
    ``rope`` is in scores, for logits too (it applies to mean scores). Raises NotEstimable with
    reason and remedy, ValueError for an unknown kind.
    """
    if kind not in (GAUSSIAN, ORDINAL, BINARY):
        raise ValueError(f"no kind {kind!r}; choose gaussian, ordinal or binary")
    if kind == BINARY and above is None:
        raise ValueError("binary needs above: the score above which an answer counts as yes")
    arrays = arrays_of(table, compare, by)
    if kind == GAUSSIAN:
        return _gaussian(arrays, items, bayesian, scale, rope, level, seed)
    return _ordinal(arrays, above, bayesian, rope, level, seed)


def arrays_of(table: pd.DataFrame, compare: str = "condition", by: tuple[str, ...] = ()) -> Arrays:
    """The arrays of a ratings table; rows of traps, or without score or condition, are left out."""
    use = rows_where(table, (table["trap"] == "") & table["score"].notna() & (table[compare] != ""))
    if not len(use):
        raise NotEstimable("there are no ratings", "collect some first")
    codes, values = zip(*(coded_column(use[name]) for name in (compare, *by)), strict=True)
    combinations, cell = np.arange(len(values[0])), codes[0]
    if by:
        joined = np.ravel_multi_index(codes, [len(value) for value in values])
        combinations, cell = distinct_codes(joined)
    places = np.unravel_index(combinations, [len(value) for value in values])
    named = [[value[i] for i in place] for value, place in zip(values, places, strict=True)]
    item = coded_column(items_of(use))[0]
    return Arrays(
        y=use["score"].to_numpy(dtype=np.float64),
        rater=coded_column(use["rater"])[0],
        cell=cell.astype(np.int64),
        item=item,
        stimulus=crossing(crossing(codes[0], coded_column(use["stimulus"])[0]), item),
        cell_condition=places[0].astype(np.int64),
        names=tuple(zip(*named, strict=True)),
    )


def _gaussian(
    arrays: Arrays,
    items: bool,
    bayesian: bool,
    scale: tuple[float, float] | None,
    rope: float,
    level: float,
    seed: int,
) -> MixedResult:
    effects = allowed_effects(arrays) if items else Effects({}, {})
    fit = reml_of(arrays, effects)
    posterior = None
    if bayesian:
        prior = prior_for(*(scale or (float(arrays.y.min()), float(arrays.y.max()))))
        posterior = posterior_of(arrays, effects, fit, prior, Sampling(seed=seed))
    return MixedResult(
        names=arrays.names,
        fit=fit,
        means=means(fit, level=level),
        pairs=pairs(fit, level=level),
        posterior=posterior,
        comparison=posterior.comparison(rope=rope, level=level) if posterior else None,
        notes=fit.notes,
    )


def allowed_effects(arrays: Arrays) -> Effects:
    """The random effects that a table's ratings can tell from one another."""
    return effects_of(arrays.rater, arrays.condition, arrays.item, arrays.stimulus)


def reml_of(arrays: Arrays, effects: Effects) -> RemlFit:
    """REML of scores with these effects; of millions of ratings, `moments_fit`."""
    if not effects.of_texts:
        fit = linear_model.nested_reml(_sums(arrays))
        more = tuple(note for note in effects.notes if note not in fit.notes)
        return replace(fit, notes=fit.notes + more)
    if effects.by_moments:
        codes, n_cells = effects.codes, len(arrays.names)
        fit = moments_fit(arrays.y, arrays.cell, arrays.condition, codes, n_cells)
        return replace(fit, notes=effects.notes + fit.notes)
    design = np.eye(len(arrays.names))[arrays.cell]
    fit = linear_model.crossed_reml(arrays.y, design, arrays.condition, effects.codes)
    return replace(fit, notes=effects.notes + fit.notes)


def posterior_of(
    arrays: Arrays,
    effects: Effects,
    fit: RemlFit | None,
    prior: GaussianPrior,
    sampling: Sampling = USUAL,
) -> Posterior:
    """Draws of the Bayesian form of the model whose REML fit, if there is one, is ``fit``.

    Without effects of texts or clips it has both those of raters, whatever the ratings tell.
    """
    if not effects.of_texts:
        return gaussian_posterior(_sums(arrays), prior, sampling)
    design = np.eye(len(arrays.names))[arrays.cell]
    return text_posterior(arrays.y, design, arrays.condition, effects.codes, fit, prior, sampling)


def _sums(arrays: Arrays) -> Sums:
    return sums(arrays.y, arrays.rater, arrays.cell, arrays.cell_condition)


def _ordinal(
    arrays: Arrays, above: float | None, bayesian: bool, rope: float, level: float, seed: int
) -> MixedResult:
    y = arrays.y if above is None else (arrays.y > above).astype(np.float64)
    scores, label = np.unique(y, return_inverse=True)
    counts = label_counts(label.astype(np.int64), arrays.rater, arrays.cell)
    fit: OrdinalFit | None = None
    notes = _weak(counts) if bayesian else ()
    try:
        fit = ordinal_ml(counts)
        notes += fit.notes
    except NotEstimable as error:
        if not bayesian:
            raise
        notes += (f"no maximum likelihood fit: {error}",)
    posterior = comparison = None
    if bayesian:
        posterior = ordinal_posterior(counts, scores=scores, sampling=Sampling(seed=seed))
        comparison = posterior.comparison(rope=rope, level=level, name="score")
    return MixedResult(
        names=arrays.names,
        fit=fit,
        means=means(fit, level=level) if fit else None,
        pairs=pairs(fit, level=level) if fit else None,
        posterior=posterior,
        comparison=comparison,
        notes=notes,
    )


def _weak(counts: Floats) -> tuple[str, ...]:
    """Warnings on effects of an ordinal posterior that the ratings hardly determine."""
    reasons = {
        name: why for name, why in linear_model.refused_by(counts.sum(axis=2)).items() if why
    }
    return tuple(
        f"the posterior SD of {name} is mostly prior: {why}" for name, why in reasons.items()
    )
