"""Analysis runs: queued on commit, run by the job, may run twice, fail with a reason."""

import pytest
from django.db import IntegrityError, transaction
from kombu.exceptions import OperationalError

from analysis import jobs
from analysis.jobs import run_analysis, start_run
from analysis.models import AnalysisRun
from analysis.options import Options
from listening.models import Session

QUICK = Options(replicates=200)


def made_run(study, **fields):
    return AnalysisRun.objects.create(
        study=study, estimator="mean_score", parameters=QUICK.parameters() | fields
    )


def test_a_run_ends_with_a_report_and_its_hash(study):
    run = made_run(study)
    run_analysis(run.pk)
    run.refresh_from_db()
    assert (run.state, run.error) == ("done", "")
    report = run.report()
    assert run.table_hash == report["provenance"]["table_hash"]
    assert run.version == "1"
    assert report["data"]["ratings"] == 30
    assert run.finished_at is not None


def test_a_job_that_runs_twice_leaves_the_first_result(study):
    run = made_run(study)
    run_analysis(run.pk)
    first = AnalysisRun.objects.get(pk=run.pk)
    run_analysis(run.pk)
    again = AnalysisRun.objects.get(pk=run.pk)
    assert (again.result, again.finished_at) == (first.result, first.finished_at)


def test_a_run_whose_worker_died_is_done_by_the_next(study):
    run = made_run(study)
    AnalysisRun.objects.filter(pk=run.pk).update(state="running")
    run_analysis(run.pk)
    run.refresh_from_db()
    assert run.state == "done"


def test_a_run_that_was_deleted_meanwhile_is_no_error(db):
    run_analysis(10**9)


def test_options_that_make_no_sense_fail_the_run_with_the_reason(study):
    run = made_run(study, level=3)
    run_analysis(run.pk)
    run.refresh_from_db()
    assert run.state == "failed"
    assert "level is 3" in run.error


def test_a_broken_analysis_fails_the_run_and_is_logged(study, monkeypatch, caplog):
    def broken(*args):
        raise RuntimeError("out of paper")

    monkeypatch.setattr(jobs, "study_report", broken)
    run = made_run(study)
    run_analysis(run.pk)
    run.refresh_from_db()
    assert run.state == "failed"
    assert "RuntimeError: out of paper" in run.error
    assert "out of paper" in caplog.text


def test_the_job_is_sent_when_the_transaction_commits(
    study, monkeypatch, django_capture_on_commit_callbacks
):
    sent = []
    monkeypatch.setattr(run_analysis, "delay", sent.append)
    with django_capture_on_commit_callbacks(execute=True):
        run = start_run(study.pk, QUICK)
        assert sent == []
    assert sent == [run.pk]
    assert run.parameters == QUICK.parameters()


def test_a_queue_that_cannot_be_reached_fails_the_run(
    study, monkeypatch, django_capture_on_commit_callbacks
):
    def unreachable(pk):
        raise OperationalError("connection refused")

    monkeypatch.setattr(run_analysis, "delay", unreachable)
    with django_capture_on_commit_callbacks(execute=True):
        run = start_run(study.pk, QUICK)
    run.refresh_from_db()
    assert run.state == "failed"
    assert "queue of jobs cannot be reached" in run.error


def test_rejected_sessions_are_left_out_of_the_next_run(study):
    Session.objects.filter(pk=Session.objects.earliest("pk").pk).update(status="rejected")
    run = made_run(study)
    run_analysis(run.pk)
    run.refresh_from_db()
    counts = {row["rule"]: row["ratings"] for row in run.report()["exclusions"]}
    assert counts["session_status"] == 10


@pytest.mark.parametrize(
    "fields",
    [
        {"state": "done"},
        {"state": "queued", "result": "{}"},
        {"state": "failed"},
        {"state": "running", "error": "x"},
    ],
)
def test_the_database_refuses_a_run_that_contradicts_itself(study, fields):
    with pytest.raises(IntegrityError), transaction.atomic():
        AnalysisRun.objects.create(study=study, estimator="mean_score", **fields)
