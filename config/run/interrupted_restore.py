"""A restore that was cut off: nothing starts on a database and files that do not fit together.

The database changes in one transaction, and the files of EARNEST_VAR after it. A note is written
as the last step before that transaction ends, and deleted when all is restored.
"""

from __future__ import annotations

import shutil
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from config.run.server_checks import UnreachableError
from listening.common.command_name import command
from listening.common.whole_files import write_private

NOTE = "unfinished-restore"  # in EARNEST_VAR
STAGED = "restoring"  # in EARNEST_VAR: what is unpacked before anything changes
CLIPS = "clips.txt"  # in STAGED: the names of new clips, one a line


def note_unfinished(var: Path, backup: Path) -> None:
    """Writes down that the database is replaced from now on, and the files are not yet.

    From now on the new clips may be those of the database: `forget_staged` must not know them.
    """
    (var / STAGED / CLIPS).unlink(missing_ok=True)
    words = f"{backup.absolute()}\n{datetime.now(UTC):%Y-%m-%d %H:%M} UTC\n"
    write_private(var / NOTE, words.encode())


def is_unfinished(var: Path) -> bool:
    """Whether a restore into this folder began to change the database and did not end."""
    return (var / NOTE).exists()


def note_finished(var: Path) -> None:
    """Deletes the note: database, clips and files are those of one installation again."""
    (var / NOTE).unlink(missing_ok=True)


def check_restored(var: Path) -> None:
    """Raises with what was done and what to do, where a restore was cut off."""
    if not is_unfinished(var):
        return
    backup, began = [*(var / NOTE).read_text(errors="replace").splitlines(), "?", "?"][:2]
    raise UnreachableError(
        f"A restore of {backup} was cut off ({began}): the database may hold that backup "
        f"already, and the drafts, the first login and the key in {var} may still be the old ones. "
        f"Finish it: {command(f'restore {backup}')}. To keep all as it is, delete {var / NOTE}."
    )


def forget_staged(var: Path) -> str:
    """Deletes what a restore copied before it was cut off; says so, empty where there was none.

    Ask only where no restore runs and `check_restored` found none unfinished.
    """
    staged = var / STAGED
    if not staged.exists():
        return ""
    with suppress(OSError):
        if names := (staged / CLIPS).read_text().split():
            from listening.audio.store import forget

            forget(names)
    shutil.rmtree(staged, ignore_errors=True)
    return (
        "A restore was cut off before it changed anything. What it had copied is deleted; run it "
        "again if you still want it."
    )
