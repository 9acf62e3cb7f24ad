"""What raters were given in each task, counted from the ratings that the estimates rest on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import pandas as pd

from analysis.ratings.breakdowns import Family, families, labelled_families, names_rated
from analysis.report.report_schema import TaskDesign

_FAMILY = ["study", "task", "criterion", "estimand"]
_HEARD = ["stimulus", "versus_stimulus", "context"]


def task_designs(known: pd.DataFrame, given: pd.DataFrame) -> list[TaskDesign]:
    """One row per family of ratings (task, criterion, estimand), in the order of the page.

    ``known`` holds the ratings after screening, ``given`` all of them. Ratings per clip and per
    rater are medians; of these, a pair that was compared, or a clip after another context, counts
    as a clip of its own.
    """
    rated = given[given["trap"] == ""]
    of_family = Counter(rated[_FAMILY].itertuples(index=False, name=None))
    return [_design(family, of_family) for family in (*families(known), *labelled_families(known))]


def _design(family: Family, given: Mapping[tuple[Any, ...], int]) -> TaskDesign:
    table = family.table
    heard = [name for name in _HEARD if name in table]
    per_clip = table.groupby(heard, sort=False).size()
    scores = table["score"].dropna()
    design: TaskDesign = {
        "study": family.group.get("study", ""),
        "task": family.group["task"],
        "criterion": family.group["criterion"],
        "estimand": family.estimand,
        "method": str(table["method"].iloc[0]),
        "in_pairs": family.in_pairs,
        "ratings": len(table),
        "ratings_given": given[tuple(table[_FAMILY].iloc[0])],
        "raters": family.n_raters,
        "clips": len(names_rated(table, "stimulus")),
        "items": family.n_items,
        "conditions": len(names_rated(table, "condition")),
        "ratings_per_clip": float(per_clip.median()),
        "ratings_per_rater": float(table.groupby("rater", sort=False).size().median()),
    }
    if len(scores):
        design["span"] = [float(scores.min()), float(scores.max())]
    return design
