"""Rules that judge MUSHRA raters by the hidden reference and the mid-range anchor."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from analysis.statistics.screening.rule import Reasons, Rule, need, where

if TYPE_CHECKING:
    import pandas as pd

_SCALE = "give a score of 0 to 100 and a share from 0 to below 1, like share=0.15"


@dataclass(frozen=True)
class HiddenReference(Rule):
    """Raters who do not find the hidden reference are left out (ITU-R BS.1534-3, 4.1.2).

    The hidden reference is the stimulus that is its own ``versus_stimulus`` or whose condition has
    the role of the reference, or what is called ``condition`` in tables without those columns. A
    rater goes from a MUSHRA task with every criterion when they rate it below ``below`` on more
    than ``share`` of the items.
    """

    key = "hidden_reference"
    title = "MUSHRA: hidden reference missed"
    below: float = 90.0
    share: float = 0.15
    condition: str = ""

    def __post_init__(self) -> None:
        need(0 <= self.below <= 100 and 0 <= self.share < 1, self, _SCALE)

    def reasons(self, table: pd.DataFrame) -> Reasons:
        mushra = _of_mushra(table)
        hidden = mushra & self._hidden(table)
        failure = f"hidden reference below {self.below:g}"
        return _too_often(table, mushra, hidden, table["score"] < self.below, self.share, failure)

    def describe(self) -> str:
        return f"raters with the hidden reference below {self.below:g} on over {self.share:.0%}"

    def lacking(self, table: pd.DataFrame) -> str:
        if (_of_mushra(table) & self._hidden(table)).any():
            return ""
        return (
            "no MUSHRA rating is of a hidden reference; name it, like condition=ref, unless the "
            "study hid none (hidden_reference = false) or opened none (open_reference = false)"
        )

    def _hidden(self, table: pd.DataFrame) -> pd.Series[bool]:
        if self.condition:
            return table["condition"] == self.condition
        same = (table["stimulus"] == table["versus_stimulus"]) & (table["stimulus"] != "")
        return same | (table["role"] == "reference")


@dataclass(frozen=True)
class MidAnchor(Rule):
    """Raters who take the mid-range anchor for the reference are left out (BS.1534-3, 4.1.2).

    ``conditions`` are the names that the anchor (the reference through a 7 kHz low-pass) may
    have. A rater goes from a MUSHRA task with every criterion when they rate it above ``above`` on
    more than ``share`` of the items.
    """

    key = "mid_anchor"
    title = "MUSHRA: mid-range anchor rated like the reference"
    conditions: tuple[str, ...] = ("anchor70", "mid_anchor")
    above: float = 90.0
    share: float = 0.15

    def __post_init__(self) -> None:
        need(0 <= self.above <= 100 and 0 <= self.share < 1, self, _SCALE)

    def reasons(self, table: pd.DataFrame) -> Reasons:
        mushra = _of_mushra(table)
        anchor = mushra & table["condition"].isin(self.conditions)
        failure = f"mid-range anchor above {self.above:g}"
        return _too_often(table, mushra, anchor, table["score"] > self.above, self.share, failure)

    def describe(self) -> str:
        names = " or ".join(self.conditions)
        return f"raters with the anchor {names} above {self.above:g} on over {self.share:.0%}"

    def lacking(self, table: pd.DataFrame) -> str:
        if (_of_mushra(table) & table["condition"].isin(self.conditions)).any():
            return ""
        anchors_there = table[_of_mushra(table) & (table["role"] == "anchor")]["condition"].unique()
        anchors = f" (anchors are {', '.join(sorted(anchors_there))})" if len(anchors_there) else ""
        names = " or ".join(self.conditions)
        return f"no MUSHRA rating is of {names}; name it by conditions={anchors}"


def _of_mushra(table: pd.DataFrame) -> pd.Series[bool]:
    """MUSHRA against an open reference: without one nobody was asked to find a hidden one.

    A study's rating names its reference. Files of other tools have no blocks and name none.
    """
    opened = (table["versus_stimulus"] != "") | (table["block"] == "")
    return (table["estimand"] == "mushra") & (table["trap"] == "") & opened


def _too_often(
    table: pd.DataFrame,
    mushra: pd.Series[bool],
    judged: pd.Series[bool],
    wrong: pd.Series[bool],
    share: float,
    failure: str,
) -> Reasons:
    """The reason where a rater's share of wrong ones among those judged is over ``share``."""
    counted = wrong.astype(float).where(judged & table["score"].notna())
    rates = counted.groupby([table["study"], table["task"], table["rater"]]).transform("mean")
    out = mushra & (rates > share)
    reasons = where(out, "")
    for rate in rates[out].unique():
        hit = (out & (rates == rate)).to_numpy(dtype=bool)
        reasons[hit] = f"{failure} on {rate:.0%} of the items, more than {share:.0%}"
    return reasons
