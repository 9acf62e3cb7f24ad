"""What each session came to, counted in the database: `SessionSummary`.

Figures of a session are those of its trials now. Agreement also changes with what others rate, so
that of a whole study is counted again while ratings come in, some minutes behind.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.core.cache import cache
from django.db import connection
from django.db.models import Max, Min
from django.utils import timezone
from redis.exceptions import RedisError

from listening.common.ages import age_s
from listening.models import Block, Session, SessionSummary, Study, StudyEvent
from listening.sessions.outcomes import WITHOUT_FACTS

SHARED_FROM = 5  # ratings of a question: fewer say nothing of agreement
AT_ONCE = 500  # sessions that a page brings up to date before it shows them
KEPT_S = 3600
USUAL_CACHE_S = 60
AGREEMENT_BEHIND_S = 600
JUDGED = ("rejected", "restored", "recruiting")  # events after which others are others

# Pearson's r between a session's scores and the means of all others' scores of the same stimulus
# (versus the same, after the same context), per question; over questions, weighted by ratings.
# Traps and practice are left out; rejected sessions are nobody's others.
AGREEMENT = """
own AS MATERIALIZED (
    SELECT t.session_id, q.criterion_id, q.stimulus_id, coalesce(t.versus_id, 0) AS versus,
        t.context, q.score, CASE WHEN s.status <> 'rejected' THEN 1 ELSE 0 END AS among
    FROM listening_session s JOIN listening_trial t ON t.session_id = s.id
    JOIN listening_rating q ON q.trial_id = t.id
    WHERE s.id = ANY(%(sessions)s) AND t.trap = '' AND q.score IS NOT NULL),
unit AS (
    SELECT o.criterion_id, o.stimulus_id, coalesce(t.versus_id, 0) AS versus, t.context,
        sum(o.score) AS total, count(*) AS n
    FROM (SELECT DISTINCT stimulus_id FROM own) x
    JOIN listening_rating o ON o.stimulus_id = x.stimulus_id
    JOIN listening_trial t ON t.id = o.trial_id JOIN listening_session s ON s.id = t.session_id
    WHERE t.trap = '' AND o.score IS NOT NULL AND s.status <> 'rejected' GROUP BY 1, 2, 3, 4),
mine AS (
    SELECT session_id, criterion_id, stimulus_id, versus, context, among,
        sum(score) AS total, count(*) AS n
    FROM own GROUP BY 1, 2, 3, 4, 5, 6),
pair AS (
    SELECT m.session_id, m.criterion_id, m.total / m.n AS score,
        (u.total - m.among * m.total) / nullif(u.n - m.among * m.n, 0) AS others
    FROM mine m LEFT JOIN unit u USING (criterion_id, stimulus_id, versus, context)),
fit AS (
    SELECT session_id, corr(score, others) AS r, count(others) AS n
    FROM pair WHERE others IS NOT NULL GROUP BY session_id, criterion_id),
agreement AS (
    SELECT session_id, sum(r * n) / sum(n) AS r, sum(n) AS n FROM fit
    WHERE n >= %(shared_from)s AND r IS NOT NULL GROUP BY session_id)
"""
COUNT = f"""
WITH {AGREEMENT}
INSERT INTO listening_sessionsummary (session_id, trials, answered, skipped, traps, traps_failed,
    checks_failed, median_ms, agreement, shared, signs, answered_at, made_at)
SELECT s.id, coalesce(c.trials, 0), coalesce(c.answered, 0), coalesce(c.skipped, 0),
    coalesce(c.traps, 0), coalesce(c.traps_failed, 0),
    (SELECT count(*) FROM jsonb_each(s.checks) e
     WHERE e.value ->> 'done' = 'true' AND e.value ->> 'passed' <> 'true'),
    c.median_ms, a.r, coalesce(a.n, 0),
    coalesce(c.signs, 0) + CASE WHEN s.agent <> '' THEN 1 ELSE 0 END
        + CASE WHEN s.scripts_ran IS FALSE AND c.answered > 0 THEN 1 ELSE 0 END,
    c.answered_at, statement_timestamp()
FROM listening_session s
LEFT JOIN (
    SELECT session_id, count(*) FILTER (WHERE state <> 'gone') AS trials,
        count(*) FILTER (WHERE state = 'answered') AS answered,
        count(*) FILTER (WHERE state = 'skipped') AS skipped,
        count(*) FILTER (WHERE state = 'answered' AND trap NOT IN ('', 'training')) AS traps,
        count(*) FILTER (WHERE state = 'answered' AND trap NOT IN ('', 'training')
            AND NOT trap_passed) AS traps_failed,
        percentile_disc(0.5) WITHIN GROUP (ORDER BY latency_ms)
            FILTER (WHERE state = 'answered' AND trap <> 'training') AS median_ms,
        count(*) FILTER (WHERE state = 'answered' AND (playback ->> 'driven' = 'true'
            OR playback ->> 'pointer_jumps' ~ '^[1-9]'
            OR playback ->> 'scripted_events' ~ '^[1-9]'
            OR {WITHOUT_FACTS.format(playback="t.playback")})) AS signs,
        max(answered_at) AS answered_at
    FROM listening_trial t WHERE session_id = ANY(%(sessions)s) GROUP BY session_id
) c ON c.session_id = s.id
LEFT JOIN agreement a ON a.session_id = s.id
WHERE s.id = ANY(%(sessions)s) ORDER BY s.id
ON CONFLICT (session_id) DO UPDATE SET (trials, answered, skipped, traps, traps_failed,
    checks_failed, median_ms, agreement, shared, signs, answered_at, made_at)
  = (EXCLUDED.trials, EXCLUDED.answered, EXCLUDED.skipped, EXCLUDED.traps, EXCLUDED.traps_failed,
    EXCLUDED.checks_failed, EXCLUDED.median_ms, EXCLUDED.agreement, EXCLUDED.shared,
    EXCLUDED.signs, EXCLUDED.answered_at, EXCLUDED.made_at)
