"""The two copies of a stimulus: the original kept byte for byte, and the one that raters hear."""

from __future__ import annotations

import contextlib
import logging
import os
import re
import secrets
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO

from django.core.files import File
from django.core.files.storage import default_storage
from soundfile import LibsndfileError, SoundFile

from listening.audio.ends import Span, cut
from listening.audio.fetching import fetched, place_of
from listening.audio.long_sounds import bounded, decode_bounded
from listening.audio.low_cut import without_rumble
from listening.audio.probe import sha256_of
from listening.audio.resampled import resampled
from listening.common.sound_files import AudioError, open_sound

log = logging.getLogger(__name__)

NAME = re.compile(r"(served|originals)/[0-9a-f]{2}/[0-9a-f]{32}\.[a-z0-9]{1,8}")
SAME_TIME_FOR_ALL = 946_684_800  # 2000-01-01: the order of import must not show in a header
BLOCK_FRAMES = 65_536


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
    low_cut: bool = False,
) -> tuple[str, str]:
    """Stores what appearances are made of: the samples as FLAC without any tag; name and SHA-256.

    With ``low_cut`` nothing below 20 Hz is kept.
    """
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy.flac"
        write_plain_flac(source, copy, gain_db, rate_hz, span, low_cut=low_cut)
        return _keep("served", "flac", copy), sha256_of(copy)


def write_plain_flac(
    source: Path,
    target: Path,
    gain_db: float = 0.0,
    rate_hz: int | None = None,
    span: Span | None = None,
    *,
    low_cut: bool = False,
) -> None:
    """Rate, channels and samples stay; whole numbers are copied exactly, floats become 24 bit.

    With ``rate_hz`` all copies have that rate; with ``span`` only that part is kept, faded; with
    ``low_cut`` what is below 20 Hz is taken out. Each of them makes a copy of 24 bit.
    """
    decode_bounded(_write_flac, source, target, gain_db, rate_hz, span, low_cut)


def _write_flac(
    source: Path,
    target: Path,
    gain_db: float,
    rate_hz: int | None,
    span: Span | None,
    low_cut: bool,
    most_samples: int | None = None,
) -> None:
    with open_sound(source) as sound:
        exact = rate_hz is None and span is None and gain_db == 0 and not low_cut
        bits = sound.bits if exact else None
        dtype = {16: "int16", 24: "int32", None: "float64"}[bits]
        served_hz = rate_hz or sound.rate_hz
        if rate_hz is None:
            blocks = bounded(sound.blocks(BLOCK_FRAMES, dtype), most_samples)
        else:
            blocks = resampled(source, rate_hz, most_samples)
        if low_cut:
            blocks = without_rumble(blocks, served_hz, faded=False)
        if span is not None:
            blocks = cut(blocks, served_hz, span)
        if low_cut:  # again: where noise fades, low frequencies arise
            blocks = without_rumble(blocks, served_hz, faded=True)
        with plain_flac(target, served_hz, sound.channels, bits or 24) as copy:
            for block in blocks:
                copy.write(block if gain_db == 0 else block * 10 ** (gain_db / 20))


@contextlib.contextmanager
def plain_flac(target: Path, rate_hz: int, channels: int, bits: int) -> Iterator[SoundFile]:
    """A new FLAC file without tags; floats beyond full scale are held there."""
    try:
        with SoundFile(target, "w", rate_hz, channels, f"PCM_{bits}", format="FLAC") as copy:
            yield copy
    except LibsndfileError as error:
        raise AudioError(
            f"The sound cannot be copied as FLAC ({error.error_string}).",
            "Save it again as FLAC or WAV.",
        ) from None


def local_path(name: str) -> Path:
    """A stored file on this machine; a remote store's file is fetched once and kept."""
    if not NAME.fullmatch(name):
        raise ValueError(f"{name!r} is no name that Earnest gives to stored audio")
    try:
        return Path(default_storage.path(name))
    except NotImplementedError:
        return fetched(name)


def local_place(name: str) -> Path:
    """Where a stored file is on this machine, or will be once `fetching.bring` was asked for it."""
    if not NAME.fullmatch(name):
        raise ValueError(f"{name!r} is no name that Earnest gives to stored audio")
    return place_of(name)


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
