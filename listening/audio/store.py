"""The two copies of a stimulus: the original kept byte for byte, and the one that raters hear.

Files of a remote store are fetched to this machine when they are wanted, up to a limit.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import secrets
import shutil
import tempfile
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO

from django.conf import settings
from django.core.files import File
from django.core.files.storage import default_storage

from listening.audio.long_sounds import bounded, decode_bounded
from listening.audio.probe import sha256_of
from listening.audio.served_sound import Span, cut, plain_flac, remove_inaudible, resampled
from listening.common.ages import age_s
from listening.common.sound_files import open_sound

FETCHERS = 8  # threads: a store far away answers late and often
IN_USE_S = 15 * 60.0  # what was wanted since is not let go of: somebody may be reading it
log = logging.getLogger(__name__)
NAME = re.compile(r"(served|originals)/[0-9a-f]{2}/[0-9a-f]{32}\.[a-z0-9]{1,8}")
SAME_TIME_FOR_ALL = 946_684_800  # 2000-01-01: the order of import must not show in a header
BLOCK_FRAMES = 65_536


def stored_path(name: str) -> Path:
    """Where a stored file is on this machine, or will be once it is brought; nothing is fetched."""
    try:
        return Path(default_storage.path(name))
    except NotImplementedError:
        return folder() / name


def folder() -> Path:
    """Where files of a remote store lie."""
    return Path(settings.EARNEST_VAR) / "media-cache"


def fetched(name: str) -> Path:
    """A file of a remote store, fetched once and cached."""
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
    """Have these places (of `stored_path`) hold their files; how many had to be fetched.

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


def keep_original(source: Path) -> str:
    """Stores the file byte for byte; its storage name says nothing but the file type."""
    suffix = re.sub(r"[^a-z0-9]", "", source.suffix.lower())[:8] or "bin"
    return _keep("originals", suffix, source)


def keep_served(
    source: Path,
    gain_db: float = 0.0,
    rate_hz: int | None = None,
    span: Span | None = None,
    *,
    low_cut_hz: int | None = None,
) -> tuple[str, str]:
    """Stores what appearances are made of: the samples as FLAC without any tag; name and SHA-256.

    ``low_cut_hz`` is one of `served_sound.CUT_EDGES_HZ`; None keeps low frequencies.
    """
    with tempfile.NamedTemporaryFile(suffix=".flac") as file:
        copy = Path(file.name)
        write_plain_flac(source, copy, gain_db, rate_hz, span, low_cut_hz=low_cut_hz)
        return _keep("served", "flac", copy), sha256_of(copy)


def write_plain_flac(
    source: Path,
    target: Path,
    gain_db: float = 0.0,
    rate_hz: int | None = None,
    span: Span | None = None,
    *,
    low_cut_hz: int | None = None,
) -> None:
    """Rate, channels and samples stay; whole numbers are copied exactly, floats become 24 bit.

    With ``rate_hz`` all copies have that rate; with ``span`` only that part is kept, faded; with
    ``low_cut_hz`` low frequencies are taken out. Each of them makes a copy of 24 bit.
    """
    decode_bounded(_write_flac, source, target, gain_db, rate_hz, span, low_cut_hz)


def _write_flac(
    source: Path,
    target: Path,
    gain_db: float,
    rate_hz: int | None,
    span: Span | None,
    low_cut_hz: int | None,
    most_samples: int | None = None,
) -> None:
    with open_sound(source) as sound:
        exact = rate_hz is None and span is None and gain_db == 0 and low_cut_hz is None
        bits = sound.bits if exact else None
        dtype = {16: "int16", 24: "int32", None: "float64"}[bits]
        served_hz = rate_hz or sound.rate_hz
        if rate_hz is None:
            blocks = bounded(sound.blocks(BLOCK_FRAMES, dtype), most_samples)
        else:
            blocks = resampled(source, rate_hz, most_samples)
        if low_cut_hz is not None:
            blocks = remove_inaudible(blocks, served_hz, low_cut_hz, faded=False)
        if span is not None:
            blocks = cut(blocks, served_hz, span)
        if low_cut_hz is not None:  # again: where noise fades, low frequencies arise
            blocks = remove_inaudible(blocks, served_hz, low_cut_hz, faded=True)
        with plain_flac(target, served_hz, sound.channels, bits or 24) as copy:
            for block in blocks:
                copy.write(block if gain_db == 0 else block * 10 ** (gain_db / 20))


def local_path(name: str) -> Path:
    """A stored file on this machine; a remote store's file is fetched once and cached."""
    if not NAME.fullmatch(name):
        raise ValueError(f"{name!r} is no name that Earnest gives to stored audio")
    try:
        return Path(default_storage.path(name))
    except NotImplementedError:
        return fetched(name)


def expected_path(name: str) -> Path:
    """Where a stored file is on this machine, or will be once `bring` was asked for it."""
    if not NAME.fullmatch(name):
        raise ValueError(f"{name!r} is no name that Earnest gives to stored audio")
    return stored_path(name)


def forget(names: Iterable[str]) -> None:
    """Deletes stored files; one that is gone already stops nothing, one that stays is logged."""
    for name in names:
        try:
            default_storage.delete(name)
        except Exception as error:  # each store has errors of its own
            log.warning("%s could not be deleted and stays: %s", name, error)


def stored_names() -> Iterator[str]:
    """All that is stored; files of other names are not Earnest's."""
    for kind in ("originals", "served"):
        for folder in _listed(kind)[0]:
            for file in _listed(f"{kind}/{folder}")[1]:
                if NAME.fullmatch(name := f"{kind}/{folder}/{file}"):
                    yield name


def put_back(name: str, content: IO[bytes]) -> None:
    """Stores a file of a backup under the name that it had."""
    if not NAME.fullmatch(name):
        raise ValueError(f"{name!r} is no name that Earnest gives to stored audio")
    default_storage.delete(name)
    _save(name, content)


def _listed(folder: str) -> tuple[list[str], list[str]]:
    try:
        return default_storage.listdir(folder)
    except FileNotFoundError:
        return [], []


def _keep(kind: str, suffix: str, source: Path) -> str:
    code = secrets.token_hex(16)
    with source.open("rb") as file:
        return _save(f"{kind}/{code[:2]}/{code}.{suffix}", file)


def _save(wanted: str, content: IO[bytes]) -> str:
    name = default_storage.save(wanted, File(content))
    with contextlib.suppress(NotImplementedError):
        os.utime(default_storage.path(name), (SAME_TIME_FOR_ALL, SAME_TIME_FOR_ALL))
    return name
