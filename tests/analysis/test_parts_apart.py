"""Parts about metrics that a second process makes: the same report, and no process left behind."""

import numpy as np
import pytest

from analysis.ratings.metric_scores import scores_from_rows
from analysis.report import pipeline, second_process
from analysis.report.build import report_of
from analysis.report.part import Cancelled
from analysis.statistics.options import Options
from tests.analysis.test_against import study

QUICK = Options(replicates=100)
PARTS = ("against_people", "lfs", "prediction_powered", "voice_cloning")  # all that may be apart
pytestmark = [pytest.mark.usefixtures("without_models", "answer_alone"), pytest.mark.slow]


@pytest.fixture
def rated():
    table, metric, _ = study(np.random.default_rng(1))
    given = [
        {"stimulus": clip, "value": value, "metric": "net", "version": "1"}
        for clip, value in metric.items()
    ]
    return table, scores_from_rows(given)


@pytest.fixture
def processes(monkeypatch):
    """Has a second process for any number of scores; those that were started."""
    monkeypatch.setattr(pipeline, "MANY_SCORES", 1)
    monkeypatch.setattr(pipeline, "has_two_cores", lambda: True)
    started = []
    start = second_process.subprocess.Popen

    def popen(*args, **options):
        process = start(*args, **options)
        if second_process.PROGRAM in args[0]:  # the report also asks git for the revision
            started.append(process)
        return process

    monkeypatch.setattr(second_process.subprocess, "Popen", popen)
    return started


@pytest.mark.parametrize("fails", [False, True])
def test_the_report_is_the_same_and_a_failure_costs_only_time(rated, processes, monkeypatch, fails):
    if fails:
        monkeypatch.setattr(second_process.sys, "executable", "/bin/false")
    pending = []
    report = report_of(
        *rated, QUICK, made_at="now", grown=lambda report: pending.append(report["pending"][:])
    )
    assert [each.returncode for each in processes] == [1 if fails else 0]
    assert pending[-1] == []
    assert "against_people" in [part["key"] for part in report["parts"]]
    monkeypatch.setattr(pipeline, "has_two_cores", lambda: False)
    assert report == report_of(*rated, QUICK, made_at="now")
    assert len(processes) == 1


def test_a_cancelled_run_ends_the_process(rated, processes):
    def cancel(share, words):
        raise Cancelled

    with pytest.raises(Cancelled):
        report_of(*rated, QUICK, progress=cancel)
    assert [each.returncode for each in processes] == [-9]
