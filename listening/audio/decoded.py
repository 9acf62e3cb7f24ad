"""The samples of served copies, kept in memory while raters ask for them: many hear one clip."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from soundfile import SoundFile

from listening.audio.recent import Recent

BLOCK_FRAMES = 65_536
LONGEST_KEPT = 2**20  # samples; longer clips are decoded block by block, and for each rater anew
MOST_KEPT_BYTES = 32 * 2**20  # in each process


@dataclass(frozen=True)
class Decoded:
    """A sound as blocks of float32, frames × channels, full scale ±1; none may be changed."""

    rate_hz: int
    channels: int
    blocks: Iterator[np.ndarray]
    is_long: bool = False


Version = tuple[Path, int, int]  # of a file: place, time, number
recent_samples: Recent[Version, tuple[int, np.ndarray]] = Recent(MOST_KEPT_BYTES)


def version_of(copy: Path) -> Version:
    """FileNotFoundError where there is no such copy (any more)."""
    stat = copy.stat()
    return copy, stat.st_mtime_ns, stat.st_ino


@contextmanager
def decoded(copy: Path) -> Iterator[Decoded]:
    """A served copy's sound; FileNotFoundError where there is no such copy (any more)."""
    version = version_of(copy)
    if found := recent_samples.get(version):
        rate_hz, samples = found
        yield Decoded(rate_hz, samples.shape[1], iter([samples]))
        return
    with copy.open("rb") as file, SoundFile(file.fileno(), closefd=False) as sound:
        if sound.frames * sound.channels > LONGEST_KEPT:
            yield Decoded(sound.samplerate, sound.channels, _blocks(sound), is_long=True)
            return
        samples = sound.read(dtype="float32", always_2d=True)
        rate_hz = sound.samplerate
    recent_samples.add(version, (rate_hz, samples), samples.nbytes)
    yield Decoded(rate_hz, samples.shape[1], iter([samples]))


def _blocks(sound: SoundFile) -> Iterator[np.ndarray]:
    while len(block := sound.read(BLOCK_FRAMES, dtype="float32", always_2d=True)):
        yield block
