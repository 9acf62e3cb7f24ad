"""What an analysis stored of a rater who withdrew goes: its report, its bundle, its draws.

So it does where the reasons of all raters were erased, as reports quote them, and where a version
of the study is deleted with which it was combined. Leaderboards with the study are made anew.
"""

from __future__ import annotations

from typing import Any

from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone

from analysis.corpus.study_corpus import DRAFTS
from analysis.models import AnalysisRun, RunFile
from analysis.web.board_jobs import forget_boards
from analysis.web.corpus_jobs import forget_check
from analysis.web.planning_jobs import forget_estimates
from analysis.web.validity_jobs import forget_effects

READ_RATINGS = (AnalysisRun.State.RUNNING, AnalysisRun.State.DONE)
Because = AnalysisRun.StaleBecause


def forget_reports(study_key: str, **_signal: Any) -> None:
    """Receives the signal `withdrawn`: deletes within the withdrawal's own transaction."""
    _forget_twice(study_key, Because.RATERS)
    stale = _runs_with(study_key).filter(
        state=AnalysisRun.State.STALE, stale_because=Because.RATERS
    )
    stale.update(raters_gone=F("raters_gone") + 1)


def forget_reasons(study_key: str, **_signal: Any) -> None:
    """Receives `listening.common.signals.reasons_erased`, in the same way."""
    _forget_twice(study_key, Because.REASONS)


def forget_deleted(instance: Any, **_signal: Any) -> None:
    """Receives Django's `pre_delete` of a study: later versions may hold its ratings, too."""
    _forget(instance.key, Because.VERSION)
    forget_check(instance.key)


def forget_draft(instance: Any, **_signal: Any) -> None:
    """Receives Django's `pre_delete` of a draft: what was found in its texts goes, too."""
    forget_check(DRAFTS + instance.code)


def _forget_twice(study_key: str, because: str) -> None:
    """Once more after the commit: a run that began meanwhile may have read what was deleted."""
    _forget(study_key, because)
    transaction.on_commit(lambda: _forget(study_key, because))
    transaction.on_commit(lambda: forget_estimates(study_key))
    transaction.on_commit(lambda: forget_effects(study_key))


def _runs_with(study_key: str) -> QuerySet[AnalysisRun]:
    """The study's analyses, and those of later versions that were combined with it."""
    return AnalysisRun.objects.filter(
        Q(study__key=study_key) | Q(parameters__versions__contains=[study_key])
    )


def _forget(study_key: str, because: str) -> None:
    forget_boards(study_key)
    runs = _runs_with(study_key)
    RunFile.objects.filter(run__in=runs).delete()
    runs.filter(state__in=READ_RATINGS).update(
        state=AnalysisRun.State.STALE,
        stale_because=because,
        result="",
        brief="",
        table_hash="",
        finished_at=timezone.now(),
    )
