"""The clips of a study as its raters heard them, for who may hear them outside the trials."""

from __future__ import annotations

from typing import TypedDict

from django.http import HttpResponseBase

from listening import audio
from listening.audio.links import flac_response
from listening.models import Stimulus, Study


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
