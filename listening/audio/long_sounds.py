"""Long sounds are decoded in a process of their own: a small file may hold an hour of silence.

The web process serves raters. Decoding there stops after so many samples as take a fraction of a
second, whatever the header of the file states, and begins again in a child with a limit of
processor time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from listening.common.input_limits import APART_FROM_SAMPLES, APART_SOUND_CPU_S
from listening.common.reading_process import ServerBusy, TookTooLong, read_apart
from listening.common.sound_files import AudioError, Samples

R = TypeVar("R")


class NotDecoded(AudioError):
    """The server was too busy to decode the sound: nothing is known of it yet."""


class IsLong(Exception):
    """The sound has more samples than are decoded here."""


def bounded(blocks: Iterable[Samples], most_samples: int | None) -> Iterator[Samples]:
    """The blocks of a sound, until there are more samples than `most_samples`: then IsLong."""
    samples = 0
    for block in blocks:
        samples += block.size
        if most_samples is not None and samples > most_samples:
            raise IsLong
        yield block


def decode_bounded(work: Callable[..., R], *arguments: object) -> R:
    """Return what a function that decodes a sound returns; AudioError where it needs too much.

    ``work`` is a function of a module. It takes the keyword `most_samples`, of all channels
    together (None: all), and raises IsLong beyond.
    """
    try:
        return work(*arguments, most_samples=APART_FROM_SAMPLES)
    except IsLong:
        pass
    try:
        return read_apart(work, *arguments, cpu_s=APART_SOUND_CPU_S)
    except TookTooLong as error:
        kind = NotDecoded if isinstance(error, ServerBusy) else AudioError
        remedy = "Cut it into shorter clips, or lower its sampling rate."
        raise kind(*error.explain("Decoding the sound", remedy)) from None
