"""Mixed models of one family of ratings: whether there are any, their scale, prior and draws."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from analysis.breakdowns import Family, families
from analysis.comparisons.rope import HALF_WIDTHS
from analysis.mixed.errors import NotEstimable
from analysis.mixed.gaussian import GaussianPrior, gaussian_posterior, prior_for
from analysis.mixed.ordinal import label_counts
from analysis.mixed.ordinal_fit import ordinal_posterior
from analysis.mixed.posterior import Posterior
from analysis.mixed.sufficient import Codes, Floats, sums
from analysis.mixed.table import Arrays, arrays_of
from analysis.scales import AGAINST_OPEN_REFERENCE, ENDS, LOW_IS_BEST, family_title

if TYPE_CHECKING:
    import pandas as pd

    from analysis.options import Options

MOST_LABELS = 11  # a scale of more steps is as good as continuous
MOST_CELLS = 30_000  # raters times conditions, of a quick posterior
_ROPE_SHARE = 0.02  # of the width of a scale that has no region of its own


@dataclass(frozen=True)
class Modelled:
    """A family of ratings whose conditions a mixed model compares: its number, title and arrays.

    ``table`` are its rows, without conditions of a single rating; those are named in ``alone``.
    """

    number: int
    title: str
    family: Family
    table: pd.DataFrame
    arrays: Arrays
    alone: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        """The conditions, in the order of their codes."""
        return [name[0] for name in self.arrays.names]

    @property
    def scale(self) -> tuple[float, float]:
        """The lowest and highest score that can be given; those found, of a scale unknown."""
        low, high = float(self.arrays.y.min()), float(self.arrays.y.max())
        ends = ENDS.get(self.family.estimand)
        return ends if ends and ends[0] <= low and high <= ends[1] else (low, high)

    def rope(self, options: Options) -> float:
        """The difference that does not matter: asked for, the estimand's, or 2 % of the scale."""
        if options.rope is not None:
            return options.rope
        low, high = self.scale
        return HALF_WIDTHS.get(self.family.estimand, _ROPE_SHARE * (high - low) or _ROPE_SHARE)

    def seed(self, options: Options) -> int:
        """The seed of this family's draws, whatever else the table holds."""
        return int(np.random.SeedSequence(self.family.seed(options.seed)).generate_state(1)[0])


def modelled(ratings: pd.DataFrame) -> Iterator[Modelled]:
    """The families of a table whose conditions have means of their own: no pairs, no ranks."""
    for number, family in enumerate(families(ratings), start=1):
        if not comparable(family):
            continue
        counts = family.table["condition"].value_counts()
        several = counts.index[(counts > 1) & (counts.index != "")]
        table = family.table[family.table["condition"].isin(several)]
        if len(table):
            yield Modelled(
                number,
                family_title({"estimand": family.estimand, **family.group}),
                family,
                table,
                arrays_of(table),
                tuple(sorted(set(counts.index) - {*several, ""})),
            )


def comparable(family: Family) -> bool:
    """Whether each rating is about one condition: of pairs and ranks it is not."""
    paired = (family.table["versus_condition"] != "").any()
    known = family.estimand in AGAINST_OPEN_REFERENCE or not paired
    return bool(known) and family.estimand not in LOW_IS_BEST


def gaussian_draws(modelled: Modelled, options: Options) -> Posterior:
    """Exact draws of the nested Gaussian model: means, rater, rater by condition, residual.

    Raises NotEstimable with reason and remedy.
    """
    arrays = modelled.arrays
    return gaussian_posterior(
        sums(arrays.y, arrays.rater, arrays.cell),
        gaussian_prior(modelled),
        seed=modelled.seed(options),
        chains=options.chains,
        draws=options.draws,
    )


def gaussian_prior(modelled: Modelled) -> GaussianPrior:
    """The prior of the Gaussian models on the family's scale."""
    return prior_for(*modelled.scale)


def ordinal_draws(modelled: Modelled, options: Options) -> Posterior:
    """Exact draws of the nested cumulative logit model; ``score`` are means on the score scale.

    Raises NotEstimable with reason and remedy.
    """
    counts, scores = ordinal_counts(modelled)
    return ordinal_posterior(
        counts,
        scores=scores,
        seed=modelled.seed(options),
        chains=options.chains,
        draws=options.draws,
    )


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


def chosen(table: pd.DataFrame, title: str) -> Modelled:
    """The family with this title; raises NotEstimable that names the families there are."""
    found = {each.title: each for each in modelled(table)}
    if title not in found:
        raise NotEstimable(f"no ratings of {title!r}", f"choose {'; '.join(found) or 'other data'}")
    return found[title]
