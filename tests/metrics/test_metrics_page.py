"""The metrics page of a study: whose it is, what it shows, and the job that it starts."""

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from kombu.exceptions import OperationalError

from listening.models import Stimulus
from metrics.base import make_metric
from metrics.models import MetricScore
from metrics.views import metric_rows
from tests.factories import make_study

pytestmark = pytest.mark.django_db


@pytest.fixture
def study(monkeypatch):
    monkeypatch.setattr("listening.audio.local_path", lambda name: f"/nowhere/{name}")
    return make_study(conditions=2, items=2, task={"block_size": 2})


@pytest.fixture
def owner(study) -> Client:
    client = Client()
    client.force_login(study.owner)
    return client


def keep(stimulus: Stimulus, value: float | None, reason: str = "", failed: bool = False) -> None:
    metric = make_metric("srmr")
    MetricScore.objects.create(
        sha256=stimulus.sha256,
        metric="srmr",
        version=metric.version,
        parameters=metric.parameters_dict(),
        value=value,
        reason=reason,
        failed=failed,
        computed_at=timezone.now(),
    )


def test_the_page_counts_values_reasons_and_what_waits(study, owner):
    a, b, c, _ = study.stimuli.order_by("condition__key", "key")
    keep(a, 2.0)
    keep(b, 4.0)
    keep(c, None, "the audio is silent")
    row = next(row for row in metric_rows(study.key) if row["key"] == "srmr")
    assert (row["files"], row["scored"], row["waiting"], row["failed"]) == (4, 2, 1, 0)
    assert row["without_value"] == [("the audio is silent", 1)]
    assert row["conditions"] == [("cond-0", 3.0, 2), ("cond-1", None, 0)]
    page = owner.get(f"/studies/{study.key}/metrics/").content.decode()
    assert "2 of 4 audio files have a value" in page
    assert "the audio is silent" in page


def test_the_button_queues_one_job_for_the_worker(study, owner, monkeypatch):
    queued = []
    monkeypatch.setattr("metrics.jobs.score_study.delay", queued.append)
    response = owner.post(f"/studies/{study.key}/metrics/score/")
    assert queued == [study.key]
    page = owner.get(response.url)
    assert b'http-equiv="refresh"' in page.content
    assert b'http-equiv="refresh"' not in owner.get(f"/studies/{study.key}/metrics/").content


def test_a_queue_that_does_not_answer_is_a_sentence(study, owner, monkeypatch):
    def broken(key: str) -> None:
        raise OperationalError("down")

    monkeypatch.setattr("metrics.jobs.score_study.delay", broken)
    page = owner.post(f"/studies/{study.key}/metrics/score/", follow=True)
    assert b"The queue does not answer just now" in page.content


def test_only_the_owner_and_superusers_see_it(study, owner):
    address = f"/studies/{study.key}/metrics/"
    assert Client().get(address).url.startswith("/login/")
    stranger = Client()
    stranger.force_login(User.objects.create_user("stranger"))
    assert stranger.get(address).status_code == 404
    assert stranger.post(address + "score/").status_code == 404
    chief = Client()
    chief.force_login(User.objects.create_superuser("chief"))
    assert chief.get(address).status_code == 200
    assert owner.get("/studies/nothing/metrics/").status_code == 404
