"""Rules that look at ratings one by one: the answer, its reason, its clip, and what a file says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from analysis.ratings.cells import LEFT_OUT_BY
from analysis.ratings.estimands import answered
from analysis.statistics.screening.rule import Reasons, Rule, need, no_reasons, where

if TYPE_CHECKING:
    import pandas as pd


_QUESTION = (
    *("study", "task", "criterion", "item", "context"),
    *("condition", "stimulus", "versus_condition", "versus_stimulus"),  # a CSV may lack either
)


@dataclass(frozen=True)
class MissingScore(Rule):
    """A rating without a score enters no estimate; choices without one are counted instead."""

    key = "missing_score"
    title = "No score"

    def reasons(self, table: pd.DataFrame) -> Reasons:
        return where(~answered(table), "the rating has no score")

    def describe(self) -> str:
        return "ratings without a score"


@dataclass(frozen=True)
class Duplicate(Rule):
    """A rating that stands twice for one trial counts once: rows that are equal in every column.

    Two ratings of one clip that differ are no duplicates: which of them counts is decided where a
    file is read (`analysis.ratings.repeats`), never by their value.
    """

    key = "duplicate"
    version = "2"
    title = "Duplicate rows"

    def reasons(self, table: pd.DataFrame) -> Reasons:
        placed = table["position"].notna() & (table["trap"] == "")
        again = table[placed].duplicated(keep="first").reindex(table.index, fill_value=False)
        return where(again, "duplicate of an earlier row")

    def describe(self) -> str:
        return "rows that repeat another row of the same trial in every column"


@dataclass(frozen=True)
class Repeat(Rule):
    """What is asked a second time tells how a rater agrees with themselves: no estimate.

    Such a rating does not count toward the plan, and the same rater rated the same stimulus (versus
    the same, after the same context) before: in the same session of a study, anywhere in a file.
    """

    key = "repeat"
    version = "2"
    title = "Repeated trials"

    def reasons(self, table: pd.DataFrame) -> Reasons:
        return where(asked_again(table), "the same rater rated the same clip before")

    def describe(self) -> str:
        return "second and further ratings of one clip by the same rater"


@dataclass(frozen=True)
class SessionStatus(Rule):
    """Ratings of sessions that were withdrawn or rejected are left out."""

    key = "session_status"
    title = "Sessions withdrawn or rejected"
    leave_out: tuple[str, ...] = ("withdrawn", "rejected")

    def reasons(self, table: pd.DataFrame) -> Reasons:
        status = table["session_status"]
        return _where_named(status, self.leave_out, "the session was ")

    def describe(self) -> str:
        return f"ratings of sessions that were {' or '.join(self.leave_out)}"


@dataclass(frozen=True)
class HeardFraction(Rule):
    """Ratings of clips that were not heard far enough are left out; unknown counts as heard."""

    key = "heard_fraction"
    title = "Clips heard too briefly"
    minimum: float = 0.95

    def __post_init__(self) -> None:
        need(0 < self.minimum <= 1, self, "minimum is a share; give more than 0, at most 1")

    def reasons(self, table: pd.DataFrame) -> Reasons:
        short = table["heard_fraction"] < self.minimum
        return where(short, f"less than {self.minimum:g} of the clip was heard")

    def describe(self) -> str:
        return f"ratings given before {self.minimum:g} of the clip was heard"

    def lacking(self, table: pd.DataFrame) -> str:
        return "" if table["heard_fraction"].notna().any() else "the column heard_fraction is empty"


@dataclass(frozen=True)
class AnswerTime(Rule):
    """Ratings that were given too quickly, or too late, are left out; an unknown time stays.

    ``maximum_ms`` 0 sets no upper bound.
    """

    key = "answer_time"
    title = "Answered too fast or too late"
    minimum_ms: int = 1000
    maximum_ms: int = 0

    def __post_init__(self) -> None:
        bounded = self.maximum_ms == 0 or self.maximum_ms > self.minimum_ms
        remedy = "give minimum_ms from 0 up, and maximum_ms above it or 0 for no such bound"
        need(self.minimum_ms >= 0 and bounded, self, remedy)

    def reasons(self, table: pd.DataFrame) -> Reasons:
        time = table["latency_ms"]
        quick = (time < self.minimum_ms).fillna(False)
        reasons = where(quick, f"answered in less than {self.minimum_ms} ms")
        if self.maximum_ms:
            late = (time > self.maximum_ms).fillna(False).to_numpy(dtype=bool)
            reasons[late] = f"answered after more than {self.maximum_ms} ms"
        return reasons

    def describe(self) -> str:
        late = f" or after more than {self.maximum_ms} ms" if self.maximum_ms else ""
        return f"ratings given in less than {self.minimum_ms} ms{late}"

    def lacking(self, table: pd.DataFrame) -> str:
        return "" if table["latency_ms"].notna().any() else "the column latency_ms is empty"


@dataclass(frozen=True)
class NotCounted(Rule):
    """Ratings that fill no place of the plan are left out: another's, or asked a second time."""

    key = "not_counted"
    title = "Slot filled by another rater"

    def reasons(self, table: pd.DataFrame) -> Reasons:
        lost = _uncounted(table) & ~asked_again(table)
        return where(lost, "outside the plan: slot filled by another rater, or repeated trial")

    def describe(self) -> str:
        return "ratings outside the plan: slot filled by another rater, or repeated trial"


