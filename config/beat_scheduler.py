"""The scheduler of Celery's beat: one clock of all hosts sends jobs, also after it went back."""

from __future__ import annotations

import logging
import math
import socket
import time
from typing import Any

import redis
from celery import beat
from django.conf import settings

from listening.common.ages import age_s

LEASE_MS = 30_000  # longer than the longest pause between two ticks
STANDBY_S = 5.0
log = logging.getLogger(__name__)


class Lease:
    """The right to send jobs, which the clocks of all hosts ask Valkey for; one of them has it."""

    def __init__(self) -> None:
        cache: dict[str, Any] = settings.CACHES["default"]
        self.server = redis.Redis.from_url(cache["LOCATION"], **cache["OPTIONS"])
        self.name = f"{cache['KEY_PREFIX']}-clock"
        # A clock that is started again after a kill is known by its address.
        self.own = f"{socket.gethostname()} {settings.EARNEST_HOST}:{settings.EARNEST_PORT}"

    def is_ours(self) -> bool:
        """Take or extend the lease; while the server is away every clock goes on."""
        try:
            if self.server.set(self.name, self.own, nx=True, px=LEASE_MS):
                return True
            if self.server.get(self.name) != self.own.encode():
                return False
            self.server.pexpire(self.name, LEASE_MS)
        except redis.RedisError as error:
            log.debug("No lease of the clock: %s", error)
        return True

    def give_back(self) -> None:
        """Let another clock go on at once."""
        try:
            if self.server.get(self.name) == self.own.encode():
                self.server.delete(self.name)
        except redis.RedisError:
            return  # it ends by itself


class Scheduler(beat.Scheduler):
    """Sends jobs at their intervals, also after the clock went back.

    Celery's own waits until the clock has reached the time of the last job again.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.ticked_at = time.time()
        self.lease = Lease()
        super().__init__(*args, **kwargs)

    def tick(self, *args: Any, **kwargs: Any) -> float:
        if not self.lease.is_ours():
            return min(STANDBY_S, float(self.max_interval or STANDBY_S))
        now = time.time()
        if age_s(self.ticked_at, now) == math.inf:
            for entry in self.schedule.values():
                entry.last_run_at = entry.default_now()
            self._heap = None  # it is in the order of the times before
        self.ticked_at = now
        return float(super().tick(*args, **kwargs))

    def close(self) -> None:
        self.lease.give_back()
        super().close()
