"""A study's scoring run: asked for, split into shards, worked on, cancelled, continued."""

from __future__ import annotations

import contextlib
import logging
import os
import platform
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import connection, models, transaction
from django.db.models import Q
from django.utils import timezone

from config.missing_packages import failure
from listening.common.ages import CLOCK_SKEW_S, in_last_s
from listening.common.job_queues import processed_until
from listening.common.signals import job_lost
from listening.models import requested_jobs
from listening.models.requested_jobs import MESSAGE, WORKER
from listening.selectors import no_study
from metrics.core.metric import title_of_key
from metrics.core.precision import Arithmetic
from metrics.models import MetricScore, ScoringRun, ScoringShard
from metrics.scoring import runner, study_scores
from metrics.scoring.arithmetic import plan_arithmetic
from metrics.scoring.presets import Choice, make_metrics
from metrics.scoring.run_cost import duration_words
from metrics.scoring.runner import ScoredBatch
from metrics.scoring.study_material import NoStimuli, study_clips

log = logging.getLogger(__name__)

CLIPS_PER_SHARD = 20  # a smaller study has fewer shards than the setting allows
BEAT_S = 15.0
STALE_S = 60.0  # without a heartbeat for this long, the page says so
SLICE_S = 15 * 60.0  # then a job makes way: brokers take longer ones for lost and repeat them
REPORT_EVERY_S = 1.0
PACE_S = 10 * 60.0  # of which the pace is taken: models are loaded, and machines come and go
SHARD_JOB = "metrics.jobs.score_shard"
WAITING = (ScoringShard.State.QUEUED, ScoringShard.State.RUNNING)

Queue = Callable[[int], object]  # puts a shard's job into the queue


class Cancelled(Exception):
    """Nobody waits for this run any more."""


class Later(Exception):
    """The job has worked for as long as it may; the rest is for another one."""


