"""Counts that processes share, in the server behind the cache: requests by route, and failures.

prometheus_client's own files for several processes are mapped into memory: on a full disk a write
to one of them would kill the web process.
"""

from __future__ import annotations

import logging
import threading
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable
from typing import Any

from celery.signals import task_failure
from django.core.cache import cache
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from redis.exceptions import RedisError

from config.operations.logs import route_of
from listening.common.signals import job_lost


def counter_server() -> Any:
    return cache._cache.get_client(write=True)  # type: ignore[attr-defined]  # Django's Redis cache


HOURS = 24
log = logging.getLogger(__name__)


def _key(hour: int) -> str:
    return f"{cache.key_prefix}-failures-{hour}"


def count_failure(place: str, kind: str, now: float | None = None) -> None:
    """One failure more; if the cache is away, the log alone has it."""
    name = _key(int((now or time.time()) // 3600))
    try:
        pipe = counter_server().pipeline(transaction=True)
        pipe.hincrby(name, f"{place}|{kind}", 1)
        pipe.expire(name, (HOURS + 1) * 3600)
        pipe.execute()
    except RedisError:
        log.warning("A failure of %s could not be counted", place)


def failures_of_last_day(now: float | None = None) -> list[tuple[str, str, int]]:
    """(place, kind, how often), most frequent first."""
    hour = int((now or time.time()) // 3600)
    failures: Counter[tuple[str, str]] = Counter()
    for past in range(HOURS):
        for field, count in counter_server().hgetall(_key(hour - past)).items():
            place, _, kind = field.decode().rpartition("|")
            failures[place, kind] += int(count)
    return [(place, kind, count) for (place, kind), count in failures.most_common()]


def _on_failure(sender: Any = None, exception: BaseException | None = None, **_: Any) -> None:
    count_failure(f"job {getattr(sender, 'name', 'unknown')}", type(exception).__name__)


def _on_loss(job: str, why: str, **_: Any) -> None:
    count_failure(f"job {job}", why)


def count_failures_of_jobs() -> None:
    task_failure.connect(_on_failure, weak=False, dispatch_uid="count-failures")
    job_lost.connect(_on_loss, weak=False, dispatch_uid="count-losses")


EVERY_S = 5.0
BOUNDS_S = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
METHODS = ("GET", "HEAD", "POST", "OPTIONS")


class Tally:
    """What this process counted and has not yet added to the sums of all."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.counts: Counter[str] = Counter()
        self.thread: threading.Thread | None = None
        self.ended = threading.Event()  # never set: the process ends first

    def add(self, route: str, method: str, status: int, took_s: float) -> None:
        method = method if method in METHODS else "other"
        name = f"{route}|{method}|{status}"
        bucket = bisect_left(BOUNDS_S, took_s)
        with self.lock:
            self.counts[f"{name}|{bucket}"] += 1
            self.counts[f"{name}|sum_us"] += round(took_s * 1e6)
            if self.thread is None:  # in the process that serves, not in one that only imports
                self.thread = threading.Thread(target=self._keep_flushing, daemon=True)
                self.thread.start()

    def flush(self) -> None:
        """Adds to the sums; what cannot be added is kept for the next time."""
        with self.lock:
            counts, self.counts = self.counts, Counter()
        if not counts:
            return
        try:
            pipe = counter_server().pipeline(transaction=True)
            for name, count in counts.items():
                pipe.hincrby(requests_name(), name, count)
            pipe.execute()
        except RedisError:
            with self.lock:
                self.counts.update(counts)

    def _keep_flushing(self) -> None:
        while not self.ended.wait(EVERY_S):
            self.flush()


tally = Tally()


def requests_name() -> str:
    """Its fields: route|method|status|what, where what is sum_us or the number of a bucket."""
    return f"{cache.key_prefix}-requests"


def request_sums() -> dict[tuple[str, str, str], dict[str, int]]:
    """(route, method, status) -> what was counted since the server of the cache was made."""
    tally.flush()
    sums: dict[tuple[str, str, str], dict[str, int]] = {}
    for field, count in counter_server().hgetall(requests_name()).items():
        route, method, status, what = field.decode().rsplit("|", 3)
        sums.setdefault((route, method, status), {})[what] = int(count)
    return sums


class CountRequests:
    """Middleware: route, method, status and time; failures by kind as well."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        began = time.perf_counter()
        response = self.get_response(request)
        took_s = time.perf_counter() - began
        route = route_of(request)
        tally.add(route, request.method or "", response.status_code, took_s)
        if response.status_code == 500:
            count_failure(f"page {route}", getattr(request, "failure", "error"))
        return response

    def process_exception(self, request: HttpRequest, error: Exception) -> None:
        request.failure = type(error).__name__  # type: ignore[attr-defined]  # read above
