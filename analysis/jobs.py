"""Celery jobs of queue analysis: a study's ratings made into a report."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from celery import shared_task
from django.db import transaction
from django.utils import timezone
from kombu.exceptions import OperationalError

from analysis.models import AnalysisRun
from analysis.options import Options, OptionsError, options_from
from analysis.screening import Rule
from analysis.screening import study_rules as rules_of

if TYPE_CHECKING:
    import pandas as pd

log = logging.getLogger(__name__)


def start_run(study_id: int, options: Options) -> AnalysisRun:
    """A new run, queued; the job starts when the transaction commits."""
    run = AnalysisRun.objects.create(
        study_id=study_id,
        estimator=options.estimator,
        version="",
        parameters=options.parameters(),
    )
    transaction.on_commit(lambda: _queue(run.pk))
    return run


@shared_task(name="analysis.jobs.run_analysis")  # the settings route it to queue analysis
def run_analysis(run_id: int) -> None:
    """Analyse what the run asks for; a run that already came to an end is left as it is."""
    runs = AnalysisRun.objects.filter(pk=run_id)
    run = runs.select_related("study").first()
    if run is None or not run.waits:
        return
    runs.update(state=AnalysisRun.State.RUNNING)
    try:
        done = _result(run.study.key, run.parameters)
    except (OptionsError, ValueError, KeyError) as error:
        _fail(run_id, str(error) or type(error).__name__)
    except Exception as error:
        log.exception("Analysis %s broke", run_id)
        _fail(run_id, f"the analysis broke ({type(error).__name__}: {error}); see the worker's log")
    else:
        waiting = runs.exclude(state=AnalysisRun.State.DONE)
        waiting.update(**done, state=AnalysisRun.State.DONE, error="", finished_at=timezone.now())


def study_rules(study_key: str) -> tuple[Rule, ...]:
    """The rules of a study unless others are asked for, its own trap plans among them."""
    from listening.selectors import trap_plans

    return rules_of(trap_plans(study_key))


def study_report(study_key: str, options: Options) -> tuple[pd.DataFrame, dict[str, Any]]:
    """A study's ratings table and its report, with the metric scores that are stored."""
    from analysis.correlations import scores_from_rows
    from analysis.ratings import from_study
    from analysis.report.build import report_of
    from metrics.selectors import score_rows

    table = from_study(study_key)
    return table, report_of(table, scores_from_rows(score_rows(study_key)), options)


def _result(study_key: str, parameters: dict[str, Any]) -> dict[str, str]:
    from analysis.report.writers import report_json

    _, report = study_report(study_key, options_from(parameters))
    origin = report["provenance"]
    return {
        "table_hash": origin["table_hash"],
        "version": origin["estimator_version"],
        "result": report_json(report),
    }


def _fail(run_id: int, why: str) -> None:
    waiting = AnalysisRun.objects.filter(pk=run_id).exclude(state=AnalysisRun.State.DONE)
    waiting.update(state=AnalysisRun.State.FAILED, error=why, finished_at=timezone.now())


def _queue(run_id: int) -> None:
    try:
        run_analysis.delay(run_id)
    except OperationalError as error:
        _fail(run_id, f"the queue of jobs cannot be reached ({error}); start it, then run again")
