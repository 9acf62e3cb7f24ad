"""Rules that look at ratings one by one, at second ones, and at the hidden reference."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from analysis.scales import WITHOUT_SCORE
from analysis.screening.rule import Reasons, Rule, where

if TYPE_CHECKING:
    import pandas as pd

_TRIAL = (
    "study",
    "task",
    "criterion",
    "session",
    "rater",
    "block",
    "position",
    "item",
    "stimulus",
    "versus_stimulus",
)
_ASKED = (
    *("study", "task", "criterion", "session", "item", "context"),
    *("condition", "stimulus", "versus_condition", "versus_stimulus"),  # a CSV may lack either
)


@dataclass(frozen=True)
class MissingScore(Rule):
    """A rating without a score enters no estimate; choices without one are counted instead."""

    key = "missing_score"

    def reasons(self, table: pd.DataFrame) -> Reasons:
        counted = table["estimand"].isin(WITHOUT_SCORE) & (table["label"] != "")
        return where(table["score"].isna() & ~counted, "the rating has no score")

    def describe(self) -> str:
        return "ratings without a score"


@dataclass(frozen=True)
class Duplicate(Rule):
    """The same rater's second rating of the same stimulus in the same trial is left out."""

    key = "duplicate"

    def reasons(self, table: pd.DataFrame) -> Reasons:
        again = table.duplicated(subset=list(_TRIAL), keep="first") & (table["trap"] == "")
        return where(again, "the same rater rated the same stimulus in the same trial before")

    def describe(self) -> str:
        return "second ratings of one stimulus by one rater in one trial"


@dataclass(frozen=True)
class Repeat(Rule):
    """What a session asks a second time tells how a rater agrees with themselves: no estimate.

    Such a rating fills no place of the plan, and the same rater rated the same stimulus (versus
    the same, after the same context) in the same session before.
    """

    key = "repeat"

    def reasons(self, table: pd.DataFrame) -> Reasons:
        return where(_repeats(table), "asked a second time in the same session")

    def describe(self) -> str:
        return "clips asked a second time in the same session"


@dataclass(frozen=True)
class SessionStatus(Rule):
    """Ratings of sessions that were withdrawn or rejected are left out."""

    key = "session_status"
    leave_out: tuple[str, ...] = ("withdrawn", "rejected")

    def reasons(self, table: pd.DataFrame) -> Reasons:
        status = table["session_status"]
        reasons = where(status.isin(self.leave_out), "the session was ")
        return np.where(reasons == "", "", reasons + status.to_numpy(dtype=object))

    def describe(self) -> str:
        return f"ratings of sessions that were {' or '.join(self.leave_out)}"


@dataclass(frozen=True)
class HeardFraction(Rule):
    """Ratings of clips that were not heard far enough are left out; unknown counts as heard."""

    key = "heard_fraction"
    minimum: float = 0.95

    def reasons(self, table: pd.DataFrame) -> Reasons:
        short = table["heard_fraction"] < self.minimum
        return where(short, f"less than {self.minimum:g} of the clip was heard")

    def describe(self) -> str:
        return f"ratings given before {self.minimum:g} of the clip was heard"


@dataclass(frozen=True)
class AnswerTime(Rule):
    """Ratings that were given too quickly are left out; an unknown time counts as slow enough."""

    key = "answer_time"
    minimum_ms: int = 1000

    def reasons(self, table: pd.DataFrame) -> Reasons:
        quick = (table["latency_ms"] < self.minimum_ms).fillna(False)
        return where(quick, f"answered in less than {self.minimum_ms} ms")

    def describe(self) -> str:
        return f"ratings given in less than {self.minimum_ms} ms"


@dataclass(frozen=True)
class NotCounted(Rule):
    """Ratings that fill no place of the plan are left out: another's, or asked a second time."""

    key = "not_counted"

    def reasons(self, table: pd.DataFrame) -> Reasons:
        lost = _uncounted(table) & ~_repeats(table)
        return where(lost, "it fills no place of the plan: given to another rater, or asked twice")

    def describe(self) -> str:
        return "ratings that fill no place of the plan: given to another rater, or asked twice"


@dataclass(frozen=True)
class HiddenReference(Rule):
    """Raters who do not find the hidden reference are left out (ITU-R BS.1534-3).

    The hidden reference is the stimulus that is its own ``versus_stimulus``. A rater goes from a
    MUSHRA task with every criterion when they rate it below ``below`` on more than ``share`` of
    the items.
    """

    key = "hidden_reference"
    below: float = 90.0
    share: float = 0.15

    def reasons(self, table: pd.DataFrame) -> Reasons:
        mushra = (table["estimand"] == "mushra") & (table["trap"] == "")
        hidden = mushra & (table["stimulus"] == table["versus_stimulus"]) & table["score"].notna()
        low = (table["score"] < self.below).astype(float).where(hidden)
        missed = low.groupby([table["study"], table["task"], table["rater"]]).transform("mean")
        told = f"hidden reference below {self.below:g} on more than {self.share:.0%} of the items"
        return where(mushra & (missed > self.share), told)

    def describe(self) -> str:
        return f"raters with the hidden reference below {self.below:g} on over {self.share:.0%}"


def _uncounted(table: pd.DataFrame) -> pd.Series[bool]:
    """Which ratings (n,) fill no place of the plan, though they are of no trap."""
    return ~table["counts"].fillna(True).astype(bool) & (table["trap"] == "")


def _repeats(table: pd.DataFrame) -> pd.Series[bool]:
    """Which ratings (n,) were asked for a second time, in the order of the session's positions."""
    again = _uncounted(table)
    if not again.any():
        return again
    near = table[(table["trap"] == "") & table["session"].isin(table["session"][again])]
    first = near.groupby(list(_ASKED), sort=False)["position"].transform("min")
    later = (near["position"] > first).fillna(False).astype(bool)
    return again & later.reindex(table.index, fill_value=False)
