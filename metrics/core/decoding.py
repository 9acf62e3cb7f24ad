"""Audio files as mono float32 waves at the wanted rates, decoded once, block by block."""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import tempfile
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import soxr
from numpy.typing import NDArray

from listening.common import sound_files
from listening.common.sound_files import EXTENSIONS, Sound
from listening.common.sound_files.sound import NO_SOUND
from metrics.core.audio_facts import AudioFacts, Meter
from metrics.core.wave_memory import WaveBuffer

Wave = NDArray[np.float32]

MAX_DURATION_S = 4 * 3600.0
MAX_RATE_HZ = 768_000
BLOCK_FRAMES = 1 << 20  # frames decoded at once: 4 MiB per channel
_PCM = {f"PCM_{name}": bits for name, bits in (("S8", 8), ("U8", 8), ("16", 16), ("24", 24))}
BITS = {**_PCM, "PCM_32": 32, "FLOAT": 32, "DOUBLE": 64} | {
    f"ALAC_{bits}": bits for bits in (16, 20, 24, 32)
}
SUFFIXES = frozenset(f".{name}" for name in EXTENSIONS)  # taken for audio


class AudioError(ValueError):
    """A file that cannot be used as audio; the message names the file and says why."""


@dataclass(frozen=True)
class DecodedFile:
    """A file's waves, (samples,) float32, by their rates; and what was measured of it meanwhile."""

    waves: dict[int, Wave]
    facts: AudioFacts


def load_wave(path: Path | str, rate_hz: int) -> Wave:
    """The file's channels averaged, at `rate_hz`: (samples,) float32, full scale 1."""
    return load_waves(path, (rate_hz,))[rate_hz]


def load_waves(path: Path | str, rates_hz: Collection[int]) -> dict[int, Wave]:
    """The file's channels averaged, at each rate: (samples,) float32, full scale 1."""
    return decode(path, rates_hz).waves


def decode(path: Path | str, rates_hz: Collection[int], loudness: bool = False) -> DecodedFile:
    """The file's channels averaged, at each rate, and what the file is.

    Any format that `common.sound_files` reads; decoded once, to the end, and resampled once per
    rate by libsoxr (quality VHQ). Memory: the results twice, and a block; of files of over ten
    minutes a block, for their waves are mapped from a temporary file. ``loudness``: measured too.
    """
    with _open_audio(path) as source, _room(path):
        resamplers = {rate: Resampler(source.rate_hz, rate) for rate in rates_hz}
        parts = {rate: WaveBuffer(rate) for rate in rates_hz}
        meter = None
        for block in _blocks(source, path):
            meter = meter or Meter(source.rate_hz, block.shape[1], loudness)
            mono = block[:, 0] if block.shape[1] == 1 else block.mean(axis=1)
            meter.add(block, mono)
            for rate, resampler in resamplers.items():
                parts[rate].append(resampler(mono))
        if meter is None:
            raise AudioError(f"{escape_path(path)}: the file holds no samples; make it again")
        for rate, resampler in resamplers.items():
            parts[rate].append(resampler.flush())
        facts = _facts(meter, source)
        return DecodedFile({rate: parts.pop(rate).wave() for rate in rates_hz}, facts)


@contextlib.contextmanager
def _room(path: Path | str) -> Iterator[None]:
    """An AudioError that says so when a long file finds no room on the disk."""
    try:
        yield
    except OSError as error:
        raise AudioError(
            f"{escape_path(path)}: no space for its samples in {tempfile.gettempdir()} "
            f"({error.strerror}); free some space, or set TMPDIR"
        ) from error


def _facts(meter: Meter, source: Sound) -> AudioFacts:
    """What was measured, with the form of the file."""
    report = source.length_report()
    bits = BITS.get(source.subtype)
    return meter.facts(source.format, source.subtype, bits, source.rate_hz, report)


class Resampler:
    """One channel at another rate, block by block; equal to resampling it in one piece."""

    def __init__(self, source_hz: int, rate_hz: int) -> None:
        self._stream = None
        if source_hz != rate_hz:
            self._stream = soxr.ResampleStream(source_hz, rate_hz, 1, "float32", "VHQ")

    def __call__(self, block: Wave) -> Wave:
        """What is known of the output after this block, (samples,)."""
        if self._stream is None:
            return block
        part: Wave = self._stream.resample_chunk(np.ascontiguousarray(block))
        return part

    def flush(self) -> Wave:
        """The end of the output, after the last block."""
        nothing = np.zeros(0, np.float32)
        if self._stream is None:
            return nothing
        part: Wave = self._stream.resample_chunk(nothing, last=True)
        return part


