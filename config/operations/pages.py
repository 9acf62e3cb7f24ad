"""/readyz for whoever watches from outside, /metrics for Prometheus, /operations/ for people.

What the last two show is counted once in a while for both.
"""

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
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.db import Error, connection
from django.db.models import Count, Min
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import render
from django.utils import timezone
from django.utils.crypto import constant_time_compare
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe
from kombu.exceptions import OperationalError as BrokerError
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from redis.exceptions import RedisError

from config.installation import version
from config.operations import heartbeats, shared_counters
from config.operations.health import GRADES, REMEDIES, readiness
from config.operations.plugins import all_plugins, unknown_groups
from listening.common import job_queues
from listening.common.job_queues import queue_states
from listening.models import AskedJob
from listening.selectors.operations import ListeningFigures, listening_figures

KEPT_S = 10.0


@dataclass(frozen=True)
class Figures:
    listening: ListeningFigures
    scoring: dict[str, int]  # shards by state, of runs that still work or ended in the last day
    analyses: dict[str, int]  # by state, asked for in the last day
    jobs_asked: dict[str, int]  # jobs that somebody waits for, by the name of the job
    asked_oldest_s: dict[str, float]  # since when the first of them, then
    database_bytes: int
    connections: int
    most_connections: int


def count_figures() -> Figures:
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
        jobs_asked=_count_by("job", AskedJob.objects.all()),
        asked_oldest_s={
            job: (now - first).total_seconds()
            for job, first in AskedJob.objects.values_list("job").annotate(Min("asked_at"))
        },
        database_bytes=size,
        connections=connections,
        most_connections=most,
    )


def _by_state(rows: Any) -> dict[str, int]:
    return _count_by("state", rows)


def _count_by(field: str, rows: Any) -> dict[str, int]:
    return dict(rows.order_by().values_list(field).annotate(n=Count("pk")))


_lock = threading.Lock()
_kept: tuple[float, Figures] | None = None


def figures() -> Figures:
    """Not older than ten seconds; who asks in between gets the same."""
    global _kept
    with _lock:
        if _kept is None or time.monotonic() - _kept[0] > KEPT_S:
            _kept = time.monotonic(), count_figures()
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
    yield single("disk_free_bytes", "Free bytes on the disk of EARNEST_VAR", free)
    yield gauge("build", "Running version", "version", {version(): 1})


def of_requests() -> Iterator[Metric]:
    total = CounterMetricFamily(
        "earnest_requests", "Answered requests", labels=["route", "method", "status"]
    )
    times = HistogramMetricFamily(
        "earnest_request_seconds", "Response time, without clips", labels=["route"]
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
    bounds: list[tuple[str, float]] = []
    below = 0
    for place, bound in enumerate((*map(str, shared_counters.BOUNDS_S), "+Inf")):
        below += counted.get(str(place), 0)
        bounds.append((bound, below))
    return bounds


def of_database() -> Iterator[Metric]:
    now = figures()
    listening = now.listening
    yield CounterMetricFamily("earnest_answers", "Stored answers", value=listening["answers"])
    yield gauge("studies", "Studies by state", "state", listening["studies"])
    yield gauge("sessions", "Sessions by status", "status", listening["sessions"])
    yield single(
        "active_sessions",
        "Sessions with an answer in the last ten minutes",
        listening["active_sessions"],
    )
    yield single("leased_blocks", "Blocks claimed and not finished", listening["leased_blocks"])
    yield gauge("free_blocks", "Blocks available to raters", "study", listening["free_blocks"])
    yield gauge("scoring_shards", "Metric run parts by state", "state", now.scoring)
    yield gauge("analyses", "Analyses of the last day by state", "state", now.analyses)
    yield gauge("asked_jobs", "Unfinished jobs", "name", now.jobs_asked)
    yield gauge(
        "asked_jobs_oldest_seconds", "Age of the oldest unfinished job", "name", now.asked_oldest_s
    )
    yield single("database_bytes", "Database size", now.database_bytes)
    yield single("database_connections", "Open database connections", now.connections)
    ages = {beat.name: beat.age_s for beat in heartbeats.read()}
    yield gauge(
        "heartbeat_age_seconds", "Time since the last heartbeat of a process", "process", ages
    )


def of_queues() -> Iterator[Metric]:
    states = job_queues.queue_states()
    waiting = {each.name: each.waiting for each in states}
    oldest = {each.name: each.oldest_s or 0.0 for each in states if each.waiting is not None}
    yield gauge("queue_jobs", "Waiting jobs", "queue", waiting)
    yield gauge("queue_oldest_seconds", "Waiting time of the oldest job", "queue", oldest)
    failed: dict[str, float] = defaultdict(float)
    for place, _kind, count in shared_counters.failures_of_last_day():
        failed[place] += count
    yield gauge("failures_of_a_day", "Failed pages and jobs", "place", failed)


class Collector:
    """What cannot be counted because its server is away is left out, and the checks say so."""

    def collect(self) -> Iterator[Metric]:
        for part in (of_health, of_requests, of_database, of_queues):
            try:
                yield from list(part())
            except (Error, RedisError, BrokerError):
                continue


SHOWN_FAILURES = 20


@never_cache
@require_safe
def readyz(request: HttpRequest) -> JsonResponse:
    """200 while raters can be served; with ?strict also the work behind must be done."""
    health = readiness.now()
    bad = health.grade == "unavailable" or ("strict" in request.GET and health.grade != "ok")
    checks = {
        name: {"grade": check.grade, "detail": check.detail}
        for name, check in health.checks.items()
    }
    return JsonResponse({"status": health.grade, "checks": checks}, status=503 if bad else 200)


@never_cache
@require_safe
def metrics(request: HttpRequest) -> HttpResponse:
    """Behind a proxy every request comes from loopback, so that only a token tells who asks."""
    token = settings.EARNEST_METRICS_TOKEN
    token_sent = request.headers.get("Authorization", "").removeprefix("Bearer ")
    if not token or not constant_time_compare(token_sent, token):
        raise Http404
    registry = CollectorRegistry()
    registry.register(Collector())
    return HttpResponse(generate_latest(registry), content_type=CONTENT_TYPE_LATEST)


@never_cache
@login_required
@require_safe
def operations(request: HttpRequest) -> HttpResponse:
    """The same for people: what runs, what waits, what failed; each part stands alone."""
    if not getattr(request.user, "is_superuser", False):
        raise PermissionDenied
    health = readiness.now()
    disk = shutil.disk_usage(settings.EARNEST_VAR)
    context: dict[str, Any] = {
        "health": health,
        "remedies": [
            (name, REMEDIES[name])
            for name, check in health.checks.items()
            if check.grade != "ok" and not check.detail.startswith("not checked")
        ],
        "version": version(),
        "disk": disk,
        "plugins": all_plugins(),
        "unknown_groups": unknown_groups(),
        **_of_database(),
        **_of_cache(),
    }
    return render(request, "operations/operations.html", context)


def _of_database() -> dict[str, Any]:
    try:
        return {"figures": figures(), "beats": heartbeats.read()}
    except Error:
        return {}


def _of_cache() -> dict[str, Any]:
    try:
        failed = shared_counters.failures_of_last_day()
        return {"queues": queue_states(), "failed": failed[:SHOWN_FAILURES], "counted": True}
    except (RedisError, BrokerError):
        return {}
