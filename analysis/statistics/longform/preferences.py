"""Preferences between two clips, all seen from the same side."""

from __future__ import annotations

import pandas as pd

from analysis.ratings.estimands import estimand_of


def one_way_round(table: pd.DataFrame) -> pd.DataFrame:
    """Each pair of conditions from the side that comes first in the table, scores turned with it.

    Rows of single clips stay as they are.
    """
    pairs = table[["condition", "versus_condition"]].drop_duplicates()
    first: dict[frozenset[str], str] = {}
    for condition, versus in pairs.astype(str).itertuples(index=False):
        if versus:
            first.setdefault(frozenset((condition, versus)), condition)
    turned = [
        bool(versus) and first[frozenset((condition, versus))] != condition
        for condition, versus in zip(
            table["condition"].astype(str), table["versus_condition"].astype(str), strict=True
        )
    ]
    if not any(turned):
        return table
    made = table.assign(
        condition=table["condition"].astype(str),
        versus_condition=table["versus_condition"].astype(str),
    )
    rows = table.index[turned]
    for name, other in (("condition", "versus_condition"), ("versus_condition", "condition")):
        made.loc[rows, name] = table.loc[rows, other].astype(str)
    for key in table.loc[rows, "estimand"].astype(str).unique():
        mine = rows[(table.loc[rows, "estimand"] == key).to_numpy()]
        made.loc[mine, "score"] = estimand_of(key).mirrored(table.loc[mine, "score"])
    return made
