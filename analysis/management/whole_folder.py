"""A new folder of files that is there whole, or not at all."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.core.management.base import CommandError


def check_new(folder: Path) -> None:
    """Raise CommandError where a folder holds anything."""
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise CommandError(f"{folder} is not empty. Name a new or an empty folder.")


@contextmanager
def whole_folder(folder: Path) -> Iterator[Path]:
    """Yield an empty folder that becomes ``folder`` at the end; CommandError if it was not written.

    Where writing fails, nothing is left.
    """
    check_new(folder)
    folder.parent.mkdir(parents=True, exist_ok=True)
    draft = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        files = draft / "files"
        files.mkdir()
        yield files
        if folder.exists():
            folder.rmdir()
        files.rename(folder)
    except OSError as error:
        raise CommandError(f"{folder} was not written: {error}") from None
    finally:
        shutil.rmtree(draft, ignore_errors=True)
