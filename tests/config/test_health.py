"""Readiness says what is away, writes a row, and costs a stranger's flood next to nothing."""

import errno
import json
import os
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import httpx
import pytest
from django.conf import LazySettings
from django.core.cache import cache
from django.db import DataError, InternalError, OperationalError, connection
from django.test import Client
from redis.exceptions import ConnectionError as RedisConnectionError

from config.operations import health, heartbeats, pages, unavailable
from config.operations.health import Check, Health, Readiness
from config.operations.models import Heartbeat
from listening.common import job_queues
from tests.listening.web import WebProcess


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each test looks for itself."""
    monkeypatch.setattr(pages, "readiness", Readiness())


def all_beat() -> None:
    heartbeats.write("jobs@here", "analysis,default")
    heartbeats.write("gpu@here", "gpu")
    heartbeats.write("beat@here", "beat")


@pytest.mark.slow
def test_django_answers_behind_the_bridge(web: WebProcess, transactional_db: None):
    assert httpx.get(f"{web.url}/readyz").json()["checks"]["cache"]["grade"] == "ok"
    assert "csrftoken" in httpx.get(f"{web.url}/login/").headers["set-cookie"]
    assert httpx.get(f"{web.url}/readyz", headers={"Host": "evil"}).status_code == 400


@pytest.mark.django_db
def test_readiness_is_ok_when_all_servers_answer_and_all_workers_live(
    client: Client, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(health, "queue_states", list)  # jobs of other tests wait in these queues
    all_beat()
    response = client.get("/readyz")
    assert response.status_code == 200
    body = response.json()
    assert body["status"] == "ok", body
    assert set(body["checks"]) == set(health.LOOKS)


@pytest.mark.django_db
def test_each_look_writes_the_same_row(client: Client):
    for _ in range(3):
        assert health.database() == Check()
    assert Heartbeat.objects.filter(roles="pages").count() == 1


@pytest.mark.django_db
def test_workers_without_a_heartbeat_are_named_and_raters_are_still_served(client: Client):
    all_beat()
    Heartbeat.objects.filter(name="gpu@here").delete()
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE operations_heartbeat SET at = at - interval '1 hour' WHERE name = 'beat@here'"
        )
    response = client.get("/readyz")
    assert (response.status_code, response.json()["status"]) == (200, "degraded")
    assert response.json()["checks"]["workers"]["detail"] == "no heartbeat: gpu, beat"
    assert client.get("/readyz?strict").status_code == 503


@pytest.mark.django_db
def test_a_worker_that_rests_is_not_missed_while_somebody_looks_into_its_queue(
    settings: LazySettings, tmp_path: Path
):
    settings.EARNEST_VAR = tmp_path
    all_beat()
    Heartbeat.objects.filter(name="gpu@here").delete()
    (tmp_path / "gpu.rests").touch()
    assert health.workers() == Check()
    assert heartbeats.read()[-1].name == "gpu (idle until the next job)"
    os.utime(tmp_path / "gpu.rests", (time.time() - 60, time.time() - 60))
    assert health.workers().detail == "no heartbeat: gpu"
    heartbeats.write("gpu@here", "gpu")
    assert [each.name for each in heartbeats.read()] == ["beat@here", "gpu@here", "jobs@here"]


@pytest.mark.django_db
def test_a_cache_that_is_away_is_named(client: Client, monkeypatch: pytest.MonkeyPatch):
    def refuse(*args: object, **options: object) -> None:
        raise RedisConnectionError("gone")

    monkeypatch.setattr(cache, "set", refuse)
    checks = client.get("/readyz").json()["checks"]
    assert checks["cache"] == {"grade": "degraded", "detail": "does not respond"}
    assert checks["queues"] == {"grade": "degraded", "detail": "not checked: needs cache"}


def test_a_database_that_refuses_the_row_is_unavailable(
    client: Client, monkeypatch: pytest.MonkeyPatch
):
    def refuse(*args: object) -> None:
        raise OperationalError("could not extend file: secret words")

    monkeypatch.setattr(heartbeats, "write", refuse)
    response = client.get("/readyz")
    assert (response.status_code, response.json()["status"]) == (503, "unavailable")
    assert "secret" not in response.content.decode()


@pytest.mark.parametrize(
    ("free_mb", "grade"), [(600, "ok"), (499, "degraded"), (49, "unavailable")]
)
def test_little_space_is_seen_before_the_database_fails(
    free_mb: int, grade: str, monkeypatch: pytest.MonkeyPatch
):
    usage = SimpleNamespace(free=free_mb * 1024**2)
    monkeypatch.setattr(health.shutil, "disk_usage", lambda path: usage)
    assert health.disk().grade == grade


def counting(looks: list[float], clock: Callable[[], float]) -> Callable[[], Health]:
    def look() -> Health:
        looks.append(clock())
        return Health({"database": Check()})

    return look


def test_a_flood_of_questions_is_one_look():
    now, looks = [100.0], list[float]()
    readiness = Readiness(counting(looks, lambda: now[0]), lambda: now[0])
    for _ in range(1000):
        readiness.now()
    now[0] += health.KEPT_S
    readiness.now()
    assert looks == [100.0, 102.0]


def test_while_a_look_hangs_the_others_are_told_so_and_do_not_wait():
    now = [100.0]
    readiness = Readiness(lambda: Health({"database": Check()}), lambda: now[0])
    assert readiness.now().grade == "ok"
    now[0] += 10
    with readiness.lock:  # another thread looks
        readiness.began = now[0]
        assert readiness.now().grade == "ok"
        now[0] += health.PATIENCE_S
        assert readiness.now().grade == "unavailable"


def test_the_age_of_a_queue_is_that_of_its_oldest_job():
    sent = json.dumps({"headers": {job_queues.SENT_AT: 1000.0}})
    assert job_queues.age_s(sent, 1060.0) == 60.0
    assert job_queues.age_s(sent, 900.0) == 0.0  # the clock jumped back
    assert job_queues.age_s(json.dumps({"headers": {}}), 1060.0) is None


@pytest.mark.parametrize(
    ("error", "away"),
    [
        (OperationalError("the connection is lost"), True),
        (RedisConnectionError("gone"), True),
        (OSError(errno.ENOSPC, "No space left on device"), True),
        (OSError(errno.ENOENT, "No such file"), False),
        (DataError("too long"), False),
        (InternalError("odd"), False),
    ],
)
def test_only_what_may_work_later_is_said_to_be_away(error: Exception, away: bool):
    assert unavailable.is_away(error) is away


def lost(*args: object, **kwargs: object) -> None:
    raise OperationalError("the database system is shutting down: code abc")


@pytest.mark.django_db
@pytest.mark.parametrize("language", ["en", "zh-hans"])
def test_the_door_waits_while_the_database_is_away(
    client: Client, monkeypatch: pytest.MonkeyPatch, language: str
):
    monkeypatch.setattr("listening.web.rater.pages.get_object_or_404", lost)
    response = client.get("/r/anything/", headers={"Accept-Language": language})
    assert response.status_code == 503
    assert 5 <= int(response["Retry-After"]) <= 15
    page = response.content.decode()
    assert "waiting.js" in page
    assert 'http-equiv="refresh"' in page
    assert ("One moment" in page) == (language == "en")
    assert "shutting down" not in page


@pytest.mark.django_db
def test_the_api_says_the_same_in_json(client: Client, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("listening.sessions.lifecycle.session_named", lost)
    response = client.get("/api/s/abc/")
    assert response.status_code == 503
    assert response.json()["error"] == "unavailable"
    assert int(response["Retry-After"]) >= 5


@pytest.mark.django_db
def test_a_log_in_that_cannot_be_read_is_a_page_that_waits_too(
    client: Client, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("django.contrib.auth.middleware.get_user", lost)
    client.raise_request_exception = False
    assert client.get("/studies/").status_code == 503


@pytest.mark.django_db
def test_the_database_is_durable_and_speaks_utf_8():
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting('server_encoding'), lower('ÄÉ')")
        assert cursor.fetchone() == ("UTF8", "äé")
    with connection._nodb_cursor() as cursor:  # the databases of tests do not wait for the disk
        for setting in ("fsync", "synchronous_commit"):
            cursor.execute(f"SHOW {setting}")
            assert cursor.fetchone() == ("on",)


def test_every_page_has_a_strict_content_security_policy(client: Client):
    policy = client.get("/nowhere").headers["Content-Security-Policy"]
    assert "script-src 'self'" in policy
    assert "unsafe" not in policy
