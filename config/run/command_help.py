"""The commands that were typed: their list, and sentences in place of tracebacks.

Where the database or the cache goes away under a command, a sentence has the reason, what was done
by then, and what to do.
"""

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

from config.environment import FULL
from config.installation import version
from config.missing_packages import chain_of, remedy
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
        lines = [f"Type '{self.prog_name} help COMMAND' for the arguments of a command.", ""]
        for room in ROOMS:
            for name, module in rooms.pop(room, {}).items():
                lines.append(f"  {name:<20} {first_sentence(module, name)}")
        lines += ["", f"Query a server through its REST API (docs/api.md): {SCRIPTS} COMMAND"]
        lines += [f"  {name:<20} {words}" for name, words in of_the_client()]
        others = sorted(name for names in rooms.values() for name in names)
        lines += ["", "Of Django and its packages:", *wrap(", ".join(others), 98)]
        return "\n".join(lines)


def of_the_client() -> list[tuple[str, str]]:
    """The client's commands, each with what it does."""
    from earnest.cli import parser

    groups: Any = parser()._subparsers
    (commands,) = groups._group_actions
    return [(each.dest, (each.help or "").rstrip(".")) for each in commands._get_subactions()]


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
    except Exception as error:
        own = path_problem(error) if isinstance(error, OSError) else bucket_problem(error)
        words = own or problem(error, command_of(sys.argv))
        if not words or "--traceback" in sys.argv:
            raise
        sys.exit(f"CommandError: {words}")


def command_of(words: list[str]) -> str:
    return words[1] if len(words) > 1 else ""


def path_problem(error: OSError) -> str:
    """What is wrong with a file or folder that somebody named; empty for all else.

    What fills a disk while it is written has no name in the error.
    """
    if error.errno in FULL and not error.filename:
        return (
            f"A file cannot be written: {error.strerror}. What was written last may be incomplete: "
            "delete it, make space or name a folder on another disk, then run it again."
        )
    if error.errno not in PATHS or not isinstance(error.filename, str | Path):
        return ""
    return f"“{error.filename}” cannot be read or written: {error.strerror}. Name another place."


WHOLE = "It was done as a whole or not at all. Look with `{look}`, then run it again if it is due."
READS = (
    "Nothing in the database was changed. A single file is complete or not there; a new folder may "
    "lack files: delete it first. Then run the command again."
)
STEPS = "What it had stored by then is kept. Run it again: it continues with the remaining part."
SESSIONS = (
    "Answers that were acknowledged are kept, and sessions that were under way stay unfinished. "
    "Run it again for the rest."
)
TAKEN = "Nothing was kept of the file that it wrote. Run it again."
MOVED = "The database here is as it was, and the other one was not changed. Run it again."
RESTORED = "Run the same command again: it finishes, and Earnest does not start before."
OTHER = "Look at what it was to change before you run it again."
READING = (
    *("export_study", "export_study_folder", "export_dataset", "export_scores", "analyse"),
    *("new_study", "import_p808", "import_webmushra", "export_label_studio", "auto_att"),
    *("list_studies", "study_status", "score_progress", "schema", "check_corpus"),
    *("export_training", "fetch_audio"),
    *("find_turns", "word_list"),
)
IN_STEPS = (
    "score_study",
    "ablate_metric",
    "judge_study",
    "judge_stability",
    "suggest_codes",
    "judge_batch",
    "make_looks",
    "invite_raters",
)
AT_ONCE = {
    "import_study": "list_studies",
    "copy_study": "list_studies",
    "delete_study": "list_studies",
    "archive_study": "list_studies",
    "ensure_demo": "list_studies",
    **dict.fromkeys(("open_study", "close_study", "pause_study"), "study_status KEY"),
    "import_scores": "score_progress KEY",
    "import_label_studio": "study_status KEY",
    "erase_personal_data": "study_status KEY",
    "make_account": "password_link NAME",
    "password_link": "password_link NAME",
    "forget_second_factor": "forget_second_factor NAME",
}
DONE = {
    **dict.fromkeys(READING, READS),
    **dict.fromkeys(IN_STEPS, STEPS),
    **{name: WHOLE.format(look=look) for name, look in AT_ONCE.items()},
    "simulate_raters": SESSIONS,
    "backup": TAKEN,
    "move_database": MOVED,
    "restore": RESTORED,
}


def problem(error: BaseException, command: str) -> str:
    """The sentence for a command that lost a server or lacks tables; empty for other errors."""
    from psycopg import InterfaceError, OperationalError
    from psycopg.errors import UndefinedColumn, UndefinedTable

    from config.operations.unavailable import AWAY

    if any(isinstance(each, UndefinedTable | UndefinedColumn) for each in chain_of(error)):
        return (
            "The database lacks tables or columns of this version. "
            f"Stop Earnest if it is running, run `{PROGRAM} migrate`, then run the command again."
        )
    kinds = (*AWAY, InterfaceError, OperationalError)
    lost = next((each for each in chain_of(error) if isinstance(each, kinds)), None)
    if lost is None:
        return ""
    lines = str(lost).strip().splitlines() or [type(lost).__name__]
    reason = lines[0].removeprefix("FATAL:").strip().rstrip(".")
    which = "The queue" if type(lost).__module__.startswith(("redis", "kombu")) else "The database"
    return f"{which} failed meanwhile ({reason}). {DONE.get(command, OTHER)}"
