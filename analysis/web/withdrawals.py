"""What an analysis stored of a rater who withdrew goes: its report, its bundle, its draws."""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from analysis.models import AnalysisRun, RunFile

READ_RATINGS = (AnalysisRun.State.RUNNING, AnalysisRun.State.DONE)


def forget_reports(study_id: int, **_signal: Any) -> None:
    """Receives `listening.signals.withdrawn`: deletes within the withdrawal's own transaction.

    Once more after its commit: a run that began meanwhile may have read what was deleted. Analyses
    of later versions go too, where they were combined with this one.
    """
    _forget(study_id)
    transaction.on_commit(lambda: _forget(study_id))


def forget_deleted(instance: Any, **_signal: Any) -> None:
    """Receives Django's `pre_delete` of a study: later versions may hold its ratings, too."""
    _forget(instance.pk)


def _forget(study_id: int) -> None:
    studies = AnalysisRun._meta.get_field("study").related_model._default_manager
    key = studies.values_list("key", flat=True).get(pk=study_id)
    runs = AnalysisRun.objects.filter(
        Q(study_id=study_id) | Q(parameters__versions__contains=[key])
    )
    RunFile.objects.filter(run__in=runs).delete()
    runs.filter(state__in=READ_RATINGS).update(
        state=AnalysisRun.State.STALE,
        result="",
        brief="",
        table_hash="",
        finished_at=timezone.now(),
    )
