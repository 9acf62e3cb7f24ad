"""Which clips were sent to which session: an answer needs those of its trial."""

from __future__ import annotations

from listening.audio import ClipRequest
from listening.statements import FETCHED, rows_of

MOST_CLIPS = 62  # bits of the column that are told apart; clips from there on share the last one


def all_of(clips: int) -> int:
    """The bits of a trial's clips, all of them."""
    return (1 << min(clips, MOST_CLIPS + 1)) - 1


def record_fetch(clip: ClipRequest) -> None:
    """Note that a clip is on its way; examples belong to no trial."""
    if clip.trial:
        rows_of(FETCHED, trial=clip.trial, clip=1 << min(clip.place, MOST_CLIPS))
