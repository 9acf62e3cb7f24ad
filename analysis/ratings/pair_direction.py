"""Comparisons of two clips, turned so that every pair of conditions is named in one direction."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.formatting import counted
from analysis.ratings.estimands import estimand_of, keys_where

SIDES = (("condition", "versus_condition"), ("stimulus", "versus_stimulus"))
OF_CONDITION = ("role", "system", "voice")  # columns that describe the condition, not the clip
TURNED_ORDER = {"rated": "versus", "versus": "rated"}
_FAMILY = ["study", "task", "criterion", "estimand"]


def in_one_direction(table: pd.DataFrame) -> tuple[pd.DataFrame, list[str]]:
    """Return the ratings with each pair named in one direction, and a note where any was turned.

    Of a pair that is named both as A against B and as B against A, the rarer direction is turned
    (of equally many, the one that is not alphabetical): conditions, clips and the order of playback
    change places and the score is mirrored around its neutral point. Rows keep their places and
    their index.
    """
    mine = table["estimand"].isin(keys_where("in_pairs")) & (table["trap"] == "")
    mine &= (table["versus_condition"] != "") & (table["condition"] != table["versus_condition"])
    turn = pd.Series(False, index=table.index)
    turn[mine] = _rarer_direction(table.loc[mine, [*_FAMILY, "condition", "versus_condition"]])
    if not turn.any():
        return table, []
    turned = table.copy()
    for one, other in SIDES:
        turned[one] = table[one].where(~turn, table[other])
        turned[other] = table[other].where(~turn, table[one])
    order = table["presented_first"].replace(TURNED_ORDER)
    turned["presented_first"] = table["presented_first"].where(~turn, order)
    for key in table["estimand"][turn].unique():
        mirrored = estimand_of(str(key)).mirrored(table["score"])
        turned["score"] = turned["score"].where(~(turn & (table["estimand"] == key)), mirrored)
    known = table[table["trap"] == ""].drop_duplicates(["study", "condition"])
    facts = known.set_index(["study", "condition"])
    places = pd.MultiIndex.from_frame(turned[["study", "condition"]])
    for column in OF_CONDITION:
        of_first = pd.Series(facts[column].reindex(places).fillna("").to_numpy(), table.index)
        turned[column] = table[column].where(~turn, of_first)
    count = int(turn.sum())
    were = "names its pair" if count == 1 else "name their pair"
    return turned, [
        f"{counted(count, 'rating')} {were} of conditions the other way round than most: "
        "the two sides were swapped and the scores mirrored, so that each pair is counted once."
    ]


def _rarer_direction(rows: pd.DataFrame) -> np.ndarray:
    """Return a mask (n,) of the ratings whose pair is named more often the other way round."""
    if rows.empty:
        return np.zeros(0, dtype=bool)
    ahead = (rows["condition"] < rows["versus_condition"]).to_numpy(dtype=bool)
    low = rows["condition"].where(ahead, rows["versus_condition"])
    high = rows["versus_condition"].where(ahead, rows["condition"])
    pair = [*(rows[name] for name in _FAMILY), low, high]
    share = pd.Series(ahead, index=rows.index).groupby(pair, sort=False).transform("mean")
    return np.asarray(ahead != (share >= 0.5).to_numpy(dtype=bool))
