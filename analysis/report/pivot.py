"""Rows that differ in their interval alone, brought into one line, naive beside clustered."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, cast

from analysis.ratings.estimands import family_title
from analysis.report.report_schema import EstimateRow, IntervalRow, ValueRow
from analysis.statistics.estimator import OF_CONTRASTS

# Apart in a line:
PER_INTERVAL = frozenset({"interval", "low", "high", "note", *OF_CONTRASTS})
_NAIVE = "naive"


@dataclass(frozen=True)
class Line:
    """One estimate or difference: its row without intervals, and its intervals by their names."""

    row: ValueRow
    intervals: dict[str, IntervalRow] = field(default_factory=dict)

    @property
    def weighting(self) -> str:
        """What the mean is a mean of: ratings or raters."""
        return str(self.row.get("weighting", "ratings"))

    @property
    def main(self) -> IntervalRow | None:
        """The first interval that is not naive."""
        return next((v for k, v in self.intervals.items() if not k.startswith(_NAIVE)), None)

    @property
    def others(self) -> list[IntervalRow]:
        """The intervals between the main one and the naive one."""
        return [v for k, v in self.intervals.items() if not k.startswith(_NAIVE)][1:]

    @property
    def naive(self) -> IntervalRow | None:
        """The interval that takes the ratings as independent."""
        return next((v for k, v in self.intervals.items() if k.startswith(_NAIVE)), None)


def by_family(lines: Iterable[Line], weighting: str = "ratings") -> dict[str, list[Line]]:
    """The lines of one weighting by the title of their family, in their order."""
    families: dict[str, list[Line]] = {}
    for line in lines:
        if line.weighting == weighting:
            families.setdefault(family_title(line.row), []).append(line)
    return families


def lines_of(rows: Iterable[EstimateRow]) -> list[Line]:
    """One line per estimate, in the order of the rows, with all its intervals."""
    lines: dict[tuple[Any, ...], Line] = {}
    for row in rows:
        plain = {k: v for k, v in row.items() if k not in PER_INTERVAL}
        interval = {k: v for k, v in row.items() if k in PER_INTERVAL}
        line = lines.setdefault(tuple(plain.items()), Line(cast(ValueRow, plain)))
        line.intervals[row["interval"]] = cast(IntervalRow, interval)
    return list(lines.values())
