"""Whether each session is paid, as far as Earnest knows: it never depends on a rule of analysis."""

from __future__ import annotations

from listening.models import LedgerEntry, Session, Submission

PAID, PART, NOT_DECIDED, NOT_PAID, ELSEWHERE, SCRIPTED = (
    "paid",
    "paid a part",
    "not decided",
    "not paid",
    "nobody has said",
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
