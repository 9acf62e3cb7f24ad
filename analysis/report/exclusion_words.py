"""What each rule of screening left out, in words and with one count everywhere.

Every rating that is left out is counted once, under the first rule in order that leaves it out, so
that the counts add up to what is missing from the estimates.
"""

from __future__ import annotations

from analysis.formatting import counted
from analysis.report.report_schema import Report


def left_out_counts(report: Report) -> list[tuple[str, int]]:
    """Return (rule in words, ratings left out by it and by no rule before), the largest first."""
    rows = [(row["what"], row.get("ratings_told", row["ratings"])) for row in report["exclusions"]]
    return sorted((row for row in rows if row[1]), key=lambda row: -row[1])


def left_out_lines(report: Report) -> list[str]:
    """Return a line per rule: "Left out: 100 ratings (blocks that failed their traps)"."""
    return [
        f"Left out: {counted(count, 'rating')} ({what})" for what, count in left_out_counts(report)
    ]
