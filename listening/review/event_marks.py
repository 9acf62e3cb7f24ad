"""Vocalisations that people mark in a clip, and what several people come to: pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

NOTHING = "none"  # the category of a clip in which nothing was heard


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


def types_heard(events: Sequence[Event]) -> str:
    """What agreement compares: the types, by name, each as often as it was heard."""
    return "; ".join(sorted(each.type for each in events)) or NOTHING


def settled(outcome: str, said: Sequence[Sequence[Event]], third: Sequence[Event]) -> list[Event]:
    """The events of a clip whose types are decided; each at the middle of the places given.

    Of those who heard these very types; where none of them did, as an adjudicator marked them. Of
    an even number the earlier one of both middles: a place that somebody gave.
    """
    those = [events for events in said if types_heard(events) == outcome] or [third]
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
