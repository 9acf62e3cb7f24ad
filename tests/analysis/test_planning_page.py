"""The planning page: for the owner, in every state; components and checks come from jobs."""

import os
import secrets
import subprocess
import sys
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.cache.backends.locmem import LocMemCache
from django.urls import reverse
from redis.exceptions import ConnectionError as NoRedis

from analysis.web import job_states, planning_jobs, planning_views
from analysis.web.planning_jobs import check_plan, estimate_pilot, pilot_state, start_pilot

ROOT = Path(__file__).resolve().parents[2]
WANTED = "?goal=half_width&size=0.2&source=long_form&items=60&conditions=3&clips_per_rater=20"


@pytest.fixture(autouse=True)
def _own_cache(monkeypatch):
    """A cache for each test: the server's is shared with tests that run at the same time."""
    kept = LocMemCache(secrets.token_hex(4), {})
    monkeypatch.setattr(job_states, "cache", kept)
    monkeypatch.setattr(planning_jobs, "cache", kept)
    monkeypatch.setattr(planning_views, "cache", kept)


@pytest.fixture
def owner(client, study):
    client.force_login(study.owner)
    return client


def page(client, study, query=""):
    return client.get(reverse("planning", args=[study.key]) + query)


def text_of(client, study, query=""):
    return page(client, study, query).content.decode()


@pytest.mark.parametrize("name", ["planning", "so-far", "so-far-box"])
@pytest.mark.medium
def test_only_the_owner_and_superusers_see_it(client, study, name):
    url = reverse(name, args=[study.key])
    assert client.get(url)["Location"].startswith("/login/")
    client.force_login(User.objects.create(username="somebody"))
    assert client.get(url).status_code == 404
    client.force_login(User.objects.create(username="root", is_superuser=True))
    assert client.get(url).status_code == 200
    client.force_login(study.owner)
    assert client.get(url).status_code == 200


def test_a_saved_link_with_the_old_name_of_ratings_per_stimulus_fills_the_field(owner, study):
    for name in ("ratings_per_stimulus", "ratings_per_clip"):
        values = page(owner, study, f"?{name}=7").context["values"]
        assert values["ratings_per_stimulus"] == "7"


def test_the_form_starts_with_the_studys_design(owner, study):
    text = text_of(owner, study)
    assert "No plan yet" in text
    assert 'aria-current="page">Planning' in text
    for name, value in {"conditions": 3, "items": 10, "clips_per_rater": 10, "traps": 3}.items():
        assert f'name="{name}" inputmode' in text
        assert f'value="{value}"' in text.split(f'name="{name}"')[1][:60]
    assert '<option value="att" selected>' in text


@pytest.mark.medium
def test_a_plan_is_made_at_once_and_its_check_awaited(owner, study):
    text = text_of(owner, study, WANTED)
    assert "a 95 % interval of ±" in text
    assert "<svg" in text
    assert "What this rests on" in text
    assert "being checked on simulated studies" in text
    assert "data-waits" in text


@pytest.mark.slow
def test_the_check_stands_beside_the_formula_when_the_job_is_done(owner, study, monkeypatch):
    queued = []
    monkeypatch.setattr(planning_jobs, "ask", lambda job, *given: queued.append((job, given)))
    monkeypatch.setattr("analysis.statistics.planning.proposal.MOST_SIMULATED", 0)  # 200 studies
    page(owner, study, WANTED)
    page(owner, study, WANTED)
    ((job, (name, question)),) = queued
    assert job is check_plan
    check_plan(name, question)
    text = text_of(owner, study, WANTED)
    assert "The formula, checked by simulation" in text
    assert "data-waits" not in text


@pytest.mark.medium
def test_a_check_that_fails_says_why(owner, study, monkeypatch):
    monkeypatch.setattr(planning_jobs, "ask", lambda *given: check_plan(given[1], {"form": {}}))
    page(owner, study, WANTED)
    assert "The check failed" in text_of(owner, study, WANTED)


