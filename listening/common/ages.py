"""Ages of stamps: one that lies in the future is old, since the clock went back since it was set.

A virtual machine that wakes and a correction by NTP set the clock back, by hours at times. What
was stored before must then be made again, not be taken for fresh until the clock catches up.
Payments are the exception (`listening.recruitment.paying`): there, waiting longer is the safe side.
"""

from __future__ import annotations

import math
import time
from datetime import UTC, datetime

CLOCK_SKEW_S = 2.0  # two machines, or a database and a page, differ by less


def age_s(stamp: float | datetime, now: float | datetime | None = None) -> float:
    """Return the seconds since `stamp`; infinity where it lies in the future.

    `stamp` and `now` are seconds since 1970 or aware datetimes; `now` is the clock unless given.
    """
    seconds = (time.time() if now is None else _epoch_s(now)) - _epoch_s(stamp)
    if seconds < -CLOCK_SKEW_S:
        return math.inf
    return max(seconds, 0.0)


def in_last_s(seconds: float, now: datetime | None = None) -> tuple[datetime, datetime]:
    """Return the bounds of a query (`__range`) for stamps of the last `seconds`."""
    until_s = time.time() if now is None else now.timestamp()
    return (
        datetime.fromtimestamp(until_s - seconds, UTC),
        datetime.fromtimestamp(until_s + CLOCK_SKEW_S, UTC),
    )


def _epoch_s(stamp: float | datetime) -> float:
    return stamp.timestamp() if isinstance(stamp, datetime) else float(stamp)
