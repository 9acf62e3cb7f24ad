"""The file of a backup: a plain tar with a description in front and hashes of all members behind.

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
import tarfile
import time
import zlib
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from typing import IO, Any

from config.backups import BackupError
from config.backups.database import Contents
from listening.audio.store import NAME as CLIP
from listening.common.plain_json import JsonError, read_json

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


class _HashingReader:
    """Hash a file while it is read."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file, self.sum = file, hashlib.sha256()

    def read(self, size: int = -1) -> bytes:
        block = self.file.read(size)
        self.sum.update(block)
        return block


class _CountingWriter:
    """Count what is written to a target that cannot tell its position, such as a pipe."""

    def __init__(self, target: IO[bytes]) -> None:
        self.target, self.written = target, 0

    def write(self, block: bytes) -> int:
        self.target.write(block)
        self.written += len(block)
        return len(block)

    def tell(self) -> int:
        return self.written


class Writer:
    """Write one member after the other; `close` adds the manifest."""

    def __init__(self, target: IO[bytes]) -> None:
        counting: Any = _CountingWriter(target)
        self.tar = tarfile.TarFile(fileobj=counting, mode="w", format=tarfile.PAX_FORMAT)
        self.members: dict[str, dict[str, Any]] = {}
        self.began_at = int(time.time())

    def add(self, name: str, file: IO[bytes], size: int) -> None:
        member = tarfile.TarInfo(name)
        member.size, member.mode, member.mtime = size, 0o600, self.began_at
        hashing = _HashingReader(file)
        self.tar.addfile(member, hashing)
        self.members[name] = {"sha256": hashing.sum.hexdigest(), "bytes": size}

    def add_bytes(self, name: str, content: bytes) -> None:
        self.add(name, io.BytesIO(content), len(content))

    def add_rows(self, table: str, blocks: Iterator[bytes]) -> None:
        """Write the rows of a table in packed parts: memory holds one part at a time."""
        for number, part in enumerate(_parts(blocks)):
            packed = gzip.compress(part, compresslevel=5, mtime=0)
            self.add_bytes(f"database/{table}/{number:06}.gz", packed)

    def close(self) -> None:
        self.add_bytes(MANIFEST, json.dumps({"members": self.members}, indent=1).encode())
        self.tar.close()


def _parts(blocks: Iterator[bytes]) -> Iterator[bytes]:
    part = bytearray()
    for block in blocks:
        part += block
        if len(part) >= PART_BYTES:
            yield bytes(part)
            part.clear()
    if part:
        yield bytes(part)


class Reader:
    """A backup; opening it reads and checks every byte."""

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
        self.hashes: dict[str, str] = {}  # SHA-256 by member, as read from the file
        self._folders: dict[str, str] = {}  # with a member in each
        self._unpacked: dict[str, int] = {}
        try:
            self._hash_members()
            self._check_manifest()
            self.description = self._read_about()
            self.contents = self._contents()
            self._check_rows()
        except BaseException:
            self.close()
            raise

    def _check_manifest(self) -> None:
        """Compare every member with its hash in the manifest."""
        if MANIFEST not in self.hashes:
            raise BackupError(
                f"{self.path} is cut off: its last part, the list of what belongs to it, is "
                "missing. Copy the file again from where it was made, or take another backup."
            )
        listed = self._read_json(MANIFEST).get("members")
        if not isinstance(listed, dict) or not all(isinstance(e, dict) for e in listed.values()):
            raise self._strange(f"{MANIFEST} does not list its members")
        names = set(listed) | set(self.hashes) - {MANIFEST}
        wrong = sorted(n for n in names if self.hashes.get(n) != listed.get(n, {}).get("sha256"))
        if wrong:
            raise BackupError(
                f"{self.path} is damaged: {len(wrong)} of {len(names)} parts are not what was "
                f"written, first {wrong[0]}. Copy the file again, or use another backup."
            )

    def _read_about(self) -> dict[str, Any]:
        description = self._read_json(ABOUT)
        if not isinstance(description.get("format"), int):
            raise self._strange(f"{ABOUT} does not say its format")
        if description["format"] > FORMAT:
            raise BackupError(
                f"{self.path} was written by Earnest {description.get('earnest')} in a form that "
                "this version does not know: restore it with that version or a newer one."
            )
        if not all(isinstance(description.get(name), str) for name in ("earnest", "taken_at")):
            raise self._strange(f"{ABOUT} does not say when it was taken, and by which version")
        return description

    def _contents(self) -> Contents:
        try:
            contents = Contents.from_json(self.description["database"])
        except (KeyError, TypeError, ValueError) as error:
            raise self._strange(f"{ABOUT} does not describe a database ({error})") from None
        if self.description.get("key") is not (f"files/{KEY}" in self.members):
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

    def _hash_members(self) -> None:
        try:
            for member in self.tar:
                self._check_member(member)
                file = self.tar.extractfile(member)
                assert file is not None  # of a plain file it is not
                digest, end = hashlib.sha256(), b""
                while block := file.read(BLOCK_BYTES):
                    digest.update(block)
                    end = (end + block)[-4:]
                if PART.fullmatch(member.name):  # gzip says last how much it holds
                    self._unpacked[member.name] = int.from_bytes(end, "little")
                self.members[member.name] = member
                self.hashes[member.name] = digest.hexdigest()
        except BROKEN as error:
            raise self._unreadable(error) from None

    def _check_member(self, member: tarfile.TarInfo) -> None:
        """Nothing but plain files, each once, in the places that the head of this module names."""
        if not member.isreg() or member.sparse is not None or member.size < 0:
            raise self._strange(f"{member.name!r} is not a plain file")
        if member.name in self.members:
            raise self._strange(f"{member.name!r} is in it twice")
        if not _is_allowed(member.name):
            raise self._strange(f"{member.name!r} has no place in a backup")
        parents = [str(parent) for parent in PurePosixPath(member.name).parents]
        clash = next((parent for parent in parents if parent in self.members), None)
        clash = clash or self._folders.get(member.name)
        if clash:
            raise self._strange(f"{member.name!r} and {clash!r} cannot both be there")
        self._folders.update(dict.fromkeys(parents, member.name))

    def _check_rows(self) -> None:
        """Unpack and count the rows of every table, unless its sizes are impossible."""
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

    def _read_json(self, name: str) -> dict[str, Any]:
        if name not in self.members:
            raise self._strange(f"{name} is missing")
        if self.size(name) > MOST_LISTED_BYTES:
            raise self._strange(f"{name} has {self.size(name):,} bytes")
        try:
            listed = self.content(name)
            content = read_json(listed, most=MOST_LISTED_BYTES, most_brackets=MOST_LISTED)
        except JsonError as error:
            raise self._strange(f"{name} is no JSON: {str(error).rstrip('.')}") from None
        if not isinstance(content, dict):
            raise self._strange(f"{name} is no JSON object")
        return content

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


def _is_allowed(name: str) -> bool:
    kind, _, rest = name.partition("/")
    if kind == "files":
        parts = rest.split("/")
        inside = parts[0] in FOLDERS and len(parts) > 1
        plain = not any(part in ("", ".", "..") or "\0" in part for part in parts)
        return rest in (KEY, LOGIN) or (inside and plain)
    if kind == "media":
        return CLIP.fullmatch(rest) is not None
    return name in (ABOUT, MANIFEST) or PART.fullmatch(name) is not None
