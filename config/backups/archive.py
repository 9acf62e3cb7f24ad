"""The file of a backup: a plain tar, what it is in front, the SHA-256 of every member at the end.

about.json            versions, migrations, tables with counts and sums, what was left out
database/TABLE/N.gz   rows as PostgreSQL's COPY writes them, in parts
media/NAME            every stored clip
files/PATH            drafts, answers of judges, the key of the server: what lies in EARNEST_VAR
manifest.json         the SHA-256 and size of each; without it the file is cut off
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import re
import shutil
import tarfile
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Any

from django.conf import settings
from django.core.files.storage import default_storage

from config.backups import BackupError, Progress, Say, as_size
from config.backups.database import Contents
from config.run.embedded_servers import POSTGRES
from config.run.interrupted_restore import CLIPS, STAGED
from listening.audio import store
from listening.audio.store import NAME as CLIP
from listening.common.plain_json import JsonError, read_json
from listening.common.whole_files import write_private

ABOUT, MANIFEST = "about.json", "manifest.json"
KEY, LOGIN = "secret_key", "researcher-login.txt"
FOLDERS = ("drafts", "judges")  # begun studies with their sounds; answers of judges that were paid
FORMAT = 1
PART_BYTES = 8 * 1024**2
BLOCK_BYTES = 1024**2
MOST_LISTED = 10_000_000  # members
MOST_LISTED_BYTES = 512 * 1024**2  # of the two lists: a million clips take 150 MB
# Rows shrink to a tenth or a thirtieth; what shrinks to less than this was made to fill a disk.
MOST_UNPACKED, UNPACKED_FOR_FREE_BYTES = 250, 64 * 1024**2
PART = re.compile(r"database/(?P<table>[A-Za-z_]\w{0,62})/\d{6,}\.gz", re.ASCII)
# What tarfile, json and zlib raise for bytes that nobody wrote on purpose, or somebody did.
BROKEN = (
    *(tarfile.TarError, zlib.error, OSError, EOFError, LookupError, ValueError),
    *(OverflowError, RecursionError, TypeError),
)


class _Hashed:
    """A file that is hashed while it is read."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file, self.sum = file, hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        block = self.file.read(size)
        self.sum.update(block)
        return block


class _Counted:
    """A target that only takes what is written, such as a pipe; it knows how much that was."""

    def __init__(self, target: IO[bytes]) -> None:
        self.target, self.written = target, 0

    def write(self, block: bytes) -> int:
        self.target.write(block)
        self.written += len(block)
        return len(block)

    def tell(self) -> int:
        return self.written


class Writer:
    """Writes member after member; `close` adds the manifest."""

    def __init__(self, target: IO[bytes]) -> None:
        counted: Any = _Counted(target)
        self.tar = tarfile.TarFile(fileobj=counted, mode="w", format=tarfile.PAX_FORMAT)
        self.members: dict[str, dict[str, Any]] = {}
        self.began = int(time.time())

    def add(self, name: str, file: IO[bytes], size: int) -> None:
        member = tarfile.TarInfo(name)
        member.size, member.mode, member.mtime = size, 0o600, self.began
        hashed = _Hashed(file)
        self.tar.addfile(member, hashed)
        self.members[name] = {"sha256": hashed.sum.hexdigest(), "bytes": size}

    def add_bytes(self, name: str, content: bytes) -> None:
        self.add(name, io.BytesIO(content), len(content))

    def add_rows(self, table: str, blocks: Iterator[bytes]) -> None:
        """The rows of a table in packed parts, so that none is held in memory as a whole."""
        number, part = 0, bytearray()
        for block in blocks:
            part += block
            if len(part) >= PART_BYTES:
                self._add_part(table, number, bytes(part))
                number, part = number + 1, bytearray()
        if part:
            self._add_part(table, number, bytes(part))

    def _add_part(self, table: str, number: int, content: bytes) -> None:
        packed = gzip.compress(content, compresslevel=5, mtime=0)
        self.add_bytes(f"database/{table}/{number:06}.gz", packed)

    def close(self) -> None:
        self.add_bytes(MANIFEST, json.dumps({"members": self.members}, indent=1).encode())
        self.tar.close()


