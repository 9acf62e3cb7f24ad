"""Mixed models of one family of ratings: whether there are any, their scale, prior and draws."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from analysis.ratings.breakdowns import Family, families
from analysis.ratings.estimands import estimand_of
from analysis.ratings.table import rows_where
from analysis.statistics.mixed.exact_sampler import Sampling
from analysis.statistics.mixed.gaussian import GaussianPrior, prior_for
from analysis.statistics.mixed.heteroscedastic import spread_posterior
from analysis.statistics.mixed.linear_model import PATIENT, Effects, affordable
from analysis.statistics.mixed.model_errors import NotEstimable
from analysis.statistics.mixed.ordinal_fit import label_counts, ordinal_posterior
from analysis.statistics.mixed.posterior import Posterior
from analysis.statistics.mixed.reml import RemlFit
from analysis.statistics.mixed.sufficient_statistics import Codes, Floats
from analysis.statistics.mixed.table_model import (
    Arrays,
    allowed_effects,
    arrays_of,
    posterior_of,
    reml_of,
)

if TYPE_CHECKING:
    import pandas as pd

    from analysis.statistics.options import Options


MOST_LABELS = 11  # a scale of more steps is as good as continuous
MOST_CELLS = 30_000  # raters times conditions, of a quick posterior
_ROPE_SHARE = 0.02  # of the width of a scale that has no region of its own


@dataclass(frozen=True)
class Modelled:
    """A family of ratings whose conditions a mixed model compares: its number, title and arrays.

    ``table`` are its rows, without conditions of a single rating; those are named in ``alone``.
    ``prior`` is by default that of the scale.
    """

    number: int
    title: str
    family: Family
    table: pd.DataFrame
    arrays: Arrays
    alone: tuple[str, ...] = ()
    prior: GaussianPrior | None = None

    @property
    def names(self) -> list[str]:
        """The conditions, in the order of their codes."""
        return [name[0] for name in self.arrays.names]

    @property
    def scale(self) -> tuple[float, float]:
        """The lowest and highest score that can be given; those found, of a scale unknown."""
        low, high = float(self.arrays.y.min()), float(self.arrays.y.max())
        return estimand_of(self.family.estimand).ends_for(low, high) or (low, high)

    def rope(self, options: Options) -> float:
        """The difference that does not matter: asked for, the estimand's, or 2 % of the scale."""
        if options.rope is not None:
            return options.rope
        low, high = self.scale
        known = estimand_of(self.family.estimand).equivalence
        return known or _ROPE_SHARE * (high - low) or _ROPE_SHARE

    def seed(self, options: Options) -> int:
        """The seed of this family's draws, whatever else the table holds."""
        return int(np.random.SeedSequence(self.family.seed(options.seed)).generate_state(1)[0])

    def sampling(self, options: Options) -> Sampling:
        """How this family's posteriors are drawn."""
        return Sampling(options.chains, options.draws, self.seed(options))


NO_DRAWS = "there are too many ratings for draws", "use the intervals of the model"


def modelled(ratings: pd.DataFrame) -> Iterator[Modelled]:
    """The families of a table whose conditions have means of their own: no pairs, no ranks."""
    for number, family in enumerate(families(ratings), start=1):
        if not comparable(family):
            continue
        counts = family.table["condition"].value_counts()
        several = counts.index[(counts > 1) & (counts.index != "")]
        table = rows_where(family.table, family.table["condition"].isin(several))
        if len(table):
            yield Modelled(
                number,
                family.title,
                family,
                table,
                arrays_of(table),
                tuple(sorted(set(counts.index) - {*several, ""})),
            )


def comparable(family: Family) -> bool:
    """Whether each rating is about one condition: of pairs, ranks and choices it is not."""
    return not family.in_pairs and not estimand_of(family.estimand).among_others


def model_effects(modelled: Modelled, most: float = PATIENT) -> Effects:
    """The effects of a family's mixed model, without those whose fit is more work than ``most``."""
    arrays = modelled.arrays
    return affordable(allowed_effects(arrays), arrays.condition, most)


def model_draws(
    modelled: Modelled,
    options: Options,
    effects: Effects | None = None,
    fit: RemlFit | None = None,
) -> Posterior:
    """Draws of a family's mixed model, texts and clips included wherever the design allows.

    ``effects`` are those of `model_effects` and ``fit`` their REML fit, if they are known. Raises
    NotEstimable where texts or clips would have to be left out: ranks would be too sure.
    """
    arrays = modelled.arrays
    effects = model_effects(modelled) if effects is None else effects
    if effects.by_moments:
        raise NotEstimable(*NO_DRAWS)
    if effects.too_large:
        raise NotEstimable(
            "this design is too large for effects of texts and clips, and without them ranks would "
            "be too sure",
            _BY_NAME if not model_effects(modelled).too_large else _FEWER,
        )
    if effects.of_texts and fit is None:
        with suppress(NotEstimable):
            fit = reml_of(arrays, effects)
    return posterior_of(arrays, effects, fit, gaussian_prior(modelled), modelled.sampling(options))


