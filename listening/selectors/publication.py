"""What a dataset for others is made of: a study's terms, its clips as heard, who is scripted."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TypedDict

from django.http import Http404

from listening import audio
from listening.models import Rater, Stimulus, Study


class StudyTerms(TypedDict):
    """A study in a few words, and what may leave of it; see `[study.publication]`."""

    title: str
    language: str
    audio_licence: str  # "": audio stays
    ratings_licence: str  # "": nothing leaves
    consent_covers_ratings: bool
    consent_covers_words: bool


class HeardClip(TypedDict):
    """A clip with what its system and text are; the file that raters heard is at `path`."""

    stimulus: str
    condition: str
    label: str
    role: str
    system: str
    voice: str
    item: str
    text: str
    dimension: str
    language: str
    trap: str
    duration_s: float
    path: Path


def study_terms(study: str) -> StudyTerms:
    """The study's terms; Http404 where there is no such study."""
    row = Study.objects.filter(key=study).first()
    if row is None:
        raise Http404(f"There is no study “{study}”.")
    said = row.publication
    return StudyTerms(
        title=row.title,
        language=row.language,
        audio_licence=said.get("audio_licence", ""),
        ratings_licence=said.get("ratings_licence", ""),
        consent_covers_ratings=said.get("consent_covers_ratings", False),
        consent_covers_words=said.get("consent_covers_words", False),
    )


def heard_clips(study: str) -> Iterator[HeardClip]:
    """Every clip of a study, traps included, in the order of their keys."""
    usual = Study.objects.get(key=study).language
    rows = Stimulus.objects.filter(study__key=study).select_related("condition", "item")
    for row in rows.order_by("key"):
        yield HeardClip(
            stimulus=row.key,
            condition=row.condition.key,
            label=row.condition.label,
            role=row.condition.role,
            system=row.condition.system,
            voice=row.condition.voice,
            item=row.item.key,
            text=row.item.text,
            dimension=row.item.dimension,
            language=row.item.language or usual,
            trap=row.trap,
            duration_s=row.duration_s,
            path=audio.local_path(row.served),
        )


def scripted_raters(study: str) -> frozenset[str]:
    """The codes of the study's raters that are no people."""
    raters = Rater.objects.filter(sessions__study__key=study, simulated=True)
    return frozenset(raters.values_list("code", flat=True))
