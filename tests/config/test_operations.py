"""Metrics for who has the token, a page for who runs the house, errors without anybody's words."""

import json
import re
from datetime import timedelta
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.db import OperationalError
from django.test import Client
from django.utils import timezone
from prometheus_client.parser import text_string_to_metric_families
from redis.exceptions import ConnectionError as RedisConnectionError

from config.operations import error_reports, heartbeats, pages, shared_counters
from config.operations.health import Readiness
from config.operations.shared_counters import Tally, counter_server
from listening.models import AskedJob


@pytest.fixture(autouse=True)
def counted_anew(monkeypatch: pytest.MonkeyPatch, servers: None) -> None:
    counter_server().delete(*counter_server().keys(f"{cache.key_prefix}-*"), "none")
    monkeypatch.setattr(pages, "_kept", None)
    monkeypatch.setattr(shared_counters, "tally", Tally())
    monkeypatch.setattr(pages, "readiness", Readiness())


def families(client: Client) -> dict[str, dict[tuple[str, ...], float]]:
    page = client.get("/metrics", headers={"Authorization": "Bearer secret"})
    assert page.status_code == 200
    return {
        family.name: {
            (sample.name, *sample.labels.values()): sample.value for sample in family.samples
        }
        for family in text_string_to_metric_families(page.content.decode())
    }


def test_without_the_token_there_are_no_metrics(client: Client, settings):
    assert client.get("/metrics").status_code == 404
    settings.EARNEST_METRICS_TOKEN = "secret"
    assert client.get("/metrics").status_code == 404
    assert client.get("/metrics", headers={"Authorization": "Bearer wrong"}).status_code == 404


@pytest.mark.django_db
def test_metrics_count_requests_by_route_and_never_by_path(client: Client, settings):
    settings.EARNEST_METRICS_TOKEN = "secret"
    client.get("/s/abc123/")
    client.get("/s/other/")
    heartbeats.write("jobs@here", "default")
    for mark, minutes in (("1", 5), ("2", 0)):
        asked_at = timezone.now() - timedelta(minutes=minutes)
        AskedJob.objects.create(job="x.y", given=[], mark=mark, asked_at=asked_at)
    found = families(client)
    assert found["earnest_asked_jobs"] == {("earnest_asked_jobs", "x.y"): 2}
    ((oldest, age_s),) = found["earnest_asked_jobs_oldest_seconds"].items()
    assert oldest == ("earnest_asked_jobs_oldest_seconds", "x.y")
    assert 300 <= age_s < 360
    assert found["earnest_requests"]["earnest_requests_total", "GET", "session", "404"] == 2
    times = found["earnest_request_seconds"]
    assert times["earnest_request_seconds_count", "session"] == 2
    assert 2 in (n for name, n in times.items() if "+Inf" in name)
    assert found["earnest_answers"]["earnest_answers_total",] == 0
    assert found["earnest_queue_jobs"]["earnest_queue_jobs", "gpu"] >= 0
    assert ("earnest_heartbeat_age_seconds", "jobs@here") in found["earnest_heartbeat_age_seconds"]
    assert "abc123" not in str(found)


def test_processes_add_to_the_same_sums():
    for tally in (Tally(), Tally()):
        tally.thread = object()  # type: ignore[assignment]  # flushed here instead
        tally.add("asked here only", "GET", 200, 0.02)
        tally.add("asked here only", "TRACK", 200, 99.0)
        tally.flush()
    sums = shared_counters.request_sums()
    assert sums["asked here only", "GET", "200"] == {"1": 2, "sum_us": 40_000}
    assert sums["asked here only", "other", "200"]["10"] == 2
    assert pages.buckets({"1": 2, "3": 1})[:4] == [
        ("0.01", 0),
        ("0.025", 2),
        ("0.05", 2),
        ("0.1", 3),
    ]


def test_counts_are_kept_while_the_cache_is_away(monkeypatch: pytest.MonkeyPatch):
    def away() -> None:
        raise RedisConnectionError("gone")

    tally = Tally()
    tally.thread = object()  # type: ignore[assignment]
    tally.add("landing", "GET", 200, 0.02)
    with monkeypatch.context() as without:
        without.setattr(shared_counters, "counter_server", away)
        tally.flush()
    tally.flush()
    assert shared_counters.request_sums()["landing", "GET", "200"]["1"] == 1


def test_failures_of_a_day_are_counted_by_place_and_kind():
    now = 1_000_000_000.0
    shared_counters.count_failure("page session", "KeyError", now - 2 * 3600)
    shared_counters.count_failure("page session", "KeyError", now)
    shared_counters.count_failure("job x.y", "ValueError", now)
    shared_counters.count_failure("job x.y", "ValueError", now - 25 * 3600)
    assert shared_counters.failures_of_last_day(now) == [
        ("page session", "KeyError", 2),
        ("job x.y", "ValueError", 1),
    ]


