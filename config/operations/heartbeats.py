"""Each Celery worker and the beat write a row every few seconds, from a thread of their own.

A thread and not a job: a job waits behind long ones, and a busy worker is not a dead one. How long
jobs wait is told by the age of the oldest one in its queue.
"""

from __future__ import annotations

import logging
import socket
import threading
from contextlib import suppress
from typing import Any, NamedTuple

from celery.signals import beat_init, worker_ready
from django.conf import settings
from django.db import Error, connection

from config.operations import shared_parts
from config.operations.shared_parts import STALE_S
from config.run.on_demand_worker import resting
from listening.common.ages import age_s

EVERY_S = 10.0
FORGOTTEN_S = 86_400  # a process of another name took its place
WRITE = """
INSERT INTO operations_heartbeat (name, roles, shares, at) VALUES (%s, %s, %s, clock_timestamp())
ON CONFLICT (name) DO UPDATE
    SET roles = excluded.roles, shares = excluded.shares, at = excluded.at
"""
log = logging.getLogger(__name__)
_ending = threading.Event()
_threads: list[threading.Thread] = []


class Beat(NamedTuple):
    """A process as its row shows it."""

    name: str
    roles: tuple[str, ...]
    age_s: float

    @property
    def fresh(self) -> bool:
        return self.age_s < STALE_S


def write(name: str, roles: str) -> None:
    """One row per name: it is updated in place, so the table does not grow."""
    with connection.cursor() as cursor:
        cursor.execute(WRITE, [name, roles, shared_parts.written(roles)])


def read() -> list[Beat]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT name, roles, extract(epoch FROM clock_timestamp() - at)::float"
            " FROM operations_heartbeat ORDER BY name"
        )
        beats = [
            Beat(name, tuple(roles.split(",")), min(age_s(0.0, ago_s), FORGOTTEN_S))
            for name, roles, ago_s in cursor
        ]
    living = {role for beat in beats if beat.fresh for role in beat.roles}
    return beats + [
        Beat(f"{name} (idle until the next job)", (name,), seen_s)
        for name, seen_s in resting(settings.EARNEST_VAR)
        if name not in living and seen_s < FORGOTTEN_S
    ]


def forget_old() -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM operations_heartbeat"
            " WHERE at < clock_timestamp() - make_interval(secs => %s)",
            [FORGOTTEN_S],
        )


def keep_beating(name: str, roles: str, stop: threading.Event) -> None:
    """Until the process ends; a database that is away is tried again at the next beat."""
    forgotten = warned = False
    while True:
        try:
            write(name, roles)
            if not forgotten:
                forget_old()
            forgotten, warned = True, False
        except Error as error:
            if not warned:
                log.warning("No heartbeat could be written (%s)", type(error).__name__)
            warned = True
            connection.close()
        if stop.wait(EVERY_S):
            break
    with suppress(Error), connection.cursor() as cursor:  # it ended as it should: nobody is late
        cursor.execute("DELETE FROM operations_heartbeat WHERE name = %s", [name])
    connection.close()


def end() -> None:
    """This process ends and is not missed: its row goes."""
    _ending.set()
    for thread in _threads:
        thread.join(EVERY_S)


def _start(name: str, roles: str) -> None:
    thread = threading.Thread(
        target=keep_beating, args=(name, roles, _ending), name="heartbeat", daemon=True
    )
    thread.start()
    _threads.append(thread)


def _on_worker_ready(sender: Any, **_: Any) -> None:
    _start(sender.hostname, ",".join(sorted(queue.name for queue in sender.task_consumer.queues)))


def _on_beat(sender: Any, **_: Any) -> None:
    _start(f"beat@{socket.gethostname()}", "beat")


def connect() -> None:
    worker_ready.connect(_on_worker_ready, weak=False, dispatch_uid="heartbeat")
    beat_init.connect(_on_beat, weak=False, dispatch_uid="heartbeat")
