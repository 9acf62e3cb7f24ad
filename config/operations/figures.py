"""What the operator's page and the metrics show, counted once in a while for both."""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.apps import apps
from django.db import connection
from django.db.models import Count, Min
from django.utils import timezone

from listening.models import AskedJob
from listening.selectors.operations import ListeningFigures, listening_figures

KEPT_S = 10.0


@dataclass(frozen=True)
class Figures:
    listening: ListeningFigures
    scoring: dict[str, int]  # shards by state, of runs that still work or ended in the last day
    analyses: dict[str, int]  # by state, asked for in the last day
    asked: dict[str, int]  # jobs that somebody waits for, by the name of the job
    asked_oldest_s: dict[str, float]  # since when the first of them, then
    database_bytes: int
    connections: int
    most_connections: int


def count() -> Figures:
    now = timezone.now()
    day_ago = now - timedelta(days=1)
    shard = apps.get_model("metrics", "ScoringShard")._default_manager
    analysis = apps.get_model("analysis", "AnalysisRun")._default_manager
    recent = shard.filter(run__state="working") | shard.filter(run__finished_at__gt=day_ago)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_database_size(current_database()),"
            " (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend'),"
            " current_setting('max_connections')::int"
        )
        size, connections, most = cursor.fetchone()
    return Figures(
        listening=listening_figures(),
        scoring=_by_state(recent),
        analyses=_by_state(analysis.filter(created_at__gt=day_ago)),
        asked=_by("job", AskedJob.objects.all()),
        asked_oldest_s={
            job: (now - first).total_seconds()
            for job, first in AskedJob.objects.values_list("job").annotate(Min("asked_at"))
        },
        database_bytes=size,
        connections=connections,
        most_connections=most,
    )


def _by_state(rows: Any) -> dict[str, int]:
    return _by("state", rows)


def _by(field: str, rows: Any) -> dict[str, int]:
    return dict(rows.order_by().values_list(field).annotate(n=Count("pk")))


_lock = threading.Lock()
_kept: tuple[float, Figures] | None = None


def figures() -> Figures:
    """Not older than ten seconds; who asks in between gets the same."""
    global _kept
    with _lock:
        if _kept is None or time.monotonic() - _kept[0] > KEPT_S:
            _kept = time.monotonic(), count()
        return _kept[1]
