"""What an analysis stored of a rater who withdrew goes: its report, its bundle, its draws."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.utils import timezone

from analysis.models import AnalysisRun, RunFile

READ_RATINGS = (AnalysisRun.State.RUNNING, AnalysisRun.State.DONE)


def forget_reports(study_id: int, **_signal: Any) -> None:
    """Receives `listening.signals.withdrawn`: deletes within the withdrawal's own transaction.

    Once more after its commit: a run that began meanwhile may have read what was deleted.
    """
    _forget(study_id)
    transaction.on_commit(lambda: _forget(study_id))


def _forget(study_id: int) -> None:
    runs = AnalysisRun.objects.filter(study_id=study_id, state__in=READ_RATINGS)
    runs.update(
        state=AnalysisRun.State.STALE,
        result="",
        brief="",
        table_hash="",
        finished_at=timezone.now(),
    )
    RunFile.objects.filter(run__study_id=study_id).delete()
