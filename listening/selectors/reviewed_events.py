"""Vocalisations that people marked in clips: of each person, and what they came to."""

from __future__ import annotations

from typing import TypedDict

from listening.methods.vocalisation_types import marked
from listening.models import ReviewAssignment, ReviewJob, Stimulus
from listening.review.clip_marks import Event, events_of, settled
from listening.review.outcomes import FIRST, THIRD, outcomes_of, own_answers

KIND, UNSURE = "events", "unsure"
By = dict[int, list[Event]]  # number of a reviewer -> what they marked


class MarkedClip(TypedDict):
    """A clip whose marks are settled, or not yet: then ``settled`` is None."""

    stimulus: str
    sha256: str  # of the sound that was marked
    condition: str
    text: str  # without marks of what was asked for
    language: str
    there: bool  # the study has this very sound still
    settled: list[Event] | None
    by: By  # without the clip for who could not say
    third: bool  # an adjudicator decided


class MarkedEvents(TypedDict):
    """A review of vocalisations with all its clips, training apart."""

    title: str
    unblinded: bool
    tolerance: int
    rule: str
    clips: list[MarkedClip]


def marked_events(study: str, pk: int) -> MarkedEvents | None:
    """None where the study has no such review."""
    job = ReviewJob.objects.filter(study__key=study, pk=pk, kind=KIND).first()
    if job is None:
        return None
    first, third = _said(job, FIRST), _said(job, THIRD)
    items = {item.pk: item for item in job.items.filter(gold__isnull=True)}
    words = _words(job)
    clips = []
    for each in outcomes_of(job):
        item = items.get(each.item)
        if item is None:
            continue
        adjudicated = next(iter(third.get(item.pk, {}).values()), [])
        by = first.get(item.pk, {})
        key, sha256 = item.clip["stimulus"], item.clip["sha256"]
        text, language, now = words.get(key, ("", "", ""))
        decided = each.category not in ("", UNSURE)
        clips.append(
            MarkedClip(
                stimulus=key,
                sha256=sha256,
                condition=item.clip["condition"],
                text=marked(text, language)[0],
                language=language,
                there=now == sha256,
                settled=settled(each.category, list(by.values()), adjudicated) if decided else None,
                by=by,
                third=decided and each.category not in each.said.first,
            )
        )
    return MarkedEvents(
        title=job.title,
        unblinded=job.unblinded_at is not None,
        tolerance=int(job.settings["tolerance"]),
        rule=job.rule,
        clips=sorted(clips, key=lambda clip: clip["stimulus"]),
    )


def _said(job: ReviewJob, occasion: ReviewAssignment.Occasion) -> dict[int, By]:
    """Item -> what each reviewer said last of it, before any hint."""
    return {
        item: {each.reviewer: events_of(each.answer) for each in given if each.category != UNSURE}
        for item, given in own_answers(job, occasion).items()
    }


def _words(job: ReviewJob) -> dict[str, tuple[str, str, str]]:
    """Stimulus -> its words, their language, and the hash of its sound now."""
    rows = Stimulus.objects.filter(study=job.study_id).values_list(
        *("key", "item__text", "item__transcript", "item__language", "study__language", "sha256")
    )
    return {
        key: (transcript or text, language or usual, sha256)
        for key, text, transcript, language, usual, sha256 in rows
    }