class Reader:
    """A backup whose every byte was looked at when it was opened."""

    def __init__(self, path: Path) -> None:
        self.path = path
        if not path.exists():
            raise BackupError(f"There is no file {path}.")
        if not path.is_file():
            raise BackupError(f"{path} is not a file. Name the file that `backup` has written.")
        try:
            self.tar = tarfile.TarFile.open(path, "r:")
        except BROKEN as error:
            raise self._unreadable(error) from None
        self.members: dict[str, tarfile.TarInfo] = {}
        self._unpacked: dict[str, int] = {}
        try:
            self.about = self._looked_through()
            self.contents = self._contents()
            self._check_rows()
        except BaseException:
            self.close()
            raise

    def _looked_through(self) -> dict[str, Any]:
        path, seen = self.path, self._hashes()
        if MANIFEST not in seen:
            raise BackupError(
                f"{path} is cut off: its last part, the list of what belongs to it, is missing. "
                "Copy the file again from where it was made, or take another backup."
            )
        listed = self._listed(MANIFEST).get("members")
        if not isinstance(listed, dict) or not all(isinstance(e, dict) for e in listed.values()):
            raise self._strange(f"{MANIFEST} does not list its members")
        self._compare(listed, seen)
        about = self._listed(ABOUT)
        if not isinstance(about.get("format"), int):
            raise self._strange(f"{ABOUT} does not say its format")
        if about["format"] > FORMAT:
            raise BackupError(
                f"{path} was written by Earnest {about.get('earnest')} in a form that this "
                "version does not know: restore it with that version or a newer one."
            )
        if not all(isinstance(about.get(name), str) for name in ("earnest", "taken_at")):
            raise self._strange(f"{ABOUT} does not say when it was taken, and by which version")
        return about

    def _contents(self) -> Contents:
        try:
            contents = Contents.from_json(self.about["database"])
        except (KeyError, TypeError, ValueError) as error:
            raise self._strange(f"{ABOUT} does not describe a database ({error})") from None
        if self.about.get("key") is not (f"files/{KEY}" in self.members):
            raise self._strange(f"{ABOUT} and files/{KEY} disagree about the key of the server")
        return contents

    def _unreadable(self, why: object) -> BackupError:
        return BackupError(
            f"{self.path} is no backup of Earnest, or it is cut off ({why}). A packed or sealed "
            "one (.zst, .gz, .age, .gpg) must be unpacked first."
        )

    def _strange(self, why: str) -> BackupError:
        return BackupError(
            f"{self.path} is not what Earnest writes: {why}. Nothing was changed. Use another "
            "backup."
        )

    def _hashes(self) -> dict[str, str]:
        seen: dict[str, str] = {}
        try:
            for member in self.tar:
                self._check_member(member)
                file = self.tar.extractfile(member)
                assert file is not None  # of a plain file it is not
                found, end = hashlib.sha256(), b""
                while block := file.read(BLOCK_BYTES):
                    found.update(block)
                    end = (end + block)[-4:]
                if PART.fullmatch(member.name):  # gzip says last how much it holds
                    self._unpacked[member.name] = int.from_bytes(end, "little")
                seen[member.name], self.members[member.name] = found.hexdigest(), member
        except BROKEN as error:
            raise self._unreadable(error) from None
        return seen

    def _check_member(self, member: tarfile.TarInfo) -> None:
        """Nothing but plain files, each once, in the places that the head of this module names."""
        if not member.isreg() or member.sparse is not None or member.size < 0:
            raise self._strange(f"{member.name!r} is not a plain file")
        if member.name in self.members:
            raise self._strange(f"{member.name!r} is in it twice")
        if not _has_a_place(member.name):
            raise self._strange(f"{member.name!r} has no place in a backup")
        under = next((p for p in map(str, _above(member.name)) if p in self.members), None)
        under = under or next((n for n in self.members if n.startswith(f"{member.name}/")), None)
        if under:
            raise self._strange(f"{member.name!r} and {under!r} cannot both be there")

    def _compare(self, listed: dict[str, dict[str, Any]], seen: dict[str, str]) -> None:
        names = set(listed) | set(seen) - {MANIFEST}
        wrong = sorted(n for n in names if seen.get(n) != listed.get(n, {}).get("sha256"))
        if wrong:
            raise BackupError(
                f"{self.path} is damaged: {len(wrong)} of {len(names)} parts are not what was "
                f"written, first {wrong[0]}. Copy the file again, or use another backup."
            )

    def _check_rows(self) -> None:
        """Unpacks every table once, after what its parts say of their sizes was found possible."""
        packed = sum(self.size(name) for name in self._unpacked)
        if self.unpacked_bytes > MOST_UNPACKED * packed + UNPACKED_FOR_FREE_BYTES:
            raise self._strange(
                f"its tables would grow from {packed:,} to {self.unpacked_bytes:,} bytes"
            )
        known = {table.name for table in self.contents.tables}
        for name in self._unpacked:
            if name.split("/")[1] not in known:
                raise self._strange(f"{name!r} has rows of a table that {ABOUT} does not list")
        for table in self.contents.tables:
            rows = sum(block.count(b"\n") for block in self.rows(table.name))
            if rows != table.rows:
                raise self._strange(
                    f"the table {table.name} has {rows:,} rows, and {ABOUT} says {table.rows:,}"
                )

    @property
    def unpacked_bytes(self) -> int:
        """What the rows of all tables take as text."""
        return sum(self._unpacked.values())

    def _listed(self, name: str) -> dict[str, Any]:
        if name not in self.members:
            raise self._strange(f"{name} is missing")
        if self.size(name) > MOST_LISTED_BYTES:
            raise self._strange(f"{name} has {self.size(name):,} bytes")
        try:
            found = read_json(self.content(name), most=MOST_LISTED_BYTES, most_brackets=MOST_LISTED)
        except JsonError as error:
            raise self._strange(f"{name} is no JSON: {str(error).rstrip('.')}") from None
        if not isinstance(found, dict):
            raise self._strange(f"{name} is no JSON object")
        return found

    def content(self, name: str) -> bytes:
        with self.open(name) as file:
            return file.read()

    def open(self, name: str) -> IO[bytes]:
        file = self.tar.extractfile(self.members[name])
        assert file is not None
        return file

    def names(self, below: str) -> list[str]:
        """What lies in this folder of the backup, without the folder's name."""
        return [name.removeprefix(below) for name in self.members if name.startswith(below)]

    def size(self, name: str) -> int:
        return self.members[name].size

    def rows(self, table: str) -> Iterator[bytes]:
        """The rows of a table in blocks; never more than its parts say that they hold."""
        for part in sorted(self.names(f"database/{table}/")):
            yield from self._blocks(f"database/{table}/{part}")

    def _blocks(self, name: str) -> Iterator[bytes]:
        packed, left = zlib.decompressobj(wbits=31), self._unpacked[name]
        try:
            with self.open(name) as file:
                while not packed.eof and (more := packed.unconsumed_tail or file.read(BLOCK_BYTES)):
                    block = packed.decompress(more, BLOCK_BYTES)
                    left -= len(block)
                    if left < 0:
                        break
                    yield block
                whole = packed.eof and not left and not packed.unused_data and not file.read(1)
        except zlib.error:
            whole = False
        if not whole:
            raise self._strange(f"{name!r} cannot be unpacked")

    def close(self) -> None:
        self.tar.close()

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _has_a_place(name: str) -> bool:
    kind, _, rest = name.partition("/")
    if kind == "files":
        parts = rest.split("/")
        inside = parts[0] in FOLDERS and len(parts) > 1
        plain = not any(part in ("", ".", "..") or "\0" in part for part in parts)
        return rest in (KEY, LOGIN) or (inside and plain)
    if kind == "media":
        return CLIP.fullmatch(rest) is not None
    return name in (ABOUT, MANIFEST) or PART.fullmatch(name) is not None


def _above(name: str) -> list[PurePosixPath]:
    return list(PurePosixPath(name).parents)


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


def put_clips(reader: Reader, folder: Path, say: Say) -> list[str]:
    """Stores the clips that are not there yet; their names, so that they can be taken out again.

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
    """What the backup has takes the place of what was there, the first login too."""
    var = Path(settings.EARNEST_VAR)
    for name in FOLDERS:
        shutil.rmtree(var / name, ignore_errors=True)
        if (folder / name).exists():
            (folder / name).rename(var / name)
    (var / LOGIN).unlink(missing_ok=True)
    for name in (LOGIN, KEY):
        if f"files/{name}" in reader.members:
            write_private(var / name, reader.content(f"files/{name}"))


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
