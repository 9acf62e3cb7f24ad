"""Scores that do not fit the scale they are taken for: ranks of a screen, and short scales."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.formatting import enumerated
from analysis.ratings.estimands import estimand_of, keys_where
from analysis.ratings.problems import rows_text

SCREEN = ("task", "criterion", "rater", "session", "block", "item")
ENOUGH = 30  # scores from which on a scale without its upper half is no chance


def check_ranks(
    table: pd.DataFrame, own: NDArray[np.bool_], numbers: NDArray[np.int64]
) -> tuple[pd.DataFrame, list[str], list[str]]:
    """The table with tied ranks as mid-ranks; notes, and what is wrong with ranks.

    A screen is what one rater ranked at once. Ranks among different numbers of clips are not
    comparable and are refused, as are places that are missing. ``numbers`` (n,) are those of the
    rows in the file; ``own`` marks rows of a study of Earnest.
    """
    ranked = table["estimand"].isin(keys_where("lowest_is_best")) & (table["trap"] == "")
    rows = np.flatnonzero(np.asarray(ranked & table["score"].notna(), dtype=bool) & ~own)
    if not len(rows):
        return table, [], []
    use = table.iloc[rows]
    screens = use.groupby(list(SCREEN), sort=False)
    size = screens["score"].transform("size").to_numpy()
    sizes = sorted(set(size.tolist()))
    if len(sizes) > 1:
        return table, [], [
            f"ranks of screens with {enumerated([f'{n}' for n in sizes])} clips: a place among "
            f"{sizes[0]} says something else than one among {sizes[-1]}. Analyse screens of one "
            "size by themselves, or write each screen as comparisons of two clips (method ab)"
        ]  # fmt: skip
    middle = screens["score"].rank(method="average").to_numpy()
    fits = _as_ranked(use, screens)
    if not fits.all():
        wrong = numbers[rows[~fits]]
        return table, [], [
            f"{rows_text(wrong.tolist())}, column score: places of a screen of {sizes[0]} clips "
            f"must be 1 to {sizes[0]}, with ties like 1, 1, 3; a clip may be missing"
        ]  # fmt: skip
    tied = use["score"].to_numpy(dtype=np.float64) != middle
    equal = screens["score"].transform(lambda scores: scores.duplicated(keep=False)).to_numpy(bool)
    if not equal.any():
        return table, [], []
    scores = table["score"].to_numpy(dtype=np.float64).copy()
    scores[rows[tied]] = middle[tied]
    made = table.assign(score=scores)
    groups = use[equal].groupby(list(SCREEN), sort=False).ngroups
    note = (
        f"{groups} of {screens.ngroups} screens hold ties: clips that share a place have the mean "
        "of their places (mid-ranks)."
    )
    return made, [note], []


def _as_ranked(use: pd.DataFrame, screens: Any) -> NDArray[np.bool_]:
    """Which ranks (m,) are of a screen that was ranked from 1 on in a usual way."""
    score, ranks = use["score"].to_numpy(dtype=np.float64), screens["score"]
    fits = [score == ranks.rank(method=method).to_numpy() for method in ("average", "min", "dense")]
    fits.append(score == ranks.rank(method="max").to_numpy())
    code = screens.ngroup().to_numpy()
    right = np.zeros(len(score), dtype=bool)
    for each in fits:
        whole = np.bincount(code, weights=~each) == 0
        right |= whole[code]
    return right


def short_scales(table: pd.DataFrame, own: NDArray[np.bool_], scale: str = "") -> Iterator[str]:
    """A question for each kind of score of which nobody used the upper part of the scale.

    These are categories of five points that end at three, and ratings from 0 to 100 that end at
    ten. ``scale`` is the answer: ``1,5`` or ``0,100``.
    """
    rated = (table["trap"] == "") & table["score"].notna()
    foreign = table[np.asarray(rated, dtype=bool) & ~own]
    for (key, criterion), scores in foreign.groupby(["estimand", "criterion"], sort=True)["score"]:
        known = estimand_of(str(key))
        ends = known.ends and f"{known.ends[0]:g},{known.ends[1]:g}"
        if len(scores) < ENOUGH or scale.replace(" ", "").replace("-", ",") == ends:
            continue
        low, high = scores.min(), scores.max()
        of = f" of {criterion}" if criterion else ""
        if known.ends == (1.0, 5.0) and low == 1 and high <= 3 and not (scores % 1).any():
            points = enumerated([f"{value:g}" for value in sorted(scores.unique())], "or")
            yield (
                f"all {len(scores)} {known.name} scores{of} are {points}: say --scale 1,5 if the "
                "scale had five points, or --set method=free_choice for means on a shorter scale"
            )
        elif known.ends == (0.0, 100.0) and high <= 10:
            yield (
                f"all {len(scores)} {known.name} scores{of} are {low:g} to {high:g}: say --scale "
                "0,100 if the scale ended at 100, or --set method=mos if it had five points, or "
                "--set method=free_choice for means on another scale"
            )
