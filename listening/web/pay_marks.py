"""Sessions that somebody says were paid, or not, elsewhere than at Prolific.

What is paid at Prolific is known from there (`listening.recruitment.ledger.mark_paid`).
"""

from __future__ import annotations

from collections.abc import Sequence

from django.db import transaction
from django.db.models import Exists, OuterRef, Q

from listening.models import Session, Study, Submission
from listening.models.study_log import note
from listening.sessions.rejection import Judged
from listening.studies import StudyError
from listening.web.session_decisions import LONGEST_REASON, need_choice

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
