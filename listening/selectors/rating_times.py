"""When the ratings of a study were given, hour by hour; and when it was opened and paused."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import NamedTuple

from django.db import connection

from listening.common.cached_counts import Kept, Patience, look
from listening.models import StudyEvent

KIND = "times"
MOST_MARKS = 12
HOUR_S = 3600
MARKED = ("opened", "paused", "closed")
TIMES = """
SELECT floor(extract(epoch FROM rated_at) / 3600)::bigint AS hour, count(*)
FROM listening_rating WHERE counts AND criterion_id IN (
    SELECT c.id FROM listening_criterion c JOIN listening_task k ON k.id = c.task_id
    JOIN listening_study s ON s.id = k.study_id WHERE s.key = %s AND s.state <> 'draft')
GROUP BY 1 ORDER BY 1
"""


class Hour(NamedTuple):
    """An hour since 1970 (UTC) in which ratings came that count."""

    hour: int
    ratings: int

    @property
    def began(self) -> datetime:
        return datetime.fromtimestamp(self.hour * HOUR_S, UTC)


def rating_hours(study: str) -> list[Hour]:
    """The hours in which ratings came that fill a place of the plan; those without are left out."""
    with connection.cursor() as cursor:
        cursor.execute(TIMES, [study])
        return [Hour(*row) for row in cursor.fetchall()]


def rating_times(study: str, patience: Patience | None = None) -> Kept | None:
    """`rating_hours` as they are kept; None to who has no patience left."""
    return look(KIND, study, MAX_AGE_S, patience)


class Mark(NamedTuple):
    """The study was opened, paused or closed."""

    what: str
    at: datetime
    by: str


def state_marks(study: int) -> tuple[list[Mark], int]:
    """The newest of them, the oldest first; and how many there are in all."""
    events = StudyEvent.objects.filter(study_id=study, what__in=MARKED)
    newest = [Mark(event.what, event.at, event.by) for event in events[:MOST_MARKS]]
    return newest[::-1], len(newest) if len(newest) < MOST_MARKS else events.count()