@pytest.fixture
def operator(client: Client, db: None) -> Client:
    client.force_login(User.objects.create_superuser("operator"))
    return client


def test_the_operator_s_page_shows_what_runs_and_what_failed(operator: Client):
    heartbeats.write("gpu@here", "gpu")
    shared_counters.count_failure("job x.y", "ValueError")
    AskedJob.objects.create(job="x.z", given=[], mark="1", asked_at=timezone.now())
    page = operator.get("/operations/").content.decode()
    for word in (
        "gpu@here",
        "1 <code>x.z</code>",
        "no heartbeat: default, analysis, beat",
        "job x.y",
        "Answers stored",
    ):
        assert word in page
    assert "No studies are open" in page
    assert "restart workers that hang" in page  # what to do about what is not ok
    assert "Free space" not in page


def test_each_part_of_the_page_says_when_its_server_is_away(
    operator: Client, monkeypatch: pytest.MonkeyPatch
):
    def no_database() -> None:
        raise OperationalError("gone")

    def no_cache() -> None:
        raise RedisConnectionError("gone")

    monkeypatch.setattr("config.operations.pages.figures", no_database)
    monkeypatch.setattr("config.operations.shared_counters.failures_of_last_day", no_cache)
    page = operator.get("/operations/").content.decode()
    assert "the database does not respond" in page
    assert "The queues could not be read" in page


def test_researchers_and_strangers_do_not_see_it(client: Client, db: None):
    assert client.get("/operations/").status_code == 302
    client.force_login(User.objects.create_user("somebody"))
    assert client.get("/operations/").status_code == 403


def test_an_error_report_holds_places_in_the_code_and_nobody_s_words():
    secret = "what a rater wrote, from 192.0.2.7, session abc123"
    frame = {"filename": "a.py", "lineno": 3, "function": "f", "vars": {"text": secret}}
    event = {
        "event_id": "1",
        "level": "error",
        "request": {"url": f"https://h/s/{secret}", "data": secret, "env": {"REMOTE_ADDR": secret}},
        "user": {"ip_address": secret},
        "extra": {"celery-job": {"args": [secret]}},
        "contexts": {"x": secret},
        "breadcrumbs": {"values": [{"message": secret}]},
        "server_name": secret,
        "transaction": secret,
        "logger": "django.request",
        "logentry": {"message": "%s: %s", "params": [secret], "formatted": secret},
        "exception": {
            "values": [{"type": "KeyError", "value": secret, "stacktrace": {"frames": [frame]}}]
        },
    }
    kept = error_reports.stripped(event)
    assert secret not in str(kept)
    assert kept["exception"]["values"][0]["type"] == "KeyError"
    assert kept["exception"]["values"][0]["stacktrace"]["frames"][0]["lineno"] == 3


GRAFANA = Path(__file__).resolve().parents[2] / "deploy" / "grafana.json"


@pytest.mark.django_db
def test_the_dashboard_shows_every_metric_and_asks_for_no_other(client: Client, settings):
    settings.EARNEST_METRICS_TOKEN = "secret"
    counted = {name for name in families(client) if name.startswith("earnest_")}
    assert {"earnest_asked_jobs", "earnest_requests", "earnest_request_seconds"} <= counted
    named = re.findall(r"earnest_[a-z_]+", GRAFANA.read_text())
    shown = {re.sub("_(total|bucket)$", "", name) for name in named}
    assert shown - counted == set()
    assert counted - shown == {"earnest_build"}  # a version, which has no course


@pytest.mark.django_db
def test_no_label_is_one_that_prometheus_gives_itself(client: Client, settings):
    """It would call ours exported_job, and a legend by {{job}} would show the scrape's name."""
    settings.EARNEST_METRICS_TOKEN = "secret"
    client.get("/s/abc123/")
    shared_counters.count_failure("job x.y", "ValueError")
    heartbeats.write("jobs@here", "default")
    AskedJob.objects.create(job="x.y", given=[], mark="1", asked_at=timezone.now())
    page = client.get("/metrics", headers={"Authorization": "Bearer secret"}).content.decode()
    found = list(text_string_to_metric_families(page))
    labels = {label for family in found for sample in family.samples for label in sample.labels}
    assert {"route", "queue"} <= labels
    assert labels & {"job", "instance"} == set()
    asked = set(re.findall(r"{{(\w+)}}", GRAFANA.read_text()))
    assert asked <= labels | {"study", "state"}  # there is no study here


def test_panels_have_numbers_and_places_of_their_own():
    panels = json.loads(GRAFANA.read_text())["panels"]
    assert [panel["id"] for panel in panels] == list(range(1, len(panels) + 1))
    covered = [
        (x, y)
        for place in (panel["gridPos"] for panel in panels)
        for x in range(place["x"], place["x"] + place["w"])
        for y in range(place["y"], place["y"] + place["h"])
    ]
    assert len(covered) == len(set(covered))
    assert max(x for x, _ in covered) < 24
