"""What clips with marked words and clips with marked spans have in common: order, counts, files."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from analysis.ratings.breakdowns import Family
from analysis.report.part import PartInput
from listening.methods.error_spans import ErrorSpan
from listening.methods.marks import Mark

MOST_MAPS = 12
ANSWER = ("stimulus", "condition", "item", "language", "rater", "label")


class RatedClip(Protocol):
    """A clip that raters marked."""

    @property
    def stimulus(self) -> str: ...
    @property
    def condition(self) -> str: ...
    @property
    def item(self) -> str: ...
    @property
    def language(self) -> str: ...


C = TypeVar("C", bound=RatedClip)


def answers_of(family: Family) -> Iterator[dict[str, str]]:
    """The answers of a family as texts, in the order of the table, with the columns `ANSWER`."""
    for values in family.table[list(ANSWER)].astype(str).itertuples(index=False):
        yield dict(zip(ANSWER, values, strict=True))


def in_order(clips: Sequence[C], inputs: PartInput) -> list[C]:
    """The clips by item and condition in the order of the study."""
    places = {
        name: {key: place for place, key in enumerate(inputs.ordered(name, keys))}
        for name, keys in (
            ("item", {clip.item for clip in clips}),
            ("condition", {clip.condition for clip in clips}),
        )
    }
    return sorted(
        clips,
        key=lambda c: (places["item"][c.item], places["condition"][c.condition], c.stimulus),
    )


def most_frequent(counts: Mapping[str, int], kinds: Mapping[str, str]) -> str:
    """The kind with the highest count, the first of the study's of several; empty without any."""
    order = list(kinds)
    return min(counts, key=lambda kind: (-counts[kind], order.index(kind)), default="")


def most_marked(marked: Counter[str], inputs: PartInput) -> list[str]:
    """The items with the most marks, of which there are maps, in the order of the study."""
    most = [item for item, count in marked.most_common(MOST_MAPS) if count]
    return inputs.ordered("item", most)


def clip_entry(
    clip: RatedClip, by_rater: Mapping[str, Sequence[Mark | ErrorSpan]], **facts: Any
) -> dict[str, Any]:
    """The entry of a clip in the file of marks: the clip, ``facts`` of it, and its marks."""
    return {
        "stimulus": clip.stimulus,
        "condition": clip.condition,
        "item": clip.item,
        "language": clip.language,
        **facts,
        "answers": [
            {"rater": rater, "marks": [mark._asdict() for mark in marks]}
            for rater, marks in by_rater.items()
        ],
    }


def marks_file(entries: Sequence[Mapping[str, Any]], kinds: Mapping[str, str]) -> str:
    """The file of marks as JSON."""
    content = {"kinds": dict(kinds), "clips": entries}
    return json.dumps(content, ensure_ascii=False, indent=1) + "\n"
