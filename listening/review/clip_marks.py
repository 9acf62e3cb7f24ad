"""Regions and vocalizations that reviewers mark in a clip, and what several of them come to."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

from listening.review.kinds.kind import BadVerdict

MOST_MARKS = 40
LONGEST_S = 3600.0
NOTHING = "none"  # the category of a clip in which nothing was heard


def region(mark: Mapping[str, Any]) -> list[float] | None:
    """From when to when, in seconds; None: the whole clip."""
    seconds = mark.get("seconds")
    if seconds is None:
        return None
    whole = isinstance(seconds, list) and len(seconds) == 2 and all(map(_is_time, seconds))
    if not whole or not seconds[0] < seconds[1]:
        raise BadVerdict("A region must start before it ends and lie within the clip.")
    return [round(float(each), 3) for each in seconds]


def marks_of(answer: Mapping[str, Any], name: str) -> list[Mapping[str, Any]]:
    marks = answer.get(name, [])
    if not isinstance(marks, list) or not all(isinstance(each, Mapping) for each in marks):
        raise BadVerdict(f"{name} must be a list of marks.")
    if len(marks) > MOST_MARKS:
        raise BadVerdict(f"Add at most {MOST_MARKS} marks to a clip.")
    return marks


def _is_time(value: Any) -> bool:
    known = isinstance(value, int | float) and not isinstance(value, bool)
    return known and isfinite(value) and 0 <= value <= LONGEST_S


@dataclass(frozen=True)
class Event:
    """A type, how many words (or characters) come before it, and when, where that was marked."""

    type: str
    position: int | None
    seconds: tuple[float, float] | None = None


def events_of(answer: Mapping[str, Any]) -> list[Event]:
    return [
        Event(
            each["type"],
            each["position"],
            (each["seconds"][0], each["seconds"][1]) if each["seconds"] else None,
        )
        for each in answer.get("events", [])
    ]


def event_types(events: Sequence[Event]) -> str:
    """What agreement compares: the types, by name, each as often as it was heard."""
    return "; ".join(sorted(each.type for each in events)) or NOTHING


def merge_events(
    outcome: str, marked: Sequence[Sequence[Event]], third: Sequence[Event]
) -> list[Event]:
    """The events of a clip whose types are decided; each at the middle of the places given.

    Of those who heard these very types; where none of them did, as an adjudicator marked them. Of
    an even number the earlier one of both middles: a place that somebody gave.
    """
    those = [events for events in marked if event_types(events) == outcome] or [third]
    places: dict[tuple[str, int], list[Event]] = defaultdict(list)
    for events in those:
        count: dict[str, int] = defaultdict(int)
        for each in sorted(events, key=_order):
            places[each.type, count[each.type]].append(each)
            count[each.type] += 1
    return sorted((_middle(each) for each in places.values()), key=_order)


def _middle(same: Sequence[Event]) -> Event:
    ordered = sorted(same, key=_order)
    return ordered[(len(ordered) - 1) // 2]


def _order(event: Event) -> tuple[float, float, str]:
    place = float("inf") if event.position is None else float(event.position)
    return place, event.seconds[0] if event.seconds else 0.0, event.type
