"""Logs rotate while their writers run, lose no line, and a full disk does not reach the writers."""

import subprocess
import sys
from pathlib import Path

import pytest

from config.run import processes
from config.run.processes import LogPipes, RotatingLog


def test_a_log_rotates_between_lines_and_keeps_all_of_them(tmp_path: Path):
    log = RotatingLog(tmp_path / "web.log", largest_bytes=50, files_kept=20)
    said = b"".join(b"line %d of many\n" % n for n in range(30))
    for at in range(0, len(said), 7):  # in pieces that end anywhere
        log.write(said[at : at + 7])
    files = sorted(tmp_path.iterdir(), key=lambda path: -int(path.suffix.strip(".log") or 0))
    assert len(files) > 5
    assert all(file.read_bytes().endswith(b"\n") for file in files)
    assert b"".join(file.read_bytes() for file in files) == said


def test_only_so_many_old_files_are_kept(tmp_path: Path):
    log = RotatingLog(tmp_path / "web.log", largest_bytes=10, files_kept=2)
    for n in range(9):
        log.write(b"a long line %d\n" % n)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "web.log",
        "web.log.1",
        "web.log.2",
    ]


def test_what_a_full_disk_refused_is_counted_when_there_is_space(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    log = RotatingLog(tmp_path / "web.log")

    def refuse(*args: object) -> int:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as full:
        full.setattr(processes.os, "write", refuse)
        log.write(b"lost\n")
        log.write(b"too\n")
    log.write(b"back\n")
    assert log.path.read_bytes() == b"(9 bytes could not be written here)\nback\n"


def test_what_a_child_prints_last_is_in_its_log(tmp_path: Path):
    pipes, path = LogPipes(), tmp_path / "logs" / "child.log"
    command = [sys.executable, "-c", "for n in range(5000): print('line', n)"]
    child = subprocess.Popen(command, stdout=subprocess.PIPE)
    pipes.attach(child, path)
    while child.poll() is None:
        pipes.pump(0.01)
    pipes.drain()
    assert path.read_text().splitlines() == [f"line {n}" for n in range(5000)]
    assert not pipes.selector.get_map()
