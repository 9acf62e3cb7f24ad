"""Comparisons of one pair that name it in both directions, turned to one of them."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from analysis.ratings.estimands import estimand_of, keys_where
from analysis.ratings.problems import some
from analysis.ratings.reference import reference_of, roles_of

_OTHER = {"rated": "versus", "versus": "rated"}
OF_CONDITION = ("role", "system", "voice")


def turn_pairs(table: pd.DataFrame, own: NDArray[np.bool_]) -> tuple[pd.DataFrame, list[str]]:
    """The table with each pair of conditions in one direction, and a note where rows were turned.

    The reference stands second (as ``versus_condition``); without one, the direction that more
    rows have stays. ``own`` (n,) marks rows of a study of Earnest, which stay as they are.
    """
    mine = table["estimand"].isin(keys_where("in_pairs")) & (table["versus_condition"] != "")
    rows = np.flatnonzero(np.asarray(mine, dtype=bool) & ~own)
    counts = table.iloc[rows].groupby(["condition", "versus_condition"], sort=True).size()
    both = {pair for pair in counts.index if pair[0] < pair[1] and pair[::-1] in counts.index}
    if not both:
        return table, []
    names = sorted({name for pair in both for name in pair})
    reference = reference_of(names, "", roles_of(table)).name
    turned = {}
    for pair in both:
        first, second = pair if counts[pair] >= counts[pair[::-1]] else pair[::-1]
        if reference in pair and second != reference:
            first, second = second, first
        turned[(second, first)] = (first, second)
    keys = zip(table["condition"], table["versus_condition"], strict=True)
    hit = np.array([key in turned for key in keys], dtype=bool) & np.asarray(mine) & ~own
    told = some(f"{b} versus {a} as {a} versus {b}" for b, a in turned)
    note = f"{int(hit.sum())} comparisons name a pair the other way round and are turned: {told}."
    return _turned(table, hit), [note]


def _turned(table: pd.DataFrame, hit: NDArray[np.bool_]) -> pd.DataFrame:
    made = table.copy()
    for name in ("condition", "stimulus"):
        made.loc[hit, name] = table.loc[hit, f"versus_{name}"]
        made.loc[hit, f"versus_{name}"] = table.loc[hit, name]
    first = [_OTHER.get(str(word), str(word)) for word in table.loc[hit, "presented_first"]]
    made.loc[hit, "presented_first"] = first
    for key in table.loc[hit, "estimand"].unique():
        rows = hit & (table["estimand"] == key).to_numpy(dtype=bool)
        made.loc[rows, "score"] = estimand_of(str(key)).mirrored(table.loc[rows, "score"])
    for name in OF_CONDITION:  # known where the other condition is rated somewhere
        said = table.loc[table[name] != "", ["condition", name]].drop_duplicates()
        once = said.drop_duplicates("condition", keep=False)
        known = dict(zip(once["condition"], once[name], strict=True))
        made.loc[hit, name] = [str(known.get(of, "")) for of in made.loc[hit, "condition"]]
    return made
