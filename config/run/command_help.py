"""What `manage.py help` shows: the commands of Earnest first, each with what it does."""

from __future__ import annotations

import errno
import os
import select
import signal
import sys
from collections import defaultdict
from pathlib import Path
from textwrap import wrap
from typing import Any

from django import get_version
from django.core.management import ManagementUtility, get_commands, load_command_class

from config import lost_servers
from config.installation import version
from config.missing_packages import remedy
from config.run.server_checks import bucket_problem
from listening.common.command_name import IN_A_CLONE, PROGRAM

INTERRUPTED = 128 + signal.SIGINT  # the status that a shell gives to what this signal ended
UNREAD = 128 + 13  # and SIGPIPE, which Windows does not have
SCRIPTS = "python -m earnest" if IN_A_CLONE else PROGRAM
PATHS = (  # what a path that was typed may bring
    *(errno.ENOENT, errno.EEXIST, errno.EACCES, errno.EPERM, errno.ENOTDIR, errno.EISDIR),
    *(errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.ENAMETOOLONG),
)
ROOMS = ("listening", "metrics", "analysis", "config")


class Commands(ManagementUtility):
    """Django's, apart from the list."""

    def main_help_text(self, commands_only: bool = False) -> str:
        if commands_only:
            return super().main_help_text(commands_only=True)
        rooms: dict[str, dict[str, str]] = defaultdict(dict)
        for name, app in sorted(get_commands().items()):
            module = app if isinstance(app, str) else app.__module__
            rooms[module.partition(".")[0]][name] = module
        lines = [f"Type '{self.prog_name} help COMMAND' for what a command takes.", ""]
        for room in ROOMS:
            for name, module in rooms.pop(room, {}).items():
                lines.append(f"  {name:<20} {first_sentence(module, name)}")
        lines += ["", f"Asking a server by its REST API (docs/api.md): {SCRIPTS} COMMAND"]
        lines += [f"  {name:<20} {words}" for name, words in of_the_client()]
        others = sorted(name for names in rooms.values() for name in names)
        lines += ["", "Of Django and its packages:", *wrap(", ".join(others), 98)]
        return "\n".join(lines)


def of_the_client() -> list[tuple[str, str]]:
    """The client's commands, each with what it does."""
    from earnest.cli import parser

    groups: Any = parser()._subparsers
    (commands,) = groups._group_actions
    return [(each.dest, each.help or "") for each in commands._get_subactions()]


def first_sentence(module: str, name: str) -> str:
    """What the command says of itself, where it can be loaded in this installation."""
    try:
        return str(load_command_class(module, name).help).partition(". ")[0].rstrip(".")
    except ImportError as error:
        return f"(not installed here: {error})"


def execute() -> None:
    """Run the command that was typed.

    It ends without a traceback when it is interrupted, and when nobody reads on what it prints.
    """
    try:
        _execute()
        sys.stdout.flush()
    except KeyboardInterrupt:
        print("\nInterrupted.", file=sys.stderr)
        sys.exit(INTERRUPTED)
    except BrokenPipeError:
        if not _unread():
            raise  # of another pipe or connection
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # for what is left
        sys.exit(UNREAD)


def _unread() -> bool:
    """Whether the reader of what is printed has gone, as `head` does."""
    ends = select.poll()
    ends.register(sys.stdout.fileno(), 0)
    return any(event & (select.POLLERR | select.POLLHUP) for _, event in ends.poll(0))


def _execute() -> None:
    if sys.argv[1:] in (["version"], ["--version"]):  # Django would tell its own
        print(f"Earnest {version()}, Django {get_version()}")
        return
    try:
        Commands(sys.argv).execute()
    except ModuleNotFoundError as error:
        if not (words := remedy(error)):
            raise
        sys.exit(f"CommandError: {words}")
    except OSError as error:
        words = path_problem(error) or lost_servers.problem(error, command_of(sys.argv))
        if not words or "--traceback" in sys.argv:
            raise
        sys.exit(f"CommandError: {words}")
    except Exception as error:
        words = bucket_problem(error) or lost_servers.problem(error, command_of(sys.argv))
        if not words or "--traceback" in sys.argv:
            raise
        sys.exit(f"CommandError: {words}")


def command_of(words: list[str]) -> str:
    return words[1] if len(words) > 1 else ""


def path_problem(error: OSError) -> str:
    """What is wrong with a file or folder that somebody named; empty for all else."""
    if error.errno not in PATHS or not isinstance(error.filename, str | Path):
        return ""
    return f"“{error.filename}” cannot be read or written: {error.strerror}. Name another place."
