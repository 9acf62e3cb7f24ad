"""Rows that differ in their interval alone, brought into one line, naive beside clustered."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from analysis.statistics.estimator import OF_CONTRASTS

# Apart in a line:
PER_INTERVAL = frozenset({"interval", "low", "high", "note", *OF_CONTRASTS})
_NAIVE = "naive"


@dataclass(frozen=True)
class Line:
    """One estimate or difference: its row without intervals, and its intervals by their names."""

    row: Mapping[str, Any]
    intervals: dict[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def weighting(self) -> str:
        """What the mean is a mean of: ratings or raters."""
        return str(self.row.get("weighting", "ratings"))

    @property
    def main(self) -> Mapping[str, Any] | None:
        """The first interval that is not naive."""
        return next((v for k, v in self.intervals.items() if not k.startswith(_NAIVE)), None)

    @property
    def others(self) -> list[Mapping[str, Any]]:
        """The intervals between the main one and the naive one."""
        known = [v for k, v in self.intervals.items() if not k.startswith(_NAIVE)]
        return known[1:]

    @property
    def naive(self) -> Mapping[str, Any] | None:
        """The interval that takes the ratings as independent."""
        return next((v for k, v in self.intervals.items() if k.startswith(_NAIVE)), None)


def lines_of(rows: Iterable[Mapping[str, Any]]) -> list[Line]:
    """One line per estimate, in the order of the rows, with all its intervals."""
    lines: dict[tuple[Any, ...], Line] = {}
    for row in rows:
        plain = {k: v for k, v in row.items() if k not in PER_INTERVAL}
        key = tuple(plain.items())
        line = lines.setdefault(key, Line(plain))
        line.intervals[row["interval"]] = {k: row[k] for k in PER_INTERVAL if k in row}
    return list(lines.values())
