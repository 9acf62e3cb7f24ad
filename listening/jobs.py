"""Celery jobs of `listening`: periodic ones, and looks at Prolific that events ask for."""

import logging
from datetime import timedelta

from celery import shared_task
from django.utils import timezone

from listening.accounts import logins
from listening.audio.appearance import clear_appearances
from listening.common import cached_counts
from listening.common.signals import pair_fit_due
from listening.models import HookEvent, Recruitment, Task
from listening.models.requested_jobs import requested_job, send_lost
from listening.notifications import sending, watching
from listening.recruitment.errors import RecruitmentError
from listening.recruitment.syncing import sync, unfinished
from listening.selectors import pair_answers, progress
from listening.sessions import leases, session_summaries
from listening.studies import erasure, invitations, stopping

EVENTS_KEPT = timedelta(days=7)  # Prolific repeats one for a day
log = logging.getLogger(__name__)


@shared_task
def send_lost_jobs() -> int:
    """Run by the beat: what was asked for, has not ended, and is in no queue and no worker."""
    return send_lost()


@shared_task
def return_expired_leases() -> int:
    """Run by the beat; safe to run twice, and a claim that finds nothing does it too."""
    return leases.return_expired_leases()


@shared_task
def count_sessions() -> list[str]:
    """Run by the beat; gives the studies whose raters' agreement was counted anew."""
    return session_summaries.count_stale_summaries()


@shared_task
def clear_unused_appearances() -> int:
    """Run by the beat: clears appearances; those still in use are made again on request."""
    return clear_appearances()


@shared_task
def erase_due_studies() -> list[str]:
    """Run by the beat: who took part in a study is forgotten on its date."""
    return erasure.erase_due_studies()


@shared_task
def apply_budgets() -> int:
    """Run by the beat: stop the studies whose stop rule is a budget that is spent."""
    return stopping.apply_budgets()


@shared_task
def forget_ended_log_ins() -> int:
    """Run by the beat: where researchers were logged in is known while they are."""
    return logins.forget_ended()


@shared_task
def look_at_prolific() -> int:
    """Run by the beat: whatever an event did not tell; gives how many studies were looked at."""
    HookEvent.objects.filter(at__lt=timezone.now() - EVENTS_KEPT).delete()
    looked = unfinished()
    for recruitment in looked:
        sync_recruitment(recruitment.pk)
    return len(looked)


@shared_task
def sync_recruitment(pk: int) -> None:
    """Asked for by events; what goes wrong stands on the recruiting page, and is tried again."""
    try:
        sync(Recruitment.objects.select_related("connection", "study").get(pk=pk))
    except RecruitmentError as error:
        log.warning("Recruitment %s: %s", pk, error)


@requested_job("listening.jobs.send_invitations")
def send_invitations(people: list[int], subject: str, text: str, reminder: bool) -> int:
    """Asked for by the page of a panel; gives how many mails the mail server took."""
    return sum(invitations.send(pk, subject, text, reminder=reminder) for pk in people)


@shared_task
def ask_for_pair_fits() -> int:
    """Run by the beat: strengths by which pairs are drawn, where there are new answers."""
    due = list(pair_answers.tasks_to_fit())
    for task in due:
        pair_fit_due.send(Task, task_id=task)
    return len(due)


@shared_task
def watch_studies() -> int:
    """Run by the beat: which are full, stall, or come near the budget, where somebody asks."""
    return watching.watch()


@shared_task
def watch_rates() -> int:
    """Run by the beat: traps that raters fail, clips that do not play."""
    return watching.watch_rates()


@shared_task
def send_messages() -> int:
    """Run by the beat, and when an analysis ends; gives how many messages are being sent.

    Each is a job of its own: an address that does not answer holds nobody up.
    """
    sending.dispatch()
    waiting = sending.due_deliveries()
    for pk in waiting:
        send_message.delay(pk)
    return len(waiting)


@shared_task
def send_message(pk: int) -> str:
    return sending.deliver(pk)


@shared_task
def forget_old_messages() -> int:
    return sending.forget_old()


@shared_task
def recount(kind: str, of: str) -> None:
    """Count for pages what takes long to count; see `listening.common.cached_counts`."""
    if kind == progress.KIND:
        progress.latest_progress(of)
    else:
        cached_counts.remake(kind, of)
