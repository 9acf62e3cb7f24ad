"""What Earnest keeps is its account's own, also where an older version left it open."""

import os
import stat
from pathlib import Path
from typing import Any

import pytest
from django.core.management import get_commands

from config.run import commands
from config.run.private_files import close_all, close_folder, group_of
from config.run.processes import closed_folders
from listening.common.whole_files import write_private, write_whole
from tests.config.helpers import open_places

GROUP = os.getegid()


@pytest.fixture
def var(tmp_path: Path) -> Path:
    """A folder as an earlier version made it under a wide umask."""
    before = os.umask(0)
    try:
        for name in ("logs/web.log", "media/served/aa/one.flac", "test/secret_key", "secret_key"):
            path = tmp_path / "var" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("")
    finally:
        os.umask(before)
    (tmp_path / "outside").write_text("")
    (tmp_path / "outside").chmod(0o644)
    (tmp_path / "var" / "link").symlink_to(tmp_path / "outside")
    return tmp_path / "var"


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_an_old_folder_is_closed_once(var: Path):
    close_folder(var, None, passed_by_servers=False)
    closed, left = close_all(var, var / "media", None)
    assert {path.name for path in closed} == {
        *("logs", "web.log", "secret_key", "media", "served", "aa", "one.flac")
    }
    assert left == close_all(var, var / "media", None)[0] == []
    assert open_places(var) == [var / "test", var / "test" / "secret_key"]  # another house's
    assert mode(var.parent / "outside") == 0o644


def test_a_group_reads_clips_and_nothing_else(var: Path):
    close_folder(var, GROUP, passed_by_servers=False)
    close_all(var, var / "media", GROUP)
    assert mode(var) == 0o710
    assert (mode(var / "media" / "served"), mode(var / "logs")) == (0o2750, 0o700)
    assert mode(var / "media" / "served" / "aa" / "one.flac") == 0o640
    assert mode(var / "secret_key") == 0o600
    assert close_all(var, var / "media", GROUP) == ([], [])


def test_servers_pass_the_first_folder_only(var: Path):
    close_folder(var, None, passed_by_servers=True)
    assert mode(var) == 0o711


def test_a_servers_own_closed_folder_is_no_wall_to_it(var: Path):
    """Else it would keep root's privilege to read everything, from its second start on."""
    closed = [var / "logs", var]
    for folder in closed:
        folder.chmod(0o700)
    walls = [path for path in closed_folders(var / "logs" / "x", 65_534) if path in closed]
    assert walls == closed
    own = closed_folders(var / "logs" / "x", var.stat().st_uid)
    assert not set(own) & set(closed)


def test_a_folder_of_everybody_is_left(var: Path, monkeypatch: pytest.MonkeyPatch):
    var.chmod(0o1777)
    close_folder(var, None, passed_by_servers=False)
    assert (mode(var), close_all(var, var.parent / "no media", None)) == (0o1777, ([], []))
    var.chmod(0o755)
    monkeypatch.setenv("HOME", str(var))
    close_folder(var, None, passed_by_servers=False)
    assert mode(var) == 0o755


@pytest.mark.parametrize(
    ("command", "umask"),
    [("plan", 0o027), ("score_files", 0o027), ("judge_batch", 0o027), ("check", 0o077)],
)
def test_commands_that_write_for_people_keep_their_umask(
    command: str, umask: int, settings: Any, monkeypatch: pytest.MonkeyPatch
):
    settings.PERSONS_UMASK = 0o027
    monkeypatch.setattr("sys.argv", ["manage.py", command])
    monkeypatch.setattr("config.run.running_instance.follow", lambda variables: None)
    seen = []
    monkeypatch.setattr("config.run.command_help.execute", lambda: seen.append(os.umask(0)))
    before = os.umask(0o077)
    try:
        commands.main()
    finally:
        os.umask(before)
    assert seen == [umask]
    assert set(get_commands()) >= commands.FOR_PEOPLE


@pytest.mark.parametrize(("write", "expected"), [(write_whole, 0o644), (write_private, 0o600)])
def test_a_file_has_its_mode_and_replaces_an_older_one_and_a_leftover_draft(
    write: Any, expected: int, tmp_path: Path
):
    path = tmp_path / "file"
    path.write_text("older")
    path.chmod(0o666)
    (tmp_path / f".file.{os.getpid()}.part").write_text("left by a killed process")
    before = os.umask(0o022)
    try:
        write(path, b"new")
    finally:
        os.umask(before)
    assert (path.read_bytes(), mode(path)) == (b"new", expected)
    assert list(tmp_path.iterdir()) == [path]


def test_no_group_is_no_group():
    assert group_of("EARNEST_FILE_GROUP", "") is None
