"""Sessions as points: time per trial across (log scale), agreement with other raters upwards."""

from __future__ import annotations

from dataclasses import dataclass
from math import log
from typing import Any

from django.db.models import QuerySet

MOST_POINTS = 2000  # of the newest sessions; more are not told apart at this size
WIDTH, HEIGHT = 640, 240
TICKS_S = (0.5, 1, 2, 5, 10, 20, 50, 100, 200, 500, 1000)
AGREEMENTS = (-1.0, -0.5, 0.0, 0.5, 1.0)


@dataclass(frozen=True)
class Point:
    """A session; x and y in units of the drawing."""

    session: int
    rater: str
    seconds: float
    agreement: float
    traps_failed: int
    x: float
    y: float


@dataclass(frozen=True)
class RatersPlot:
    """The points with the ticks of both axes, as (value, place)."""

    points: list[Point]
    across: list[tuple[float, float]]
    up: list[tuple[float, float]]
    width: int = WIDTH
    height: int = HEIGHT


def raters_plot(sessions: QuerySet[Any]) -> RatersPlot | None:
    """Return the plot of the newest sessions that have both figures; None of fewer than two."""
    rows = list(
        sessions.filter(summary__median_ms__gt=0, summary__agreement__isnull=False)
        .order_by("-started_at", "-pk")
        .values_list(
            *("pk", "rater__code", "summary__median_ms"),
            *("summary__agreement", "summary__traps_failed"),
        )[:MOST_POINTS]
    )
    if len(rows) < 2:
        return None
    low_s = min(row[2] for row in rows) / 1000 / 1.1
    high_s = max(row[2] for row in rows) / 1000 * 1.1

    def across(seconds: float) -> float:
        return round(WIDTH * log(seconds / low_s) / log(high_s / low_s), 1)

    def up(agreement: float) -> float:
        return round(HEIGHT * (1 - agreement) / 2, 1)

    points = [
        Point(pk, code, ms / 1000, agreement, failed, across(ms / 1000), up(agreement))
        for pk, code, ms, agreement, failed in rows
    ]
    ticks = [(tick, across(tick)) for tick in TICKS_S if low_s <= tick <= high_s]
    return RatersPlot(points, ticks, [(value, up(value)) for value in AGREEMENTS])
