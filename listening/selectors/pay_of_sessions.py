"""Whether each session is paid, as far as Earnest knows: it never depends on a rule of analysis."""

from __future__ import annotations

from listening.models import LedgerEntry, Session, Submission

PAID, NOT_DECIDED, NOT_PAID, ELSEWHERE, SCRIPTED = (
    "paid",
    "not decided",
    "not paid",
    "paid elsewhere, or not at all",
    "scripted",
)
_GOING_ON = ("ACTIVE", "RESERVED", "AWAITING REVIEW", "TIMED-OUT")
_APPROVED = ("APPROVED", "SCREENED OUT")
_PAY = (LedgerEntry.Kind.REWARD, LedgerEntry.Kind.SCREENED_OUT)


def pay_of_sessions(study: str) -> dict[str, str]:
    """By the session's name in ratings.csv; of ways in other than Prolific nothing is known."""
    sessions = Session.objects.filter(study__key=study, pilot=False)
    found = {
        f"s{pk}": SCRIPTED if scripted else ELSEWHERE
        for pk, scripted in sessions.values_list("pk", "rater__simulated")
    }
    mine = Submission.objects.filter(session__study__key=study)
    rewarded = set(mine.filter(ledger__kind__in=_PAY).values_list("pk", flat=True))
    for pk, session, status in mine.order_by("pk").values_list("pk", "session_id", "status"):
        if f"s{session}" in found:
            found[f"s{session}"] = _words(status, pk in rewarded)
    return found


def _words(status: str, rewarded: bool) -> str:
    if rewarded or status in _APPROVED:
        return PAID
    return NOT_DECIDED if status in _GOING_ON else NOT_PAID
