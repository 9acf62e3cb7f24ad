"""What the commands share that read studies of other tools."""

from __future__ import annotations

from argparse import ArgumentTypeError
from pathlib import Path
from shlex import quote

from django.core.management.base import BaseCommand

from listening.common.command_name import command as typed
from listening.common.spreadsheets import TableError, decoded, raw_bytes
from listening.design.othertools import CannotTake, Taken
from listening.studies.taken_folder import write_taken


def write_and_tell(command: BaseCommand, taken: Taken, out: Path) -> None:
    """Writes the folder; then what was guessed, what was not taken over, and what comes next."""
    problems = write_taken(taken, out)
    tasks = ", ".join(f"{task['key']} ({task['method']})" for task in taken.top["tasks"])
    command.stdout.write(f"Wrote {out}: {len(taken.rows):,} clips. Tasks: {tasks}.")
    for line in taken.guessed:
        command.stdout.write(f"Guessed: {line}.")
    for line in taken.left:
        command.stdout.write(f"Not taken over: {line}.")
    for problem in problems:
        command.stdout.write(f"To mend before the import: {problem}")
    command.stdout.write(f"Look at it, then: {typed(f'import_study {quote(str(out))}')}")


def file_text(path: Path, notes: list[str] | None = None) -> str:
    """The text of a file; CannotTake where it is none.

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


def whole(text: str) -> int:
    """A number of ratings."""
    if not text.isdecimal() or not 1 <= int(text) <= 10_000:
        raise ArgumentTypeError("write a whole number from 1 to 10000")
    return int(text)
