"""Sessions rejected and restored: their ratings stay whatever is decided, and count or not.

Any number of sessions is judged in one transaction. All of them are locked first, then all of
their blocks, so that a rater who answers meanwhile waits, and nobody waits in a circle.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import connection, transaction
from django.db.models import Count, F, Q, QuerySet
from django.db.models.functions import Coalesce, Now

from listening.common.statements import run_steps
from listening.models import Rating, Session, Trial
from listening.sessions import leases
from listening.sessions.answer_statements import trap_steps
from listening.sessions.task_rules import task_rules

AT_ONCE = 500  # sessions in one go: more would keep raters who answer meanwhile waiting too long
OPEN_TRIALS = (Trial.State.PLANNED, Trial.State.VOID)


@dataclass(frozen=True)
class Judged:
    """What became of the sessions that somebody judged."""

    raters: tuple[str, ...]  # codes, of the sessions that changed
    left_as_they_were: int  # withdrawn, screened out, or judged so before
    not_counting: int = 0  # ratings of restored sessions whose places others have filled


@transaction.atomic
def reject_sessions(sessions: Sequence[int], reason: str) -> Judged:
    """Their ratings stay but no longer count, and their places are open again."""
    unjudged = Q(status__in=(Session.Status.WITHDRAWN, Session.Status.REJECTED))
    screened = Q(status=Session.Status.SCREENED)
    locked = _locked(Session.objects.filter(pk__in=sessions).exclude(unjudged | screened))
    chosen = [session.pk for session in locked]
    blocks = leases.lock_blocks_of(chosen)
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE listening_rating SET counts = false WHERE counts AND trial_id IN"
            " (SELECT id FROM listening_trial WHERE session_id = ANY(%s))",
            [chosen],
        )
    trials = Trial.objects.filter(session__in=chosen)
    trials.filter(state=Trial.State.PLANNED).update(state=Trial.State.VOID)
    leases.settle(blocks)
    Session.objects.filter(pk__in=chosen).update(
        status=Session.Status.REJECTED,
        rejected_because=reason,
        finished_at=Coalesce(F("finished_at"), Now()),  # who was through had finished then
    )
    return Judged(_codes(locked), len(sessions) - len(chosen))


@transaction.atomic
def restore_sessions(sessions: Sequence[int]) -> Judged:
    """They stand as before their rejection; ratings count again where their place is still free.

    Who had not finished may go on, unless the rater began anew in the meantime.
    """
    rejected = Session.objects.filter(pk__in=sessions, status=Session.Status.REJECTED)
    locked = _locked(rejected)
    chosen = [session.pk for session in locked]
    blocks = leases.lock_blocks_of(chosen)
    to_answer = Trial.objects.filter(session__in=chosen, state__in=OPEN_TRIALS).order_by()
    unfinished = set(to_answer.values_list("session_id", flat=True).distinct())
    busy = set(
        Session.objects.filter(
            rater__in=[s.rater_id for s in locked], status=Session.Status.STARTED
        ).values_list("rater_id", "study_id")
    )
    for session in locked:
        _recount(session.pk, blocks)
        session.rejected_because = ""
        if session.pk in unfinished:
            may_go_on = (session.rater_id, session.study_id) not in busy
            session.status = Session.Status.STARTED if may_go_on else Session.Status.EXPIRED
            busy.add((session.rater_id, session.study_id))
        else:
            session.status = Session.Status.EXPIRED if session.short else Session.Status.FINISHED
        if session.status == Session.Status.STARTED:
            session.finished_at = None
    Session.objects.bulk_update(locked, ["status", "rejected_because", "finished_at"], 500)
    leases.settle(blocks)
    lost = Rating.objects.filter(trial__session__in=chosen, slot__isnull=False, counts=False)
    return Judged(_codes(locked), len(sessions) - len(chosen), lost.count())


def _locked(sessions: QuerySet[Session]) -> list[Session]:
    rows = sessions.order_by("pk").select_for_update(no_key=True, of=("self",))
    return list(rows.select_related("rater"))


def _codes(sessions: Sequence[Session]) -> tuple[str, ...]:
    return tuple(session.rater.code for session in sessions)


def _recount(session: int, free: Sequence[int]) -> None:
    """What counted before the rejection counts again, in blocks that nobody holds by now."""
    held = set(free)
    rows = Trial.objects.filter(session=session).order_by()
    of_blocks = rows.values("block", "task").annotate(
        open=Count("pk", filter=Q(state__in=(*OPEN_TRIALS, Trial.State.GONE)))
    )
    for row in of_blocks:
        if row["block"] in held and _counted(session, row["block"], row["task"], row["open"]):
            leases.recount(row["block"], session)


def _counted(session: int, block: int, task: int, unanswered: int) -> bool:
    """Whether a block's answers count: a task may ask for whole blocks that pass their traps."""
    rules = task_rules(task)
    if not rules.reopen_invalid:
        return True
    return unanswered == 0 and run_steps(
        trap_steps(rules.traps, session=session, task=task, block=block)
    )
