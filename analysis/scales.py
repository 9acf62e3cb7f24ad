"""What each estimand is: its name, the ends of its scale, and how numbers past them are written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

ENDS: dict[str, tuple[float, float]] = {
    "hls": (0.0, 1.0),
    "mos": (1.0, 5.0),
    "context_mos": (1.0, 5.0),
    "dmos": (1.0, 5.0),
    "p835": (1.0, 5.0),
    "mushra": (0.0, 100.0),
    "ab": (0.0, 1.0),
    "abx": (0.0, 1.0),
}
NAMES = {"context_mos": "Context MOS", "p835": "P.835"}
NAMES |= {name: name.capitalize() for name in ("preference", "rank", "choice")}
AGAINST_OPEN_REFERENCE = frozenset({"mushra", "dmos"})  # scores of one clip, not of a pair
LOW_IS_BEST = frozenset({"rank"})
WITHOUT_SCORE = frozenset({"choice"})  # answers of which some have no number
PAST_LOW, PAST_HIGH = "◂", "▸"
PAST_TOLD = f"{PAST_LOW} {PAST_HIGH} runs past the scale: few raters or items."
_DUST = 1e-9

Ends = Sequence[float] | None


def family_title(row: Mapping[str, Any]) -> str:
    """What a row is about, for headings: estimand, task, criterion and what it is compared with."""
    estimand = row["estimand"]
    parts = [
        NAMES.get(estimand, estimand.upper()),
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
    found: Ends = report.get("scales", {}).get(title)
    return found


def past(low: float, high: float, ends: Ends) -> tuple[bool, bool]:
    """Does the interval run past the lower, and past the upper end of the scale?"""
    if ends is None:
        return False, False
    return low < ends[0] - _DUST, high > ends[1] + _DUST


def bounds_text(low: float, high: float, ends: Ends = None, decimals: int = 3) -> str:
    """An interval in brackets; an end past the scale is written as the scale's end, marked."""
    below, above = past(low, high, ends)
    if ends is not None:
        low, high = max(low, ends[0]), min(high, ends[1])
    left, right = (f"{value:.{decimals}f}".replace("-", "−") for value in (low, high))
    return f"[{PAST_LOW * below}{left}, {right}{PAST_HIGH * above}]"
