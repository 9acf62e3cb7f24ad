"""What results may be compared and crossed by, and the grouping that a table of results has."""

from __future__ import annotations

from dataclasses import dataclass

COMPARABLE = ("condition", "system", "voice")
SINGLE = ("stimulus", "item")  # whose scores make a file of their own and are not compared
CROSSABLE = (
    "voice",
    "dimension",
    "language",
    "split",
    "system",
    "condition",
    "paragraph",
    "version",
    "recruitment_source",
)
OFFERED = ("voice", "dimension", "language", "split")
UNASKED = (
    *OFFERED,
    "version",
    "recruitment_source",
)  # by which a report is broken down where they vary
CRITERION = "criterion"  # always kept apart, so asking for it changes nothing


@dataclass(frozen=True)
class Breakdown:
    """One table of results: what its lines compare, and what they are crossed with."""

    compare: str = "condition"
    by: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.compare}:{','.join(self.by)}"
