"""The command `earnest` of a wheel is Earnest, its commands and its client in one."""

import errno
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.core.management import CommandError, call_command, get_commands
from django.db import OperationalError, connection
from redis.exceptions import RedisError

import earnest.cli
from config.installation import version
from config.run import command_help, commands
from tests.factories import make_study


def test_the_words_of_the_client_are_its_own_and_no_commands():
    (listed,) = earnest.cli.parser()._subparsers._group_actions
    assert set(listed.choices) == commands.OF_THE_CLIENT
    assert not commands.OF_THE_CLIENT & set(get_commands())


def test_the_client_is_asked_for_its_words(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(sys, "argv", ["earnest", "study", "validate", "--help"])
    with pytest.raises(SystemExit) as ended:
        commands.earnest()
    assert ended.value.code == 0
    assert "List all mistakes in a study folder" in capsys.readouterr().out


def test_a_command_may_be_typed_with_hyphens_and_models_need_no_servers(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    assert not commands.needs_servers(["fetch_models", "fast"])
    monkeypatch.setattr(sys, "argv", ["earnest", "fetch-models", "fast"])
    commands.earnest()
    assert capsys.readouterr().out == "No model needs a download.\n"


@pytest.mark.parametrize("word", ["version", pytest.param("help", marks=pytest.mark.slow)])
@pytest.mark.medium
def test_a_reader_who_leaves_early_ends_a_command_without_a_traceback(word: str):
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "manage.py", word]
    ended = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, check=False)
    os.close(writing)
    assert (ended.returncode, ended.stderr.decode()) == (command_help.UNREAD, "")


def test_a_python_without_the_packages_names_the_right_one():
    command = [sys.executable, "-S", "manage.py", "help"]  # -S: without site-packages
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    said = f"Django is not installed for {sys.executable}. Type .venv/bin/python manage.py"
    assert (ended.returncode, ended.stderr[: len(said)]) == (1, said)


