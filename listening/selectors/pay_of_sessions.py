"""What raters are paid, and whether each session is, as far as Earnest knows.

It never depends on a rule of analysis.
"""

from __future__ import annotations

from typing import TypedDict

from listening.common.statements import rows_of
from listening.models import LedgerEntry, Session, Study, Submission
from listening.sessions.leases import ANSWERED

PAID, PART, NOT_DECIDED, NOT_PAID, ELSEWHERE, SCRIPTED = (
    "paid",
    "paid in part",
    "not decided",
    "not paid",
    "not recorded",
    "scripted",
)
_GOING_ON = ("ACTIVE", "RESERVED", "AWAITING REVIEW", "TIMED-OUT")
_WHOLE = (LedgerEntry.Kind.REWARD, LedgerEntry.Kind.SCREENED_OUT)


def pay_of_sessions(study: str) -> dict[str, str]:
    """By the session's name in ratings.csv.

    Of ways in other than Prolific it is known what somebody said on the page Raters.
    """
    sessions = Session.objects.filter(study__key=study, pilot=False)
    rows = sessions.values_list("pk", "rater__simulated", "paid")
    paid = {pk for pk, _, known in rows if known}
    found = {
        pk: PAID if known else SCRIPTED if scripted else ELSEWHERE for pk, scripted, known in rows
    }
    mine = Submission.objects.filter(session__study__key=study)
    whole = set(mine.filter(ledger__kind__in=_WHOLE).values_list("pk", flat=True))
    for pk, session, status in mine.order_by("pk").values_list("pk", "session_id", "status"):
        if session in paid:
            found[session] = PAID if pk in whole else PART
        elif session in found:
            found[session] = NOT_DECIDED if status in _GOING_ON else NOT_PAID
    return {f"s{pk}": words for pk, words in found.items()}


# People alone: simulated raters are paid nothing. Traps are paid, being clips like the others.
WORK = f"""
SELECT count(*) AS sessions, coalesce(sum(n.trials), 0)::int AS clips,
    count(*) FILTER (WHERE n.minutes IS NOT NULL) AS timed,
    percentile_cont(0.5) WITHIN GROUP (ORDER BY n.minutes) AS minutes,
    percentile_cont(0.5) WITHIN GROUP (ORDER BY n.trials)
        FILTER (WHERE n.minutes IS NOT NULL) AS clips_each,
    sum(n.minutes) / 60 AS hours
FROM (
    SELECT count(*) AS trials, CASE WHEN s.status = 'finished'
        THEN extract(epoch FROM s.finished_at - s.started_at)::float8 / 60 END AS minutes
    FROM listening_session s JOIN listening_rater r ON r.id = s.rater_id
    JOIN listening_trial t ON t.session_id = s.id AND t.{ANSWERED}
    WHERE s.study_id = %(study)s AND NOT s.pilot AND NOT r.simulated GROUP BY s.id
) n
"""


class PayFacts(TypedDict):
    """The rate of [study.payment] where the researcher pays, and the work of people so far.

    ``by`` is ``prolific``, ``us`` or ``nobody``, empty where nothing is said; of ``us`` one of the
    amounts is there, or none.
    ``clips`` are answered trials, traps among them: a pair or a screen of several counts once.
    Times are of the ``timed`` finished sessions.
    """

    by: str
    currency: str
    per_clip: float | None
    per_hour: float | None
    per_session: float | None
    sessions: int
    clips: int
    timed: int
    minutes: float | None  # median
    clips_each: float | None  # median
    hours: float | None


def pay_facts(row: Study) -> PayFacts:
    """What the study says that raters are paid, and for how much they are."""
    (work,) = rows_of(WORK, study=row.pk)
    said = row.payment
    amounts = said if said.get("by") == "us" else {}
    return PayFacts(
        by=said.get("by", ""),
        currency=said.get("currency", ""),
        per_clip=amounts.get("per_clip"),
        per_hour=amounts.get("per_hour"),
        per_session=amounts.get("per_session"),
        sessions=work.sessions,
        clips=work.clips,
        timed=work.timed,
        minutes=work.minutes,
        clips_each=work.clips_each,
        hours=work.hours,
    )
