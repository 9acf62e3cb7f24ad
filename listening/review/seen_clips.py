"""All that a validator is shown of clips: their sound and their words, and nothing else.

As `listening.review.seen` for reasons; `tests/listening/test_review_clips.py` looks for leaks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypedDict

from listening.models import ReviewAssignment, Stimulus


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
