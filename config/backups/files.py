"""What of a house is no row: clips in the media store, and what lies in EARNEST_VAR itself."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings
from django.core.files.storage import default_storage

from config.backups import BackupError, Progress, Say, as_size
from config.backups.archive import BLOCK_BYTES, FOLDERS, KEY, LOGIN, Reader, Writer
from config.run.embedded_servers import POSTGRES
from listening.audio import store

SHORTEST_KEY, LONGEST_KEY = 50, 1000
# What is made again by itself, put there by hand, or of this machine only.
LEFT_OUT = {
    "models": "weights of metrics: fetched again, or put there by hand",
    "logs": "logs of this machine",
    "valkey": "jobs that wait and counts that are kept: asked for again or counted again",
    "media-cache, cache, previews, static": "made again when they are needed",
}


def add_files(writer: Writer, say: Say, key: bool) -> list[str]:
    """Writes clips, drafts and keys; names what was deleted while the backup was taken."""
    gone = _add_clips(writer, say)
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
            gone.append(name)
    return gone


def _add_clips(writer: Writer, say: Say) -> list[str]:
    gone: list[str] = []
    names = sorted(store.stored_names())
    progress = Progress(say, "clips", len(names))
    for name in names:
        try:
            size = default_storage.size(name)
            with default_storage.open(name) as file:
                writer.add(f"media/{name}", file, size)
            progress.step(size)
        except FileNotFoundError:
            gone.append(name)
    return gone


def _below(folder: Path) -> Iterator[Path]:
    yield from sorted(p for p in folder.rglob("*") if p.is_file() and not p.is_symlink())


# --- Restoring -----------------------------------------------------------------------------------


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


def put_clips(reader: Reader, say: Say) -> list[str]:
    """Stores the clips that are not there yet; their names, so that they can be taken out again."""
    names = reader.names("media/")
    progress = Progress(say, "clips", len(names))
    new: list[str] = []
    try:
        for name in names:
            size = reader.size(f"media/{name}")
            if not _is_there(name, size, reader):
                new.append(name)
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
        with default_storage.open(name) as here, reader.open(f"media/{name}") as there:
            return _sum(here) == _sum(there)
    except FileNotFoundError:
        return False


def _sum(file: object) -> str:
    found = hashlib.sha256()
    while block := file.read(BLOCK_BYTES):  # type: ignore[attr-defined]
        found.update(block)
    return found.hexdigest()


def forget_others(reader: Reader) -> int:
    """Takes out the clips of the house that was replaced."""
    others = set(store.stored_names()) - set(reader.names("media/"))
    store.forget(others)
    return len(others)


@contextmanager
def staged(reader: Reader) -> Iterator[Path]:
    """Drafts beside the ones in use, for `put_in_place`; gone again however it ends.

    The key and the first login are never there: they stay in memory until they are put in place.
    """
    folder = Path(settings.EARNEST_VAR) / "restoring"
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
    """What the backup has takes the place of what was there, the first login too."""
    var = Path(settings.EARNEST_VAR)
    for name in FOLDERS:
        shutil.rmtree(var / name, ignore_errors=True)
        if (folder / name).exists():
            (folder / name).rename(var / name)
    (var / LOGIN).unlink(missing_ok=True)
    for name in (LOGIN, KEY):
        if f"files/{name}" in reader.members:
            _write_private(var / name, reader.content(f"files/{name}"))


def _write_private(path: Path, content: bytes) -> None:
    """A file of its owner alone, which is there as a whole or not at all."""
    draft = path.with_name(f"{path.name}.new")
    draft.unlink(missing_ok=True)
    try:
        with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def key_in(reader: Reader) -> str:
    """The key of the server that the backup is of; empty where it was left out."""
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
