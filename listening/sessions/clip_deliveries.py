"""Which clips were sent to which session, to their last byte: an answer needs those of its trial.

A clip that a browser asks for in parts counts once the parts make up what its task asks for. The
parts are kept in the cache, since each may be asked for in another process.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

from django.core.cache import cache

from listening.audio import ClipRequest
from listening.common.statements import rows_of
from listening.models import Trial
from listening.sessions.answer_statements import FETCHED
from listening.sessions.task_rules import task_rules

MOST_CLIPS = 62  # bits of the column that are told apart; clips from there on share the last one
FIRST_SECONDS_BYTES = 64 * 1024  # of a long clip of which a task asks for its first seconds
KEPT_S = 24 * 3600  # as long as browsers keep the parts that they have
Span = tuple[int, int]  # first byte, and the one after the last


def all_of(clips: int) -> int:
    """The bits of a trial's clips, all of them."""
    return (1 << min(clips, MOST_CLIPS + 1)) - 1


def fetch_values(clip: ClipRequest, *, sent: bool = True) -> dict[str, int]:
    """Return what the statement FETCHED stores of a trial's clip: sent, or only begun."""
    return {"trial": clip.trial, "clip": 1 << min(clip.place, MOST_CLIPS) if sent else 0}


def record_fetch(clip: ClipRequest, *, sent: bool = True) -> None:
    """Store that a clip was sent, or that sending began; examples belong to no trial."""
    if clip.trial:
        rows_of(FETCHED, **fetch_values(clip, sent=sent))


def joined(spans: Sequence[Span], span: Span) -> list[Span]:
    """Return the spans with one more, sorted, and joined where they touch."""
    result: list[Span] = []
    for first, end in sorted([*spans, span]):
        if result and first <= result[-1][1]:
            result[-1] = (result[-1][0], max(end, result[-1][1]))
        else:
            result.append((first, end))
    return result


def bytes_asked(trial: int, size: int) -> int:
    """Return how many bytes of a long clip of this size a rater must get before an answer."""
    task: int | None = Trial.objects.values_list("task_id", flat=True).filter(pk=trial).first()
    share = task_rules(task).playback.share if task else 1
    return min(size, FIRST_SECONDS_BYTES) if share is None else max(1, round(share * size))


def sent_spans(token: str) -> list[Span]:
    """Return which bytes of a clip were sent in earlier parts."""
    return [(first, end) for first, end in cache.get(_key(token), ())]


def keep_span(token: str, span: Span) -> None:
    """Keep that one part of a clip was sent."""
    cache.set(_key(token), joined(sent_spans(token), span), KEPT_S)


def _key(token: str) -> str:
    return f"sent:{hashlib.sha256(token.encode()).hexdigest()}"
