"""The Celery application of beat: it sends names of jobs at their time, and needs no models.

Its own, as a process that had imported every page and job only to send their names held three
times the memory.
"""

import math
import os

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")

import time
from typing import Any

from celery import Celery, beat
from django.apps import apps
from django.conf import settings
from django.utils.log import configure_logging

from config.operations import error_reports, heartbeats
from listening.ages import age_s
from listening.queues import mark  # noqa: F401  # connected: jobs say when they were sent

apps.populate(())  # none of them: the heartbeat is a statement of its own
configure_logging(settings.LOGGING_CONFIG, settings.LOGGING)
app = Celery("earnest", fixups=[])
app.config_from_object("django.conf:settings", namespace="CELERY")
error_reports.start()
heartbeats.connect()


class Scheduler(beat.Scheduler):
    """Sends jobs at their intervals, also after the clock went back.

    Celery's own waits until the clock has reached the time of the last job again.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self.ticked_at = time.time()
        super().__init__(*args, **kwargs)

    def tick(self, *args: Any, **kwargs: Any) -> float:
        now = time.time()
        if age_s(self.ticked_at, now) == math.inf:
            for entry in self.schedule.values():
                entry.last_run_at = entry.default_now()
            self._heap = None  # it is in the order of the times before
        self.ticked_at = now
        return float(super().tick(*args, **kwargs))
