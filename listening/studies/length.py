"""How long a session of a study takes: what raters really took, before that the estimate."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import fields, replace
from functools import lru_cache
from threading import Lock
from typing import cast
from zlib import crc32

from django.core.cache import cache
from django.db import connection
from redis.exceptions import RedisError

from listening.design.duration import SessionLength, estimate
from listening.design.settings import derive
from listening.models import Study
from listening.studies.exporting import study_as_file

MEASURED_FROM = 20  # sessions that finished
MEASURED_MOST = 500  # the newest: more would tell the same, and take long to measure
AWAY_S = 600.0  # who does nothing for so long has left, and that time counts as nobody's
MEASURED_EVERY_S = 120
CACHE_S = 30 * 86_400  # in Valkey, for all processes; made again where it is gone
_one_at_a_time = Lock()
# From the first page to the end, without the times that nothing came in.
SECONDS = """
    SELECT s.id, extract(epoch FROM s.finished_at - s.started_at)::float8 - coalesce((
        SELECT sum(gap) FROM (
            SELECT extract(epoch FROM t.answered_at - lag(t.answered_at, 1, s.started_at)
                OVER (ORDER BY t.answered_at))::float8 AS gap
            FROM listening_trial t WHERE t.session_id = s.id AND t.answered_at IS NOT NULL) g
        WHERE gap > %s), 0) AS seconds
    FROM ({sessions}) s
"""
NEWEST = """
    SELECT s.id, s.started_at, s.finished_at
    FROM listening_session s JOIN listening_rater r ON r.id = s.rater_id
    WHERE s.study_id = %s AND s.status = 'finished' AND s.review = '' AND NOT r.simulated
    ORDER BY s.id DESC LIMIT %s
"""
NAMED = "SELECT id, started_at, finished_at FROM listening_session WHERE id = ANY(%s)"
TOOK = f"""
SELECT count(*), percentile_cont(0.5) WITHIN GROUP (ORDER BY seconds) / 60
FROM ({SECONDS.format(sessions=NEWEST)}) took
"""


def session_length(study: Study) -> SessionLength:
    """The one figure for pages, texts, plans and recruiting."""
    if study.state == Study.State.DRAFT:
        return _estimated(study.pk)
    estimated = cached_estimate(study)
    count, minutes = _measured(study.pk, int(time.monotonic() // MEASURED_EVERY_S))
    if count < MEASURED_FROM or not minutes:
        return replace(estimated, measured_sessions=count)
    return replace(estimated, measured_minutes=minutes, measured_sessions=count)


def cached_estimate(study: Study) -> SessionLength:
    """Nothing that it rests on changes once a study is open, but for corrected texts.

    It is asked for at the opening: no rater waits until every clip of a large study is read.
    """
    with _one_at_a_time:  # of a hundred who arrive at once one reads the study
        return _estimate_of(study.link, study.wording, study.pk)


@lru_cache(maxsize=512)
def _estimate_of(link: str, wording: int, study: int) -> SessionLength:
    estimate = None
    with suppress(RedisError):
        estimate = cache.get(_name(link, wording))
    if estimate is None:
        estimate = _estimated(study)
        with suppress(RedisError):
            cache.set(_name(link, wording), estimate, CACHE_S)
    return cast(SessionLength, estimate)


def _name(link: str, wording: int) -> str:
    """With the names of the fields: another version of Earnest does not read what it cannot."""
    shape = crc32(" ".join(field.name for field in fields(SessionLength)).encode())
    return f"length/{link}/{wording}/{shape:08x}"


def _estimated(study: int) -> SessionLength:
    row = Study.objects.get(pk=study)
    file = study_as_file(row)
    seconds = dict(row.stimuli.values_list("key", "duration_s"))
    return estimate(derive(file).added_to(file), {k: s for k, s in seconds.items() if s})


@lru_cache(maxsize=512)
def _measured(study: int, _period: int) -> tuple[int, float | None]:
    with connection.cursor() as cursor:
        cursor.execute(TOOK, [AWAY_S, study, MEASURED_MOST])
        count, minutes = cursor.fetchone()
    return int(count), None if minutes is None else float(minutes)


def session_seconds(sessions: list[int]) -> dict[int, float]:
    """How long each of these sessions took that have ended, as `session_length` measures."""
    with connection.cursor() as cursor:
        cursor.execute(SECONDS.format(sessions=NAMED), [AWAY_S, sessions])
        return {pk: float(seconds) for pk, seconds in cursor.fetchall() if seconds is not None}
