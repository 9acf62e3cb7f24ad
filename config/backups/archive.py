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
import tarfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

from config.backups import BackupError

ABOUT, MANIFEST = "about.json", "manifest.json"
FORMAT = 1
PART_BYTES = 8 * 1024**2
BLOCK_BYTES = 1024**2


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
        try:
            self.tar = tarfile.TarFile.open(path, "r:")
        except FileNotFoundError:
            raise BackupError(f"There is no file {path}.") from None
        except (tarfile.TarError, OSError) as error:
            raise self._unreadable(str(error)) from None
        self.members: dict[str, tarfile.TarInfo] = {}
        try:
            self.about = self._looked_through()
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
        self._compare(json.loads(self._content(MANIFEST))["members"], seen)
        about: dict[str, Any] = json.loads(self._content(ABOUT))
        if about["format"] > FORMAT:
            raise BackupError(
                f"{path} was written by Earnest {about['earnest']} in a form that this "
                "version does not know: restore it with that version or a newer one."
            )
        return about

    def _unreadable(self, why: str) -> BackupError:
        return BackupError(
            f"{self.path} is no backup of Earnest, or it is cut off ({why}). A packed or sealed "
            "one (.zst, .gz, .age, .gpg) must be unpacked first."
        )

    def _hashes(self) -> dict[str, str]:
        seen: dict[str, str] = {}
        try:
            for member in self.tar:
                file = self.tar.extractfile(member)
                if file is None:
                    raise BackupError(f"{self.path}: {member.name} is no plain file.")
                found = hashlib.sha256()
                while block := file.read(BLOCK_BYTES):
                    found.update(block)
                seen[member.name], self.members[member.name] = found.hexdigest(), member
        except (tarfile.TarError, OSError, EOFError) as error:
            raise self._unreadable(str(error)) from None
        return seen

    def _compare(self, listed: dict[str, dict[str, Any]], seen: dict[str, str]) -> None:
        names = set(listed) | set(seen) - {MANIFEST}
        wrong = sorted(n for n in names if seen.get(n) != listed.get(n, {}).get("sha256"))
        if wrong:
            raise BackupError(
                f"{self.path} is damaged: {len(wrong)} of {len(names)} parts are not what was "
                f"written, first {wrong[0]}. Copy the file again, or use another backup."
            )

    def _content(self, name: str) -> bytes:
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
        for part in sorted(self.names(f"database/{table}/")):
            yield gzip.decompress(self._content(f"database/{table}/{part}"))

    def close(self) -> None:
        self.tar.close()

    def __enter__(self) -> Reader:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
