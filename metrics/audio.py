"""Audio files as mono float32 waves at the wanted rates, decoded once, block by block."""

from __future__ import annotations

import contextlib
import hashlib
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Protocol

import numpy as np
import soundfile
import soxr
from numpy.typing import NDArray

from metrics.containers import Container, ContainerError, demuxer_of

Wave = NDArray[np.float32]

MAX_DURATION_S = 4 * 3600.0
MAX_RATE_HZ = 768_000
BLOCK_FRAMES = 1 << 20  # frames decoded at once: 4 MiB per channel
_SOUNDFILE = "wav flac ogg oga opus mp3 aif aiff aifc au caf w64 rf64"
_FFMPEG = "m4a mp4 m4b webm mka aac"
SUFFIXES = frozenset(f".{name}" for name in f"{_SOUNDFILE} {_FFMPEG}".split(" "))  # taken for audio


class AudioError(ValueError):
    """A file that cannot be used as audio; the message names the file and says why."""


class Source(Protocol):
    """An open audio file."""

    @property
    def samplerate(self) -> int: ...
    @property
    def frames(self) -> int: ...
    def close(self) -> None: ...


def load_wave(path: Path | str, rate_hz: int) -> Wave:
    """The file's channels averaged, at `rate_hz`: (samples,) float32, full scale 1."""
    return load_waves(path, (rate_hz,))[rate_hz]


def load_waves(path: Path | str, rates_hz: Collection[int]) -> dict[int, Wave]:
    """The file's channels averaged, at each rate: (samples,) float32, full scale 1.

    Any format that soundfile (libsndfile) or FFmpeg reads; decoded once, and resampled once per
    rate by libsoxr (quality VHQ). Memory: the results twice, and a block.
    """
    with _opened(path) as source:
        resamplers = {rate: Resampler(source.samplerate, rate) for rate in rates_hz}
        parts: dict[int, list[Wave]] = {rate: [] for rate in rates_hz}
        frames = 0
        for block in _mono_blocks(source, path):
            frames += len(block)
            for rate, resampler in resamplers.items():
                parts[rate].append(resampler(block))
    if not frames:
        raise AudioError(f"{path}: the file holds no samples")
    for rate, resampler in resamplers.items():
        parts[rate].append(resampler.rest())
    return {rate: np.concatenate(parts.pop(rate)) for rate in rates_hz}


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

    def rest(self) -> Wave:
        """The end of the output, after the last block."""
        nothing = np.zeros(0, np.float32)
        if self._stream is None:
            return nothing
        part: Wave = self._stream.resample_chunk(nothing, last=True)
        return part


def duration_s(path: Path | str) -> float:
    """Duration in seconds that the file's header states (raw AAC: after decoding it)."""
    with _opened(path) as source, _named_errors(path):
        return float(source.frames / source.samplerate)


def file_sha256(path: Path | str) -> str:
    """SHA-256 of the file's bytes in hexadecimal; it names the audio in every score."""
    try:
        with open(path, "rb") as source:
            return hashlib.file_digest(source, "sha256").hexdigest()
    except OSError as error:
        raise AudioError(f"{path}: cannot be read ({error.strerror})") from error


def check_unchanged(path: Path | str, sha256: str) -> None:
    """An AudioError when the file's bytes are no longer those that `sha256` names."""
    if file_sha256(path) != sha256:
        raise AudioError(f"{path}: the file has changed since it was imported; import it again")


def _mono_blocks(source: Source, path: Path | str) -> Iterator[Wave]:
    """Channel means of the file, block by block; an absurdly long file is refused."""
    frames = 0
    with _named_errors(path):
        for block in _blocks(source):
            frames += len(block)
            if frames > MAX_DURATION_S * source.samplerate:
                raise AudioError(f"{path}: longer than {MAX_DURATION_S / 3600:g} hours; cut it")
            yield block[:, 0] if block.shape[1] == 1 else block.mean(axis=1)


def _blocks(source: Source) -> Iterator[Wave]:
    if isinstance(source, Container):
        return source.blocks(BLOCK_FRAMES)
    assert isinstance(source, soundfile.SoundFile)
    blocks: Iterator[Wave] = source.blocks(BLOCK_FRAMES, dtype="float32", always_2d=True)
    return blocks


@contextlib.contextmanager
def _named_errors(path: Path | str) -> Iterator[None]:
    try:
        yield
    except soundfile.LibsndfileError as error:
        raise AudioError(f"{path}: broken audio ({error.error_string})") from error
    except ContainerError as error:
        raise AudioError(f"{path}: broken audio ({error})") from error


@contextlib.contextmanager
def _opened(path: Path | str) -> Iterator[Source]:
    """The opened file; an AudioError that names it when it is missing or no audio."""
    if not Path(path).is_file():
        raise AudioError(f"{path}: there is no such file")
    try:
        demuxer = demuxer_of(path)
        source: Source = Container(path, demuxer) if demuxer else soundfile.SoundFile(path)
    except OSError as error:
        raise AudioError(f"{path}: cannot be read ({error.strerror})") from error
    except soundfile.LibsndfileError as error:
        raise AudioError(f"{path}: no audio that can be read ({error.error_string})") from error
    except ContainerError as error:
        raise AudioError(f"{path}: no audio that can be read ({error})") from error
    try:
        if not 0 < source.samplerate <= MAX_RATE_HZ:
            raise AudioError(f"{path}: sample rate {source.samplerate} Hz is not believable")
        yield source
    finally:
        source.close()
