"""Our record of a study's submissions brought up to what Prolific has; places freed, money noted.

Safe to run twice and at the same time: rows have unique keys, and nothing is sent that changes
anything at Prolific.
"""

from __future__ import annotations

from decimal import Decimal

from django.db import transaction
from django.utils import timezone

from listening import leases
from listening.models import LedgerEntry, Recruitment, Session, Submission
from listening.prolific import Prolific, ProlificError, wire
from listening.recruitment import ledger
from listening.recruitment.connecting import client_of
from listening.recruitment.drafting import find_out, note_study, plan_of
from listening.recruitment.errors import RecruitmentError
from listening.recruitment.paying import settle_batches


def sync(recruitment: Recruitment) -> None:
    """Asks Prolific for the study, its submissions and its costs; RecruitmentError without it."""
    if recruitment.state in (Recruitment.State.SENDING, Recruitment.State.PUBLISHING):
        find_out(recruitment)
    if recruitment.state != Recruitment.State.LIVE:
        return
    try:
        with client_of(recruitment.connection) as prolific:
            note_study(recruitment, prolific.study(recruitment.prolific_study))
            there = prolific.submissions(recruitment.prolific_study)
            for each in there:
                note_submission(recruitment, each)
            settle_batches(prolific, recruitment)
            recruitment.costs = _costs(prolific, recruitment)
    except ProlificError as error:
        recruitment.problem = f"{error} The table shows what was known before."[:600]
        recruitment.save(update_fields=["problem"])
        raise RecruitmentError(recruitment.problem) from None
    recruitment.problem, recruitment.synced_at = "", timezone.now()
    recruitment.save(update_fields=["problem", "synced_at", "costs"])


def _costs(prolific: Prolific, recruitment: Recruitment) -> dict[str, object]:
    try:
        return dict(prolific.study_cost(recruitment.prolific_study))
    except ProlificError:
        return dict(recruitment.costs)  # the old account, which the page dates


def note_submission(recruitment: Recruitment, there: wire.Submission) -> Submission:
    """One submission as Prolific has it now, its session here, and what follows from both."""
    with transaction.atomic():
        row, _ = Submission.objects.select_for_update().get_or_create(
            prolific_id=there.id,
            defaults={
                "recruitment": recruitment,
                "participant": there.participant,
                "status": there.status,
            },
        )
        row.status, row.participant = there.status, there.participant
        row.code = there.code[:120]
        row.started_at = there.started_at or row.started_at
        row.completed_at = there.completed_at
        row.return_requested_at = there.return_requested or row.return_requested_at
        if there.bonuses:
            row.bonuses = [float(each) for each in there.bonuses]
        if row.session_id is None and not row.withdrew:
            row.session = Session.objects.filter(
                study=recruitment.study_id, prolific_session=there.id
            ).first()
        if row.carried_out_at is None and _is_done(row):
            row.carried_out_at, row.problem = timezone.now(), ""
        row.save()
    if there.status in wire.PLACE_FREE and not row.place_freed:
        _free_place(row)
    _note_reward(recruitment, row)
    return row


DONE_BY = {  # decision -> statuses that show it carried out
    Submission.Decision.APPROVE: ("APPROVED",),
    Submission.Decision.COMPLETE: ("APPROVED",),
    Submission.Decision.REJECT: ("REJECTED",),
    Submission.Decision.ASK_TO_RETURN: ("RETURNED",),
    Submission.Decision.PART: ("RETURNED",),
}


def _is_done(row: Submission) -> bool:
    return row.status in DONE_BY.get(Submission.Decision(row.decision), ())


def _free_place(row: Submission) -> None:
    """Who gave the place back, or was too long away, holds no blocks: others get them now."""
    with transaction.atomic():
        locked = Submission.objects.select_for_update().get(pk=row.pk)
        session = locked.session
        if session is not None and session.status == Session.Status.STARTED:
            leases.give_back(leases.lock_blocks_of(session.pk))
        locked.place_freed = True
        locked.save(update_fields=["place_freed"])
    row.place_freed = True


def _note_reward(recruitment: Recruitment, row: Submission) -> None:
    plan = plan_of(recruitment)
    kinds = LedgerEntry.Kind
    if row.status == "APPROVED":
        reward = Decimal(plan.reward_minor)
        ledger.write(recruitment, kinds.REWARD, str(row.pk), reward, submission=row)
    elif row.status == "SCREENED OUT":
        fixed = Decimal(plan.screened_out_minor)
        ledger.write(recruitment, kinds.SCREENED_OUT, str(row.pk), fixed, submission=row)


def unfinished() -> list[Recruitment]:
    """Those that the clock asks Prolific about: in doubt, live, or with something owed."""
    states = (
        Recruitment.State.SENDING,
        Recruitment.State.PUBLISHING,
        Recruitment.State.LIVE,
    )
    live = Recruitment.objects.filter(state__in=states).select_related("connection", "study")
    return [each for each in live if each.connection.token]
