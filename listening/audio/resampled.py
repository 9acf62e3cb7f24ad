"""A sound file read at another sampling rate, block by block."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from listening.audio.long_sounds import bounded
from listening.common.sound_files import Samples, open_sound

BLOCK_FRAMES = 65_536


def resampled(path: Path, rate_hz: int, most_samples: int | None = None) -> Iterator[Samples]:
    """The file at another rate, to the sample as long as its own length says.

    IsLong where it has more samples than `most_samples`.
    """
    from soxr import ResampleStream

    with open_sound(path) as sound:
        blocks = bounded(sound.blocks(BLOCK_FRAMES), most_samples)
        if sound.rate_hz == rate_hz:
            yield from blocks
            return
        stream = ResampleStream(sound.rate_hz, rate_hz, sound.channels, "float64", "VHQ")
        heard = given = 0
        for block in blocks:
            heard += len(block)
            part = stream.resample_chunk(block)
            given += len(part)
            yield part
        rest = round(heard * rate_hz / sound.rate_hz) - given
        end = stream.resample_chunk(np.zeros((0, sound.channels)), last=True)[: max(rest, 0)]
        yield np.pad(end, ((0, max(rest - len(end), 0)), (0, 0)))
