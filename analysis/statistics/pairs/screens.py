"""Rankings and best-worst choices out of ratings: what each screen says of its systems."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

import numpy as np
import pandas as pd

from analysis.arrays import Codes, Floats
from analysis.ratings.breakdowns import coded_column
from analysis.statistics.comparisons.test_result import Undefined
from analysis.statistics.pairs.best_worst import BestWorstChoices
from analysis.statistics.pairs.plackett_luce import Rankings

NO_SCREENS = (
    "a rater chose several best or worst clips of one item: give the column position, which tells "
    "the screens of an item apart"
)


def screen_names(table: pd.DataFrame) -> list[str]:
    """A name for the screen of each rating of a ratings table: session, block and position."""
    position = table["position"].astype(object).where(table["position"].notna(), "")
    columns = (table["session"].astype(str), table["block"].astype(str), position)
    return ["/".join(map(str, parts)) for parts in zip(*columns, strict=True)]


def rankings_in(ratings: pd.DataFrame) -> tuple[Rankings, pd.DataFrame]:
    """Rankings of two systems or more, and the rater and item of each.

    ``ratings`` have a row for each rating: ``system``, ``rater``, ``item``, and ``score``, the
    place. A ranking is what a rater said of an item.
    """
    table = ratings.pivot_table(values="score", index=["rater", "item"], columns="system")
    table = table[table.notna().sum(axis=1) > 1]
    names = tuple(str(name) for name in table.columns)
    judged = table.index.to_frame(index=False)
    return Rankings(names, table.to_numpy(dtype=np.float64), *_judges(judged)), judged


def choices_in(ratings: pd.DataFrame) -> tuple[BestWorstChoices, pd.DataFrame]:
    """Best-worst choices, and the rater and item of each.

    ``ratings`` are as in `rankings_in`, with the column ``screen``; ``score`` is 1 of the best
    clip, -1 of the worst. Screens of which a rule left out the best or the worst are left out.
    Raises Undefined where a screen has several.
    """
    _require_screens(ratings)
    index = ["rater", "item", "screen"]
    table = ratings.pivot_table(values="score", index=index, columns="system")
    scores: Floats = table.to_numpy(dtype=np.float64)
    whole = (scores == 1).any(axis=1) & (scores == -1).any(axis=1)
    table, scores = table[whole], scores[whole]
    judged = table.index.to_frame(index=False)[["rater", "item"]]
    choices = BestWorstChoices(
        tuple(str(name) for name in table.columns),
        np.isfinite(scores),
        np.argmax(scores == 1, axis=1).astype(np.int64),
        np.argmax(scores == -1, axis=1).astype(np.int64),
        *_judges(judged),
    )
    return choices, judged


def pairs_in(ratings: pd.DataFrame, best_and_worst: bool) -> Iterator[dict[str, object]]:
    """Each two systems of each screen, as an answer to a pair: 1 where ``system`` is better.

    ``ratings`` are those of `choices_in` or of `rankings_in`, with the column ``unit``. Two clips
    that are neither the best nor the worst were not compared. Raises Undefined as `choices_in`.
    """
    if best_and_worst:
        _require_screens(ratings)
    index = ["unit", "rater", "item", *["screen"] * best_and_worst]
    for (unit, rater, item, *_), rows in ratings.groupby(index, sort=True):
        answer = {"unit": unit, "rater": rater, "item": item, "order": 0.0}
        scores = zip(rows["system"], rows["score"], strict=True)
        for (one, first), (other, second) in combinations(scores, 2):
            score = float(np.sign(first - second if best_and_worst else second - first))
            if score or not best_and_worst:
                yield {**answer, "system": one, "versus": other, "score": score}


def _require_screens(ratings: pd.DataFrame) -> None:
    index = [name for name in ("unit", "rater", "item", "screen", "score") if name in ratings]
    if ratings[ratings["score"] != 0].duplicated(index).any():
        raise Undefined(NO_SCREENS)


def _judges(judged: pd.DataFrame) -> tuple[Codes, Codes]:
    return coded_column(judged["rater"])[0], coded_column(judged["item"])[0]
