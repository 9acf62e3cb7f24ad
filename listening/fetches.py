"""Which clips were sent to which session: an answer needs those of its trial."""

from __future__ import annotations

from collections.abc import Mapping

from listening.audio import clip_place
from listening.statements import FETCHED, rows_of

MOST_CLIPS = 62  # bits of the column that are told apart; clips from there on share the last one


def all_of(clips: int) -> int:
    """The bits of a trial's clips, all of them."""
    return (1 << min(clips, MOST_CLIPS + 1)) - 1


def record_fetch(token: str, cookies: Mapping[str, str]) -> None:
    """Note that the clip behind a token is on its way; examples belong to no trial."""
    trial, place = clip_place(token, cookies)
    if trial:
        rows_of(FETCHED, trial=trial, clip=1 << min(place, MOST_CLIPS))
