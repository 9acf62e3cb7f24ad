"""The scheduler of Celery's beat, for clocks that may go back."""

from __future__ import annotations

import math
import time
from typing import Any

from celery import beat

from listening.common.ages import age_s


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