@pytest.mark.medium
def test_without_a_cache_the_formula_stands_alone(owner, study, monkeypatch):
    def gone(*args, **kwargs):
        raise NoRedis("gone")

    for name in ("get", "set", "add"):
        monkeypatch.setattr(planning_jobs.cache, name, gone)
    text = text_of(owner, study, WANTED)
    assert "the server’s cache does not respond" in text
    assert "a 95 % interval of ±" in text


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("?size=x", "no number"),
        ("?size=", "The size is missing"),
        ("?size=0.001&source=long_form", "No number of raters or items reaches this"),
        ("?size=0.2&source=nothing", "No preset nothing"),
        ("?size=0.2&source=own", "Give the standard deviation"),
        ("?size=0.2&source=pilot:7", "Estimate them again"),
    ],
)
def test_what_cannot_be_planned_is_told(owner, study, query, told):
    answer = page(owner, study, query)
    assert answer.status_code == 400
    assert told in answer.content.decode()


def test_what_is_typed_is_escaped(owner, study):
    text = text_of(owner, study, "?size=%3Cscript%3E&currency=%22%3E%3Cb%3E")
    assert "<script>&" not in text
    assert "&lt;script&gt;" in text


def test_own_deviations_are_taken(owner, study):
    text = text_of(owner, study, f"{WANTED}&source=own&sd_rater=0.5&sd_residual=0.9")
    assert "typed by hand" in text
    assert "0.900" in text


@pytest.mark.medium
def test_the_studys_ratings_are_a_pilot_when_asked_for(owner, study):
    answer = owner.post(reverse("planning-pilot", args=[study.key]), {"query": "size=0.1"})
    assert answer["Location"] == f"/studies/{study.key}/planning/?size=0.1#components"
    assert "Variances are being estimated" in text_of(owner, study)
    estimate_pilot(f"planning/pilot/{study.key}", study.key)
    text = text_of(owner, study, "?size=0.3&source=pilot:0&items=30&conditions=3&clips_per_rater=9")
    assert "This study: HLS" in text
    assert "20 ratings of 2 raters" in text  # the third failed the traps
    assert "few to estimate these from" in text
    start_pilot(study.key)
    assert "This study: HLS" in text_of(owner, study)  # the last one stands while it is read anew


@pytest.mark.medium
def test_a_study_without_ratings_is_no_pilot(owner, study):
    study.sessions.update(status="rejected")
    estimate_pilot(f"planning/pilot/{study.key}", study.key)
    assert pilot_state(study.key)["state"] == "failed"
    assert "nothing to plan from" in text_of(owner, study)


def test_somebody_else_cannot_start_a_pilot(client, study):
    client.force_login(User.objects.create(username="somebody"))
    assert client.post(reverse("planning-pilot", args=[study.key])).status_code == 404
    assert pilot_state(study.key) is None


@pytest.mark.slow
def test_the_web_side_loads_no_pandas_even_for_a_plan():
    """Pages of plans and of results are made in processes that never need pandas."""
    code = (
        "import sys, django; django.setup()\n"
        "import analysis.web.planning_views as v\n"
        "import analysis.web.views, analysis.web.urls, analysis.ratings.cells\n"
        "import analysis.web.downloads, analysis.report.html.page\n"
        "import analysis.report.writers.exports\n"
        "assert 'scipy' not in sys.modules and 'pandas' not in sys.modules\n"
        "v.check_state = lambda question: None\n"
        "from analysis.report.planning.form_fields import starting_values\n"
        "made = v._result(starting_values(size=0.2, items=80), None)\n"
        "assert made['figures'] and made['tables'], made\n"
        "box = v._box({'means': [], 'ends': (1, 5), 'columns': [], 'estimand': 'mos',\n"
        "              'references': [], 'labels': {}, 'title': '', 'criterion': ''}, None)\n"
        "sys.exit(', '.join({'pandas', 'torch', 'pymc', 'arviz', 'matplotlib'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={**os.environ, "DJANGO_SETTINGS_MODULE": "config.settings"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stderr.strip() == ""
