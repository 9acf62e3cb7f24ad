"""Shared by the commands that exchange studies and reviews with other tools."""

from __future__ import annotations

import shutil
import tempfile
from argparse import ArgumentTypeError
from pathlib import Path
from shlex import quote

import tomli_w
from django.core.management.base import BaseCommand, CommandError

from listening.audio import AudioError
from listening.audio.degradations import write_degraded
from listening.common.command_name import command as typed
from listening.common.counted import counted
from listening.common.sound_files import is_system_file
from listening.common.spreadsheets import TableError, decoded, raw_bytes
from listening.design.othertools import CannotTake, Conversion
from listening.design.studyfile import CSV, TOML, Problem, read_folder
from listening.design.studyfile.writer import rows_text
from listening.models import ReviewJob


def write_and_report(command: BaseCommand, taken: Conversion, out: Path) -> None:
    """Write the folder; then print guesses, omissions, mistakes and the next command."""
    problems = write_conversion(taken, out)
    tasks = ", ".join(f"{task['key']} ({task['method']})" for task in taken.top["tasks"])
    command.stdout.write(f"Wrote {out}: {counted(len(taken.rows), 'clip')}. Tasks: {tasks}.")
    for line in taken.guessed:
        command.stdout.write(f"Guessed: {line}.")
    for line in taken.omitted:
        command.stdout.write(f"Not taken over: {line}.")
    for problem in problems:
        command.stdout.write(f"To mend before the import: {problem}")
    command.stdout.write(f"Look at it, then: {typed(f'import_study {quote(str(out))}')}")


def file_text(path: Path, notes: list[str] | None = None) -> str:
    """Return the text of a file; CannotTake where it has none.

    Without ``notes`` it must be Unicode; else an encoding may be guessed, which they then say.
    """
    try:
        text, guessed = decoded(raw_bytes(path))
    except TableError as error:
        raise CannotTake(f"“{path}”: {error}.") from None
    if guessed and notes is None:
        raise CannotTake(f"“{path}” is not UTF-8. Save it as UTF-8.")
    if guessed and notes is not None:
        notes.append(f"{path.name}: {guessed.rstrip('.')}")
    return text


def count(text: str) -> int:
    """Return the number of raters or ratings that an argument gives."""
    if not text.isdecimal() or not 1 <= int(text) <= 10_000:
        raise ArgumentTypeError("write a whole number from 1 to 10000")
    return int(text)


def write_conversion(conversion: Conversion, target: Path) -> tuple[Problem, ...]:
    """Write the folder and return its mistakes; CannotTake where nothing was written."""
    if target.exists() and not target.is_dir():
        raise CannotTake(f"“{target}” is a file. Name a new folder.")
    if target.is_dir() and not all(is_system_file(e.name) for e in target.iterdir()):
        raise CannotTake(f"The folder “{target}” is not empty, and nothing in it was touched.")
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=".taken-") as temporary:
        folder = Path(temporary) / "study"
        _write(conversion, folder)
        if target.is_dir():
            shutil.rmtree(target)
        folder.rename(target)
    return tuple(read_folder(target).problems)


def _write(taken: Conversion, folder: Path) -> None:
    (folder / "audio").mkdir(parents=True)
    for name, source in taken.sounds.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, folder / name)
    for name, (source, anchor) in taken.anchors.items():
        try:
            write_degraded(source, folder / name, anchor)
        except AudioError as error:
            raise CannotTake(f"No anchor can be made of {source}: {error}") from None
    (folder / TOML).write_text(tomli_w.dumps(taken.top, multiline_strings=True), "utf-8")
    (folder / CSV).write_text(rows_text(taken.rows), "utf-8", newline="")


def review_named(study: str, review: str) -> ReviewJob:
    """Return the review with this number (as in its page's address) or title."""
    jobs = ReviewJob.objects.filter(study__key=study).select_related("study")
    matches = [job for job in jobs if review in (str(job.pk), job.title)]
    if len(matches) == 1:
        return matches[0]
    known = ", ".join(f"{job.pk} “{job.title}”" for job in jobs) or "none"
    count = "several reviews" if matches else "no review"
    raise CommandError(f"The study “{study}” has {count} “{review}”. By number: {known}.")
