"""Restore a backup that was checked: all of it or nothing."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings
from django.core.cache import cache
from django.core.files.storage import default_storage

from config.backups import BackupError, Progress, Say, as_size, database
from config.backups.archive import BLOCK_BYTES, FOLDERS, KEY, LOGIN, Reader
from config.backups.database import UnknownOutcome
from config.run.embedded_servers import POSTGRES
from config.run.interrupted_restore import (
    CLIPS,
    STAGED,
    is_unfinished,
    note_finished,
    note_unfinished,
)
from config.run.processes import open_lock, try_lock
from config.run.running_instance import lock_file
from listening.audio import store
from listening.common.counted import counted
from listening.common.whole_files import write_private

SHORTEST_KEY, LONGEST_KEY = 50, 1000


def describe(reader: Reader) -> str:
    """Say in one line what this backup holds."""
    description, contents = reader.description, reader.contents
    clips = len(reader.names("media/"))
    return (
        f"A backup of {description['taken_at']} by Earnest {description['earnest']}, PostgreSQL "
        f"{contents.server}: {counted(contents.count('listening_study'), 'study', 'studies')}, "
        f"{counted(contents.count('listening_rating'), 'rating')}, "
        f"{counted(contents.rows, 'row')} in all, {counted(clips, 'clip')}"
        f"{'' if description['key'] else ', without the key of its server'}."
    )


def restore(reader: Reader, say: Say, *, replace: bool = False) -> int:
    """Replace what is here by the backup; return the number of old clips that were deleted.

    A restore that was cut off after it had changed the database is finished without `replace`.
    """
    var = Path(settings.EARNEST_VAR)
    contents = reader.contents
    database.check_known(contents.migrations)
    key = read_key(reader)
    with stopped_installation():
        unfinished = is_unfinished(var)
        check_empty(replace or unfinished)
        database.check_alone()
        check_space(reader)
        with _nothing_written_on_a_full_disk(), unpack_files(reader) as folder:
            with use_key(key):
                new = put_clips(reader, folder, say)
                try:
                    database.load(
                        contents,
                        lambda table: reader.rows(table.name),
                        say,
                        lambda: note_unfinished(var, reader.path),
                    )
                except BaseException as error:
                    known = isinstance(error, Exception) and not isinstance(error, UnknownOutcome)
                    if known and not unfinished:
                        note_finished(var)
                    if known or not is_unfinished(var):
                        store.forget(new)
                    raise
            put_in_place(reader, folder)
        cache.clear()
        queue_again(say)
        deleted = forget_others(reader)
        note_finished(var)
    return deleted


@contextmanager
def _nothing_written_on_a_full_disk() -> Iterator[None]:
    """A full or closed disk is a sentence; the database was not touched by then."""
    try:
        yield
    except OSError as error:
        where = error.filename or settings.EARNEST_VAR
        raise BackupError(
            f"{where} cannot be written: {error.strerror or error}. Nothing was changed. Make "
            "space or open the folder, then start again."
        ) from error


def read_key(reader: Reader) -> str:
    """Return the secret key in the backup; empty where it was left out."""
    if f"files/{KEY}" not in reader.members:
        return ""
    try:
        key = reader.content(f"files/{KEY}").decode("ascii").strip()
    except UnicodeDecodeError:
        key = ""
    if not SHORTEST_KEY <= len(key) <= LONGEST_KEY:
        raise BackupError(
            f"The key of the server in {reader.path} is damaged. Nothing was changed. Use another "
            "backup."
        )
    return key


def check_space(reader: Reader) -> None:
    """Before anything is written: whether clips, drafts and an embedded database will fit."""
    var = Path(settings.EARNEST_VAR)
    elsewhere = "s3" in settings.STORAGES["default"]["BACKEND"]  # clips take no space here
    places = ("files/",) if elsewhere else ("files/", "media/")
    needed = sum(reader.size(name) for name in reader.members if name.startswith(places))
    if POSTGRES in settings.EMBEDDED:
        needed += reader.unpacked_bytes
    free = shutil.disk_usage(var).free
    if needed > free:
        raise BackupError(
            f"{var} has {as_size(free)} of free space, and the backup needs {as_size(needed)}: "
            "make space, or set EARNEST_VAR to a folder on another disk."
        )


def put_clips(reader: Reader, folder: Path, say: Say) -> list[str]:
    """Store the clips that are not there yet; return their names, so that they can be deleted.

    Each name stands in the staged `folder` first, for the start after a restore that was killed.
    """
    names = reader.names("media/")
    progress = Progress(say, "clips", len(names))
    new: list[str] = []
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with (folder / CLIPS).open("w") as listed:
            for name in names:
                size = reader.size(f"media/{name}")
                if not _is_there(name, size, reader):
                    new.append(name)
                    listed.write(f"{name}\n")
                    listed.flush()
                    with reader.open(f"media/{name}") as file:
                        store.put_back(name, file)
                progress.step(size)
    except BaseException:
        store.forget(new)
        raise
    return new


def _is_there(name: str, size: int, reader: Reader) -> bool:
    try:
        if default_storage.size(name) != size:
            return False
        with default_storage.open(name) as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except FileNotFoundError:
        return False
    return digest == reader.hashes[f"media/{name}"]


def forget_others(reader: Reader) -> int:
    """Delete the clips of the installation that was replaced; return their number."""
    others = set(store.stored_names()) - set(reader.names("media/"))
    store.forget(others)
    return len(others)


@contextmanager
def unpack_files(reader: Reader) -> Iterator[Path]:
    """Unpack drafts into a folder beside the ones in use, for `put_in_place`; delete it at the end.

    The key and the first login are never there: they stay in memory until they are put in place.
    """
    folder = Path(settings.EARNEST_VAR) / STAGED
    shutil.rmtree(folder, ignore_errors=True)
    try:
        for name in reader.names("files/"):
            if name not in (KEY, LOGIN):
                target = folder / name
                target.parent.mkdir(parents=True, exist_ok=True)
                with reader.open(f"files/{name}") as file, target.open("wb") as copy:
                    shutil.copyfileobj(file, copy, BLOCK_BYTES)
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def put_in_place(reader: Reader, folder: Path) -> None:
    """Replace drafts, judges' answers, the first login and the key by those of the backup."""
    var = Path(settings.EARNEST_VAR)
    try:
        for name in FOLDERS:
            shutil.rmtree(var / name, ignore_errors=True)
            if (folder / name).exists():
                (folder / name).rename(var / name)
        (var / LOGIN).unlink(missing_ok=True)
        for name in (LOGIN, KEY):
            if f"files/{name}" in reader.members:
                write_private(var / name, reader.content(f"files/{name}"))
    except OSError as error:
        raise BackupError(
            f"The database and the clips are restored, but the files of {var} are not "
            f"({error.strerror or error}: {error.filename}). Correct that, then run the same "
            "command again. Earnest does not start before."
        ) from error