def test_an_interrupted_command_says_so_in_a_word(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    def interrupted() -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(command_help, "_execute", interrupted)
    with pytest.raises(SystemExit) as ended:
        command_help.execute()
    assert ended.value.code == 130
    assert capsys.readouterr().err == "\nInterrupted.\n"


def test_a_broken_connection_is_no_reader_who_left(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
):
    def broken() -> None:
        raise BrokenPipeError("of a socket")

    monkeypatch.setattr(command_help, "_execute", broken)
    with pytest.raises(BrokenPipeError, match="of a socket"):
        command_help.execute()


@pytest.mark.parametrize("word", ["version", "--version"])
def test_the_version_is_that_of_earnest(
    word: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    monkeypatch.setattr(sys, "argv", ["earnest", word])
    command_help.execute()
    assert capsys.readouterr().out.startswith(f"Earnest {version()}, Django 5.")


@pytest.mark.django_db
@pytest.mark.parametrize(
    "line",
    [
        ["export_study", "nope", "--out", "q"],
        ["export_scores", "nope"],
        ["score_progress", "nope"],
        ["auto_att", "dataset", "nope", "--out", "q"],
        ["score_study", "nope", "--metrics", "length_s"],
        ["study_status", "nope"],
    ],
)
def test_a_study_that_is_none_is_told_with_those_that_are(line: list[str]):
    make_study(key="voices")
    with pytest.raises(CommandError, match=r"There is no study “nope”\. Studies: voices\."):
        call_command(*line)


OWN = ("listening", "metrics", "analysis", "config.operations", "rest")


def test_every_command_that_needs_servers_says_what_was_done_when_it_loses_them():
    own = {name for name, app in get_commands().items() if app in OWN}
    needing = {name for name in own if commands.needs_servers([name, "--store", "--study"])}
    files = {"compare_sets", "describe_metric", "list_metrics", "list_presets", "plan"}
    files |= {"fetch_models", "scan_audio", "score_dataset", "score_files"}
    untold = needing - files - set(command_help.DONE)
    assert untold == set(), "add them to DONE of config/run/command_help.py, or to files above"
    assert set(command_help.DONE) <= own


@pytest.mark.medium
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("line", ["list_studies", "study_status voices", "delete_study voices"])
def test_a_command_that_loses_the_database_ends_in_a_sentence(
    line: str, monkeypatch: pytest.MonkeyPatch
):
    make_study(key="voices")

    def end(execute: Any, sql: str, values: Any, many: bool, context: Any) -> Any:
        """The server ends this connection before the first question about a study."""
        if "listening_study" in sql:
            raw: Any = connection.connection
            with connection.cursor() as cursor, suppress(psycopg.OperationalError):
                cursor.cursor.execute("SELECT pg_terminate_backend(%s)", [raw.info.backend_pid])
        return execute(sql, values, many, context)

    monkeypatch.setattr(sys, "argv", ["manage.py", *line.split()])
    with connection.execute_wrapper(end), pytest.raises(SystemExit) as ended:
        command_help.execute()
    connection.close()
    sentence = str(ended.value.code)
    assert sentence.startswith("CommandError: The database failed meanwhile (")
    assert sentence.endswith(command_help.DONE[line.split()[0]])
    assert "\n" not in sentence
    monkeypatch.setattr(sys, "argv", [*sys.argv, "--traceback"])
    with connection.execute_wrapper(end), pytest.raises(OperationalError):
        command_help.execute()
    connection.close()


@pytest.mark.django_db
def test_a_command_on_a_database_without_tables_says_how_they_are_made(
    monkeypatch: pytest.MonkeyPatch,
):
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE listening_study RENAME TO elsewhere")
    monkeypatch.setattr(sys, "argv", ["manage.py", "list_studies"])
    with pytest.raises(SystemExit) as ended:
        command_help.execute()
    assert "lacks tables or columns of this version" in str(ended.value.code)
    assert "run `python manage.py migrate`" in str(ended.value.code)


def test_an_error_of_the_code_is_no_lost_server():
    assert command_help.problem(ValueError("broken"), "import_study") == ""
    lost = ValueError("broken")
    lost.__context__ = OperationalError("")
    assert "(OperationalError). It was done as a whole" in command_help.problem(lost, "copy_study")
    assert "The queue failed" in command_help.problem(RedisError("gone"), "score_study")


@pytest.mark.parametrize("place", ["words.txt/out", "words.txt", "gone/" + "x" * 300])
def test_a_place_that_cannot_be_written_is_a_sentence(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "words.txt").touch()

    def write(self: Any) -> None:
        (tmp_path / place).mkdir(parents=True)

    monkeypatch.setattr(command_help.Commands, "execute", write)
    monkeypatch.setattr(sys, "argv", ["earnest", "export_study"])
    with pytest.raises(SystemExit, match=r"^CommandError: “.*” cannot be read or written: [A-Z]"):
        command_help.execute()
    monkeypatch.setattr(sys, "argv", ["earnest", "export_study", "--traceback"])
    with pytest.raises(OSError, match=r"txt|name too long"):
        command_help.execute()


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_disk_that_fills_up_under_a_command_is_a_sentence(
    number: int, monkeypatch: pytest.MonkeyPatch
):
    def write(self: Any) -> None:
        raise OSError(number, os.strerror(number))  # as write(2) does: it knows no name

    monkeypatch.setattr(command_help.Commands, "execute", write)
    monkeypatch.setattr(sys, "argv", ["earnest", "analyse"])
    with pytest.raises(SystemExit, match=r"^CommandError: A file cannot be written: .* again\."):
        command_help.execute()


def test_a_server_that_is_away_is_no_place(monkeypatch: pytest.MonkeyPatch):
    def ask(self: Any) -> None:
        raise ConnectionRefusedError(errno.ECONNREFUSED, "refused")

    monkeypatch.setattr(command_help.Commands, "execute", ask)
    with pytest.raises(ConnectionRefusedError):
        command_help.execute()
