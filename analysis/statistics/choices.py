"""Shares of choices with simultaneous intervals, and right answers against guessing."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from analysis.arrays import Codes, Floats
from analysis.statistics.clustered_variance import Bounds, two_way_intervals
from analysis.statistics.intervals import clustered


@dataclass(frozen=True)
class ShareOfChoice:
    """How often one condition's answers hold one choice.

    ``share`` is in [0, 1]; ``bounds`` are those of its simultaneous interval, None where ``note``
    says why there is none.
    """

    condition: int
    choice: int
    n: int
    n_answers: int
    share: float
    bounds: Bounds
    note: str


def shares_of_choices(
    chosen: NDArray[np.bool_],
    condition: Codes,
    rater: Codes,
    item: Codes,
    level: float = 0.95,
) -> list[ShareOfChoice]:
    """Return the share of each choice in each condition, with simultaneous intervals.

    ``chosen`` (n, k) says which of k choices each of n answers holds; ``condition``, ``rater`` and
    ``item`` (n,) are codes from 0. The k intervals of one condition hold at once with the
    probability ``level`` at least (Bonferroni, as Goodman 1965 has it; two choices are one
    statement). Each is that of a share with raters and items clustered, see
    `clustered_variance.two_way_intervals`.
    """
    k = chosen.shape[1]
    each = level_of_each(level, k if k > 2 else 1)
    n_conditions = int(condition.max(initial=-1)) + 1
    found = []
    for choice in range(k):
        y = chosen[:, choice].astype(np.float64)
        means = clustered(y, condition, rater, item, n_conditions, ends=(0.0, 1.0))
        for code, (bounds, note) in enumerate(two_way_intervals(means, each)):
            own = y[condition == code]
            share = float(means.value[code])
            found.append(ShareOfChoice(code, choice, int(own.sum()), len(own), share, bounds, note))
    return sorted(found, key=lambda one: (one.condition, one.choice))


@dataclass(frozen=True)
class Accuracy:
    """How often one condition's answers are right, and what is left of it without guessing.

    ``share`` and ``chance`` are in [0, 1]; ``corrected`` is 0 by guessing and 1 where all is right.
    ``above`` and ``below`` say whether the interval leaves chance out, for all conditions at once.
    """

    condition: int
    n: int
    n_raters: int
    n_items: int
    share: float
    bounds: Bounds
    chance: float
    corrected: float
    corrected_bounds: Bounds
    above: bool
    below: bool
    note: str


def accuracies(
    right: NDArray[np.bool_],
    alternatives: Codes,
    condition: Codes,
    rater: Codes,
    item: Codes,
    level: float = 0.95,
) -> list[Accuracy]:
    """Return the share of right answers of each condition, and corrected for guessing.

    ``right`` (n,) says which answers are; ``alternatives`` (n,) is k, from how many each was chosen
    (2 or more). Corrected is the mean of (right - 1/k) / (1 - 1/k), as in ANSI S3.2; with one k its
    interval is that of the share, moved. Intervals hold for each condition alone; ``above`` and
    ``below`` are claimed where those of all conditions at once (Bonferroni) leave 0 out. Raises
    ValueError for k below 2.
    """
    if len(alternatives) and int(alternatives.min()) < 2:
        raise ValueError("an answer needs two alternatives or more to be right by chance")
    n_conditions = int(condition.max(initial=-1)) + 1
    y, chance = right.astype(np.float64), 1.0 / alternatives
    corrected: Floats = (y - chance) / (1 - chance)
    codes = condition, rater, item, n_conditions
    shares = clustered(y, *codes, ends=(0.0, 1.0))
    lowest = float((-chance / (1 - chance)).min(initial=0.0))
    beyond = clustered(corrected, *codes, ends=(lowest, 1.0))
    of_shares, of_corrected = (two_way_intervals(each, level) for each in (shares, beyond))
    at_once = two_way_intervals(beyond, level_of_each(level, n_conditions))
    return [
        Accuracy(
            condition=code,
            n=int(shares.n_ratings[code]),
            n_raters=int(shares.n_raters[code]),
            n_items=int(shares.n_items[code]),
            share=float(shares.value[code]),
            bounds=of_shares[code][0],
            chance=float(chance[condition == code].mean()),
            corrected=float(beyond.value[code]),
            corrected_bounds=of_corrected[code][0],
            above=bounds is not None and bounds[0] > 0,
            below=bounds is not None and bounds[1] < 0,
            note=of_shares[code][1],
        )
        for code, (bounds, _) in enumerate(at_once)
    ]


def confusion_counts(truth: Codes, answer: Codes, k: int) -> NDArray[np.int64]:
    """Return how often each of k answers (columns) was given to each of k truths (rows)."""
    counts = np.zeros((k, k), dtype=np.int64)
    np.add.at(counts, (truth, answer), 1)
    return counts


def level_of_each(level: float, intervals: int) -> float:
    """Return the level of each of so many intervals that hold at once with ``level`` at least."""
    return 1 - (1 - level) / max(intervals, 1)
