"""The rule that leaves out what an earlier analysis left out, as its ratings.csv says."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from analysis.ratings.cells import LEFT_OUT_BY
from analysis.statistics.screening.rule import Reasons, Rule, no_reasons, where

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Recorded(Rule):
    """Ratings are left out whose column ``left_out_by`` names the rule with this text.

    Exclusions that were undone, reviews and plans of traps need not be known again: what the
    analysis left out that wrote the file is left out, and nothing else.
    """

    key = "recorded"
    title = "Left out by the analysis that wrote the file"
    rule: str = ""

    @property
    def name(self) -> str:
        return self.rule.partition(":")[0] or self.key

    def reasons(self, table: pd.DataFrame) -> Reasons:
        if LEFT_OUT_BY not in table:
            return no_reasons(table)
        named = {text: self.rule in text.split() for text in table[LEFT_OUT_BY].unique()}
        return where(table[LEFT_OUT_BY].map(named).astype(bool), f"{self.describe()} (recorded)")

    def describe(self) -> str:
        from analysis.statistics.screening.rule_text import rule_from

        try:
            return rule_from(self.rule).describe()
        except ValueError:
            return f"ratings that the rule {self.rule} left out"

    def lacking(self, table: pd.DataFrame) -> str:
        return "" if LEFT_OUT_BY in table else f"the file has no column {LEFT_OUT_BY}"
