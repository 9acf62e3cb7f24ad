"""How long a session of a study takes: what raters really took, before that the estimate."""

from __future__ import annotations

import time
from dataclasses import replace
from functools import lru_cache

from django.db import connection

from listening.design.duration import SessionLength, estimate
from listening.design.settings import derive
from listening.models import Study
from listening.studies.exporting import study_as_file

MEASURED_FROM = 20  # sessions that finished
MEASURED_MOST = 500  # the newest: more would tell the same, and take long to measure
AWAY_S = 600.0  # who does nothing for so long has left, and that time counts as nobody's
MEASURED_EVERY_S = 120
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
    estimated = _kept_estimate(study.pk, study.wording)
    count, minutes = _measured(study.pk, int(time.monotonic() // MEASURED_EVERY_S))
    if count < MEASURED_FROM or not minutes:
        return replace(estimated, measured_sessions=count)
    return replace(estimated, measured_minutes=minutes, measured_sessions=count)


@lru_cache(maxsize=512)
def _kept_estimate(study: int, _wording: int) -> SessionLength:
    """Nothing that it rests on changes once a study is open, but for corrected texts."""
    return _estimated(study)


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


def seconds_taken(sessions: list[int]) -> dict[int, float]:
    """How long each of these sessions took that have ended, as `session_length` measures."""
    with connection.cursor() as cursor:
        cursor.execute(SECONDS.format(sessions=NAMED), [AWAY_S, sessions])
        return {pk: float(seconds) for pk, seconds in cursor.fetchall() if seconds is not None}
