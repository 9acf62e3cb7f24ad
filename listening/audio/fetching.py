"""Audio of a remote store on this machine: fetched when it is wanted, let go of under a limit."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from django.conf import settings
from django.core.files.storage import default_storage

from listening.common.ages import age_s

FETCHERS = 8  # threads: a store far away answers late and often
IN_USE_S = 15 * 60.0  # what was wanted since is not let go of: somebody may be reading it


def place_of(name: str) -> Path:
    """Where a stored file is on this machine, or will be once it is brought; nothing is fetched."""
    try:
        return Path(default_storage.path(name))
    except NotImplementedError:
        return folder() / name


def folder() -> Path:
    """Where files of a remote store lie."""
    return Path(settings.EARNEST_VAR) / "media-cache"


def fetched(name: str) -> Path:
    """A file of a remote store, fetched once and kept."""
    target = folder() / name
    if not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        draft = target.with_name(f"{target.name}.{secrets.token_hex(4)}")
        try:
            with default_storage.open(name) as remote, draft.open("wb") as file:
                shutil.copyfileobj(remote, file, 1024**2)
            draft.rename(target)
        finally:
            draft.unlink(missing_ok=True)
    return target


def is_remote() -> bool:
    """Whether clips lie in a store that gives no paths, such as S3."""
    try:
        default_storage.path("x")
    except NotImplementedError:
        return True
    return False


def bring(paths: Iterable[str]) -> int:
    """Have these places (of `place_of`) hold their files; how many had to be fetched.

    Others are let go of when the cache is over its limit. A file that cannot be fetched is left
    out: who opens it says why. Paths outside of the cache are as they are.
    """
    inside = [path for path in map(Path, dict.fromkeys(paths)) if path.is_relative_to(folder())]
    if not inside:
        return 0
    missing = [path for path in inside if not _touched(path)]
    if missing:
        with ThreadPoolExecutor(FETCHERS, "fetching") as pool:
            list(pool.map(_try_to_fetch, missing))
    shrink(settings.EARNEST_MEDIA_CACHE_GB * 1_000_000_000)
    return len(missing)


def _touched(path: Path) -> bool:
    """Whether the file is there; its time says that it was wanted now."""
    try:
        os.utime(path)
    except OSError:
        return False
    return True


def _try_to_fetch(path: Path) -> None:
    with contextlib.suppress(OSError):
        fetched(str(path.relative_to(folder())))


def shrink(most_bytes: int) -> int:
    """Let go of what was wanted longest ago until the cache fits; bytes freed. 0: no limit."""
    if not most_bytes:
        return 0
    known = []
    for path in folder().rglob("*"):
        with contextlib.suppress(OSError):
            facts = path.stat()
            if path.is_file():
                known.append((facts.st_mtime, facts.st_size, path))
    over = sum(size for _, size, _ in known) - most_bytes
    freed = 0
    for wanted_at, size, path in sorted(known):
        if freed >= over or age_s(wanted_at) < IN_USE_S:
            break
        with contextlib.suppress(OSError):
            path.unlink()
            freed += size
    return freed
