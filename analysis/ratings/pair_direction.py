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
    rows = table.loc[mine, [*_FAMILY, "condition", "versus_condition"]]
    turn = _rarer_direction(rows)
    if not turn.any():
        return table, []
    places = np.flatnonzero(mine.to_numpy(dtype=bool))[turn]
    turned = table.copy()
    for one, other in SIDES:
        swapped = table[[other, one]].to_numpy(dtype=object)[places]
        turned.iloc[places, turned.columns.get_indexer([one, other])] = swapped
    turned.iloc[places, turned.columns.get_loc("presented_first")] = (
        table["presented_first"].iloc[places].replace(TURNED_ORDER).to_numpy()
    )
    _describe(turned, table, places)
    score = table["score"].to_numpy(dtype=np.float64).copy()
    for key in table["estimand"].iloc[places].unique():
        of_key = places[(table["estimand"].iloc[places] == key).to_numpy(dtype=bool)]
        score[of_key] = estimand_of(str(key)).mirrored(score[of_key])
    turned["score"] = score
    were = "names its pair" if len(places) == 1 else "name their pair"
    return turned, [
        f"{counted(len(places), 'rating')} {were} of conditions the other way round than most: "
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


def _describe(turned: pd.DataFrame, table: pd.DataFrame, places: np.ndarray) -> None:
    """Give turned rows what is known of the condition that they name first now."""
    names = turned["condition"].iloc[places]
    known = table[table["trap"] == ""].drop_duplicates(["study", "condition"])
    for column in OF_CONDITION:
        of = dict(
            zip(zip(known["study"], known["condition"], strict=True), known[column], strict=True)
        )
        values = [of.get(key, "") for key in zip(turned["study"].iloc[places], names, strict=True)]
        turned.iloc[places, turned.columns.get_loc(column)] = values
