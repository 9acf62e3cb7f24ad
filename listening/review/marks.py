"""Regions of a clip that a reviewer marks, as they come from a browser."""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite
from typing import Any

from listening.review.kinds.kind import BadVerdict

MOST_MARKS = 40
LONGEST_S = 3600.0


def region(mark: Mapping[str, Any]) -> list[float] | None:
    """From when to when, in seconds; None: the whole clip."""
    seconds = mark.get("seconds")
    if seconds is None:
        return None
    whole = isinstance(seconds, list) and len(seconds) == 2 and all(map(_is_time, seconds))
    if not whole or not seconds[0] < seconds[1]:
        raise BadVerdict("A region begins before it ends, within the clip.")
    return [round(float(each), 3) for each in seconds]


def marks_of(answer: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    marks = answer.get(name, [])
    if not isinstance(marks, list) or not all(isinstance(each, Mapping) for each in marks):
        raise BadVerdict(f"{name} is a list of marks.")
    if len(marks) > MOST_MARKS:
        raise BadVerdict(f"Mark at most {MOST_MARKS} places of a clip.")
    return marks


def _is_time(value: Any) -> bool:
    known = isinstance(value, int | float) and not isinstance(value, bool)
    return known and isfinite(value) and 0 <= value <= LONGEST_S
