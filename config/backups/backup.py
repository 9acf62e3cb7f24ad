"""Take a backup while Earnest runs: one snapshot of the database, then every clip.

Clips are stored before the rows that name them and get new random names, so all that the snapshot
names are there when they are read; those of a study that is deleted meanwhile are named.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from json import dumps
from pathlib import Path
from typing import IO

import psycopg
from django.conf import settings
from django.core.files.storage import default_storage

from config.backups import BackupError, Progress, Say, as_size
from config.backups.archive import ABOUT, FOLDERS, FORMAT, KEY, LOGIN, Writer
from config.backups.database import Contents, copied_out, read_contents, snapshot
from config.installation import version
from listening.audio import store
from listening.common.command_name import command
from listening.common.counted import counted

STDOUT = "-"
CLIPS_OF_STUDIES = b"SELECT original, served FROM listening_stimulus"
# What is made again by itself, put there by hand, or of this machine only.
LEFT_OUT = {
    "models": "weights of metrics: fetched again, or put there by hand",
    "logs": "logs of this machine",
    "valkey": "jobs that wait and counts that are kept: asked for again or counted again",
    "media-cache, cache, previews, static": "made again when they are needed",
}


def take(target: str, say: Say, *, key: bool = True) -> Contents:
    """Write the backup to a file that appears when it is complete, or to standard output."""
    with _open_target(target) as file, snapshot() as session:
        say("database: counting ...")
        contents = read_contents(session)
        if not contents.migrations:
            raise BackupError("The database has no tables of Earnest: there is nothing to back up.")
        writer = Writer(file)
        writer.add_bytes(ABOUT, dumps(_manifest(contents, key), indent=1).encode())
        progress = Progress(say, "database: tables", len(contents.tables))
        for table in contents.tables:
            writer.add_rows(table.name, copied_out(session, table))
            progress.step()
        named = {name for row in session.execute(CLIPS_OF_STUDIES) for name in row if name}
        missing = _add_files(writer, say, key, named)
        writer.close()
    if missing:
        say(
            f"Missing, and not in the backup: {counted(len(missing), 'file')}, first {missing[0]}. "
            "Unless you deleted a study meanwhile, copy them from an earlier backup."
        )
    return contents


def _manifest(contents: Contents, key: bool) -> dict[str, object]:
    return {
        "format": FORMAT,
        "earnest": version(),
        "taken_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "key": key,
        "left_out": LEFT_OUT,
        "database": contents.as_json(),
    }


def _add_files(writer: Writer, say: Say, key: bool, named: set[str]) -> list[str]:
    """Write clips, drafts and keys; return the names of files that are lost or deleted meanwhile.

    ``named`` holds the names of clips in the database.
    """
    missing = _add_clips(writer, say, named)
    var = Path(settings.EARNEST_VAR)
    for name in (KEY, LOGIN) if key else ():
        if (var / name).exists():
            writer.add_bytes(f"files/{name}", (var / name).read_bytes())
    for path in [path for folder in FOLDERS for path in _below(var / folder)]:
        name = path.relative_to(var).as_posix()
        try:
            with path.open("rb") as file:
                writer.add(f"files/{name}", file, path.stat().st_size)
        except FileNotFoundError:
            missing.append(name)
    return missing


def _add_clips(writer: Writer, say: Say, named: set[str]) -> list[str]:
    missing: list[str] = []
    names = sorted(named.union(store.stored_names()))
    progress = Progress(say, "clips", len(names))
    for name in names:
        try:
            size = default_storage.size(name)
            with default_storage.open(name) as file:
                writer.add(f"media/{name}", file, size)
            progress.step(size)
        except FileNotFoundError:
            missing.append(name)
    return missing


def _below(folder: Path) -> Iterator[Path]:
    yield from sorted(p for p in folder.rglob("*") if p.is_file() and not p.is_symlink())


@contextmanager
def _open_target(target: str) -> Iterator[IO[bytes]]:
    if target == STDOUT:
        if sys.stdout.isatty():
            raise BackupError("A terminal is no place for a backup: send it on with | or >.")
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    path = Path(target)
    if path.exists():
        raise BackupError(f"{path} is there already: choose another name, or take it away first.")
    draft = path.with_name(f".{path.name}.part")
    try:
        with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        draft.rename(path)
    except OSError as error:
        raise BackupError(_why(path, error)) from None
    except psycopg.OperationalError as error:
        raise BackupError(f"The database went away: {error}. Start again.".strip()) from None
    finally:
        draft.unlink(missing_ok=True)


def _why(path: Path, error: OSError) -> str:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        media = settings.MEDIA_ROOT
        return (
            f"The disk of {path} is full. Nothing was kept. A backup takes about the space of the "
            f"clips ({media}) and a fifth of that of the database; write it to another disk, or "
            f"send it away: {command('backup -')} | ssh HOST 'cat > earnest.tar'"
        )
    where = error.filename or path
    return f"{where} cannot be written or read: {error.strerror}. Nothing was kept."


def size_of(target: str) -> str:
    return "" if target == STDOUT else f" ({as_size(Path(target).stat().st_size)})"
