"""What tables about raters start from: a family's rows before the rules, and results as rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

from analysis.ratings.breakdowns import Family

if TYPE_CHECKING:
    import pandas as pd


class Result(Protocol):
    """What has an interval and can be a row."""

    def row(self) -> dict[str, Any]: ...


def before_rules(table: pd.DataFrame, family: Family) -> pd.DataFrame:
    """The family's rows of the whole table, with traps, repeats and what the rules leave out."""
    same = table["estimand"] == family.estimand
    for name, value in family.group.items():
        same &= table[name] == value
    return table[same]


def plain_row(result: Result) -> dict[str, Any]:
    """A result as a row, in which ``made_by`` names how its interval was made."""
    row = result.row()
    made_by = row.pop("interval")
    return {**row, "made_by": made_by}
