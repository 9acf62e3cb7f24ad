"""Rates that are looked at: traps that raters fail, clips that their browsers cannot play."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from django.db import connection

from listening.design.traps import TRAINING
from listening.models import Study
from listening.notifications.excess import Excess, excess_of, percent, still_above
from listening.notifications.occurrences import settle
from listening.notifications.watching import LIVE, limits_of, look_at
from listening.sessions.leases import ANSWERED, SKIPPED, STATUS_NOW

Shares = Mapping[str, Sequence[float]]  # of each subject, one share per session that is over

# A session that goes on is left out: whether its next clip plays would depend on looking now.
OVER = f"""s.study_id = %(study)s AND NOT r.simulated AND s.status NOT IN ('withdrawn', 'screened')
    AND ({STATUS_NOW}) <> 'started'"""
TRAPS = f"""
SELECT k.key, t.trap, 1 - avg(t.trap_passed::int)::float8
FROM listening_session s JOIN listening_rater r ON r.id = s.rater_id
JOIN listening_trial t ON t.session_id = s.id JOIN listening_task k ON k.id = t.task_id
WHERE {OVER} AND t.{ANSWERED} AND t.trap NOT IN ('', '{TRAINING}') AND t.trap_passed IS NOT NULL
GROUP BY k.key, t.trap, s.id
"""
ERRORS = f"""
SELECT avg((t.{SKIPPED})::int)::float8,
    (s.status <> 'finished' AND s.status <> 'rejected'
        AND max(t.position) = coalesce(max(t.position) FILTER (WHERE t.{SKIPPED}), -1)
    )::int::float8
FROM listening_session s JOIN listening_rater r ON r.id = s.rater_id
JOIN listening_trial t ON t.session_id = s.id AND (t.{ANSWERED} OR t.{SKIPPED})
WHERE {OVER} GROUP BY s.id
"""


def watch_rates() -> int:
    """Looks at every study of which somebody wants to know; how many that were."""
    return look_at("study.traps_unusual", LIVE, look_at_traps) + look_at(
        "study.errors_unusual", LIVE, look_at_errors
    )


def look_at_traps(study: Study) -> None:
    shares: dict[str, list[float]] = defaultdict(list)
    for task, trap, share in _rows(TRAPS, study):
        shares[f"{task} {trap}"].append(share)
    _judge("study.traps_unusual", study, shares, limits_of(study).trap_percent)


def look_at_errors(study: Study) -> None:
    rows = _rows(ERRORS, study)
    shares = {"clips": [row[0] for row in rows], "ended": [row[1] for row in rows]}
    _judge("study.errors_unusual", study, shares, limits_of(study).error_percent)


def _rows(statement: str, study: Study) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, {"study": study.pk})
        return list(cursor.fetchall())


def _judge(event: str, study: Study, shares: Shares, expected_percent: int) -> None:
    expected = expected_percent / 100
    found = {}
    for subject, each in shares.items():
        excess = excess_of(each, expected, looked_for=len(shares))
        if excess is not None:
            found[subject] = partial(_facts, subject, excess, expected_percent)
    lasts = [subject for subject, each in shares.items() if still_above(each, expected)]
    settle(event, study, found, lasts)


def _facts(subject: str, excess: Excess, expected_percent: int) -> dict[str, Any]:
    first, _, second = subject.partition(" ")
    what = {"task": first, "trap": second} if second else {"what": first}
    return {
        **what,
        "percent": percent(excess.mean),
        "at_least_percent": percent(excess.at_least),
        "expected_percent": expected_percent,
        "sessions": excess.sessions,
        "concerned": excess.concerned,
    }
