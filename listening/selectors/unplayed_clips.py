"""Clips that several sessions could not play: a broken file, or one that browsers refuse."""

from __future__ import annotations

from typing import TypedDict

from django.db.models import Count, Q

from listening.models import Study, Trial
from listening.sessions.outcomes import SKIPPED_BY_OTHERS

MOST_NAMED = 20


class UnplayedClip(TypedDict):
    """A stimulus, and in how many of the sessions that met it it was passed over."""

    stimulus: str
    condition: str
    skipped: int
    met: int


def unplayed_clips(study: str) -> list[UnplayedClip]:
    """Those passed over in more than two sessions, most often first; at most 20."""
    row = Study.objects.get(key=study)
    dealt_with = (Trial.State.ANSWERED, Trial.State.SKIPPED)
    skipped = Trial.objects.filter(task__study=row, is_skipped=True)
    counts = (
        Trial.objects.filter(stimulus__in=skipped.values("stimulus"), state__in=dealt_with)
        .order_by()
        .values("stimulus__key", "stimulus__condition__key")
        .annotate(
            skipped=Count("session", distinct=True, filter=Q(is_skipped=True)),
            met=Count("session", distinct=True),
        )
        .filter(skipped__gt=SKIPPED_BY_OTHERS)
        .order_by("-skipped", "stimulus__key")[:MOST_NAMED]
    )
    return [
        UnplayedClip(
            stimulus=count["stimulus__key"],
            condition=count["stimulus__condition__key"],
            skipped=count["skipped"],
            met=count["met"],
        )
        for count in counts
    ]
