"""The figures as Prometheus reads them: one family after another, counted when it asks."""

from __future__ import annotations

import shutil
from collections import defaultdict
from collections.abc import Iterator, Mapping

from django.conf import settings
from django.db import Error
from kombu.exceptions import OperationalError as BrokerError
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    HistogramMetricFamily,
    Metric,
)
from redis.exceptions import RedisError

from config.operations import heartbeats, shared_counters
from config.operations.figures import figures
from config.operations.health import GRADES, readiness
from config.operations.version import version
from listening.common import job_queues


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
