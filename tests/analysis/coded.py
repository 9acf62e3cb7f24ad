"""Ratings of the reference sets as coded arrays: what named tests and models of pairs take."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis.ratings.breakdowns import Cell, cells, families
from analysis.ratings.grouping import Breakdown
from tests.analysis.reference import BLANK, DATA, expected, heard_on_headphones

__all__ = ["BLANK", "DATA", "coded", "expected", "isolation", "mushra", "of_table"]


def of_table(table: pd.DataFrame) -> Cell:
    """The only cell of a table's only family."""
    (family,) = families(table)
    (cell,) = cells(family, Breakdown())
    return cell


def isolation(name: str) -> Cell:
    """The isolated sentences of mos_s1 or mos_s2, heard on headphones, as R used them."""
    table = heard_on_headphones(name)
    return of_table(table[table["task"] == "isolation"])


def mushra(systems_only: bool = False) -> Cell:
    """mushra_s1 after R's post-screening; the systems alone, or with reference and anchors."""
    raw = pd.read_csv(DATA / "mushra_s1.csv.gz")
    raw = raw[~raw["rater"].isin(expected("mushra_s1")["post_screening"]["removed"])]
    if systems_only:
        raw = raw[raw["system"].str.len() == 1]
    return coded(raw["score"], raw["system"], raw["rater"], raw["text"])


def coded(y, condition, rater, item) -> Cell:
    """Plain columns as a cell."""
    names, condition = np.unique(np.asarray(condition, dtype=str), return_inverse=True)
    rater, item = (
        np.unique(np.asarray(x, dtype=str), return_inverse=True)[1] for x in (rater, item)
    )
    return Cell(
        group={},
        names=[str(name) for name in names],
        y=np.asarray(y, dtype=np.float64),
        labels=[],
        scoreless=False,
        condition=condition,
        rater=rater,
        item=item,
    )
