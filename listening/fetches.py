"""Which clips were sent to which session: an answer needs those of its trial."""

from __future__ import annotations

from listening.audio import ClipRequest
from listening.statements import FETCHED, rows_of

MOST_CLIPS = 62  # bits of the column that are told apart; clips from there on share the last one


def all_of(clips: int) -> int:
    """The bits of a trial's clips, all of them."""
    return (1 << min(clips, MOST_CLIPS + 1)) - 1


def fetch_values(clip: ClipRequest) -> dict[str, int] | None:
    """What the statement FETCHED notes of a clip on its way; examples belong to no trial."""
    return {"trial": clip.trial, "clip": 1 << min(clip.place, MOST_CLIPS)} if clip.trial else None


def record_fetch(clip: ClipRequest) -> None:
    if values := fetch_values(clip):
        rows_of(FETCHED, **values)
