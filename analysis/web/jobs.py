"""Celery jobs of queue analysis: a study's ratings made into a report, and files made from it."""

from __future__ import annotations

import logging
import time
from typing import Any

from django.db import transaction
from django.utils import timezone

from analysis.models import AnalysisRun, RunFile
from analysis.report.part import Cancelled
from analysis.report.report_schema import Report
from analysis.statistics.options import Options, options_from
from analysis.web.artifacts import MOST_BYTES, kinds
from analysis.web.cache import code_mark, marks, stored_run, waiting_run
from analysis.web.job_states import problem_of
from analysis.web.study_tables import (
    StudyLabels,
    interim_of,
    study_labels,
    study_tables,
    told_of,
    with_labels,
    with_version_notes,
)
from listening.common.signals import analysed
from listening.models.requested_jobs import ask, requested_job

log = logging.getLogger(__name__)
State = AnalysisRun.State
READ, MADE = 0.05, 0.97  # shares of the work: when the ratings are read, and at the end
TELL_EVERY_S = 1.0
RETRY = "re-run the analysis"


def asked_run(study_id: int, study_key: str, options: Options) -> AnalysisRun:
    """The stored run that has just this already, else one that waits, else a new one, queued."""
    parameters, same = options.parameters(), marks(study_key, options.versions)
    run = stored_run(study_id, parameters, **same) or waiting_run(study_id, parameters, **same)
    return run or start_run(study_id, options)


def start_run(study_id: int, options: Options) -> AnalysisRun:
    """A new run, queued; the job starts when the transaction commits."""
    with transaction.atomic():  # neither the run nor its job is without the other
        run = AnalysisRun.objects.create(
            study_id=study_id,
            estimator=options.estimator,
            version="",
            parameters=options.parameters(),
        )
        ask(run_analysis, run.pk)
    return run


def cancel_run(run_id: int) -> bool:
    """Give up a run that waits; its job stops at its next step and stores nothing."""
    waiting = AnalysisRun.objects.filter(pk=run_id, state__in=(State.QUEUED, State.RUNNING))
    return bool(waiting.update(state=State.CANCELLED, brief="", finished_at=timezone.now()))


def _fail(why: str, run_id: int) -> None:
    waiting = AnalysisRun.objects.filter(pk=run_id, state__in=(State.QUEUED, State.RUNNING))
    with transaction.atomic():
        study_id = waiting.values_list("study_id", flat=True).first()
        failed = {"state": State.FAILED, "error": why, "brief": "", "finished_at": timezone.now()}
        if study_id is not None and waiting.update(**failed):
            _tell(study_id, run_id, State.FAILED, None)


def _tell(study_id: int, run_id: int, state: str, ratings: int | None) -> None:
    """In the transaction that ends the run: neither is without the other."""
    analysed.send(sender=__name__, study_id=study_id, run=run_id, state=str(state), ratings=ratings)


# The settings route it to queue analysis.
@requested_job("analysis.jobs.run_analysis", _fail, RETRY)
def run_analysis(run_id: int) -> None:
    """Analyse what the run asks for; a run that already came to an end is left as it is."""
    runs = AnalysisRun.objects.filter(pk=run_id)
    run = runs.select_related("study").first()
    if run is None or not run.waits:
        return
    runs.filter(state__in=(State.QUEUED, State.RUNNING)).update(
        state=State.RUNNING, started_at=timezone.now(), share=0.0, code=code_mark(), brief=""
    )
    try:
        done = _result(run, Teller(run_id))
    except Cancelled:
        log.info("Analysis %s was cancelled", run_id)
    except Exception as error:
        _fail(problem_of(error, f"Analysis {run_id}"), run_id)
    else:
        ended = {"state": State.DONE, "error": "", "share": 1.0, "finished_at": timezone.now()}
        with transaction.atomic():
            if runs.filter(state=State.RUNNING).update(**done, **ended):
                _tell(run.study_id, run_id, State.DONE, done["ratings"])


class Teller:
    """Stores how far a run is, once a second at most; raises Cancelled when nobody waits for it."""

    def __init__(self, run_id: int) -> None:
        self.running = AnalysisRun.objects.filter(pk=run_id, state=State.RUNNING)
        self.told_at = float("-inf")

    def __call__(self, share: float, words: str) -> None:
        """``share`` (0 to 1) of the work is done, and what comes now in words."""
        if time.monotonic() - self.told_at < TELL_EVERY_S:
            return
        self.told_at = time.monotonic()
        if not self.running.update(share=share, doing=words[:200]):
            raise Cancelled

    def of_report(self, share: float, words: str) -> None:
        """The same for the share of the report itself, between reading and storing."""
        self(READ + (MADE - READ) * share, words)


