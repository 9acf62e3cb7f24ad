"""What a study gives to others: its terms, its clips as raters heard them, who is simulated."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TypedDict

from django.http import Http404, HttpResponseBase

from listening import audio
from listening.audio.links import flac_response
from listening.models import Rater, Stimulus, Study


class ServedClip(TypedDict):
    """A clip that was rated; traps and what was only heard before a clip are none."""

    stimulus: str
    condition: str
    label: str  # of the condition, as pages call it
    item: str
    text: str


def served_clips(study: str) -> list[ServedClip]:
    """Every rated clip of a study, item by item."""
    rows = Stimulus.objects.filter(study__key=study, trap="").order_by("item__key", "condition__pk")
    fields = ("key", "condition__key", "condition__label", "item__key", "item__text")
    return [
        ServedClip(
            stimulus=key, condition=condition, label=label or condition, item=item, text=text
        )
        for key, condition, label, item, text in rows.values_list(*fields)
    ]


def served_clip_response(study: str, stimulus: str, wanted: str) -> HttpResponseBase | None:
    """A rated clip, or the part of it that the header Range names; None where there is none."""
    clips = Stimulus.objects.filter(study__key=study, trap="", key=stimulus)
    name = clips.values_list("served", flat=True).first()
    if name is None:
        return None
    try:
        return flac_response(audio.local_path(name), wanted)
    except FileNotFoundError:
        return None


def questions_in_words(study: str) -> frozenset[tuple[str, str]]:
    """The tasks and criteria that raters answer in their own words."""
    tasks = Study.objects.get(key=study).tasks
    criteria = tasks.filter(criteria__scale__widget="text")
    return frozenset(criteria.values_list("key", "criteria__key"))


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
    publication = row.publication
    return StudyTerms(
        title=row.title,
        language=row.language,
        audio_licence=publication.get("audio_licence", ""),
        ratings_licence=publication.get("ratings_licence", ""),
        consent_covers_ratings=publication.get("consent_covers_ratings", False),
        consent_covers_words=publication.get("consent_covers_words", False),
    )


def study_clips(study: str) -> Iterator[HeardClip]:
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
