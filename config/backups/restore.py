"""A backup becomes a house: looked through first, then all of it or nothing."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings
from django.core.cache import cache

from config.backups import BackupError, Say, archive, database
from config.backups.archive import Reader
from config.backups.database import UnknownOutcome
from config.run.interrupted_restore import is_unfinished, note_finished, note_unfinished
from config.run.running_instance import lock_file
from listening.audio import store


def described(reader: Reader) -> str:
    """One line: what this backup is of."""
    about, found = reader.about, reader.contents
    clips = len(reader.names("media/"))
    return (
        f"A backup of {about['taken_at']} by Earnest {about['earnest']}, PostgreSQL "
        f"{found.server}: {found.count('listening_study'):,} studies, "
        f"{found.count('listening_rating'):,} ratings, "
        f"{found.rows:,} rows in all, {clips:,} clips"
        f"{'' if about['key'] else ', without the key of its server'}."
    )


def restore(reader: Reader, say: Say, *, replace: bool = False) -> int:
    """Puts the backup in the place of what is here; the number of old clips that were taken out.

    One that was cut off after it had changed the database is finished without `replace`.
    """
    var = Path(settings.EARNEST_VAR)
    found = reader.contents
    database.check_known(found)
    key = archive.key_in(reader)
    with stopped_house():
        unfinished = is_unfinished(var)
        check_free(replace or unfinished)
        database.check_alone()
        archive.check_space(reader)
        with _nothing_written_on_a_full_disk(), archive.staged(reader) as folder:
            with used_key(key):
                new = archive.put_clips(reader, folder, say)
                try:
                    database.load(
                        found,
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
            _put_in_place(reader, folder)
        cache.clear()
        queue_again(say)
        gone = archive.forget_others(reader)
        note_finished(var)
    return gone


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


def _put_in_place(reader: Reader, folder: Path) -> None:
    try:
        archive.put_in_place(reader, folder)
    except OSError as error:
        raise BackupError(
            f"The database and the clips are restored, but the files of {settings.EARNEST_VAR} are "
            f"not ({error.strerror or error}: {error.filename}). Correct that, then run the same "
            "command again. Earnest does not start before."
        ) from error


def queue_again(say: Say) -> None:
    """The queue itself is not in a backup; shards of metrics are queued again by the beat.

    What reached others meanwhile may not reach them twice: mails and judges are asked for anew.
    """
    from analysis.web import board_jobs, jobs
    from listening.models import AskedJob

    asked = AskedJob.objects.exclude(job__startswith="analysis.").values_list("job", flat=True)
    for job in asked:
        say(f"Not done again, ask for it where it is still wanted: {job.rpartition('.')[2]}")
    AskedJob.objects.all().delete()
    count = jobs.queue_again() + board_jobs.queue_again()
    if count:
        say(f"{count:,} analyses that waited are queued again")


def check_free(replace: bool, way_out: str = "set EARNEST_VAR to a new folder") -> None:
    found = database.who_is_there()
    if found and not replace:
        raise BackupError(
            f"The database holds a house already: {', '.join(found)}. Nothing was changed. To keep "
            f"it, {way_out} or DATABASE_URL to an empty database. To lose it, add --replace."
        )


@contextmanager
def stopped_house() -> Iterator[None]:
    """Earnest may not run with this folder, nor start, until this is over."""
    var = Path(settings.EARNEST_VAR)
    lock = os.open(lock_file(var), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(lock)
        raise BackupError(
            f"Earnest runs with the data in {var}: stop it first (Ctrl-C there, or "
            "systemctl stop earnest)."
        ) from None
    try:
        yield
    finally:
        os.close(lock)


@contextmanager
def used_key(key: str) -> Iterator[None]:
    """What the backup holds is sealed by its own key, which migrations may need."""
    here = settings.SECRET_KEY
    settings.SECRET_KEY = key or here
    try:
        yield
    finally:
        settings.SECRET_KEY = here
