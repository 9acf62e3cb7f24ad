"""Files that appear when they are whole: a full disk or a kill leaves the old file as it was."""

from __future__ import annotations

import os
from pathlib import Path

PUBLIC, PRIVATE = 0o666, 0o600  # before the umask


def write_whole(path: Path, content: bytes) -> None:
    """Write a file for whoever the umask lets read it."""
    _write(path, content, PUBLIC)


def write_private(path: Path, content: bytes) -> None:
    """Write a file that only its owner may read; it is on the disk when this returns."""
    _write(path, content, PRIVATE)


def _write(path: Path, content: bytes, mode: int) -> None:
    """Write the file beside its place first, then move it there."""
    draft = path.with_name(f".{path.name}.{os.getpid()}.part")
    draft.unlink(missing_ok=True)
    try:
        with open(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
            file.write(content)
            if mode == PRIVATE:
                file.flush()
                os.fsync(file.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)
