"""Requests by route: counted in each process, added up in the cache, so that processes agree.

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

from django.core.cache import cache
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from redis.exceptions import RedisError

from config.operations import failures
from config.operations.logs import route_of
from config.operations.shared import counter_server

EVERY_S = 5.0
BOUNDS_S = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
METHODS = ("GET", "HEAD", "POST", "OPTIONS")
log = logging.getLogger(__name__)


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
    found: dict[tuple[str, str, str], dict[str, int]] = {}
    for field, count in counter_server().hgetall(requests_name()).items():
        route, method, status, what = field.decode().rsplit("|", 3)
        found.setdefault((route, method, status), {})[what] = int(count)
    return found


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
            failures.count_failure(f"page {route}", getattr(request, "failure", "error"))
        return response

    def process_exception(self, request: HttpRequest, error: Exception) -> None:
        request.failure = type(error).__name__  # type: ignore[attr-defined]  # read above