def asked_file(run: AnalysisRun, name: str) -> RunFile | None:
    """The file of a finished run: stored, being made, or queued now; None where it cannot be."""
    if name not in kinds(run.page_report()):
        return None
    with transaction.atomic():
        file, new = RunFile.objects.get_or_create(run=run, name=name)
        if new or file.state == RunFile.State.FAILED:
            RunFile.objects.filter(pk=file.pk).update(state=RunFile.State.QUEUED, error="")
            ask(make_run_file, file.pk)
    return file


def _fail_file(why: str, file_id: int) -> None:
    RunFile.objects.filter(pk=file_id).update(state=RunFile.State.FAILED, error=why, content=None)


@requested_job("analysis.jobs.make_run_file", _fail_file, RETRY)
def make_run_file(file_id: int) -> None:
    """Make a file from its run; one that is made already is left as it is."""
    files = RunFile.objects.filter(pk=file_id)
    file = files.select_related("run__study").defer("content").first()
    if file is None or not file.waits:
        return
    files.update(state=RunFile.State.RUNNING)
    try:
        content = kinds(file.run.page_report())[file.name].make(file.run)
        if len(content) > MOST_BYTES:
            size = f"{len(content) / 1024**2:.0f} MB"
            raise ValueError(
                f"it is {size}, larger than {MOST_BYTES / 1024**2:.0f} MB; use the command"
            )
    except Exception as error:
        _fail_file(problem_of(error, str(file)), file_id)
    else:
        done = {"state": RunFile.State.DONE, "error": "", "size_bytes": len(content)}
        files.update(content=content, **done)


class Growing:
    """Stores what of a running analysis can be shown already, the answer first."""

    def __init__(self, run_id: int, labels: StudyLabels) -> None:
        self.running = AnalysisRun.objects.filter(pk=run_id, state=State.RUNNING)
        self.labels = labels
        self.stored_at = float("-inf")

    def __call__(self, report: Report) -> None:
        """Store the report as far as it is, once a second at most."""
        if time.monotonic() - self.stored_at < TELL_EVERY_S:
            return
        self.stored_at = time.monotonic()
        self.running.update(brief=_brief(with_labels(report, self.labels)))


def _brief(report: Report) -> str:
    from analysis.report.html.brief import brief_of
    from analysis.report.writers.exports import stored_json

    return stored_json(brief_of(report))


def _result(run: AnalysisRun, tell: Teller) -> dict[str, Any]:
    """What a finished run stores; that of an earlier one where it would come out the same."""
    from analysis.ratings.table import table_hash
    from analysis.report.build import report_of, scores_hash
    from analysis.report.writers.exports import stored_json

    options = options_from(run.parameters)
    tell(0.0, "Reading the ratings")
    same = marks(run.study.key, options.versions)
    tell.running.update(**same)
    looking = interim_of(run.study.key, options)
    table, scores = study_tables(run.study.key, options)
    labels = study_labels(run.study.key)
    hashes = {"table_hash": table_hash(table), "scores_hash": scores_hash(scores)}
    twin = stored_run(run.study_id, run.parameters, **hashes)
    looks = run.study.looks.count()
    if twin is not None and _is_like(twin.report(), labels, looking is not None, looks):
        stored = {name: getattr(twin, name) for name in ("version", "result", "brief", "ratings")}
        return {**hashes, **stored}
    growing = Growing(run.pk, labels)
    report = report_of(
        table,
        scores,
        options,
        progress=tell.of_report,
        grown=growing,
        looking=looking,
        **told_of(run.study.key),
    )
    report = with_labels(with_version_notes(report, run.study.key, options), labels)
    tell.running.update(share=MADE, doing="Storing the report")
    return {
        **hashes,
        "version": report["provenance"]["estimator_version"],
        "ratings": len(table),
        "result": stored_json(report),
        "brief": _brief(report),
    }


def _is_like(report: Report, labels: StudyLabels, looking: bool, looks: int) -> bool:
    """Whether an earlier report says what is to be said now: labels, looks, whether it may look."""
    from analysis.report.build import FORMAT
    from analysis.report.parts.stop_rule import looks_shown

    same = report["format"] == FORMAT and report.get("labels", {}) == labels["labels"]
    same = same and report.get("task_titles", {}) == labels["task_titles"]
    return same and ("interim" in report) == looking and looks_shown(report) == looks


def queue_again() -> int:
    """Jobs that waited when a backup was taken: the queue itself is not in it."""
    runs = AnalysisRun.objects.filter(state__in=(State.QUEUED, State.RUNNING))
    files = RunFile.objects.filter(state__in=(RunFile.State.QUEUED, RunFile.State.RUNNING))
    run_ids, file_ids = (list(each.values_list("pk", flat=True)) for each in (runs, files))
    for pk in run_ids:
        ask(run_analysis, pk)
    for pk in file_ids:
        ask(make_run_file, pk)
    return len(run_ids) + len(file_ids)
