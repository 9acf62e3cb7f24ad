"""What the operator's page and the metrics show, counted once in a while for both."""

from __future__ import annotations

import shutil
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.apps import apps
from django.conf import settings
from django.db import Error, connection
from django.db.models import Count, Min
from django.utils import timezone
from kombu.exceptions import OperationalError as BrokerError
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from redis.exceptions import RedisError

from config.installation import version
from config.operations import heartbeats, shared_counters
from config.operations.health import GRADES, readiness
from listening.common import job_queues
from listening.models import AskedJob
from listening.selectors.operations import ListeningFigures, listening_figures

KEPT_S = 10.0


@dataclass(frozen=True)
class Figures:
    listening: ListeningFigures
    scoring: dict[str, int]  # shards by state, of runs that still work or ended in the last day
    analyses: dict[str, int]  # by state, asked for in the last day
    asked: dict[str, int]  # jobs that somebody waits for, by the name of the job
    asked_oldest_s: dict[str, float]  # since when the first of them, then
    database_bytes: int
    connections: int
    most_connections: int


def count() -> Figures:
    now = timezone.now()
    day_ago = now - timedelta(days=1)
    shard = apps.get_model("metrics", "ScoringShard")._default_manager
    analysis = apps.get_model("analysis", "AnalysisRun")._default_manager
    recent = shard.filter(run__state="working") | shard.filter(run__finished_at__gt=day_ago)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_database_size(current_database()),"
            " (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'),"
            " current_setting('max_connections')::int"
        )
        size, connections, most = cursor.fetchone()
    return Figures(
        listening=listening_figures(),
        scoring=_by_state(recent),
        analyses=_by_state(analysis.filter(created_at__gt=day_ago)),
        asked=_by("job", AskedJob.objects.all()),
        asked_oldest_s={
            job: (now - first).total_seconds()
            for job, first in AskedJob.objects.values_list("job").annotate(Min("asked_at"))
        },
        database_bytes=size,
        connections=connections,
        most_connections=most,
    )


def _by_state(rows: Any) -> dict[str, int]:
    return _by("state", rows)


def _by(field: str, rows: Any) -> dict[str, int]:
    return dict(rows.order_by().values_list(field).annotate(n=Count("pk")))


_lock = threading.Lock()
_kept: tuple[float, Figures] | None = None


def figures() -> Figures:
    """Not older than ten seconds; who asks in between gets the same."""
    global _kept
    with _lock:
        if _kept is None or time.monotonic() - _kept[0] > KEPT_S:
            _kept = time.monotonic(), count()
        return _kept[1]


def gauge(
    name: str, text: str, label: str, values: Mapping[str, float | None]
) -> GaugeMetricFamily:
    family = GaugeMetricFamily(f"earnest_{name}", text, labels=[label])
    for key, number in values.items():
        if number is not None:
            family.add_metric([key], number)
    return family


def single(name: str, text: str, number: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"earnest_{name}", text, value=number)


def of_health() -> Iterator[Metric]:
    checks = readiness.now().checks
    grades = {name: float(GRADES.index(check.grade)) for name, check in checks.items()}
    yield gauge("check", "0 ok, 1 degraded, 2 unavailable", "check", grades)
    free = shutil.disk_usage(settings.EARNEST_VAR).free
    yield single("disk_free_bytes", "On the disk of EARNEST_VAR", free)
    yield gauge("build", "The version that runs", "version", {version(): 1})


def of_requests() -> Iterator[Metric]:
    total = CounterMetricFamily(
        "earnest_requests", "Answered requests", labels=["route", "method", "status"]
    )
    times = HistogramMetricFamily(
        "earnest_request_seconds", "Time to answer, without clips", labels=["route"]
    )
    by_route: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for (route, method, status), counted in shared_counters.request_sums().items():
        total.add_metric(
            [route, method, status], sum(n for what, n in counted.items() if what != "sum_us")
        )
        for what, number in counted.items():
            by_route[route][what] += number
    for route, counted in by_route.items():
        sum_s = counted.pop("sum_us", 0) / 1e6
        times.add_metric([route], buckets(counted), sum_s)
    yield total
    yield times


def buckets(counted: Mapping[str, int]) -> list[tuple[str, float]]:
    """Prometheus counts what is at most a bound, so each bucket holds those below it too."""
    found: list[tuple[str, float]] = []
    below = 0
    for place, bound in enumerate((*map(str, shared_counters.BOUNDS_S), "+Inf")):
        below += counted.get(str(place), 0)
        found.append((bound, below))
    return found


def of_database() -> Iterator[Metric]:
    now = figures()
    listening = now.listening
    yield CounterMetricFamily(
        "earnest_answers", "Answers that are stored", value=listening["answers"]
    )
    yield gauge("studies", "Studies by state", "state", listening["studies"])
    yield gauge("sessions", "Sessions by status", "status", listening["sessions"])
    yield single("active_sessions", "With an answer in ten minutes", listening["active_sessions"])
    yield single("leased_blocks", "Claimed and not yet done", listening["leased_blocks"])
    yield gauge("free_blocks", "What raters may still claim", "study", listening["free_blocks"])
    yield gauge("scoring_shards", "Parts of metric runs", "state", now.scoring)
    yield gauge("analyses", "Of the last day", "state", now.analyses)
    yield gauge("asked_jobs", "Asked for and not ended", "name", now.asked)
    yield gauge(
        "asked_jobs_oldest_seconds", "Since the first was asked for", "name", now.asked_oldest_s
    )
    yield single("database_bytes", "Size of the database", now.database_bytes)
    yield single("database_connections", "Open ones", now.connections)
    ages = {beat.name: beat.age_s for beat in heartbeats.read()}
    yield gauge("heartbeat_age_seconds", "Since a process wrote", "process", ages)


def of_queues() -> Iterator[Metric]:
    states = job_queues.queue_states()
    waiting = {each.name: each.waiting for each in states}
    oldest = {each.name: each.oldest_s or 0.0 for each in states if each.waiting is not None}
    yield gauge("queue_jobs", "Jobs that wait", "queue", waiting)
    yield gauge("queue_oldest_seconds", "How long the oldest has waited", "queue", oldest)
    failed: dict[str, float] = defaultdict(float)
    for place, _kind, count in shared_counters.failures_of_last_day():
        failed[place] += count
    yield gauge("failures_of_a_day", "Pages and jobs that failed", "place", failed)


class Collector:
    """What cannot be counted because its server is away is left out, and the checks say so."""

    def collect(self) -> Iterator[Metric]:
        for part in (of_health, of_requests, of_database, of_queues):
            try:
                yield from list(part())
            except (Error, RedisError, BrokerError):
                continue


def exposition() -> bytes:
    registry = CollectorRegistry()
    registry.register(Collector())
    return generate_latest(registry)