def duration_s(path: Path | str) -> float:
    """Duration in seconds as the file states it; where it does not, after decoding it."""
    with _open_audio(path) as source:
        frames = source.frames
        if frames is None:
            frames = sum(len(block) for block in _blocks(source, path))
        return frames / source.rate_hz


def file_sha256(path: Path | str) -> str:
    """SHA-256 of the file's bytes in hexadecimal; it names the audio in every score."""
    check_file(path)
    try:
        with open(path, "rb") as source:
            return hashlib.file_digest(source, "sha256").hexdigest()
    except OSError as error:
        raise AudioError(f"{escape_path(path)}: {unreadable(error)}") from error


def check_file(path: Path | str) -> None:
    """An AudioError when there is no plain file: nothing, a folder, a pipe that would never end."""
    if why := unreadable_reason(path):
        raise AudioError(f"{escape_path(path)}: {why}")


def check_unchanged(path: Path | str, sha256: str) -> None:
    """An AudioError when the file's bytes are no longer those that `sha256` names."""
    if file_sha256(path) != sha256:
        raise AudioError(
            f"{escape_path(path)}: the file has changed since it was imported; import it again"
        )


def _blocks(source: Sound, path: Path | str) -> Iterator[Wave]:
    """The file block by block, (frames, channels); an absurdly long file is refused."""
    frames = 0
    with _named_errors(path, "broken audio"):
        for block in source.blocks(BLOCK_FRAMES, "float32"):
            frames += len(block)
            if frames > MAX_DURATION_S * source.rate_hz:
                raise AudioError(
                    f"{escape_path(path)}: longer than {MAX_DURATION_S / 3600:g} hours; cut it"
                )
            if len(block):
                yield block


@contextlib.contextmanager
def _named_errors(path: Path | str, what: str) -> Iterator[None]:
    try:
        yield
    except sound_files.AudioError as error:
        if not os.path.getsize(path):
            raise AudioError(
                f"{escape_path(path)}: is empty (0 bytes); copy it again from its source"
            ) from error
        why = "" if error.reason == NO_SOUND[0] else f" ({error.reason.rstrip('.')})"
        remedy = error.remedy[0].lower() + error.remedy[1:].rstrip(".")
        raise AudioError(f"{escape_path(path)}: {what}{why}; {remedy}") from error


@contextlib.contextmanager
def _open_audio(path: Path | str) -> Iterator[Sound]:
    """The opened file; an AudioError that names it when it is missing or no audio."""
    check_file(path)
    try:
        os.close(os.open(path, os.O_RDONLY))
    except OSError as error:
        raise AudioError(f"{escape_path(path)}: {unreadable(error)}") from error
    with _named_errors(path, "no audio that can be read"):
        source = sound_files.open_sound(path)
    try:
        if not 0 < source.rate_hz <= MAX_RATE_HZ:
            raise AudioError(
                f"{escape_path(path)}: its sampling rate of {source.rate_hz:,} Hz is above "
                f"{MAX_RATE_HZ:,} Hz or 0; correct the header, or save it again from its source"
            )
        yield source
    finally:
        source.close()


def escape_path(path: Path | str) -> str:
    """The path as text that can be printed and stored: bytes that are no UTF-8 as \\xe9.

    Linux allows any bytes in a name; Python holds those that are no UTF-8 as lone surrogates.
    """
    text = os.fspath(path)
    try:
        text.encode()
    except UnicodeEncodeError:
        return os.fsencode(text).decode("utf-8", "backslashreplace")
    return text


def unreadable_reason(path: Path | str) -> str:
    """Why no sound can be read from this place; empty when it is a plain file."""
    try:
        mode = os.stat(path).st_mode
        if stat.S_ISDIR(mode):
            os.scandir(path).close()
    except FileNotFoundError:
        if os.path.islink(path):
            target = escape_path(os.readlink(path))
            return f"is a link to {target}, which is not there; mend or delete it"
        return "there is no such file; look for a slip in its name"
    except OSError as error:
        return unreadable(error)
    if stat.S_ISREG(mode):
        return ""
    kinds = ((stat.S_ISDIR, "a folder"), (stat.S_ISFIFO, "a pipe"), (stat.S_ISSOCK, "a socket"))
    what = next((name for test, name in kinds if test(mode)), "a device")
    return f"is {what}, not a file; rename it, or leave it out"


def unreadable(error: OSError) -> str:
    """That a file or folder cannot be read, why, and what to do."""
    if isinstance(error, PermissionError):
        return f"cannot be read ({error.strerror}); let this user read it"
    return f"cannot be read ({error.strerror}); copy it again from its source"


def printable(path: Path | str) -> str:
    """The path for a line on a terminal: what would break the line or steer it, as \\n or \\x1b."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in escape_path(path))
