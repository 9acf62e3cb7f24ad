"""Totals over all studies for whoever runs the house: sessions, answers, leases, free places."""

from __future__ import annotations

from typing import TypedDict

from django.db import connection

from listening.sessions.leases import ANSWERED, LEASED, OPEN, RAN_OUT, STATUS_NOW

MINUTES = 10  # over which answers per minute are taken


class ListeningFigures(TypedDict):
    """Counts as they stand; simulated raters are among them, as they load the house too."""

    studies: dict[str, int]  # by state
    sessions: dict[str, int]  # by status, as pages show it
    active_sessions: int  # with an answer in the last minutes
    answers: int
    answers_per_minute: float
    leased_blocks: int
    free_blocks: dict[str, int]  # open studies: blocks that a rater may claim


SESSIONS = f"SELECT {STATUS_NOW} AS shown, count(*) FROM listening_session s GROUP BY shown"
ANSWERS = f"""
SELECT count(*), count(*) FILTER (WHERE recent), count(DISTINCT session_id) FILTER (WHERE recent)
FROM (SELECT session_id, answered_at > now() - make_interval(mins => {MINUTES}) AS recent
      FROM listening_trial WHERE {ANSWERED}) t
"""
FREE = f"""
SELECT y.key, count(b.id) FROM listening_study y JOIN listening_task k ON k.study_id = y.id
LEFT JOIN listening_block b ON b.task_id = k.id AND (b.{OPEN} OR b.{RAN_OUT})
WHERE y.state = 'open' GROUP BY y.key
"""


def listening_figures() -> ListeningFigures:
    with connection.cursor() as cursor:
        cursor.execute("SELECT state, count(*) FROM listening_study GROUP BY state")
        studies = dict(cursor.fetchall())
        cursor.execute(SESSIONS)
        sessions = dict(cursor.fetchall())
        cursor.execute(ANSWERS)
        answers, recent, active = cursor.fetchone()
        cursor.execute(f"SELECT count(*) FROM listening_block WHERE {LEASED}")
        (leased,) = cursor.fetchone()
        cursor.execute(FREE)
        free = dict(cursor.fetchall())
    return ListeningFigures(
        studies=studies,
        sessions=sessions,
        active_sessions=active,
        answers=answers,
        answers_per_minute=recent / MINUTES,
        leased_blocks=leased,
        free_blocks=free,
    )