"""
# New, ended, or with a block in hand: their figures may have changed since they were made. Nobody
# else is looked at who came and went before `since`, when all of the study had been counted.
STALE = f"""
SELECT s.id FROM listening_session s LEFT JOIN listening_sessionsummary m ON m.session_id = s.id
WHERE s.study_id = %(study)s AND (m.session_id IS NULL OR m.made_at < s.finished_at)
    {{since}}
UNION
SELECT s.id FROM listening_block b JOIN listening_session s ON s.id = b.session_id
WHERE b.state = {Block.State.LEASED} AND s.study_id = %(study)s
"""
SINCE = "AND (s.started_at > %(since)s OR s.finished_at > %(since)s)"
MARGIN = timedelta(minutes=2)  # a session is stored a little after the time that it says


def count_sessions(sessions: Sequence[int]) -> None:
    """Makes the summaries of these sessions anew."""
    if not sessions:
        return
    with connection.cursor() as cursor:
        cursor.execute(COUNT, {"sessions": list(sessions), "shared_from": SHARED_FROM})


def stale_sessions(study: int, since: datetime | None = None) -> list[int]:
    """Those whose figures are not made, or may have changed since."""
    statement = STALE.format(since=SINCE if since else "")
    with connection.cursor() as cursor:
        cursor.execute(statement, {"study": study, "since": since})
        return sorted(row[0] for row in cursor.fetchall())


def is_stale(session: Session) -> bool:
    """The same of one session that was read with its summary."""
    summary: SessionSummary | None = getattr(session, "summary", None)
    if summary is None or session.status == Session.Status.STARTED:
        return True
    return session.finished_at is not None and summary.made_at < session.finished_at


def bring_up_to_date(study: int) -> int:
    """Counts what changed, `AT_ONCE` sessions at most; how many are left to the beat's job."""
    name, began, since = f"summaries/{study}", timezone.now(), None
    with suppress(RedisError):
        since = cache.get(name)
    if since is not None and since > began:  # the clock went back: anything may have changed
        since = None
    stale = stale_sessions(study, since)
    count_sessions(stale[:AT_ONCE])
    left = len(stale[AT_ONCE:])
    if not left:
        with suppress(RedisError):
            cache.set(name, began - MARGIN, timeout=KEPT_S)
    return left


def count_stale_summaries() -> list[str]:
    """Counts what changed in any study, and all of it where agreement is behind: the beat's job."""
    counted = []
    for study in Study.objects.exclude(state=Study.State.DRAFT).only("key"):
        stale = stale_sessions(study.pk)
        count_sessions(stale)
        if _is_behind(study.pk):
            count_sessions(list(study.sessions.values_list("pk", flat=True)))
            counted.append(study.key)
    return counted


def _is_behind(study: int) -> bool:
    """Whether a figure has stood for long, and others rated, withdrew or were judged since."""
    times = SessionSummary.objects.filter(session__study=study).aggregate(
        oldest=Min("made_at"), newest=Max("answered_at")
    )
    oldest, newest = times["oldest"], times["newest"]
    if oldest is None or age_s(oldest) < AGREEMENT_BEHIND_S:
        return False
    judged = StudyEvent.objects.filter(study_id=study, what__in=JUDGED, at__gt=oldest)
    withdrew = Session.objects.filter(
        study=study, status=Session.Status.WITHDRAWN, finished_at__gt=oldest
    )
    return (newest is not None and newest > oldest) or judged.exists() or withdrew.exists()


USUAL = """
SELECT count(m.median_ms), percentile_cont(ARRAY[0.05, 0.5, 0.95])
        WITHIN GROUP (ORDER BY m.median_ms),
    count(m.agreement), percentile_cont(ARRAY[0.05, 0.5, 0.95]) WITHIN GROUP (ORDER BY m.agreement)
FROM listening_sessionsummary m JOIN listening_session s ON s.id = m.session_id
WHERE s.study_id = %(study)s AND s.status = 'finished'
"""


@dataclass(frozen=True)
class Usual:
    """Of the sessions that finished: the 5th, 50th and 95th of a hundred; empty without any."""

    sessions: int
    seconds: tuple[float, ...]
    agreement: tuple[float, ...]


def usual(study: int) -> Usual:
    """What is usual in a study, to see one rater against it; at most a minute old."""
    name = f"usual/{study}"
    with suppress(RedisError):
        cached: Usual | None = cache.get(name)
        if cached is not None:
            return cached
    with connection.cursor() as cursor:
        cursor.execute(USUAL, {"study": study})
        ((timed, times, _, fits),) = cursor.fetchall()
    seconds = tuple(each / 1000 for each in times or () if each is not None)
    figures = Usual(timed, seconds, tuple(each for each in fits or () if each is not None))
    with suppress(RedisError):
        cache.set(name, figures, timeout=USUAL_CACHE_S)
    return figures