_BY_NAME = "ask for it by name: --part models"
_FEWER = "compare fewer conditions or items at a time"


def gaussian_draws(modelled: Modelled, options: Options) -> Posterior:
    """Exact draws of the nested Gaussian model: means, rater, rater by condition, residual.

    Texts and clips are taken as given. Raises NotEstimable with reason and remedy.
    """
    prior, sampling = gaussian_prior(modelled), modelled.sampling(options)
    return posterior_of(modelled.arrays, Effects({}, {}), None, prior, sampling)


def gaussian_prior(modelled: Modelled) -> GaussianPrior:
    """The prior of the Gaussian models; means lie on the scale where its ends are known."""
    if modelled.prior is not None:
        return modelled.prior
    scores = modelled.arrays.y
    known = estimand_of(modelled.family.estimand)
    ends = known.ends_for(float(scores.min()), float(scores.max()))
    return replace(prior_for(*modelled.scale), ends=ends)


def ordinal_draws(modelled: Modelled, options: Options) -> Posterior:
    """Exact draws of the nested cumulative logit model; ``score`` are means on the score scale.

    Raises NotEstimable with reason and remedy.
    """
    counts, scores = ordinal_counts(modelled)
    return ordinal_posterior(counts, scores=scores, sampling=modelled.sampling(options))


def ordinal_counts(modelled: Modelled) -> tuple[Floats, Floats]:
    """How often each rater gave each score to each condition (R, S, K), and the scores (K,)."""
    label, scores = ordinal_labels(modelled)
    return label_counts(label, modelled.arrays.rater, modelled.arrays.condition), scores


def ordinal_labels(modelled: Modelled) -> tuple[Codes, Floats]:
    """Each rating's score as a step from 0 (n,), and the scores (K,) of the steps that were used.

    Raises NotEstimable for more steps than an ordinal model can have.
    """
    scores, label = np.unique(modelled.arrays.y, return_inverse=True)
    if len(scores) > MOST_LABELS:
        raise NotEstimable(
            f"{len(scores)} different scores were given, more than the {MOST_LABELS} steps of an "
            "ordinal model",
            "use the Gaussian models",
        )
    return label.astype(np.int64), scores


def family_by_title(table: pd.DataFrame, title: str) -> Modelled:
    """The family with this title; raises NotEstimable that names the families there are."""
    by_title = {each.title: each for each in modelled(table)}
    if title not in by_title:
        raise NotEstimable(
            f"no ratings of {title!r}", f"choose {'; '.join(by_title) or 'other data'}"
        )
    return by_title[title]


def large_scale(modelled: Modelled) -> bool:
    """Whether scores are numbers on a scale of many steps, which no ordinal model can take."""
    many = len(np.unique(modelled.arrays.y)) > MOST_LABELS
    return many or estimand_of(modelled.family.estimand).continuous


def has_own_spreads(modelled: Modelled) -> bool:
    """Whether conditions get spreads of their own: several of them, on a large scale."""
    return large_scale(modelled) and len(modelled.names) > 1


def family_posterior(
    modelled: Modelled,
    options: Options,
    effects: Effects | None = None,
    fit: RemlFit | None = None,
) -> Posterior:
    """Return draws of `model_draws`, texts and clips included.

    Where `has_own_spreads`, conditions have spreads of their own in them. A spread of each
    condition has a closed form without effects of texts only. So they are estimated by that
    (`spread_posterior`); then the scores, in units of their condition's spread around its mean,
    have the model with all effects. Raises NotEstimable with reason and remedy.
    """
    arrays = modelled.arrays
    for what, codes in (("rater", arrays.rater), ("item", arrays.item)):
        if len(np.unique(codes)) < 2:
            raise NotEstimable(
                f"there is one {what}: how {what}s differ cannot be estimated",
                f"collect ratings of more {what}s",
            )
    if not has_own_spreads(modelled):
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
    posterior = model_draws(scaled, options, effects)
    mean = middle + spread * posterior.draws["condition"]
    if prior.ends is not None:
        mean = np.clip(mean, *prior.ends)
    draws = {**posterior.draws, "condition": mean, "spread": spreads.draws["spread"]}
    return replace(posterior, draws=draws, prior=spreads.prior)
