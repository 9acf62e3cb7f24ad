"""The results page and its files: for the owner only, in every state, and streamed."""

import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.urls import reverse

from analysis.jobs import run_analysis
from analysis.models import AnalysisRun
from analysis.options import Options
from analysis.ratings import from_rows, table_hash
from tests.analysis.rated_study import score_stimuli
from tests.factories import make_study, make_user

ROOT = Path(__file__).resolve().parents[2]
QUICK = Options(replicates=200).parameters()


@pytest.fixture
def owner(client, study):
    client.force_login(study.owner)
    return client


def analysed(study, **fields):
    run = AnalysisRun.objects.create(study=study, estimator="mean_score", parameters=QUICK | fields)
    run_analysis(run.pk)
    run.refresh_from_db()
    return run


def page(client, study, query=""):
    return client.get(reverse("results", args=[study.key]) + query)


def file_of(client, study, name, query=""):
    return client.get(reverse("results-file", args=[study.key, name]) + query)


URLS = [
    "",
    "ratings.csv",
    "scores.csv",
    "ratings.json",
    "estimates.csv",
    "report.html",
    "report.json",
]


@pytest.mark.parametrize("name", URLS)
def test_only_the_owner_and_superusers_see_results(client, study, name):
    analysed(study)
    url = f"/studies/{study.key}/results/{name}"
    assert client.get(url)["Location"].startswith("/login/")
    client.force_login(User.objects.create(username="somebody"))
    assert client.get(url).status_code == 404
    client.force_login(User.objects.create(username="root", is_superuser=True))
    assert client.get(url).status_code == 200
    client.force_login(study.owner)
    assert client.get(url).status_code == 200


def test_somebody_else_cannot_start_an_analysis(client, study):
    client.force_login(User.objects.create(username="somebody"))
    assert client.post(reverse("results-run", args=[study.key])).status_code == 404
    assert not AnalysisRun.objects.exists()


def test_a_page_before_the_first_analysis_offers_one(owner, study):
    text = page(owner, study).content.decode()
    assert "No analysis yet" in text
    assert "Run the analysis" in text
    assert file_of(owner, study, "estimates.csv").status_code == 404


def test_a_page_of_an_analysis_shows_both_intervals_and_provenance(owner, study):
    score_stimuli(study)
    run = analysed(study)
    text = page(owner, study).content.decode()
    for told in ["95 % interval", "Naive", run.table_hash, "Metrics and human scores", "<svg"]:
        assert told in text
    assert "http-equiv" not in text
    assert " style=" not in text


def test_a_study_without_ratings_says_so(client, db):
    study = make_study(key="empty")
    client.force_login(study.owner)
    analysed(study)
    text = page(client, study).content.decode()
    assert "Nothing is rated yet" in text
    assert "<svg" not in text


def test_a_waiting_run_refreshes_the_page_and_keeps_the_earlier_results(owner, study):
    analysed(study)
    AnalysisRun.objects.create(study=study, estimator="mean_score", parameters=QUICK)
    text = page(owner, study).content.decode()
    assert 'http-equiv="refresh"' in text
    assert "Waiting for the analysis to start" in text
    assert "<svg" in text


def test_a_failed_run_tells_its_reason_escaped(owner, study):
    AnalysisRun.objects.create(
        study=study,
        estimator="mean_score",
        parameters=QUICK,
        state="failed",
        error="row 3 <script>",
    )
    text = page(owner, study).content.decode()
    assert "The last analysis failed" in text
    assert "row 3 &lt;script&gt;" in text


def test_the_form_queues_a_run_with_its_options(
    owner, study, monkeypatch, django_capture_on_commit_callbacks
):
    sent = []
    monkeypatch.setattr(run_analysis, "delay", sent.append)
    form = {"by": ["dimension", "voice"], "crossed": "1", "level": "0.9", "seed": "5"}
    with django_capture_on_commit_callbacks(execute=True):
        answer = owner.post(reverse("results-run", args=[study.key]), form)
    assert answer["Location"] == reverse("results", args=[study.key])
    run = AnalysisRun.objects.get()
    assert sent == [run.pk]
    assert run.parameters["by"] == ["condition:dimension,voice"]
    assert (run.parameters["level"], run.parameters["seed"]) == (0.9, 5)
    assert run.parameters["rules"]
    owner.post(reverse("results-run", args=[study.key]), {"screening": "none", "by": ["split"]})
    newest = AnalysisRun.objects.first()
    assert (newest.parameters["rules"], newest.parameters["by"]) == ([], ["condition:split"])
    text = page(owner, study).content.decode()
    assert 'value="split" checked' in text


