"""Ratings of pairs for tests: the reference sets, the edge files, and small hand-made ones."""

from __future__ import annotations

from functools import cache

import numpy as np
import pandas as pd

from analysis.statistics.pairs.pair_ratings import PairRatings, pair_ratings
from tests.analysis.reference import DATA


@cache
def reference_pairs(name: str) -> PairRatings:
    """cmos_s1 or cmos_s2, with their orders."""
    return _of_frame(pd.read_csv(DATA / f"{name}.csv.gz"))


def edge_pairs(name: str) -> PairRatings:
    """An edge file of pairs."""
    return _of_frame(pd.read_csv(DATA / "edge" / f"edge_{name}.csv"))


def met(*results: tuple[str, str, float], repeat: int = 1, orders=(1.0, -1.0)) -> PairRatings:
    """Ratings (a, b, score), each repeated, by raters in turn of 6 and items in turn of 5."""
    rows = [result for result in results for _ in range(repeat)]
    n = range(len(rows))
    return pair_ratings(
        [row[0] for row in rows],
        [row[1] for row in rows],
        [row[2] for row in rows],
        [orders[i % len(orders)] for i in n],
        [f"r{i % 6}" for i in n],
        [f"t{i % 5}" for i in n],
    )


def _of_frame(frame: pd.DataFrame) -> PairRatings:
    return pair_ratings(
        frame["system_a"].tolist(),
        frame["system_b"].tolist(),
        frame["score"].tolist(),
        np.where(frame["first"] == "b", 1.0, -1.0).tolist(),
        frame["rater"].tolist(),
        frame["text"].tolist(),
    )
