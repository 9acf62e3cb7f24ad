"""The process tree starts, refuses a second one, heals, and leaves nothing behind."""

import os
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator

import httpx
import psutil
import pytest
from celery import Celery
from django.conf import settings

from config.run.embedded_servers import socket_folder
from config.run.running_instance import read_address
from tests.config.helpers import (
    PATIENCE_S,
    RETRY_S,
    House,
    open_places,
    own_folder,
    processes_in,
    wait_for,
)

pytestmark = pytest.mark.slow

PARTS = ["web", "web worker", "jobs"]
PARTS += ["postgres", "valkey", "postgres keeper", "valkey keeper"]
KILLED_HERE = ["valkey keeper"]  # the others, and all: tests/test_nothing_is_lost.py
WITHOUT_ROOT = ["unshare", "--user", "--map-user=1000"]


def can_leave_root() -> bool:
    if os.geteuid() != 0:
        return False
    return (
        shutil.which("unshare") is not None
        and subprocess.run([*WITHOUT_ROOT, "true"]).returncode == 0
    )


@pytest.fixture(scope="module")
def before() -> list[str]:
    """What takes root's rights away: other tests start theirs as whoever runs them."""
    return WITHOUT_ROOT if can_leave_root() else []


@pytest.fixture(scope="module")
def house(before: list[str]) -> Iterator[House]:
    """Run without privileges."""
    with own_folder() as var:
        (var / "logs").mkdir()
        (var / "logs").chmod(0o777)  # as an earlier version made it
        running = House(var).start(before=before)
        yield running
        if running.process.poll() is None:
            running.stop()


def test_it_prints_one_address_for_raters_and_one_with_a_log_in(house: House):
    assert house.health() == 200
    raters = f"Raters:      http://127.0.0.1:{house.port}/   (no study is open yet)\n"
    assert house.said.count(raters) == 1
    assert house.said.count("Researcher:") == 1
    login = house.var / "researcher-login.txt"
    password = login.read_text().split("password: ")[1].strip()
    assert password not in house.said  # no terminal: a log is told where the log-in is kept
    assert str(login) in house.said
    assert login.stat().st_mode & 0o777 == 0o600
    assert (house.var / "secret_key").stat().st_mode & 0o777 == 0o600


def test_its_files_are_its_accounts_own_whatever_the_umask(house: House, before: list[str]):
    assert open_places(house.var) == []
    as_root = os.geteuid() == 0 and not before
    assert house.var.stat().st_mode & 0o777 == (0o711 if as_root else 0o700)
    assert "Closed what was open to other accounts: 1 file or folder." in house.said


def test_it_says_in_its_folder_where_it_runs(house: House):
    assert read_address(house.var) == {
        "EARNEST_PUBLIC_URL": f"http://127.0.0.1:{house.port}",
        "EARNEST_HOST": "127.0.0.1",
        "EARNEST_PORT": str(house.port),
    }


def test_a_second_start_is_refused_with_a_sentence(house: House):
    other = House(house.var)
    other.log = house.var / "second.out"
    other.start(wait=False)
    assert other.process.wait(PATIENCE_S) == 1
    assert "already runs" in other.said
    assert f":{house.port}" in other.said
    assert house.health() == 200


def test_a_taken_port_is_named_in_a_sentence():
    with own_folder() as var, socket.socket() as occupied:
        occupied.bind(("127.0.0.1", 0))
        occupied.listen()
        house = House(var, port=occupied.getsockname()[1]).start(wait=False)
        assert house.process.wait(PATIENCE_S) == 1
        assert f"Port {house.port} on 127.0.0.1 is taken by another program" in house.said
        assert processes_in(var) == []


def test_without_root_the_servers_run_as_who_started_them(house: House, before: list[str]):
    server = wait_for(lambda: house.part("postgres"))
    same = server.uids().real == psutil.Process(house.process.pid).uids().real
    assert same == (bool(before) or os.geteuid() != 0)


@pytest.mark.parametrize("name", KILLED_HERE)
def test_a_killed_process_is_replaced(house: House, name: str):
    killed = wait_for(lambda: house.part(name))
    killed.kill()

    def replaced() -> bool:
        part = house.part(name)
        return part is not None and part.pid != killed.pid and house.health() == 200

    wait_for(replaced)


def workers_are_fine(house: House) -> bool:
    checks = httpx.get(f"http://127.0.0.1:{house.port}/readyz", timeout=RETRY_S).json()["checks"]
    return bool(checks["workers"]["grade"] == "ok")


def test_the_gpu_s_worker_rests_until_a_job_comes_and_is_not_missed(house: House):
    assert house.part("gpu") is None
    wait_for(lambda: workers_are_fine(house))  # the clock ticks, too
    broker = f"redis+socket://{socket_folder(house.var) / 'valkey.sock'}"
    app = Celery(broker=broker, set_as_current=False)
    app.conf.broker_transport_options = settings.CELERY_BROKER_TRANSPORT_OPTIONS
    log = house.var / "logs" / "gpu.log"

    def woken() -> psutil.Process | None:
        app.send_task("metrics.jobs.of_this_test", queue="gpu")
        return house.part("gpu")

    worker = wait_for(woken)
    wait_for(lambda: log.exists() and "of_this_test" in log.read_text())
    worker.kill()  # another one does the work of a killed one: tests/metrics/test_runs_killed.py
    wait_for(lambda: house.part("gpu") is None)
    assert workers_are_fine(house)


def test_ctrl_c_stops_everything_cleanly(house: House):
    wait_for(lambda: all(house.part(name) for name in PARTS))
    assert house.stop(signal.SIGINT) == 0
    assert processes_in(house.var) == []
    assert "database system is shut down" in (house.var / "logs" / "postgres.log").read_text()


def test_ctrl_c_during_a_start_that_needs_no_preparation_leaves_nothing(
    house: House, before: list[str]
):
    """Its pages are being imported by then."""
    again = House(house.var).start(wait=False, before=before)
    wait_for(lambda: again.part("web"))
    assert again.stop() == 0
    assert processes_in(house.var) == []
    assert "Researcher:" not in again.said


def test_ctrl_c_during_the_start_leaves_nothing():
    with own_folder() as var:
        early = House(var).start(wait=False)
        wait_for(lambda: "Earnest starts" in early.said)
        time.sleep(0.3)
        assert early.stop() == 0
        assert processes_in(var) == []
