"""What an analysis stored of a rater who withdrew goes: its report, its bundle, its draws.

So it does where the reasons of all raters were erased: reports quote them.
"""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from analysis.models import AnalysisRun, RunFile
from analysis.web.planning_jobs import forget_estimates

READ_RATINGS = (AnalysisRun.State.RUNNING, AnalysisRun.State.DONE)


def forget_reports(study_id: int, study_key: str, **_signal: Any) -> None:
    """Receives `listening.signals.withdrawn`: deletes within the withdrawal's own transaction."""
    forget_reasons(study_id, study_key)
    stale = AnalysisRun.objects.filter(study_id=study_id, state=AnalysisRun.State.STALE)
    stale.update(raters_gone=F("raters_gone") + 1)


def forget_reasons(study_id: int, study_key: str, **_signal: Any) -> None:
    """Receives `listening.signals.reasons_erased`, in the same way.

    Once more after its commit: a run that began meanwhile may have read what was deleted.
    """
    _forget(study_id)
    transaction.on_commit(lambda: _forget(study_id))
    transaction.on_commit(lambda: forget_estimates(study_key))


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
