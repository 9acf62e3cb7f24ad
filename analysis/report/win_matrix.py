"""How often each condition won against each other one, as a figure."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

from analysis.report.content import Figure
from analysis.statistics.pairs.comparison_graph import wins_of
from analysis.statistics.pairs.pair_ratings import PairRatings

MOST_IN_MATRIX = 30
TITLE = "Who beats whom"
NOTE = "Percent of the comparisons that the row won against the column, a tie counting half."


def win_matrix(ratings: PairRatings, order: Sequence[str], key: str, about: str) -> list[Figure]:
    """The matrix of win rates, in this order; none where it would be too large to read."""
    if len(order) > MOST_IN_MATRIX:
        return []
    rows = win_rows(ratings, order)
    return [Figure(key, TITLE, "heatmap", rows, "against", note=NOTE, about=about)]


def win_rows(ratings: PairRatings, order: Sequence[str]) -> list[dict[str, Any]]:
    """A row for each two conditions: the share won (``value``, ``text`` in percent) of ``n``."""
    wins = wins_of(ratings)
    met = wins + wins.T
    place = {name: code for code, name in enumerate(ratings.names)}
    rows = []
    for row, column in product(order, repeat=2):
        at = place[row], place[column]
        n = float(met[at])
        share = float(wins[at]) / n if n else None
        text = f"{share * 100:.0f}" if share is not None else ""
        rows.append({"row": row, "column": column, "value": share, "text": text, "n": round(n)})
    return rows