def _where_named(column: pd.Series, names: Sequence[str], reason: str) -> Reasons:
    """The reason and the cell where a column (n,) holds one of the names, else an empty text."""
    hit = column.isin(names)
    reasons = where(hit, reason)
    reasons[hit.to_numpy(dtype=bool)] += column[hit].astype(object).to_numpy()
    return reasons


def _uncounted(table: pd.DataFrame) -> pd.Series[bool]:
    """Which ratings (n,) fill no place of the plan, though they are of no trap."""
    return ~table["counts"].fillna(True).astype(bool) & (table["trap"] == "")


def asked_again(table: pd.DataFrame) -> pd.Series[bool]:
    """Which ratings (n,) were asked for a second time.

    In a session of a study those that do not count and come later by position; where a file has no
    positions, those that do not count beside one that does.
    """
    again = _uncounted(table)
    if not again.any():
        return again
    named = table["study"] != ""
    who = table["session" if named.all() else "rater"]
    if named.any() and not named.all():
        who = table["session"].astype("str").where(named, table["rater"].astype("str"))
    near = table[(table["trap"] == "") & who.isin(who[again])]
    keys = [who.loc[near.index], *(near[name] for name in _QUESTION)]
    position = near["position"].astype("Float64")
    first = position.groupby(keys, sort=False).transform("min")
    counted = (~_uncounted(near)).groupby(keys, sort=False).transform("any")
    of_file = (near["study"] == "") & counted
    later = (position > first).fillna(False).astype(bool) | of_file
    return again & later.reindex(table.index, fill_value=False)


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
        return _where_named(verdict, self.leave_out, "its justification was judged ")

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


COLUMNS = {
    "conditions": ("condition", "versus_condition"),
    "stimuli": ("stimulus", "versus_stimulus"),
}
CALLED = {"conditions": "system", "stimuli": "clip"}


@dataclass(frozen=True)
class LeftOut(Rule):
    """Ratings of these systems and clips are left out; of a comparison, with either in it."""

    key = "left_out"
    title = "Systems or clips excluded by name"
    conditions: tuple[str, ...] = ()
    stimuli: tuple[str, ...] = ()

    def reasons(self, table: pd.DataFrame) -> Reasons:
        why = no_reasons(table)
        for what, columns in COLUMNS.items():
            names = getattr(self, what)
            for column in columns if names else ():
                value = table[column].fillna("").to_numpy(dtype=object)
                mine = np.isin(value.astype(str), names) & (why == "")
                why[mine] = f"the {CALLED[what]} was left out: " + value[mine]
        return why

    def describe(self) -> str:
        named = [
            f"the {CALLED[what]}{'s' if len(names) > 1 else ''} {', '.join(names)}"
            for what in COLUMNS
            if (names := getattr(self, what))
        ]
        return f"ratings of {' and of '.join(named) or 'nothing'}"


@dataclass(frozen=True)
class Recorded(Rule):
    """Ratings are left out whose column ``left_out_by`` names the rule with this text.

    Exclusions that were undone, reviews and plans of traps need not be known again: what the
    analysis left out that wrote the file is left out, and nothing else.
    """

    key = "recorded"
    title = "Excluded by the source file"
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