@pytest.mark.parametrize(
    "form", [{"level": "7"}, {"seed": "x"}, {"by": ["rater"]}, {"level": "nan"}, {"seed": "-1"}]
)
def test_a_form_that_makes_no_sense_is_answered_with_the_reason(owner, study, form):
    answer = owner.post(reverse("results-run", args=[study.key]), form)
    assert answer.status_code == 400
    assert "That cannot be analysed" in answer.content.decode()
    assert not AnalysisRun.objects.exists()


def test_starting_needs_a_post_with_a_csrf_token(study):
    from django.test import Client

    client = Client(enforce_csrf_checks=True)
    client.force_login(study.owner)
    url = reverse("results-run", args=[study.key])
    assert client.get(url).status_code == 405
    assert client.post(url).status_code == 403


def test_ratings_are_streamed_and_hash_as_the_analysis_did(owner, study):
    run = analysed(study)
    answer = owner.get(reverse("results-ratings", args=[study.key, "json"]))
    assert answer.streaming
    rows = json.loads(b"".join(answer.streaming_content))
    assert len(rows) == 39
    assert table_hash(from_rows(rows)) == run.table_hash
    answer = owner.get(reverse("results-ratings", args=[study.key, "csv"]))
    text = b"".join(answer.streaming_content).decode()
    lines = list(csv.DictReader(io.StringIO(text, newline="")))
    assert [line["stimulus"] for line in lines] == [row["stimulus"] for row in rows]
    assert "attachment" in answer["Content-Disposition"]


def test_every_file_of_an_analysis_can_be_taken(owner, study):
    score_stimuli(study)
    run = analysed(study)
    report = run.report()
    for name in ("estimates", "contrasts", "shares", "exclusions", "screening", "correlations"):
        answer = file_of(owner, study, f"{name}.csv")
        assert len(answer.content.decode().splitlines()) == len(report[name]) + 1
    scores = owner.get(reverse("results-scores", args=[study.key])).content.decode()
    assert len(scores.splitlines()) == 37
    assert scores.startswith("sha256,stimulus,metric,version,value\n")
    assert json.loads(file_of(owner, study, "report.json").content) == report
    estimates = json.loads(file_of(owner, study, "estimates.json").content)
    assert estimates["estimates"] == report["estimates"]
    assert file_of(owner, study, "report.html").content.startswith(b"<!doctype html>")
    links = [part.split('"')[0] for part in page(owner, study).content.decode().split('href="')]
    figures = [link for link in links if ".svg?" in link]
    assert len(figures) == 2
    for link in figures:
        assert owner.get(link).content.startswith(b"<svg")
    for name in ("nope.csv", "nope.svg", "nope", "ratings.xml"):
        assert file_of(owner, study, name).status_code == 404


def test_an_earlier_analysis_can_be_looked_at_again(owner, study):
    first = analysed(study)
    analysed(study, level=0.9)
    assert "90 % interval" in page(owner, study).content.decode()
    text = page(owner, study, f"?run={first.pk}").content.decode()
    assert "95 % interval" in text
    assert "This is an earlier analysis" in text
    answer = file_of(owner, study, "report.json", f"?run={first.pk}")
    assert json.loads(answer.content)["provenance"]["level"] == 0.95


@pytest.mark.parametrize("asked", ["x", "0", "9" * 30, "-1", "１"])
def test_a_run_that_is_not_there_is_a_404(owner, study, asked):
    assert page(owner, study, f"?run={asked}").status_code == 404


def test_a_run_of_another_study_is_not_shown(owner, study):
    other = make_study(key="other")
    other.owner = make_user("other-owner")
    other.save()
    run = analysed(other)
    assert page(owner, study, f"?run={run.pk}").status_code == 404
    assert file_of(owner, study, "report.json", f"?run={run.pk}").status_code == 404


def test_the_web_side_loads_no_pandas():
    """Pages are made in a process that never needs pandas: checked in a fresh interpreter."""
    environment = {**os.environ, "DJANGO_SETTINGS_MODULE": "config.settings"}
    code = (
        "import sys, django; django.setup(); import analysis.views, analysis.urls, analysis.cells;"
        "import analysis.report.page, analysis.report.writers;"
        "sys.exit(', '.join(m for m in ('pandas', 'scipy', 'torch') if m in sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr.strip() == ""