def queue_again(say: Say) -> None:
    """The queue itself is not in a backup; shards of metrics are queued again by the beat.

    What reached others meanwhile may not reach them twice: mails and judges are asked for anew.
    """
    from analysis.web import board_jobs, jobs
    from listening.models import AskedJob

    lost_jobs = AskedJob.objects.exclude(job__startswith="analysis.").values_list("job", flat=True)
    for job in lost_jobs:
        say(f"Not done again, ask for it where it is still wanted: {job.rpartition('.')[2]}")
    AskedJob.objects.all().delete()
    count = jobs.queue_again() + board_jobs.queue_again()
    if count:
        say(f"Queued again: {counted(count, 'analysis', 'analyses')} that waited")


def check_empty(replace: bool, way_out: str = "set EARNEST_VAR to a new folder") -> None:
    records = database.list_records()
    if records and not replace:
        raise BackupError(
            f"The database is not empty: {', '.join(records)}. Nothing was changed. To keep "
            f"it, {way_out} or DATABASE_URL to an empty database. To lose it, add --replace."
        )


@contextmanager
def stopped_installation() -> Iterator[None]:
    """Lock the folder: Earnest may neither run with it nor start."""
    var = Path(settings.EARNEST_VAR)
    lock = open_lock(lock_file(var))
    try:
        if not try_lock(lock):
            raise BackupError(
                f"Earnest runs with the data in {var}: stop it first (Ctrl-C there, or "
                "systemctl stop earnest)."
            )
        yield
    finally:
        os.close(lock)


@contextmanager
def use_key(key: str) -> Iterator[None]:
    """Use the key of the backup meanwhile: migrations may need it to read what it sealed."""
    here = settings.SECRET_KEY
    settings.SECRET_KEY = key or here
    try:
        yield
    finally:
        settings.SECRET_KEY = here
