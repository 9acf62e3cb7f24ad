"""The rule of ITU-R BS.1116 that judges listeners by their difference grades."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from analysis.statistics.screening.rule import Reasons, Rule, need, no_reasons

if TYPE_CHECKING:
    import pandas as pd

FEWEST = 3  # difference grades of a listener; a t-test of fewer tells nothing


@dataclass(frozen=True)
class Expertise(Rule):
    """Listeners whose difference grades are not below 0 are left out (ITU-R BS.1116-3).

    A one-sided t-test of each listener's difference grades in a task, over all its objects, against
    a mean of 0: whoever does not tell the object from the hidden reference gives grades around 0.
    With a p-value of ``alpha`` or more, the listener goes from the task with every criterion.
    Listeners with fewer than three grades are not judged. Grades that are all the same have no
    spread: they pass where they are below 0.
    """

    key = "expertise"
    title = "BS.1116: hidden reference not told from the object"
    alpha: float = 0.05

    def __post_init__(self) -> None:
        need(0 < self.alpha < 1, self, "give a level above 0 and below 1, like alpha=0.05")

    def reasons(self, table: pd.DataFrame) -> Reasons:
        from scipy.stats import ttest_1samp

        reasons = no_reasons(table)
        graded = table[_of_bs1116(table) & table["score"].notna()]
        for (study, task, rater), own in graded.groupby(["study", "task", "rater"], sort=True):
            grades = own["score"].to_numpy(dtype=float)
            if len(grades) < FEWEST:
                continue
            if grades.min() == grades.max():
                p = 0.0 if grades[0] < 0 else 1.0
            else:
                p = float(ttest_1samp(grades, 0.0, alternative="less").pvalue)
            if p >= self.alpha:
                mine = (table["study"] == study) & (table["task"] == task)
                hit = mine & (table["rater"] == rater) & _of_bs1116(table)
                reasons[hit.to_numpy(dtype=bool)] = (
                    f"difference grades not below 0 (mean {grades.mean():.2f}, p = {p:.2f})"
                )
        return reasons

    def describe(self) -> str:
        return (
            "listeners whose difference grades are not significantly below 0 "
            f"(one-sided t-test, {self.alpha:g})"
        )

    def lacking(self, table: pd.DataFrame) -> str:
        if _of_bs1116(table).any():
            return ""
        return "no rating is a difference grade; the rule is for tasks of the method bs1116"


def _of_bs1116(table: pd.DataFrame) -> pd.Series[bool]:
    return (table["estimand"] == "sdg") & (table["trap"] == "")
