"""What the clock looks for: studies that are full, stall, near their budget, or show high rates.

The rates are traps that raters fail and clips that browsers cannot play. Whether one is higher than
expected is tested by bounds that are valid at every look.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from functools import partial
from math import exp, inf, log1p
from typing import Any

from django.db import connection
from django.utils import timezone

from listening.design.stop_rule import CLOSE
from listening.design.traps import TRAINING
from listening.models import Block, Recruitment, StopLook, Study, StudyEvent, StudyLimits
from listening.notifications.channels import watched
from listening.notifications.occurrences import end_others, settle
from listening.recruitment import ledger
from listening.recruitment.deciding import WARNED_AFTER_DAYS
from listening.recruitment.plan import money
from listening.selectors.progress import page_progress
from listening.sessions.leases import ANSWERED, LEASED, SKIPPED, STATUS_NOW

BETS = (0.75, 0.5, 0.25, 0.125, 0.0625, 0.03125)  # of what may be bet at most
ALPHA = 0.01  # of one study and kind of event, over its whole life
State = Study.State
HUNDRED = "limit"  # the subject of the second threshold
Look = Callable[[Study], None]
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


@dataclass(frozen=True)
class Excess:
    """The mean of the shares, the bound below it, and over how many."""

    mean: float
    at_least: float
    sessions: int
    concerned: int  # of which the share is not 0


def wealth(shares: Counter[float], expected: float) -> float:
    """What the bets have come to, from 1; infinite where it is more than can be written."""
    logs = [
        sum(count * log1p(bet * (share / expected - 1)) for share, count in shares.items())
        for bet in BETS
    ]
    most = max(logs)
    if most > 700:
        return inf
    return exp(most) * sum(exp(each - most) for each in logs) / len(BETS)


def excess_of(
    shares: Iterable[float], expected: float, *, looked_for: int = 1, least: int = 3
) -> Excess | None:
    """How far the mean is above what is expected; None while that may be chance.

    `looked_for` kinds are looked for together and share the error. Below `least` sessions that are
    concerned nothing is said, whatever the odds: raters' devices are not dice.
    """
    counts = Counter(shares)
    sessions = counts.total()
    concerned = sessions - counts[0.0]
    threshold = looked_for / ALPHA
    if concerned < least or wealth(counts, expected) < threshold:
        return None
    mean = sum(share * count for share, count in counts.items()) / sessions
    return Excess(mean, _bound(counts, expected, mean, threshold), sessions, concerned)


def _bound(counts: Counter[float], low: float, high: float, threshold: float) -> float:
    """The highest expectation that the bets refute: wealth falls while it rises."""
    for _ in range(40):
        middle = (low + high) / 2
        if wealth(counts, middle) >= threshold:
            low = middle
        else:
            high = middle
    return low


def still_above(shares: Iterable[float], expected: float) -> bool:
    """Whether what was said once still is: the mean itself is above what is expected."""
    counts = Counter(shares)
    total = sum(share * count for share, count in counts.items())
    return bool(counts) and total > expected * counts.total()


def percent(share: float) -> float:
    """With one decimal below 10 %, else without."""
    return round(100 * share, 1 if share < 0.1 else 0)


def limits_of(study: Study) -> StudyLimits:
    return StudyLimits.objects.filter(study=study).first() or StudyLimits(study=study)


def watch() -> int:
    """Looks at every study of which somebody wants to know; how many that were."""
    paid = {"recruitments__state": Recruitment.State.LIVE}
    return (
        look_at("study.full", Study.RUNNING, look_if_full)
        + look_at("study.stalled", (State.OPEN,), look_if_stalled)
        + look_at("study.stop_rule", (*Study.RUNNING, State.CLOSED), look_if_stopped)
        + look_at("study.budget_reached", (*Study.RUNNING, State.CLOSED), look_at_budget, **paid)
        + look_at("study.review_due", (*Study.RUNNING, State.CLOSED), look_at_reviews, **paid)
    )


def look_at(event: str, states: Sequence[str], look: Look, **where: Any) -> int:
    """Of one event, all studies in these states that are watched for it."""
    studies = list(watched([event]).filter(state__in=states, **where).distinct())
    for study in studies:
        look(study)
    end_others(event, [study.pk for study in studies])
    return len(studies)


# --- Full, stalled -------------------------------------------------------------------------------


def look_if_stopped(study: Study) -> None:
    look = study.looks.exclude(decision=StopLook.Decision.GO_ON).order_by("number").first()
    reached: dict[str, Callable[[], dict[str, Any]]] = {}
    if look:
        reached[f"look {look.number}"] = partial(dict, why=look.why, closed=look.act == CLOSE)
    settle("study.stop_rule", study, reached)


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
    since_text = began.strftime("%Y-%m-%d %H:%M")
    return {"hours": hours, "since": since_text, "listening": listening, **_places(study)}


# --- Money ---------------------------------------------------------------------------------------


def look_at_budget(study: Study) -> None:
    share = limits_of(study).budget_percent
    reached = {}
    for recruitment in study.recruitments.filter(state=Recruitment.State.LIVE):
        sums = ledger.money_of(recruitment)
        spent = sums.total_minor + ledger.with_fees(recruitment, sums.owed_minor)
        limit = Decimal(recruitment.budget_minor or sums.planned_minor)
        for name, percent in (("share", share), (HUNDRED, 100)):
            if limit and 100 * spent >= percent * limit:
                make_facts = partial(_money, recruitment, spent, limit)
                reached[f"{recruitment.code} {name}"] = make_facts
    settle("study.budget_reached", study, reached)


def look_at_reviews(study: Study) -> None:
    """Submissions that nobody has decided 20 days after they were handed in."""
    since = timezone.now() - timedelta(days=WARNED_AFTER_DAYS)
    overdue: dict[str, Callable[[], dict[str, Any]]] = {}
    for recruitment in study.recruitments.filter(state=Recruitment.State.LIVE):
        waiting = recruitment.submissions.filter(status="AWAITING REVIEW", decision="")
        count = waiting.filter(completed_at__lte=since).count()
        if count:
            overdue[recruitment.code] = partial(dict, submissions=count)
    settle("study.review_due", study, overdue)


def _money(recruitment: Recruitment, spent: Decimal, limit: Decimal) -> dict[str, Any]:
    of = "limit" if recruitment.budget_minor else "planned cost (no limit is set)"
    return {
        "spent": money(float(spent), recruitment.currency),
        "limit": money(float(limit), recruitment.currency),
        "percent": int(100 * spent / limit),
        "of": of,
    }


def watch_rates() -> int:
    """Looks at every study of which somebody wants to know; how many that were."""
    return look_at("study.traps_unusual", Study.RUNNING, look_at_traps) + look_at(
        "study.errors_unusual", Study.RUNNING, look_at_errors
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
    excesses = {}
    for subject, each in shares.items():
        excess = excess_of(each, expected, looked_for=len(shares))
        if excess is not None:
            excesses[subject] = partial(_facts, subject, excess, expected_percent)
    lasts = [subject for subject, each in shares.items() if still_above(each, expected)]
    settle(event, study, excesses, lasts)


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
