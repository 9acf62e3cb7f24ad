"""Audio files as mono float32 waves at the wanted rate, read block by block."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import soundfile
from numpy.typing import NDArray
from scipy.signal import resample_poly

Wave = NDArray[np.float32]

MAX_DURATION_S = 4 * 3600.0
MAX_RATE_HZ = 768_000
BLOCK_FRAMES = 1 << 20  # frames decoded at once: 4 MiB per channel
CONTEXT = 12  # samples of the slower rate on either side that a resampled sample depends on


class AudioError(ValueError):
    """A file that cannot be used as audio; the message names the file and says why."""


def load_wave(path: Path | str, rate_hz: int) -> Wave:
    """The file's channels averaged, at `rate_hz`: (samples,) float32, full scale 1.

    Any format soundfile reads. Memory: the result twice, and a few blocks.
    """
    with _opened(path) as source:
        blocks = resampled(_mono_blocks(source, path), source.samplerate, rate_hz)
        parts = list(blocks)
    wave = np.concatenate(parts) if parts else np.zeros(0, np.float32)
    if not len(wave):
        raise AudioError(f"{path}: the file holds no samples")
    return wave


def duration_s(path: Path | str) -> float:
    """Duration in seconds that the file's header states."""
    with _opened(path) as source:
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


def resampled(blocks: Iterator[Wave], source_hz: int, rate_hz: int) -> Iterator[Wave]:
    """The same signal at `rate_hz`, block by block; equal to resampling it in one piece.

    Polyphase FIR (scipy's `resample_poly`, Kaiser window): unlike a kernel per phase it stays
    small for rates without a common factor such as 44,101 Hz.
    """
    if source_hz == rate_hz:
        yield from blocks
        return
    common = math.gcd(source_hz, rate_hz)
    up, down = rate_hz // common, source_hz // common
    margin = math.ceil(CONTEXT * max(up, down) / up / down) * down  # whole periods of the grid
    step = math.ceil(max(BLOCK_FRAMES, 8 * margin) / down) * down
    held, left = np.zeros(0, np.float32), 0  # `left` samples of `held` are context only
    for block in blocks:
        held = np.concatenate([held, block])
        while len(held) >= left + step + margin:
            part = resample_poly(held[: left + step + margin], up, down)
            yield part[left * up // down : (left + step) * up // down].astype(np.float32)
            held, left = held[left + step - margin :], margin
    if len(held) > left:
        yield resample_poly(held, up, down)[left * up // down :].astype(np.float32)


def _mono_blocks(source: soundfile.SoundFile, path: Path | str) -> Iterator[Wave]:
    """Channel means of the file, block by block; an absurdly long file is refused."""
    frames = 0
    try:
        for block in source.blocks(BLOCK_FRAMES, dtype="float32", always_2d=True):
            frames += len(block)
            if frames > MAX_DURATION_S * source.samplerate:
                raise AudioError(f"{path}: longer than {MAX_DURATION_S / 3600:g} hours; cut it")
            yield block[:, 0] if block.shape[1] == 1 else block.mean(axis=1)
    except soundfile.LibsndfileError as error:
        raise AudioError(f"{path}: broken audio ({error.error_string})") from error


def _opened(path: Path | str) -> soundfile.SoundFile:
    """The opened file; an AudioError that names it when it is missing or no audio."""
    if not Path(path).is_file():
        raise AudioError(f"{path}: there is no such file")
    try:
        source = soundfile.SoundFile(path)
    except soundfile.LibsndfileError as error:
        raise AudioError(f"{path}: no audio that can be read ({error.error_string})") from error
    if not 0 < source.samplerate <= MAX_RATE_HZ:
        rate_hz = source.samplerate
        source.close()
        raise AudioError(f"{path}: sample rate {rate_hz} Hz is not believable")
    return source
