"""What a worker does beside its jobs where one person's machine runs it: the clock, and resting."""

from __future__ import annotations

import logging
import os
import signal
import threading
import time
from typing import Any

from celery import bootsteps
from celery.beat import Service
from celery.worker import state

from config.beat_scheduler import Scheduler
from config.operations import heartbeats

LONGEST_SLEEP_S = 1  # between two looks at the schedule; a stop waits for one of them
LOOK_EVERY_S = 1.0
log = logging.getLogger(__name__)


def end_this_worker() -> None:
    """As its supervisor would: jobs that run are ended first, others go back to their queue."""
    os.kill(os.getpid(), signal.SIGTERM)


class Clock(bootsteps.StartStopStep):
    """`--clock`: the clock is a thread of this worker, which ends when it fails."""

    def __init__(self, worker: Any, clock: bool = False, **options: Any) -> None:
        super().__init__(worker, **options)
        self.enabled = clock
        self.service: Service | None = None

    def start(self, parent: Any) -> None:
        self.service = Service(
            parent.app,
            max_interval=LONGEST_SLEEP_S,
            scheduler_cls=Scheduler,
            remote_control=False,  # type: ignore[call-arg]  # the worker has its own
        )
        threading.Thread(target=tick, args=(self.service,), name="clock", daemon=True).start()

    def stop(self, parent: Any) -> None:
        if self.service is not None:
            self.service.stop()

    def terminate(self, parent: Any) -> None:
        self.stop(parent)


def tick(service: Service) -> None:
    """Until the worker stops; a worker whose clock is dead is no use, and is started again."""
    try:
        service.start()
    except Exception:
        log.exception("The clock failed; this worker ends and is started again")
        end_this_worker()


class Rest(bootsteps.StartStopStep):
    """`--rest-after S`: the worker ends when it had no job for so long, and gives back all it held.

    Its supervisor starts it again when its queue has a job (`config/run/on_demand_worker.py`).
    """

    def __init__(self, worker: Any, rest_after: float = 0, **options: Any) -> None:
        super().__init__(worker, **options)
        self.enabled = rest_after > 0
        self.rest_after_s = rest_after
        self.stopping = threading.Event()

    def start(self, parent: Any) -> None:
        threading.Thread(target=self.look, name="rest", daemon=True).start()

    def look(self) -> None:
        worked_at, done = time.monotonic(), 0
        while not self.stopping.wait(LOOK_EVERY_S):
            ended = sum(state.total_count.values())
            if state.reserved_requests or state.active_requests or ended != done:
                worked_at, done = time.monotonic(), ended
            elif time.monotonic() - worked_at > self.rest_after_s:
                log.info("No job for %.0f s: this worker rests until one comes", self.rest_after_s)
                heartbeats.end()
                end_this_worker()
                return

    def stop(self, parent: Any) -> None:
        self.stopping.set()

    def terminate(self, parent: Any) -> None:
        self.stop(parent)