def start_run(
    study_id: int,
    study: str,
    choices: Sequence[Choice],
    queue: Queue,
    by: str = "",
    shards: int = 0,
    arithmetic: Arithmetic | None = None,
) -> ScoringRun:
    """Start a run and queue its jobs at commit, or join an equal one that is in progress.

    ``shards``: into how many parts (default: as many as the setting EARNEST_SCORING_SHARDS allows
    and the study has clips for). ``arithmetic``: what networks compute in (default: the settings
    EARNEST_METRIC_PRECISION and EARNEST_METRIC_COMPILE). Raises NoStimuli for a study without any.
    """
    metrics, notes = plan_arithmetic(make_metrics(choices), arithmetic or usual_arithmetic())
    for note in notes:
        log.info("%s: %s", study, note)
    plain = [Choice.of(metric).plain() for metric in metrics]
    working = ScoringRun.objects.filter(study_id=study_id, state=ScoringRun.State.WORKING)
    alike = working.filter(metrics=plain).first()
    if alike is not None:
        continue_run(alike, queue)
        return alike
    clips = study_clips(study, metrics)
    most = min(settings.EARNEST_SCORING_SHARDS, -(-len(clips) // CLIPS_PER_SHARD))
    count = shards or most
    with transaction.atomic():
        run = ScoringRun.objects.create(study_id=study_id, metrics=plain, asked_by=by)
        sizes = [0] * count
        for clip in clips:
            sizes[shard_of(clip.sha256, count)] += len(metrics)
        created_shards = ScoringShard.objects.bulk_create(
            ScoringShard(run=run, number=number, total=size, heartbeat_at=timezone.now())
            for number, size in enumerate(sizes)
        )
        transaction.on_commit(lambda: [queue(shard.pk) for shard in created_shards] and None)
    return run


def usual_arithmetic() -> Arithmetic:
    """What networks compute in where a run does not say."""
    return Arithmetic(settings.EARNEST_METRIC_PRECISION, settings.EARNEST_METRIC_COMPILE)


def start_run_by_key(
    study: str,
    choices: Sequence[Choice],
    queue: Queue,
    shards: int = 0,
    arithmetic: Arithmetic | None = None,
) -> ScoringRun:
    """`start_run` of a study by its key; raises NoStimuli when there is no such study."""
    related: Any = ScoringRun._meta.get_field("study").related_model
    study_id = related.objects.filter(key=study).values_list("pk", flat=True).first()
    if study_id is None:
        raise NoStimuli(no_study(study))
    return start_run(study_id, study, choices, queue, "command", shards, arithmetic)


def shard_of(sha256: str, count: int) -> int:
    """The shard of an audio file: the same on every machine."""
    return int(sha256[:8], 16) % count


def cancel(run: ScoringRun) -> bool:
    """Give up what is not scored yet; workers stop after their batch and keep what they stored."""
    working = ScoringRun.objects.filter(pk=run.pk, state=ScoringRun.State.WORKING)
    return bool(working.update(state=ScoringRun.State.CANCELLED, finished_at=timezone.now()))


def continue_run(run: ScoringRun, queue: Queue) -> int:
    """Queue again the shards that nobody works on; how many. Scores that are stored stay."""
    dead = ScoringShard.objects.filter(run=run).exclude(state=ScoringShard.State.DONE)
    dead = dead.exclude(pk__in=[pk for pk in dead.values_list("pk", flat=True) if not is_free(pk)])
    with transaction.atomic():
        ScoringRun.objects.filter(pk=run.pk).update(
            state=ScoringRun.State.WORKING, finished_at=None
        )
        shards = list(dead.values_list("pk", flat=True))
        dead.update(state=ScoringShard.State.QUEUED, error="", heartbeat_at=timezone.now())
        transaction.on_commit(lambda: [queue(pk) for pk in shards] and None)
    finish(run.pk)
    return len(shards)


def heal(queue: Queue) -> int:
    """Queue again every shard that no worker holds though one took it, or whose job got lost.

    Raises what the broker's library does while it does not say what waits.
    """
    waiting = ScoringShard.objects.filter(run__state=ScoringRun.State.WORKING)
    dead = [
        pk
        for pk in waiting.filter(state=ScoringShard.State.RUNNING).values_list("pk", flat=True)
        if is_free(pk)
    ]
    queued = waiting.filter(state=ScoringShard.State.QUEUED)
    lost: list[int] = []
    if queued.exists():
        later = timezone.now() + timedelta(seconds=CLOCK_SKEW_S)  # set before the clock went back
        overdue = queued.filter(
            Q(heartbeat_at__lt=processed_until("gpu")) | Q(heartbeat_at__gt=later)
        )
        lost = [pk for pk in overdue.values_list("pk", flat=True) if is_free(pk)]
    for why, pks in ((WORKER, dead), (MESSAGE, lost)):
        for pk in pks:
            log.warning("Shard %d is sent again: %s", pk, why)
            job_lost.send(sender=ScoringShard, job=SHARD_JOB, why=f"sent again, {why}")
    shard_ids = [*dead, *lost]
    ScoringShard.objects.filter(pk__in=shard_ids).update(
        state=ScoringShard.State.QUEUED, heartbeat_at=timezone.now(), error=""
    )
    for pk in shard_ids:
        queue(pk)
    return len(shard_ids)


def is_free(shard_id: int) -> bool:
    """Whether no worker holds this shard just now: those that died hold nothing."""
    with hold_shard(shard_id) as free:
        return free


def work_on(shard_id: int, queue: Queue) -> None:
    """Score what a shard still misses; returns at once when another worker is at it.

    A shard is RUNNING only while its lock is held, so one that is RUNNING and free has lost its
    worker.
    """
    shard = ScoringShard.objects.select_related("run__study").filter(pk=shard_id).first()
    if shard is None or shard.state == ScoringShard.State.DONE:
        return
    if shard.run.state != ScoringRun.State.WORKING:
        return
    more = False
    with hold_shard(shard_id) as mine:
        if not mine:
            log.info("%s: another worker is at it", shard)
            return
        ScoringShard.objects.filter(pk=shard_id).update(
            state=ScoringShard.State.RUNNING, heartbeat_at=timezone.now(), error=""
        )
        try:
            with heartbeat(shard_id):
                _score(shard)
        except Later:
            later = {"state": ScoringShard.State.QUEUED, "heartbeat_at": timezone.now()}
            ScoringShard.objects.filter(pk=shard_id).update(**later)
            more = True
        except Cancelled:
            log.info("%s: cancelled", shard)
            ScoringShard.objects.filter(pk=shard_id).update(state=ScoringShard.State.QUEUED)
        except Exception as error:
            known = isinstance(error, NoStimuli | ValueError)
            message = str(error) if known else failure(error, "gpu", log, str(shard))
            _end(shard, ScoringShard.State.FAILED, message or type(error).__name__)
        else:
            _end(shard, ScoringShard.State.DONE, "")
    if more:  # now that the lock is gone
        queue(shard_id)


def _score(shard: ScoringShard) -> None:
    metrics = make_metrics([Choice(m["metric"], m["parameters"]) for m in shard.run.metrics])
    count = ScoringShard.objects.filter(run=shard.run_id).count()
    clips = [
        clip
        for clip in study_clips(shard.run.study.key, metrics)
        if shard_of(clip.sha256, count) == shard.number
    ]
    own = settings.EARNEST_METRIC_DEVICE
    device = runner.resolve_device(own if shard.run.device == "auto" else shard.run.device)
    reporter = ProgressReporter(shard)
    work, stored = study_scores.missing(clips, metrics)
    reporter.begin(sum(stored.values()), sum(len(wanted) for _, wanted in work))
    try:
        study_scores.score_and_store(
            work,
            stored,
            metrics,
            device,
            report=reporter.batch,
            metric_by_metric=settings.EARNEST_METRIC_BY_METRIC,
        )
    finally:
        reporter.report()


class ProgressReporter:
    """Stores how far a shard is; ends its job when the run is cancelled or the time is over."""

    def __init__(self, shard: ScoringShard) -> None:
        self.shard, self.began = shard, time.monotonic()
        self.total = self.done = self.failed = 0
        self.doing, self.reported_at = "", float("-inf")

    def begin(self, stored: int, missing: int) -> None:
        """Set the counts: ``stored`` scores exist already, ``missing`` are to be computed."""
        self.total, self.done, self.doing = stored + missing, stored, "loading models"
        self.report()

    def batch(self, batch: ScoredBatch) -> None:
        """Count a stored batch; raises Cancelled or Later where the job is to end."""
        failed = sum(each.score.failed for each in batch.clips)
        self.done, self.failed = self.done + len(batch.clips), self.failed + failed
        self.doing = title_of_key(batch.metric.key)
        if time.monotonic() - self.reported_at > REPORT_EVERY_S:
            self.report()
        if not ScoringRun.objects.filter(
            pk=self.shard.run_id, state=ScoringRun.State.WORKING
        ).exists():
            raise Cancelled
        if time.monotonic() - self.began > SLICE_S and self.done < self.total:
            raise Later

    def report(self) -> None:
        """Store the counts and what the worker is doing."""
        self.reported_at = time.monotonic()
        ScoringShard.objects.filter(pk=self.shard.pk).update(
            state=ScoringShard.State.RUNNING,
            total=self.total,
            done=self.done,
            failed=self.failed,
            doing=self.doing[:200],
            worker=f"{platform.node()} {os.getpid()}",
            heartbeat_at=timezone.now(),
            error="",
        )


def _end(shard: ScoringShard, state: str, error: str) -> None:
    ScoringShard.objects.filter(pk=shard.pk).update(
        state=state, error=error, doing="", heartbeat_at=timezone.now()
    )
    finish(shard.run_id)


def finish(run_id: int) -> None:
    """End a run none of whose shards waits any more."""
    with transaction.atomic():
        run = ScoringRun.objects.select_for_update().get(pk=run_id)
        shards = ScoringShard.objects.filter(run=run)
        if run.state != ScoringRun.State.WORKING or shards.filter(state__in=WAITING).exists():
            return
        broke = shards.filter(state=ScoringShard.State.FAILED).exists()
        run.state = ScoringRun.State.FAILED if broke else ScoringRun.State.DONE
        run.finished_at = timezone.now()
        run.save(update_fields=["state", "finished_at"])


def hold_shard(shard_id: int) -> AbstractContextManager[bool]:
    """Whether no other worker is at this shard: PostgreSQL lets go of the lock when one dies."""
    return requested_jobs.alone(lock_number(shard_id))


def lock_number(shard_id: int) -> int:
    """The number of a shard's lock."""
    return requested_jobs.lock_number(f"metrics shard {shard_id}")


@contextlib.contextmanager
def heartbeat(shard_id: int) -> Iterator[None]:
    """Say every `BEAT_S` that this process lives, however long a batch takes."""
    over = threading.Event()

    def beat() -> None:
        while not over.wait(BEAT_S):
            try:
                ScoringShard.objects.filter(pk=shard_id).update(heartbeat_at=timezone.now())
            except Exception:
                log.exception("no heartbeat of shard %d", shard_id)
            finally:
                connection.close()  # this thread's own

    thread = threading.Thread(target=beat, name="heartbeat", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(BEAT_S)


def in_words(left_s: float | None) -> str:
    """How long a run still takes, roughly; empty while nobody knows."""
    return "" if left_s is None else f"about {duration_words(left_s)} left"


def seconds_left(run: ScoringRun, missing: int) -> float | None:
    """How long a run still takes at the pace of the last minutes; None without new scores.

    By the scores of its metrics that were stored for its study's audio, by whichever worker.
    """
    now = timezone.now()
    since = max(run.asked_at, now - timedelta(seconds=PACE_S))
    study: Any = run.study
    scored = MetricScore.objects.filter(
        metric__in=[choice["metric"] for choice in run.metrics],
        computed_at__gte=since,
        sha256__in=study.stimuli.values("sha256"),
    ).count()
    elapsed_s = (now - since).total_seconds()
    return missing * elapsed_s / scored if scored and missing > 0 else None


def progress(run: ScoringRun) -> dict[str, Any]:
    """How far a run is, as plain values: counts over its shards, and which of them are stuck."""
    shards = ScoringShard.objects.filter(run=run)
    sums = shards.aggregate(
        total=models.Sum("total"), done=models.Sum("done"), failed=models.Sum("failed")
    )
    total, done = sums["total"] or 0, sums["done"] or 0
    ended = run.state in (ScoringRun.State.DONE, ScoringRun.State.FAILED)
    running = shards.filter(state=ScoringShard.State.RUNNING)
    stuck = running.exclude(heartbeat_at__range=in_last_s(STALE_S)).count()
    left_s = seconds_left(run, total - done) if run.state == ScoringRun.State.WORKING else None
    doing = sorted(set(running.exclude(doing="").values_list("doing", flat=True)))
    return {
        "run": run.pk,
        "state": str(run.state),
        "total": total,
        "done": min(done, total),
        "failed": sums["failed"] or 0,
        "percent": 100 if ended else int(100 * min(done / total, 1.0)) if total else 0,
        "shards": shards.count(),
        "shards_done": shards.filter(state=ScoringShard.State.DONE).count(),
        "workers": running.count() - stuck,
        "stuck": stuck if run.state == ScoringRun.State.WORKING else 0,
        "doing": ", ".join(doing),
        "left_s": None if left_s is None else round(left_s),
        "left": in_words(left_s),
        "errors": sorted(set(shards.exclude(error="").values_list("error", flat=True))),
    }
