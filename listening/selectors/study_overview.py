"""What a list of studies says of each: progress, what was paid, and its ratings hour by hour."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

from django.db import connection
from django.db.models import F, Sum
from django.utils import timezone

from listening.common.ages import age_s
from listening.common.cached_counts import Kept, Patience, look
from listening.common.counted import counted
from listening.models import LedgerEntry, Study, StudyEvent
from listening.recruitment.ledger import PAID
from listening.recruitment.plan import money
from listening.selectors.progress import page_progress

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
MAX_AGE_S = 60.0  # a list need not be as fresh as the monitor
TOLD_FROM_S = 120  # counts that are older say when they were made
MOST_TOLD_H = 90 * 24
BIG = 1000  # finished sessions: who has little patience leaves a study of more to a worker
PACE = timedelta(days=3)  # of these the pace is that of
SESSIONS_FOR_A_PACE = 5  # fewer tell nothing
SHORTEST = timedelta(hours=1)
# Answers extend leases: the last one was when a lease began that is not over yet.
ACTIVITY = """
SELECT t.id,
    count(s.id) FILTER (WHERE s.status = 'finished'),
    count(s.id) FILTER (WHERE s.status = 'finished' AND NOT r.simulated
        AND s.finished_at > %(since)s),
    greatest(max(s.started_at), max(s.finished_at),
        (SELECT max(b.lease_until) - t.lease_s * interval '1 second' FROM listening_task k
         JOIN listening_block b ON b.task_id = k.id AND b.state = 1
         WHERE k.study_id = t.id AND t.state <> 'draft'))
FROM listening_study t LEFT JOIN listening_session s ON s.study_id = t.id AND NOT s.pilot
LEFT JOIN listening_rater r ON r.id = s.rater_id WHERE t.id = ANY(%(studies)s) GROUP BY t.id
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


@dataclass(frozen=True)
class Overview:
    """One study at a glance. Sessions are those of people; ratings count simulated ones too."""

    study: Study
    counted_at: datetime | None  # where that is long ago; with no counts: a worker makes the first
    has_counts: bool
    rated: int
    planned: int
    sessions: int
    simulated: int
    hours: Sequence[Hour]  # with ratings
    last_activity: datetime | None
    full_in: timedelta | None  # at the pace of the last days; None where that says nothing
    paid: tuple[str, ...]  # with fees, one for each currency

    @property
    def just_now(self) -> bool:
        last = self.last_activity
        return last is not None and age_s(last) < 60

    @property
    def is_running(self) -> bool:
        return self.study.state == Study.State.OPEN and self.rated < self.planned

    @property
    def full_on(self) -> datetime | None:
        """The expected end, no earlier than the words tell; None where they name no day."""
        if self.full_in is None or self._hours_left > MOST_TOLD_H:
            return None
        hours = self._hours_left
        return timezone.now() + timedelta(hours=hours if hours < 24 else -(-hours // 24) * 24)

    @property
    def _hours_left(self) -> int:
        assert self.full_in is not None
        return -(-self.full_in // timedelta(hours=1))

    @property
    def full_in_words(self) -> str:
        """Rounded up, so that no page promises what is not kept."""
        if self.full_in is None:
            return ""
        hours = self._hours_left
        if hours > MOST_TOLD_H:
            return "more than 90 days"
        count, word = (hours, "hour") if hours < 24 else (-(-hours // 24), "day")
        return counted(count, word)


def overviews(studies: Iterable[Study], patience: Patience | None = None) -> list[Overview]:
    """One for each study, in their order; a few queries for all of them, and kept counts.

    Who has little patience gets counts of before, and none of a study that was never counted.
    """
    studies = list(studies)
    now = timezone.now()
    with connection.cursor() as cursor:
        cursor.execute(ACTIVITY, {"studies": [s.pk for s in studies], "since": now - PACE})
        activity = {study: (finished, lately, last) for study, finished, lately, last in cursor}
    paid = _paid(studies)
    rows = []
    for study in studies:
        finished, lately, last = activity.get(study.pk, (0, 0, None))
        wait = Patience(0) if patience is not None and finished > BIG else patience
        progress = page_progress(study.key, max_age_s=MAX_AGE_S, patience=wait)
        times = rating_times(study.key, wait)
        counts = progress or {"total": {"rated": 0, "planned": 0}, "sessions": {"simulated": 0}}
        by_status = {k: n for k, n in counts["sessions"].items() if k != "simulated"}
        rows.append(
            Overview(
                study=study,
                counted_at=_when_old(progress, now),
                has_counts=progress is not None,
                rated=counts["total"]["rated"],
                planned=counts["total"]["planned"],
                sessions=sum(by_status.values()),
                simulated=counts["sessions"]["simulated"],
                hours=times.value if times else (),
                last_activity=last,
                full_in=_full_in(study, counts["total"], finished, lately, now),
                paid=paid.get(study.pk, ()),
            )
        )
    return rows


def _when_old(progress: Mapping[str, Any] | None, now: datetime) -> datetime | None:
    if progress is None:
        return None
    at = datetime.fromisoformat(progress["at"])
    return at if age_s(at, now) > TOLD_FROM_S else None


def _full_in(
    study: Study, total: Mapping[str, int], finished: int, lately: int, now: datetime
) -> timedelta | None:
    """Sessions that are missing, at so many a day; each taken to give what sessions gave so far."""
    missing = total["planned"] - total["rated"]
    runs = study.state == Study.State.OPEN and study.opened_at is not None
    if not runs or lately < SESSIONS_FOR_A_PACE or missing <= 0 or not total["rated"]:
        return None
    assert study.opened_at is not None
    watched = max(min(PACE, now - study.opened_at), SHORTEST)
    sessions = missing * finished / total["rated"]
    return watched * (sessions / lately)


def _paid(studies: Iterable[Study]) -> dict[int, tuple[str, ...]]:
    """What the ledger knows to be paid, with fees."""
    rows: Any = (
        LedgerEntry.objects.filter(recruitment__study__in=studies, kind__in=PAID)
        .order_by()
        .values_list("recruitment__study", "recruitment__currency")
        .annotate(sum=Sum(F("minor") + F("fees_minor")))
    )
    sums_by_study: dict[int, list[str]] = defaultdict(list)
    for study, currency, minor in rows:
        sums_by_study[study].append(money(float(minor or Decimal(0)), currency))
    return {study: tuple(sums) for study, sums in sums_by_study.items()}
