"""What raters of one family rated, as units for agreement, and the steps of their scale."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from analysis.arrays import Floats
from analysis.ratings.estimands import estimand_of

if TYPE_CHECKING:
    import pandas as pd

    from analysis.ratings.breakdowns import Family

Words = NDArray[np.object_]
MOST_STEPS = 21
_GRIDS = (1.0, 0.5, 0.25, 0.2, 0.1)
_COARSE = 11  # steps that a slider is cut into


@dataclass(frozen=True)
class Rated:
    """The n ratings of one family as plain columns (n,), in the order of the table.

    ``unit`` names what was rated: a stimulus after its context, or a pair. ``score`` counts for the
    side that comes first in the unit's name, so that a pair heard both ways round is one unit.
    ``condition`` is the condition, or the pair of them; ``compared`` says which of both.
    ``baseline`` is the condition that all pairs have in common: it is the second side. Where it is
    empty, names decide which side comes first. ``neutral`` is the score that favours neither side
    of a pair, None where there are no sides.
    """

    unit: Words
    rater: Words
    score: Floats
    condition: Words
    session: Words
    position: Floats
    compared: bool
    baseline: str = ""
    neutral: float | None = None

    @property
    def sides_by_name(self) -> bool:
        """Whether names alone decide for which side a score counts: then its sign means nothing."""
        return self.neutral is not None and not self.baseline


def rated_units(family: Family) -> Rated:
    """The family's ratings with what was rated as units; see `Rated`."""
    table = family.table
    stimulus, versus = texts(table, "stimulus"), texts(table, "versus_stimulus")
    condition, other = texts(table, "condition"), texts(table, "versus_condition")
    score = table["score"].to_numpy(dtype=np.float64)
    context = texts(table, "context")
    estimand = estimand_of(family.estimand)
    compared = family.in_pairs
    unit, baseline = stimulus, ""
    if compared:
        baseline = _common_condition(condition, other)
        turned = versus < stimulus
        if baseline:
            turned = np.where(condition == other, turned, condition == baseline)
        unit = np.where(turned, _join_names(versus, stimulus), _join_names(stimulus, versus))
        condition = np.where(turned, _join_names(other, condition), _join_names(condition, other))
        score = np.where(turned, estimand.mirrored(score), score)
    if (context != "").any():
        unit = unit + np.where(context != "", " after ", "") + context
    return Rated(
        unit=unit,
        rater=texts(table, "rater"),
        score=score,
        condition=condition,
        session=texts(table, "session"),
        position=numbers(table, "position"),
        compared=compared,
        baseline=baseline,
        neutral=estimand.neutral if compared and estimand.prefers else None,
    )


def _common_condition(condition: Words, other: Words) -> str:
    """The condition in every pair, empty without one; of two, that which is more often second."""
    pairs = set(zip(condition, other, strict=True))  # few, of however many ratings
    common = set.intersection(*map(set, pairs))
    second = Counter(other)
    return max(sorted(common), key=lambda name: second[name], default="")


def steps_of(scores: Floats, estimand: str) -> tuple[float, ...]:
    """The evenly spaced steps of the scale that the scores (n,) were given on, ascending.

    From the known ends of the estimand's scale, else from the scores (comparisons alike to both
    sides); the step is the widest of 1, 0.5, 0.25, 0.2 and 0.1 that all scores fit. Empty for a
    slider (more than 21 steps) and for scores that do not differ; `coarse_steps` cuts a slider.
    """
    if not len(scores):
        return ()
    low, high = _ends(scores, estimand)
    for step in _GRIDS:
        places = (scores - low) / step
        if np.abs(places - np.rint(places)).max() < 1e-6:
            count = round((high - low) / step) + 1
            return tuple(low + step * k for k in range(count)) if 2 <= count <= MOST_STEPS else ()
    return ()


def coarse_steps(scores: Floats, estimand: str) -> tuple[float, ...]:
    """Eleven even steps over the scale, for scores (n,) of a slider; empty without a range."""
    if not len(scores):
        return ()
    low, high = _ends(scores, estimand)
    return tuple(np.linspace(low, high, _COARSE).tolist()) if high > low else ()


def scale_ends(scores: Floats, estimand: str) -> tuple[float, float] | None:
    """The ends of the estimand's scale if it has known ones and all scores (n,) lie between."""
    if not len(scores):
        return None
    return estimand_of(estimand).ends_for(float(scores.min()), float(scores.max()))


def step_names(steps: Sequence[float]) -> list[str]:
    """The steps as people write them."""
    return [f"{step + 0.0:g}" for step in np.round(steps, 6).tolist()]


def _ends(scores: Floats, estimand: str) -> tuple[float, float]:
    known = scale_ends(scores, estimand)
    if known is not None:
        return known
    if estimand_of(estimand).signed:
        far = float(np.abs(scores).max())
        return -far, far
    return float(scores.min()), float(scores.max())


def numbers(table: pd.DataFrame, name: str) -> Floats:
    """A column of whole numbers as float64 (n,), NaN where empty."""
    column = table[name].astype("Float64").to_numpy(dtype=np.float64, na_value=np.nan)
    return np.asarray(column, dtype=np.float64)


def texts(table: pd.DataFrame, name: str) -> Words:
    """A column of texts as objects (n,)."""
    return np.asarray(table[name].to_numpy(dtype=object))


def _join_names(first: Words, second: Words) -> Words:
    return np.asarray(first + np.where(second != "", " – ", "") + second)
