"""Sessions rejected, restored or marked as paid, with a reason, and with all that goes with it."""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction
from django.db.models import Exists, OuterRef, Q

from listening.models import Session, Study, Submission
from listening.models.study_log import note
from listening.selectors.progress import forget_progress
from listening.sessions import session_summaries
from listening.sessions.rejection import AT_ONCE, Judged, reject_sessions, restore_sessions
from listening.studies import StudyError

REJECTED, RESTORED = "rejected", "restored"
LONGEST_REASON = 300  # characters


def decide(study: Study, chosen: Sequence[int], to: str, reason: str, *, by: str) -> Judged:
    """What became of them. StudyError says why nothing was changed."""
    reason = reason.strip()[:LONGEST_REASON]
    if to not in (REJECTED, RESTORED):
        raise StudyError("Sessions can be rejected or restored.")
    if not reason:
        raise StudyError("A session is rejected or restored for a reason. Please write it down.")
    need_choice(chosen, "judged")
    chosen = sorted(chosen)
    judged = reject_sessions(chosen, reason) if to == REJECTED else restore_sessions(chosen)
    if judged.raters:
        details = {"sessions": len(judged.raters), "raters": list(judged.raters), "reason": reason}
        note(study, to, by, **details)
        forget_progress(study.key)
        session_summaries.count_sessions(chosen)
    return judged


def need_choice(chosen: Sequence[int], done: str) -> None:
    """Raises StudyError where no session is chosen, or too many are."""
    if not chosen:
        raise StudyError("Choose at least one session.")
    if len(chosen) > AT_ONCE:
        raise StudyError(
            f"{len(chosen):,} sessions are too many at once: {AT_ONCE:,} can be {done} in one go. "
            "Narrow the filters."
        )


MARKS = {"paid": True, "not paid": False}


@transaction.atomic
def mark_pay(study: Study, chosen: Sequence[int], to: str, reason: str, *, by: str) -> Judged:
    """What became of them. Those of Prolific, tries and scripted ones stay as they are."""
    reason, paid = reason.strip()[:LONGEST_REASON], MARKS[to]
    if not reason:
        raise StudyError("Say how it was paid, or why not: the log keeps it.")
    need_choice(chosen, "marked")
    prolific = Exists(Submission.objects.filter(session=OuterRef("pk"))) | ~Q(prolific_session="")
    rows = study.sessions.filter(pk__in=chosen, pilot=False, rater__simulated=False)
    rows = rows.exclude(prolific).exclude(paid=paid).order_by("pk")
    locked = list(rows.select_for_update(no_key=True, of=("self",)).select_related("rater"))
    Session.objects.filter(pk__in=[each.pk for each in locked]).update(paid=paid)
    raters = tuple(each.rater.code for each in locked)
    if raters:
        what = "marked_paid" if paid else "marked_not_paid"
        note(study, what, by, sessions=len(raters), raters=list(raters), reason=reason)
    return Judged(raters, len(set(chosen)) - len(raters))
