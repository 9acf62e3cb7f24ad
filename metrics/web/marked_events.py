"""Judge models and people held against the vocalisations that people settled on: pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from metrics.core import texts
from metrics.core.vocalisations import (
    Controllability,
    Vocalisation,
    VocalisationError,
    compare,
    controllability,
    parse,
)

Found = Sequence[Vocalisation]
HEAD = (
    *("stimulus", "marker", "type", "position", "from_s", "to_s"),
    *("units", "language", "sha256"),
)


@dataclass(frozen=True)
class Truth:
    """A clip with what people settled on, and how many words (characters) it has."""

    stimulus: str
    sha256: str
    condition: str
    length: int
    events: tuple[Vocalisation, ...]


@dataclass(frozen=True)
class Against:
    """Somebody's marks against the settled ones, over the clips of which both are known."""

    who: str
    clips: int
    found: Controllability


def vocalisations(events: Iterable[Any]) -> tuple[Vocalisation, ...]:
    return tuple(Vocalisation(each.type, each.position) for each in events)


def truths(clips: Iterable[Mapping[str, Any]]) -> dict[str, Truth]:
    """By stimulus: the clips that are settled, and whose sound is the same still."""
    return {
        clip["stimulus"]: Truth(
            clip["stimulus"],
            clip["sha256"],
            clip["condition"],
            len(texts.units(clip["text"], clip["language"])),
            vocalisations(clip["settled"]),
        )
        for clip in clips
        if clip["settled"] is not None and clip["there"]
    }


def against(
    who: str, known: Mapping[str, Truth], marks: Mapping[str, Found], tolerance: int
) -> Against:
    """Precision, recall, F1 and distance of marks; a settled vocalisation is what was asked for."""
    both = [name for name in known if name in marks]
    found = controllability(
        compare(known[name].events, marks[name], known[name].length, tolerance) for name in both
    )
    return Against(who, len(both), found)


def people(clips: Sequence[Mapping[str, Any]], tolerance: int) -> list[Against]:
    """Each person against what all settled on; their own marks are part of that."""
    known = truths(clips)
    by: dict[int, dict[str, Found]] = defaultdict(dict)
    for clip in clips:
        for number, events in clip["by"].items():
            by[number][clip["stimulus"]] = vocalisations(events)
    return [
        against(f"Reviewer {number}", known, marks, tolerance)
        for number, marks in sorted(by.items())
    ]


def systems(
    known: Mapping[str, Truth], asked: Mapping[str, Found], tolerance: int
) -> list[Against]:
    """How well vocalisations came as asked for, by system, as people heard them."""
    by: dict[str, list[str]] = defaultdict(list)
    for name, each in known.items():
        if name in asked:
            by[each.condition].append(name)
    return [
        Against(
            condition,
            len(names),
            controllability(
                compare(asked[name], known[name].events, known[name].length, tolerance)
                for name in names
            ),
        )
        for condition, names in sorted(by.items())
    ]


def parsed(text: str, language: str) -> Found | None:
    """None where nobody said anything, or it cannot be read."""
    try:
        return parse(text, language) if text and language else None
    except VocalisationError:
        return None


def csv_rows(clips: Iterable[Mapping[str, Any]]) -> Iterable[dict[str, Any]]:
    """One row for each vocalisation, settled or of a person; one without a type for none heard."""
    for clip in clips:
        about = {
            "stimulus": clip["stimulus"],
            "units": len(texts.units(clip["text"], clip["language"])),
            "language": clip["language"],
            "sha256": clip["sha256"],
        }
        marks = {f"Reviewer {number}": events for number, events in sorted(clip["by"].items())}
        if clip["settled"] is not None:
            marks = {"adjudicated" if clip["third"] else "majority": clip["settled"], **marks}
        for marker, events in marks.items():
            if not events:
                yield {**about, "marker": marker}
            for event in events:
                from_s, to_s = event.seconds or ("", "")
                place = "" if event.position is None else event.position
                yield {
                    **about,
                    "marker": marker,
                    "type": event.type,
                    "position": place,
                    "from_s": from_s,
                    "to_s": to_s,
                }
