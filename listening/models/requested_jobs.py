"""Jobs that somebody waits for: written down, sent, and sent again when their message is lost.

A queue forgets: a worker is killed just as it takes a message, or the broker starts empty. What was
asked for is a row, written in the transaction that asks, and it goes when the job has ended. The
clock sends again what is in no queue and in no worker's hands.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import math
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import cache, partial, wraps
from typing import Any, ParamSpec, TypeVar

from celery import current_app, shared_task
from django.db import Error, InterfaceError, connection, transaction
from django.db import OperationalError as DatabaseAway
from django.db.models import F, Q, QuerySet
from django.utils import timezone
from kombu.exceptions import OperationalError

from listening.common import job_queues
from listening.common.ages import age_s
from listening.common.signals import job_lost
from listening.models import AskedJob

MOST_TRIES = 3  # whoever takes its worker down so often would do it for ever
MESSAGE, WORKER = "its message was lost", "its worker died"
UNREACHABLE = "the job queue is not reachable ({}); start it, then {}"
GIVEN_UP: dict[str, tuple[Callable[..., object], str]] = {}
P = ParamSpec("P")
R = TypeVar("R")
log = logging.getLogger(__name__)


def requested_job(
    name: str, given_up: Callable[..., object] | None = None, retry: str = "try again"
) -> Callable[[Callable[P, R]], Callable[P, R | None]]:
    """Makes a Celery job of a function: two of the same never work at once, and the row is kept.

    ``given_up`` is called with the reason, then with what the job was given, when its worker died
    each time, or where the queue cannot be reached: it says so to those who wait. ``retry`` says
    what they can do once the queue is back. Without it, the job is sent when the queue is back.
    """
    if given_up is not None:
        GIVEN_UP[name] = given_up, retry

    def decorate(work: Callable[P, R]) -> Callable[P, R | None]:
        @wraps(work)
        def job(*args: P.args, **kwargs: P.kwargs) -> R | None:
            return _work_on(mark_of(name, args), partial(work, *args, **kwargs))

        job.is_written_down = True  # type: ignore[attr-defined]
        task: Callable[P, R | None] = shared_task(name=name)(job)
        return task

    return decorate


def ask(job: Any, *arguments: Any) -> None:
    """Has a job done once this transaction commits; its arguments are what JSON can hold."""
    mark, now = mark_of(job.name, arguments), timezone.now()
    fresh = {"asked_at": now, "sent_at": None, "begun_at": None, "tries": 0}
    AskedJob.objects.update_or_create(
        mark=mark,
        defaults=fresh,
        create_defaults={**fresh, "job": job.name, "given": list(arguments)},
    )
    transaction.on_commit(partial(_send, job, mark, arguments))


def requests_of(job: Any) -> QuerySet[AskedJob]:
    """The jobs of a kind that were asked for and have not ended, the first first."""
    return AskedJob.objects.filter(job=job.name)


def send_lost() -> int:
    """Run by the clock: sends what nobody holds any more; how many."""
    until = cache(job_queues.processed_until)
    return sum(_heal(row, until) for row in AskedJob.objects.all())


def _send(job: Any, mark: str, arguments: tuple[Any, ...]) -> None:
    row = AskedJob.objects.filter(mark=mark)
    row.update(sent_at=timezone.now(), begun_at=None)
    try:
        job.delay(*arguments)
    except OperationalError as error:
        if job.name not in GIVEN_UP:
            log.warning("%s waits until the queue of jobs can be reached: %s", job.name, error)
            return
        row.delete()
        tell, retry = GIVEN_UP[job.name]
        tell(UNREACHABLE.format(error, retry), *arguments)


def _heal(row: AskedJob, until: Callable[[str], datetime]) -> bool:
    job = current_app.tasks.get(row.job)
    if job is None:
        log.error("%s is no job of this version, and is not done", row.job)
        row.delete()
        return False
    why = WORKER if row.begun_at else MESSAGE
    sent_at = row.sent_at or row.asked_at
    known = age_s(sent_at) < math.inf  # else the clock went back: nobody knows, so it is sent
    if why == MESSAGE and known and sent_at > until(job_queues.queue_of(row.job)):
        return False
    if not _is_free(row.mark):
        return False
    same = Q(pk=row.pk, asked_at=row.asked_at, sent_at=row.sent_at, begun_at=row.begun_at)
    if why == WORKER and row.tries >= MOST_TRIES:
        _give_up(row, same)
        return False
    if not AskedJob.objects.filter(same).update(sent_at=timezone.now(), begun_at=None):
        return False  # it ended just now, or somebody else has sent it
    log.warning("%s, asked for at %s, is sent again: %s", row.job, row.asked_at, why)
    job_lost.send(sender=AskedJob, job=row.job, why=f"sent again, {why}")
    job.delay(*row.given)
    return True


def _give_up(row: AskedJob, same: Q) -> None:
    deleted, _ = AskedJob.objects.filter(same).delete()
    if not deleted:
        return
    why = f"its worker died {row.tries} times"
    log.error("%s, asked for at %s, is given up: %s", row.job, row.asked_at, why)
    job_lost.send(sender=AskedJob, job=row.job, why=f"given up, {why}")
    if row.job in GIVEN_UP:
        tell, _ = GIVEN_UP[row.job]
        tell(f"{why}, perhaps for want of memory; see the workers’ logs", *row.given)


def _work_on(mark: str, work: Callable[[], R]) -> R | None:
    with alone(lock_of(mark)) as mine:
        if not mine:
            log.info("Another worker is at job %s", mark[:8])
            return None
        row = AskedJob.objects.filter(mark=mark)
        asked_at = row.values_list("asked_at", flat=True).first() or timezone.now()
        row.update(begun_at=timezone.now(), tries=F("tries") + 1)
        mine_alone = row.filter(asked_at=asked_at)  # asked for again meanwhile, it is to come again
        try:
            done = work()
        except (DatabaseAway, InterfaceError):  # the row stays, and the clock sends it again
            raise
        except Exception:
            mine_alone.delete()
            raise
        mine_alone.delete()
        return done


def mark_of(job: str, arguments: tuple[Any, ...]) -> str:
    return hashlib.sha256(json.dumps([job, *arguments], sort_keys=True).encode()).hexdigest()


def _is_free(mark: str) -> bool:
    with alone(lock_of(mark)) as free:
        return free


def lock_of(mark: str) -> int:
    """The number of a job's lock."""
    return lock_number(f"asked job {mark}")


def lock_number(name: str) -> int:
    """The number of an advisory lock: one that nothing else in the database uses."""
    return int.from_bytes(hashlib.sha256(name.encode()).digest()[:8], signed=True)


@contextlib.contextmanager
def alone(number: int) -> Iterator[bool]:
    """Whether nobody else holds this lock: PostgreSQL lets go of it when its holder dies."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_lock(%s)", [number])
        (mine,) = cursor.fetchone()
    try:
        yield bool(mine)
    finally:
        if mine:
            with contextlib.suppress(Error), connection.cursor() as cursor:
                cursor.execute("SELECT pg_advisory_unlock(%s)", [number])
