"""What the clock looks for: studies that are full, that stall, that come near their budget."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from functools import partial
from typing import Any

from django.db import connection
from django.utils import timezone

from listening.models import Block, Recruitment, Study, StudyEvent, StudyLimits
from listening.notifications.audience import watched
from listening.notifications.occurrences import end_others, settle
from listening.recruitment import ledger
from listening.recruitment.deciding import WARNED_AFTER_DAYS
from listening.recruitment.plan import money
from listening.selectors.monitor import page_progress
from listening.sessions.leases import LEASED

State = Study.State
LIVE = (State.OPEN, State.PAUSED)
HUNDRED = "limit"  # the subject of the second threshold
Look = Callable[[Study], None]


def limits_of(study: Study) -> StudyLimits:
    return StudyLimits.objects.filter(study=study).first() or StudyLimits(study=study)


def watch() -> int:
    """Looks at every study of which somebody wants to know; how many that were."""
    paid = {"recruitments__state": Recruitment.State.LIVE}
    return (
        look_at("study.full", LIVE, look_if_full)
        + look_at("study.stalled", (State.OPEN,), look_if_stalled)
        + look_at("study.budget_reached", (*LIVE, State.CLOSED), look_at_budget, **paid)
        + look_at("study.review_due", (*LIVE, State.CLOSED), look_at_reviews, **paid)
    )


def look_at(event: str, states: Sequence[str], look: Look, **where: Any) -> int:
    """Of one event, all studies in these states that are watched for it."""
    studies = list(watched([event]).filter(state__in=states, **where).distinct())
    for study in studies:
        look(study)
    end_others(event, [study.pk for study in studies])
    return len(studies)


# --- Full, stalled -------------------------------------------------------------------------------


def has_places(study: Study) -> bool:
    """Whether a block is free or at work: what the study's page counts as missing."""
    blocks = Block.objects.filter(task__study=study)
    return blocks.exclude(state=Block.State.DONE).exists()


def look_if_full(study: Study) -> None:
    planned = Block.objects.filter(task__study=study).exists()
    full = planned and not has_places(study)
    settle("study.full", study, {"": partial(_places, study)} if full else {})


def _places(study: Study) -> dict[str, Any]:
    total = page_progress(study.key)["total"]
    return {"planned": total["planned"], "left": total["planned"] - total["rated"]}


LAST = """
SELECT greatest(max(s.finished_at), (SELECT max(t.answered_at) FROM listening_trial t
    JOIN listening_session u ON u.id = t.session_id
    WHERE u.study_id = %(study)s AND (u.started_at > %(since)s OR u.status = 'started')))
FROM listening_session s WHERE s.study_id = %(study)s
"""
FINISHED_SINCE = """
SELECT EXISTS (SELECT 1 FROM listening_session s JOIN listening_trial t ON t.session_id = s.id
    WHERE s.study_id = %(study)s AND (s.started_at > %(since)s OR s.finished_at > %(since)s
        OR s.status = 'started') AND t.answered_at > %(since)s)
"""


def look_if_stalled(study: Study) -> None:
    hours = limits_of(study).stalled_h
    since = timezone.now() - timedelta(hours=hours)
    still = has_places(study) and _opened_at(study) < since and not _rated_since(study, since)
    settle("study.stalled", study, {"": partial(_stall, study, since)} if still else {})


def _opened_at(study: Study) -> datetime:
    """When it was opened last: after a pause nobody could rate before that."""
    events = StudyEvent.objects.filter(study_id=study.pk, what="opened").order_by("-at")
    last = events.values_list("at", flat=True).first()
    return last or study.opened_at or study.created_at


def _rated_since(study: Study, since: datetime) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(FINISHED_SINCE, {"study": study.pk, "since": since})
        return bool(cursor.fetchone()[0])


def _stall(study: Study, since: datetime) -> dict[str, Any]:
    with connection.cursor() as cursor:
        cursor.execute(LAST, {"study": study.pk, "since": since - timedelta(days=30)})
        (last,) = cursor.fetchone()
        cursor.execute(
            "SELECT count(DISTINCT b.session_id) FROM listening_block b JOIN listening_task k"
            f" ON k.id = b.task_id WHERE k.study_id = %s AND b.{LEASED}",
            [study.pk],
        )
        (listening,) = cursor.fetchone()
    began = max(filter(None, (last, _opened_at(study))))
    hours = int((timezone.now() - began) / timedelta(hours=1))
    said = began.strftime("%Y-%m-%d %H:%M")
    return {"hours": hours, "since": said, "listening": listening, **_places(study)}


# --- Money ---------------------------------------------------------------------------------------


def look_at_budget(study: Study) -> None:
    share = limits_of(study).budget_percent
    found = {}
    for recruitment in study.recruitments.filter(state=Recruitment.State.LIVE):
        sums = ledger.money_of(recruitment)
        spent = sums.total_minor + ledger.with_fees(recruitment, sums.owed_minor)
        limit = Decimal(recruitment.budget_minor or sums.planned_minor)
        for name, percent in (("share", share), (HUNDRED, 100)):
            if limit and 100 * spent >= percent * limit:
                told = partial(_money, recruitment, spent, limit)
                found[f"{recruitment.code} {name}"] = told
    settle("study.budget_reached", study, found)


def look_at_reviews(study: Study) -> None:
    """Submissions that nobody has decided 20 days after they were handed in."""
    since = timezone.now() - timedelta(days=WARNED_AFTER_DAYS)
    found: dict[str, Callable[[], dict[str, Any]]] = {}
    for recruitment in study.recruitments.filter(state=Recruitment.State.LIVE):
        waiting = recruitment.submissions.filter(status="AWAITING REVIEW", decision="")
        count = waiting.filter(completed_at__lte=since).count()
        if count:
            found[recruitment.code] = partial(dict, submissions=count)
    settle("study.review_due", study, found)


def _money(recruitment: Recruitment, spent: Decimal, limit: Decimal) -> dict[str, Any]:
    of = "limit" if recruitment.budget_minor else "planned cost (no limit is set)"
    return {
        "spent": money(float(spent), recruitment.currency),
        "limit": money(float(limit), recruitment.currency),
        "percent": int(100 * spent / limit),
        "of": of,
    }
