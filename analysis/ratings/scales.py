"""What a row is about in words, and the ends of its scale."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from analysis.formatting import Ends
from analysis.ratings.estimands import name_of


def family_title(row: Mapping[str, Any]) -> str:
    """What a row is about, for headings: estimand, task, criterion and what it is compared with."""
    parts = [
        name_of(row["estimand"]),
        row.get("study", ""),
        row["task"],
        row["criterion"],
    ]
    title = " · ".join(part for part in parts if part)
    versus = row.get("versus_condition", "")
    return f"{title} · versus {versus}" if versus else title


def ends_of(report: Mapping[str, Any], row: Mapping[str, Any]) -> Ends:
    """The lowest and highest score of the scale that the row's ratings were given on, if known."""
    title = family_title({**row, "versus_condition": ""})  # a scale is that of all its pairs
    ends: Ends = report.get("scales", {}).get(title)
    return ends
