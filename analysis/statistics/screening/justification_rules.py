"""Rules that look at the justification beside a rating, and at what experts said of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from analysis.statistics.screening.rule import Reasons, Rule, need, where

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Review(Rule):
    """Ratings whose justification was judged unfit by experts are left out (column ``review``).

    What nobody has reviewed stays.
    """

    key = "review"
    title = "Justifications judged unfit"
    leave_out: tuple[str, ...] = ("unfit",)

    def reasons(self, table: pd.DataFrame) -> Reasons:
        verdict = table["review"]
        reasons = where(verdict.isin(self.leave_out), "its justification was judged ")
        return np.where(reasons == "", "", reasons + verdict.to_numpy(dtype=object))

    def describe(self) -> str:
        return f"ratings whose justification was judged {' or '.join(self.leave_out)}"

    def lacking(self, table: pd.DataFrame) -> str:
        return "" if (table["review"] != "").any() else "the column review is empty"


@dataclass(frozen=True)
class NoJustification(Rule):
    """Ratings without a justification, or with hardly one, are left out.

    Only tasks in which somebody wrote one are judged.
    """

    key = "no_justification"
    title = "No justification"
    characters: int = 1

    def __post_init__(self) -> None:
        need(self.characters >= 1, self, "characters must be 1 or more")

    def reasons(self, table: pd.DataFrame) -> Reasons:
        length = table["justification"].str.strip().str.len()
        expected = (length > 0).groupby([table["study"], table["task"]]).transform("any")
        short = expected.astype(bool) & (length < self.characters) & (table["trap"] == "")
        few = f"the justification has fewer than {self.characters} characters"
        return where(short, "there is no justification" if self.characters == 1 else few)

    def describe(self) -> str:
        if self.characters == 1:
            return "ratings without a justification, in tasks that ask for one"
        return f"ratings whose justification has fewer than {self.characters} characters"

    def lacking(self, table: pd.DataFrame) -> str:
        return "" if (table["justification"] != "").any() else "nobody wrote a justification"
