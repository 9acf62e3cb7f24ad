"""What a row is about in words, and the ends of its scale."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from analysis.formatting import Ends
from analysis.ratings.estimands import name_of


def family_title(row: Mapping[str, Any]) -> str:
    """What a row is about, for headings: estimand, task, criterion and what it is compared with."""
    title = bare_title(row)
    versus = row.get("versus_condition", "")
    return f"{title} · versus {versus}" if versus else title


def bare_title(row: Mapping[str, Any]) -> str:
    """The same without what it is compared with."""
    return _joined(row["estimand"], row.get("study", ""), row["task"], row["criterion"])


@lru_cache(maxsize=1024)
def _joined(estimand: str, *rest: str) -> str:
    """Kept: a report asks for the titles of its thousands of rows again and again."""
    return " · ".join(part for part in (name_of(estimand), *rest) if part)


def ends_of(report: Mapping[str, Any], row: Mapping[str, Any]) -> Ends:
    """The lowest and highest score of the scale that the row's ratings were given on, if known."""
    ends: Ends = report.get("scales", {}).get(bare_title(row))  # a scale is that of all its pairs
    return ends
