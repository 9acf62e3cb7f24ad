"""All that a validator is shown of clips: their sound and their words, and nothing else.

As `listening.review.seen` for reasons; `tests/listening/test_review_clips.py` looks for leaks.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, TypedDict

from listening.methods.text_units import units
from listening.methods.vocalisation_types import TYPES, canonical, marked
from listening.models import ReviewAssignment, Stimulus, Study


class SeenClips(TypedDict):
    """At how many places a clip can be heard, and the words of each of them."""

    item: str
    clips: int
    texts: list[str]
    language: str
    part: str


def seen_clips(given: Sequence[ReviewAssignment], *, with_text: bool) -> list[dict[str, Any]]:
    """In the order in which they were given."""
    wanted = {pk for each in given for pk in (each.item.stimulus_id, *each.item.others)}
    rows = Stimulus.objects.filter(pk__in=[pk for pk in wanted if pk is not None])
    words = {
        pk: (transcript or text, language or study_language)
        for pk, text, transcript, language, study_language in rows.values_list(
            "pk", "item__text", "item__transcript", "item__language", "study__language"
        )
    }
    found: list[dict[str, Any]] = []
    for each in given:
        pks = [pk for pk in (each.item.stimulus_id, *each.item.others) if pk in words]
        seen = SeenClips(
            item=str(each.code),
            clips=len(pks),
            texts=[words[pk][0] if with_text else "" for pk in pks],
            language=words[pks[0]][1] if pks else "",
            part=each.item.part,
        )
        found.append(dict(seen))
    return found


class SeenEvents(TypedDict):
    """A clip, its words without any mark of what was asked for, and the types to choose from."""

    item: str
    clips: int
    texts: list[str]
    units: list[str]  # between which a vocalisation can be
    language: str
    part: str
    types: list[str]


def seen_events(study: Study, given: Sequence[ReviewAssignment]) -> list[dict[str, Any]]:
    types = inventory_of(study)
    found: list[dict[str, Any]] = []
    for each in seen_clips(given, with_text=True):
        language = each["language"]
        plain = [marked(text, language)[0] for text in each["texts"]]
        seen = SeenEvents(
            item=each["item"],
            clips=each["clips"],
            texts=["" for _ in plain],
            units=units(plain[0], language) if plain else [],
            language=language,
            part="",
            types=types,
        )
        found.append(dict(seen))
    return found


def inventory_of(study: Study) -> list[str]:
    """The types that the study's systems support (attribute nvv_types); else the whole taxonomy."""
    rows = study.conditions.values_list("attributes", flat=True)
    named = [name for row in rows for name in re.split(r"[;,]", str(row.get("nvv_types", "")))]
    own = {canonical(name) for name in named if name.strip()}
    return sorted(own) if own else list(TYPES)
