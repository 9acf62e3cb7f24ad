"""The process tree starts, refuses a second one, heals, and leaves nothing behind."""

import os
import shutil
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial

import psutil
import psycopg
import pytest

from config.embedded import socket_folder
from config.running import read_address
from tests.config.helpers import (
    PATIENCE_S,
    House,
    open_places,
    own_folder,
    processes_in,
    wait_for,
)

pytestmark = pytest.mark.slow

PARTS = ["web", "web worker", "jobs", "gpu", "beat"]
PARTS += ["postgres", "valkey", "postgres keeper", "valkey keeper"]


@pytest.fixture(scope="module")
def house() -> Iterator[House]:
    with own_folder() as var:
        (var / "logs").mkdir()
        (var / "logs").chmod(0o777)  # as an earlier version made it
        running = House(var).start()
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


def test_its_files_are_its_accounts_own_whatever_the_umask(house: House):
    assert open_places(house.var) == []
    assert house.var.stat().st_mode & 0o777 == (0o711 if os.geteuid() == 0 else 0o700)
    assert "1 files and folders were open to other accounts and are closed now." in house.said


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


@pytest.mark.parametrize("name", PARTS)
def test_a_killed_process_is_replaced(house: House, name: str):
    killed = wait_for(lambda: house.part(name))
    killed.kill()

    def replaced() -> bool:
        part = house.part(name)
        return part is not None and part.pid != killed.pid and house.health() == 200

    wait_for(replaced)


def kept_rows(connect: Callable[[], psycopg.Connection]) -> set[tuple[int, int]] | None:
    """What is stored; None while a database whose keeper was killed is still stopping."""
    try:
        with connect() as connection:
            return set(connection.execute("SELECT writer, value FROM kept").fetchall())
    except psycopg.Error:
        return None


def table_made(connect: Callable[[], psycopg.Connection]) -> bool:
    """Once the database is back: the test before killed its keeper, and health is kept 2 s."""
    try:
        with connect() as connection:
            connection.execute("CREATE TABLE IF NOT EXISTS kept (writer int, value int)")
    except psycopg.Error:
        return False
    return True


def test_every_acknowledged_row_survives_killed_databases(house: House):
    def connect() -> psycopg.Connection:
        host = str(socket_folder(house.var))
        return psycopg.connect(host=host, dbname="earnest", user="earnest", autocommit=True)

    def write(number: int) -> None:
        while not done.is_set():
            try:
                with connect() as connection:
                    while not done.is_set():
                        value = len(acknowledged[number])
                        connection.execute("INSERT INTO kept VALUES (%s, %s)", (number, value))
                        acknowledged[number].append(value)
            except psycopg.Error:
                time.sleep(0.02)

    wait_for(partial(table_made, connect))
    acknowledged: list[list[int]] = [[], []]
    done = threading.Event()
    writers = [threading.Thread(target=write, args=(number,)) for number in (0, 1)]
    for writer in writers:
        writer.start()

    def more_than(count: int) -> bool:
        return sum(map(len, acknowledged)) > count

    for name in ("postgres", "postgres keeper"):
        wait_for(partial(more_than, 20 + sum(map(len, acknowledged))))
        wait_for(partial(house.part, name)).kill()
    wait_for(partial(more_than, 20 + sum(map(len, acknowledged))))
    done.set()
    for writer in writers:
        writer.join(PATIENCE_S)
    rows = wait_for(partial(kept_rows, connect))
    promised = {(number, value) for number in (0, 1) for value in acknowledged[number]}
    assert len(promised) > 50
    assert promised <= rows


def test_kill_9_of_the_supervisor_takes_everything_along_and_a_new_start_works(house: House):
    wait_for(lambda: all(house.part(name) for name in PARTS))
    tree = psutil.Process(house.process.pid)
    inside = {process.pid for process in tree.children(recursive=True)} | {tree.pid}
    assert len(inside) >= len(PARTS) + 1
    assert {process.pid for process in processes_in(house.var)} <= inside
    login = (house.var / "researcher-login.txt").read_text()
    house.process.kill()
    house.process.wait(PATIENCE_S)
    try:
        wait_for(lambda: processes_in(house.var) == [])
    except AssertionError:
        left = [(p.pid, p.ppid(), p.status(), p.cmdline()) for p in processes_in(house.var)]
        pytest.fail(f"still there: {left}")
    house.start()
    assert house.health() == 200
    assert (house.var / "researcher-login.txt").read_text() == login
    assert house.stop(signal.SIGTERM) == 0


def test_ctrl_c_stops_everything_cleanly(house: House):
    if house.process.poll() is not None:
        house.start()
    wait_for(lambda: all(house.part(name) for name in PARTS))
    assert house.stop(signal.SIGINT) == 0
    assert processes_in(house.var) == []
    assert "database system is shut down" in (house.var / "logs" / "postgres.log").read_text()


def test_ctrl_c_during_the_start_leaves_nothing():
    with own_folder() as var:
        early = House(var).start(wait=False)
        wait_for(lambda: "Earnest starts" in early.said)
        time.sleep(0.3)
        assert early.stop() == 0
        assert processes_in(var) == []


def can_leave_root() -> bool:
    if os.geteuid() != 0:
        return False
    trial = ["unshare", "--user", "--map-user=1000", "true"]
    return shutil.which("unshare") is not None and subprocess.run(trial).returncode == 0


@pytest.mark.skipif(not can_leave_root(), reason="needs root and user namespaces")
def test_it_runs_without_privileges_too():
    with own_folder() as var:
        house = House(var).start(before=["unshare", "--user", "--map-user=1000"])
        server = wait_for(lambda: house.part("postgres"))
        assert server.uids().real == psutil.Process(house.process.pid).uids().real
        assert house.health() == 200
        assert house.stop() == 0
        assert processes_in(var) == []
