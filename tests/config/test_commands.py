"""The command `earnest` of a wheel is Earnest, its commands and its client in one."""

import os
import subprocess
import sys

import pytest
from django.core.management import get_commands

import earnest.cli
from config import command_help, commands
from config.operations.version import version


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
    assert "list all mistakes" in capsys.readouterr().out


@pytest.mark.parametrize("word", ["version", pytest.param("help", marks=pytest.mark.slow)])
@pytest.mark.medium
def test_a_reader_who_leaves_early_ends_a_command_without_a_traceback(word: str):
    reading, writing = os.pipe()
    os.close(reading)
    command = [sys.executable, "manage.py", word]
    ended = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, check=False)
    os.close(writing)
    assert (ended.returncode, ended.stderr.decode()) == (command_help.UNREAD, "")


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
