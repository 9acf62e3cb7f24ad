"""Commands find the address of the running Earnest, and only of one that runs."""

import fcntl
import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from config.run.running_instance import follow, lock_file, read_address, write_address
from tests.config.test_settings import start

URL, PORT = "https://listen.example.org", 8176
SHOW = """
import json, sys
sys.argv = ["manage.py", "version"]
from config.run import commands
commands.main()
from django.conf import settings as s
print(json.dumps([s.EARNEST_PUBLIC_URL, s.EARNEST_HOST, s.EARNEST_PORT]))
"""


@pytest.fixture
def held(tmp_path: Path) -> Iterator[int]:
    """The lock as a supervisor at work holds it."""
    handle = os.open(lock_file(tmp_path), os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(handle, fcntl.LOCK_EX)
    write_address(handle, URL, "127.0.0.2", PORT)
    yield handle
    os.close(handle)


def told(var: Path) -> list[object]:
    done = start(var, "-c", SHOW)
    assert done.returncode == 0, done.stderr
    found: list[object] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.mark.slow
def test_a_command_takes_the_address_of_the_running_earnest(tmp_path: Path, held: int):
    assert told(tmp_path) == [URL, "127.0.0.2", PORT]


@pytest.mark.parametrize("name", ["EARNEST_PORT", "EARNEST_PUBLIC_URL"])
def test_an_address_that_is_given_wins(tmp_path: Path, held: int, name: str):
    """Nothing of the other one is mixed with it; settings derive the rest."""
    given = {"EARNEST_VAR": str(tmp_path), name: "8177"}
    variables = dict(given)
    follow(variables)
    assert variables == given


def test_the_address_of_a_killed_one_is_not_taken(tmp_path: Path, held: int):
    fcntl.flock(held, fcntl.LOCK_UN)  # as the kernel does; the file keeps its text
    assert lock_file(tmp_path).read_text().startswith(URL)
    assert read_address(tmp_path) == {}
    fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)  # the look has left no lock behind


def test_where_nothing_ever_ran_nothing_is_set_or_made(tmp_path: Path):
    variables = {"EARNEST_VAR": str(tmp_path)}
    follow(variables)
    assert variables == {"EARNEST_VAR": str(tmp_path)}
    assert list(tmp_path.iterdir()) == []


def test_empty_counts_as_unset(tmp_path: Path, held: int):
    variables = {"EARNEST_VAR": str(tmp_path), "EARNEST_PORT": "", "EARNEST_HOST": " "}
    follow(variables)
    assert (variables["EARNEST_HOST"], variables["EARNEST_PORT"]) == ("127.0.0.2", str(PORT))
