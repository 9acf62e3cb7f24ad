"""Whether raters can be served, and whether the work behind is done: looked at once in a while.

Two grades: without what is `unavailable` no rater can be served; what is `degraded` raters do not
notice yet, and somebody should look.
"""

from __future__ import annotations

import shutil
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

from django.conf import settings
from django.core.cache import cache
from django.db import Error, connection
from django.db.migrations.executor import MigrationExecutor
from kombu.exceptions import OperationalError as BrokerError
from redis.exceptions import RedisError, ResponseError

from config.operations import heartbeats, shared_parts
from listening.common.command_name import command
from listening.common.job_queues import queue_states

Grade = Literal["ok", "degraded", "unavailable"]
GRADES: tuple[Grade, ...] = ("ok", "degraded", "unavailable")
KEPT_S = 2.0  # however often strangers ask, the servers are asked this often per process
PATIENCE_S = 6.0  # a look that takes longer means that a server hangs
OLDEST_JOB_S = 15 * 60.0
REMEDIES = {  # check -> what people notice, and what somebody should do, while it is not ok
    "database": "Raters wait, and their answers stay on their devices. Check the database log. If "
    "you run your own database, start it. Pages recover automatically.",
    "disk": "If the disk fills up, raters wait and nothing is stored. Free space on the disk of "
    "EARNEST_VAR. Earnest recovers within seconds.",
    "migrations": "The tables are older than the code. Run: " + command("migrate"),
    "cache": "Raters are not affected. Jobs, live figures and rate limits pause until the cache "
    "accepts writes. If the disk is full, free space.",
    "workers": "Raters are not affected. Jobs of these kinds wait. Check the worker logs and "
    "restart workers that hang.",
    "queues": "Raters are not affected. Jobs wait. Check the worker logs or start more workers.",
    "hosts": "Raters, researchers and jobs fail on some hosts. Give all hosts the same settings.",
}
EXPECTED_ROLES = ("default", "analysis", "gpu", "beat")


@dataclass(frozen=True)
class Check:
    """What one look found; `detail` names no study, no rater and no address."""

    grade: Grade = "ok"
    detail: str = ""


@dataclass(frozen=True)
class Health:
    checks: dict[str, Check] = field(default_factory=dict)

    @property
    def grade(self) -> Grade:
        return max((check.grade for check in self.checks.values()), key=GRADES.index, default="ok")


def database() -> Check:
    """Writes one row: a full or read-only disk answers questions and refuses every answer."""
    try:
        heartbeats.write(f"pages@{socket.gethostname()}", "pages")
    except Error as error:
        connection.close()
        return Check("unavailable", reason_of(error))
    return Check()


def reason_of(error: BaseException) -> str:
    """The error's kind in PostgreSQL's own words, without its message, which may hold data."""
    cause = error.__cause__ or error
    return type(cause).__name__


def disk() -> Check:
    """Space for data: PostgreSQL may update a row in place on a disk that takes no new one."""
    free, least = shutil.disk_usage(settings.EARNEST_VAR).free, settings.EARNEST_LEAST_FREE_BYTES
    detail = f"{free // 1024**2} MB free"
    if free >= least:
        return Check("ok", detail)
    return Check("unavailable" if free < least // 10 else "degraded", detail)


_migrated = threading.Event()  # what is applied stays applied while this code runs


def migrations() -> Check:
    if _migrated.is_set():
        return Check()
    executor = MigrationExecutor(connection)
    missing = executor.migration_plan(executor.loader.graph.leaf_nodes())
    if missing:
        return Check("unavailable", f"{len(missing)} not applied")
    _migrated.set()
    return Check()


def shared_cache() -> Check:
    """Raters do without it; jobs and live numbers do not."""
    try:
        cache.set("readyz", 1, timeout=60)  # on a full disk it takes no writes
    except RedisError as error:
        refused = isinstance(error, ResponseError)
        return Check("degraded", "does not accept writes" if refused else "does not respond")
    return Check()


def workers() -> Check:
    living = {role for beat in heartbeats.read() if beat.fresh for role in beat.roles}
    missing = [role for role in EXPECTED_ROLES if role not in living]
    return Check("degraded", f"no heartbeat: {', '.join(missing)}") if missing else Check()


def hosts() -> Check:
    found = shared_parts.problems("pages")
    return Check("degraded", " ".join(found)) if found else Check()


def queues() -> Check:
    late = [q.name for q in queue_states() if q.oldest_s is not None and q.oldest_s > OLDEST_JOB_S]
    return Check("degraded", f"long waiting times: {', '.join(late)}") if late else Check()


LOOKS: dict[str, Callable[[], Check]] = {
    "database": database,
    "disk": disk,
    "migrations": migrations,
    "cache": shared_cache,
    "workers": workers,
    "queues": queues,
    "hosts": hosts,
}
OF_DATABASE = ("migrations", "workers", "hosts")


def look() -> Health:
    """Every check; those that need a server that is away are named, not failed as well."""
    checks: dict[str, Check] = {}
    for name, check in LOOKS.items():
        needs = "database" if name in OF_DATABASE else "cache" if name == "queues" else ""
        if needs and checks[needs].grade != "ok":
            checks[name] = Check("degraded", f"not checked: needs {needs}")
            continue
        try:
            checks[name] = check()
        except (Error, RedisError, BrokerError, OSError) as error:
            checks[name] = Check("degraded", reason_of(error))
    return Health(checks)


class Readiness:
    """The newest look, shared by all who ask: one thread looks, the others never wait for it."""

    def __init__(
        self,
        look: Callable[[], Health] = look,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.look, self.clock = look, clock
        self.lock = threading.Lock()
        self.health: Health | None = None
        self.looked_at = self.began = 0.0

    def now(self) -> Health:
        if self.health and self.clock() - self.looked_at < KEPT_S:
            return self.health
        if not self.lock.acquire(blocking=False):
            return self._meanwhile()
        try:
            self.began = self.clock()
            self.health = self.look()
            self.looked_at = self.clock()
            return self.health
        finally:
            self.lock.release()

    def _meanwhile(self) -> Health:
        """While another thread looks: what was seen last, unless the look itself hangs."""
        if self.health and self.clock() - self.began < PATIENCE_S:
            return self.health
        return Health({"database": Check("unavailable", "does not respond")})


readiness = Readiness()
