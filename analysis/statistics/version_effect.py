"""Whether two versions of a study gave the same scores of the same clips: a test of equivalence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
import pandas as pd

from analysis.arrays import Codes, Floats
from analysis.ratings.breakdowns import Family, coded_column, families, items_of
from analysis.ratings.estimands import estimand_of
from analysis.statistics.clustered_variance import limits_of
from analysis.statistics.comparisons.simultaneous import EQUAL, UNDECIDED, rope_decision
from analysis.statistics.intervals import Clustered, clustered

ALPHA = 0.05  # of each of the two one-sided tests
LEVEL = 1 - 2 * ALPHA  # of the interval that lies within the margin where both reject
NO_CLIP = "no clip was rated in both versions"
TOO_FEW = "two raters and two items or more are needed in each version"
NO_WIDTH = "the ratings do not vary: there is no interval"
OLD, NEW = 0, 1  # places of the versions


@dataclass(frozen=True)
class Shift:
    """The later version minus the earlier one, of one condition's shared clips."""

    condition: str
    value: float
    low: float | None
    high: float | None
    clips: int


@dataclass(frozen=True)
class VersionEffect:
    """The later version minus the earlier one over the shared conditions of one task and criterion.

    ``low`` and ``high`` are at ``LEVEL``; without them ``note`` says why. ``counts`` are ratings
    and raters of each version.
    """

    title: str
    earlier: str
    later: str
    margin: float
    value: float | None
    low: float | None
    high: float | None
    decision: str
    ratings: tuple[int, int]
    raters: tuple[int, int]
    raters_in_both: int
    clips: int
    shifts: tuple[Shift, ...]
    note: str = ""

    @property
    def equal(self) -> bool:
        """Whether both one-sided tests reject a difference of the margin or more."""
        return self.decision == EQUAL


def versions_in(table: pd.DataFrame) -> list[str]:
    """The versions of a table's ratings, the earliest first."""
    named = {str(version) for version in table["version"].unique()} - {""}
    return sorted(named, key=lambda version: (not version.isdecimal(), version.zfill(9)))


def version_effects(
    ratings: pd.DataFrame, margins: Mapping[str, float] = MappingProxyType({})
) -> list[VersionEffect]:
    """Each earlier version against the newest one, in every task and criterion that both rated.

    ``margins`` say by estimand which difference does not matter, by default the estimand's own.
    """
    versions = versions_in(ratings)
    return [
        effect
        for earlier in versions[:-1]
        for family in families(ratings[ratings["version"].isin([earlier, versions[-1]])])
        for effect in _of_family(family, earlier, versions[-1], margins)
    ]


def _of_family(
    family: Family, earlier: str, later: str, margins: Mapping[str, float]
) -> Iterator[VersionEffect]:
    if family.table["version"].nunique() < 2:
        return
    margin = margins.get(family.estimand) or estimand_of(family.estimand).equivalence
    yield _effect(family, earlier, later, margin or _share_of_range(family.table["score"]))


def _share_of_range(scores: pd.Series) -> float:
    """For an estimand without a margin: 2.5 % of the range of its scores, as for differences."""
    return float(scores.max() - scores.min()) / 40 or 1.0


def _effect(family: Family, earlier: str, later: str, margin: float) -> VersionEffect:
    shared = shared_clips(family.table)
    sides = [shared[shared["version"] == version] for version in (earlier, later)]
    who = [set(side["rater"]) for side in sides]
    value, bounds, shifts, note = _difference(shared, later, family.ends)
    low, high = bounds or (None, None)
    return VersionEffect(
        title=family.title,
        earlier=earlier,
        later=later,
        margin=margin,
        value=value,
        low=low,
        high=high,
        decision=rope_decision(low, high, margin) if bounds else UNDECIDED,
        ratings=(len(sides[OLD]), len(sides[NEW])),
        raters=(len(who[OLD]), len(who[NEW])),
        raters_in_both=len(who[OLD] & who[NEW]),
        clips=int(shared["clip"].nunique()),
        shifts=shifts,
        note=note,
    )


def shared_clips(table: pd.DataFrame) -> pd.DataFrame:
    """The ratings of clips, or pairs of clips, that were rated in all versions of the table."""
    named = table["stimulus"].astype(str) + "\x1f" + table["versus_stimulus"].astype(str)
    against = table["versus_condition"].astype(str)
    pair: Any = table["condition"].astype(str) + np.where(against == "", "", " ~ " + against)
    rows = table.assign(clip=named, pair=pair)
    versions = rows.groupby("clip")["version"].transform("nunique")
    return rows[versions == rows["version"].nunique()]


Bounds = tuple[float, float] | None


def _difference(
    shared: pd.DataFrame, later: str, ends: tuple[float, float] | None
) -> tuple[float | None, Bounds, tuple[Shift, ...], str]:
    """The mean over conditions of later minus earlier, each clip with the same weight.

    The weights make both means ones over the same clips, so that which clips were rated more often
    in a version is no difference of versions.
    """
    if shared.empty:
        return None, None, (), NO_CLIP
    condition, names = coded_column(shared["pair"])
    newer = (shared["version"] == later).to_numpy(dtype=np.int64)
    cell = 2 * condition + newer
    rater, _ = coded_column(shared["rater"])
    item, _ = coded_column(items_of(shared))
    clip, _ = coded_column(shared["clip"])
    y = shared["score"].to_numpy(dtype=np.float64)
    means = clustered(y, cell, rater, item, 2 * len(names), clip_weights(cell, clip), ends)
    of_each = np.zeros((len(names), 2 * len(names)))
    for place in range(len(names)):
        of_each[place, 2 * place : 2 * place + 2] = -1.0, 1.0
    value = float((of_each @ means.value).mean())
    if min(means.n_raters.min(), means.n_items.min()) < 2:
        return value, None, _shifts(names, of_each, means, None, shared), TOO_FEW
    contrasts = np.vstack([of_each.mean(axis=0), of_each])
    low, high = (end.tolist() for end in limits_of(contrasts, means).bounds(1 - LEVEL))
    shifts = _shifts(names, of_each, means, (low[1:], high[1:]), shared)
    if low[0] != low[0]:  # NaN: no variance
        return value, None, shifts, NO_WIDTH
    return value, (low[0], high[0]), shifts, ""


def clip_weights(cell: Codes, clip: Codes) -> Floats:
    """Weights (n,) that make each cell's mean the mean over its clips' own means."""
    joint = cell * (int(clip.max()) + 1) + clip
    _, inverse, counts = np.unique(joint, return_inverse=True, return_counts=True)
    clips = np.array([len(np.unique(clip[cell == code])) for code in range(int(cell.max()) + 1)])
    return np.asarray(1.0 / (counts[inverse] * clips[cell]), dtype=np.float64)


def _shifts(
    names: list[str],
    of_each: Floats,
    means: Clustered,
    bounds: tuple[list[float], list[float]] | None,
    shared: pd.DataFrame,
) -> tuple[Shift, ...]:
    clips = shared.groupby("pair")["clip"].nunique()
    shifts = []
    for place, name in enumerate(names):
        value = float(of_each[place] @ means.value)
        low = high = None
        if bounds is not None and bounds[0][place] == bounds[0][place]:  # no NaN
            low, high = bounds[0][place], bounds[1][place]
        shifts.append(Shift(name, value, low, high, int(clips[name])))
    return tuple(shifts)
