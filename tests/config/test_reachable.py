"""A real server that does not answer is one sentence at once, and no password is repeated."""

import contextlib
import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psycopg
import pytest
from botocore.exceptions import ClientError
from django.core.management import call_command
from django.db import connection

from config.operations.management.commands import move_database
from config.run import server_checks
from config.run.commands import needs_servers
from config.run.embedded_servers import POSTGRES
from config.run.server_checks import (
    BUCKET_REASONS,
    UnreachableError,
    _first_reason,
    bucket_problem,
    try_database,
    try_media,
    wait_for_database,
)
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
BUCKET = {
    "BACKEND": "storages.backends.s3.S3Storage",
    "OPTIONS": {"bucket_name": "clips", "location": "a"},
}


@pytest.fixture
def var() -> Iterator[Path]:
    with own_folder() as folder:
        yield folder


@pytest.mark.parametrize("name", SERVERS)
@pytest.mark.medium
def test_the_start_ends_with_one_sentence(var: Path, name: str):
    form, what = SERVERS[name]
    port = free_port()
    variables = {name: form.format(port), "EARNEST_PORT": str(free_port())}
    done = start(var, "-m", "config.run.supervisor", **variables)
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
        done = start(var, "-m", "config.run.supervisor", **variables)
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
            done = start(var, "-m", "config.run.supervisor", **variables)
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


@pytest.mark.parametrize(
    ("line", "needed"),
    [
        ("auto_att train DIR --out RUN", False),
        ("auto_att dataset demo --out DIR", True),
        ("auto_att", True),
        ("judge_study clips.csv --task tags --out panel", False),
        ("judge_batch --study=demo --send", True),
        ("judge_stability --help", False),
        ("score_files clips", False),
        ("score_files clips --store", True),
        ("score_study demo", True),
        ("", False),
    ],
)
def test_servers_are_started_for_what_reads_or_writes_the_database(line: str, needed: bool):
    assert needs_servers(line.split()) is needed


RESTARTS = {
    "FATAL:  the database system is starting up": 3,
    "FATAL:  the database system is shutting down": 3,
    "Connection refused": 3,
    "FATAL:  password authentication failed": 1,
}


@pytest.mark.parametrize("reason", RESTARTS)
def test_a_command_waits_for_a_server_that_is_started_again(
    reason: str, monkeypatch: pytest.MonkeyPatch
):
    asked: list[str] = []
    clock = SimpleNamespace(monotonic=lambda: 0.0, sleep=lambda seconds: None)
    monkeypatch.setattr(server_checks, "time", clock)

    def refuse_twice(**_: Any) -> Any:
        asked.append(reason)
        if len(asked) < 3:
            raise psycopg.OperationalError(f'connection to server at "db", port 1 failed: {reason}')
        return contextlib.nullcontext(SimpleNamespace(info=HELLO))

    monkeypatch.setattr(psycopg, "connect", refuse_twice)
    monkeypatch.setattr(server_checks.settings, "EMBEDDED", [])
    monkeypatch.setattr(server_checks, "pooler_at", lambda wanted: server_checks.Pooler.NONE)
    with contextlib.suppress(UnreachableError):
        wait_for_database()
    assert len(asked) == RESTARTS[reason]


HELLO = SimpleNamespace(parameter_status=lambda name: "UTF8")


def test_a_command_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch):
    ticks = iter(range(0, 1000, 20))
    clock = SimpleNamespace(monotonic=lambda: next(ticks), sleep=lambda seconds: None)
    monkeypatch.setattr(server_checks, "time", clock)

    def starting_up() -> None:
        error = UnreachableError("it starts")
        error.patience_s = server_checks.RESTART_S
        raise error

    monkeypatch.setattr(server_checks, "try_database", starting_up)
    with pytest.raises(UnreachableError, match="it starts"):
        wait_for_database()
    assert next(ticks) == 80


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


@pytest.mark.django_db(transaction=True)
def test_a_database_of_another_encoding_is_refused_with_its_remedy(
    settings: Any, monkeypatch: pytest.MonkeyPatch
):
    name = f"ascii_{os.getpid()}"
    with psycopg.connect(**connection.get_connection_params(), autocommit=True) as session:
        session.execute(
            f"CREATE DATABASE {name} ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0"
        )
        try:
            monkeypatch.setitem(connection.settings_dict, "NAME", name)
            settings.EMBEDDED = ()
            with pytest.raises(UnreachableError) as raised:
                try_database()
        finally:
            session.execute(f"DROP DATABASE {name}")
    assert f"“{name}” at /" in str(raised.value)
    assert "keeps text as SQL_ASCII" in str(raised.value)
    assert "createdb --encoding UTF8 --template template0" in str(raised.value)


@pytest.mark.medium
def test_a_bucket_that_does_not_answer_is_named(settings: Any, monkeypatch: pytest.MonkeyPatch):
    port = free_port()
    for name, value in (
        ("AWS_ENDPOINT_URL", f"http://127.0.0.1:{port}"),
        ("AWS_ACCESS_KEY_ID", "me"),
        ("AWS_SECRET_ACCESS_KEY", "geheim"),
        ("AWS_DEFAULT_REGION", "us-east-1"),
    ):
        monkeypatch.setenv(name, value)
    settings.STORAGES = {**settings.STORAGES, "default": BUCKET}
    with pytest.raises(UnreachableError) as raised:
        try_media()
    assert "“clips” (MEDIA_STORE) cannot be used: Could not connect" in str(raised.value)
    assert "AWS_ENDPOINT_URL" in str(raised.value)
    assert "geheim" not in str(raised.value)


@pytest.mark.parametrize(("code", "reason"), BUCKET_REASONS.items())
def test_what_a_bucket_refuses_is_said_in_words(settings: Any, code: str, reason: str):
    settings.STORAGES = {**settings.STORAGES, "default": BUCKET}
    error = ClientError({"Error": {"Code": code, "Message": "?"}}, "HeadBucket")
    assert f"“clips” (MEDIA_STORE) cannot be used: {reason}. " in bucket_problem(error)
    assert bucket_problem(ValueError("of something else")) == ""


def test_clips_in_a_folder_need_no_bucket():
    try_media()


@pytest.mark.parametrize("embedded", [True, False])
def test_a_database_that_was_moved_is_not_started_where_it_was(
    embedded: bool, tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch
):
    """Who forgets DATABASE_URL would store ratings in two databases."""
    settings.EARNEST_VAR, settings.EMBEDDED = tmp_path, [POSTGRES] if embedded else []
    moved = SimpleNamespace(rows=7, tables={"a": 1})
    monkeypatch.setattr(move_database, "move", lambda *_, **__: moved)
    call_command("move_database", "postgresql://ada:secret@db.example.org:5432/lab")
    note = tmp_path / "moved-database"
    assert note.exists() == embedded
    if embedded:
        with pytest.raises(UnreachableError) as caught:
            try_database()
        words = str(caught.value)
        assert "was moved to db.example.org:5432/lab on 2" in words
        assert "set DATABASE_URL to it." in words
        assert words.endswith(f"delete {note}.")
        assert "secret" not in words + note.read_text()
        note.unlink()
        try_database()
