"""A real server that does not answer is one sentence at once, and no password is repeated."""

import contextlib
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from config.reachable import _first_reason
from tests.config.helpers import PATIENCE_S, free_port, own_folder
from tests.config.test_settings import start


@contextlib.contextmanager
def refusing(listening: socket.socket) -> Iterator[None]:
    """Whatever a client says, the answer is that its password is wrong."""

    def answer() -> None:
        client, _ = listening.accept()
        with client:
            while client.recv(4096):
                client.sendall(b"-WRONGPASS invalid username-password pair\r\n")

    thread = threading.Thread(target=answer, daemon=True)
    thread.start()
    yield
    thread.join(PATIENCE_S)


SERVERS = {
    "DATABASE_URL": ("postgresql://me:geheim@127.0.0.1:{}/listen", "The database"),
    "REDIS_URL": ("redis://:geheim@127.0.0.1:{}/0", "The Redis server"),
}


@pytest.fixture
def var() -> Iterator[Path]:
    with own_folder() as folder:
        yield folder


@pytest.mark.parametrize("name", SERVERS)
def test_the_start_ends_with_one_sentence(var: Path, name: str):
    form, what = SERVERS[name]
    port = free_port()
    variables = {name: form.format(port), "EARNEST_PORT": str(free_port())}
    done = start(var, "-m", "config.supervisor", **variables)
    assert done.returncode == 1
    assert done.stderr == (
        f"Earnest cannot start. {what} at 127.0.0.1:{port} ({name}) does not answer: Connection "
        f"refused. Start it, or unset {name} to use the embedded one.\n"
    )
    assert "geheim" not in done.stdout
    assert (var / "supervisor.lock").read_text() == ""


@pytest.mark.slow
def test_a_server_that_is_silent_is_not_waited_for_long(var: Path):
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        port = silent.getsockname()[1]
        url = SERVERS["REDIS_URL"][0].format(port)
        variables = {"REDIS_URL": url, "EARNEST_PORT": str(free_port())}
        done = start(var, "-m", "config.supervisor", **variables)
    assert done.returncode == 1
    assert f"127.0.0.1:{port} (REDIS_URL) does not answer: " in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_a_refused_password_is_told_from_a_dead_server(var: Path):
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        port = listening.getsockname()[1]
        with refusing(listening):
            url = SERVERS["REDIS_URL"][0].format(port)
            variables = {"REDIS_URL": url, "EARNEST_PORT": str(free_port())}
            done = start(var, "-m", "config.supervisor", **variables)
    assert done.returncode == 1
    assert "(REDIS_URL) cannot be used: " in done.stderr
    assert "Correct the URL" in done.stderr
    assert "geheim" not in done.stderr


@pytest.mark.slow
def test_a_command_that_needs_the_database_says_the_same_sentence(var: Path):
    form, what = SERVERS["DATABASE_URL"]
    port = free_port()
    done = start(var, "manage.py", "showmigrations", DATABASE_URL=form.format(port))
    assert done.returncode == 1
    assert f"{what} at 127.0.0.1:{port} (DATABASE_URL) does not answer: Connection" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.slow
def test_a_command_without_a_database_needs_none(var: Path):
    url = SERVERS["DATABASE_URL"][0].format(free_port())
    assert start(var, "manage.py", "check", DATABASE_URL=url).returncode == 0


AT = 'connection failed: connection to server at "h", port 9 failed: '
REASONS = {
    AT + "Connection refused\n\tIs the server running?": "Connection refused",
    AT + 'FATAL:  database "x" does not exist': 'FATAL:  database "x" does not exist',
    "failed to resolve host 'h': unknown": "failed to resolve host 'h': unknown",
    "connection timeout expired": "connection timeout expired",
    "": "no reason given",
}


@pytest.mark.parametrize("message", REASONS)
def test_the_reason_is_cut_out_of_what_the_driver_says(message: str):
    assert _first_reason(message) == REASONS[message]
