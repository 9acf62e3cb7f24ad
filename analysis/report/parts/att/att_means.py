"""What the tables compare, and the means in them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from analysis.ratings.grouping import Breakdown
from analysis.report.part import PartInput
from analysis.statistics.estimator import Estimate
from analysis.statistics.estimators.mean_score import MeanScore

if TYPE_CHECKING:
    import pandas as pd

PAPER = "the Audio Turing Test"


def compared(table: pd.DataFrame) -> str:
    """The column that names the systems: ``system`` where every rating has one and some pool.

    Where each system has one condition, that stands for it: conditions have labels.
    """
    both = table[["system", "condition"]].drop_duplicates()
    pooled = bool((both["system"] != "").all()) and bool(both["system"].duplicated().any())
    return "system" if pooled else "condition"


def means(
    table: pd.DataFrame, breakdown: Breakdown, inputs: PartInput, weighting: str = "ratings"
) -> list[Estimate]:
    """The means of a breakdown with the two-way clustered interval, one each."""
    options = inputs.options
    made = MeanScore(breakdown, ("two_way",), (weighting,))
    rows = made.fit(table, level=options.level, seed=options.seed)
    return [row for row in rows if not row.interval.startswith("naive")]


def references(table: pd.DataFrame, compare: str) -> set[str]:
    """What stands beside the systems and is none: conditions that the study calls its reference."""
    return set(table[compare][table["role"] == "reference"].unique())
