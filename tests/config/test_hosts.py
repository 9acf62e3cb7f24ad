"""Several hosts of one installation: what they share, which clock runs, how they are prepared."""

import json
import os
import threading
from pathlib import Path
from typing import Any

import psycopg
import pytest
from celery import Celery
from django.conf import LazySettings
from django.core.exceptions import ImproperlyConfigured
from django.db import connection

from config.beat_scheduler import STANDBY_S, Lease, Scheduler
from config.operations import health, heartbeats, shared_parts
from config.operations.models import Heartbeat
from config.run import preparation

# --- What hosts share ----------------------------------------------------------------------------


@pytest.fixture
def shared_database(settings: LazySettings) -> None:
    """The database and Valkey of this test run, as servers that other hosts could use, too."""
    settings.EMBEDDED = []


def other_host_has(name: str, **otherwise: str) -> None:
    shares = json.dumps(shared_parts.shared_parts() | otherwise)
    heartbeats.write(name, "default")
    Heartbeat.objects.filter(name=name).update(shares=shares)


@pytest.fixture
def reads_this_database(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of the test's transaction are seen, which a connection of its own would not."""

    class Session:
        def __enter__(self) -> Any:
            return self

        def __exit__(self, *failed: object) -> None: ...

        def execute(self, words: str, values: Any) -> Any:
            cursor = connection.cursor()
            cursor.execute(words, values)
            return cursor

    monkeypatch.setattr(psycopg, "connect", lambda **params: Session())


@pytest.mark.medium
@pytest.mark.django_db
@pytest.mark.parametrize("part", ["secret key", "EARNEST_VAR", "MEDIA_STORE", "REDIS_URL"])
def test_a_host_that_does_not_share_a_part_does_not_start(
    shared_database: None, reads_this_database: None, part: str
):
    other_host_has("default@elsewhere")
    shared_parts.refuse_strangers("pages")
    assert health.hosts().grade == "ok"
    other_host_has("default@elsewhere", **{part: "another"})
    with pytest.raises(ImproperlyConfigured, match=f"default@elsewhere .* the same {part}"):
        shared_parts.refuse_strangers("pages")
    assert part in health.hosts().detail
    assert [each.id for each in shared_parts.check_hosts()] == ["earnest.E001"]


@pytest.mark.django_db
def test_processes_of_this_host_and_dead_ones_are_not_compared(
    shared_database: None, reads_this_database: None, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("socket.gethostname", lambda: "here")
    other_host_has("default@here", EARNEST_VAR="another")
    other_host_has("default@gone", EARNEST_VAR="another")
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE operations_heartbeat SET at = at - interval '1 minute' WHERE name LIKE '%gone'"
        )
    assert shared_parts.problems("pages") == []


@pytest.mark.django_db
def test_a_machine_that_only_scores_has_a_folder_of_its_own(
    shared_database: None, reads_this_database: None
):
    other_host_has("default@elsewhere", **{"EARNEST_VAR": "another", "secret key": "another"})
    assert shared_parts.problems("gpu") == []


def test_with_the_embedded_database_nothing_is_written():
    assert shared_parts.written("pages") == ""


# --- The clock -----------------------------------------------------------------------------------


@pytest.fixture
def clocks(
    servers: None, settings: LazySettings, monkeypatch: pytest.MonkeyPatch
) -> tuple[list[Scheduler], list[str]]:
    """The clocks of two hosts, and which host sent a job."""
    own = settings.CACHES["default"] | {"KEY_PREFIX": f"test-{os.getpid()}"}
    monkeypatch.setitem(settings.CACHES, "default", own)
    sent: list[str] = []
    monkeypatch.setattr(
        Scheduler, "apply_async", lambda self, entry, **_: sent.append(self.lease.own)
    )
    made = []
    for host in ("one", "two"):
        app = Celery(host, fixups=[], broker="memory://", set_as_current=False)
        app.conf.beat_schedule = {"look": {"task": "look", "schedule": 0.0}}
        monkeypatch.setattr("socket.gethostname", lambda host=host: host)
        made.append(Scheduler(app=app, lazy=True))
        made[-1].setup_schedule()
    return made, sent


def test_of_two_clocks_one_sends_jobs_and_the_other_follows_it(
    clocks: tuple[list[Scheduler], list[str]],
):
    (one, two), sent = clocks
    one.tick()
    assert two.tick() == STANDBY_S
    assert {host.split()[0] for host in sent} == {"one"}
    one.close()
    two.tick()
    assert sent[-1].split()[0] == "two"
    two.lease.server.pexpire(two.lease.name, 1)  # its host has died
    while two.lease.server.exists(two.lease.name):
        pass
    one.tick()
    assert sent[-1].split()[0] == "one"
    one.close()


def test_a_clock_goes_on_without_valkey(
    settings: LazySettings, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
):
    location = {"LOCATION": f"unix://{tmp_path}/nobody.sock"}
    monkeypatch.setitem(settings.CACHES, "default", settings.CACHES["default"] | location)
    assert Lease().is_ours()


# --- Preparing -----------------------------------------------------------------------------------


@pytest.mark.django_db
def test_two_hosts_that_prepare_at_once_do_so_one_after_the_other():
    inside, end = threading.Event(), threading.Event()
    order: list[str] = []

    def first() -> None:
        with preparation.one_at_a_time():
            inside.set()
            end.wait(60)
            order.append("first")

    def second() -> None:
        inside.wait(60)
        with preparation.one_at_a_time():
            order.append("second")

    threads = [threading.Thread(target=each) for each in (first, second)]
    for thread in threads:
        thread.start()
    inside.wait(60)
    waiting = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
    with connection.cursor() as cursor:
        while cursor.execute(waiting).fetchone() == (0,):
            pass
    end.set()
    for thread in threads:
        thread.join(60)
    assert order == ["first", "second"]


def test_static_files_that_another_host_installed_later_are_the_same(
    settings: LazySettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(preparation, "_packages", list)
    prints = []
    for host, installed in (("one", 1_000), ("two", 2_000)):
        file = tmp_path / host / "js" / "a.js"
        file.parent.mkdir(parents=True)
        file.write_text("1")
        os.utime(file, (installed, installed))
        settings.STATICFILES_DIRS = [tmp_path / host]
        prints.append(preparation.static_fingerprint())
    file.write_text("2")
    assert prints[0] == prints[1] != preparation.static_fingerprint()
