"""Waves in memory: long ones mapped from a file, and work on them that metrics share."""

from __future__ import annotations

import functools
import mmap
import tempfile
import weakref
from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from metrics.core.lazy_torch import torch

SPOOL_S = 600.0  # waves that last longer are kept in a file, not in memory
AT_ONCE = 1 << 20  # samples

_maps: dict[int, mmap.mmap] = {}  # by the address at which a wave begins


class WaveBuffer:
    """A wave that comes in parts; a long one goes to a nameless file in TMPDIR.

    OSError when there is no room for that file.
    """

    def __init__(self, rate_hz: int) -> None:
        self._most = round(SPOOL_S * rate_hz)
        self._parts: list[NDArray[np.float32]] = []
        self._samples = 0
        self._file: BinaryIO | None = None

    def append(self, part: NDArray[np.float32]) -> None:
        """The next samples."""
        self._samples += len(part)
        self._parts.append(part)
        if self._samples > self._most:
            if self._file is None:
                self._file = tempfile.TemporaryFile(prefix="earnest-wave-")  # noqa: SIM115
            for each in self._parts:
                self._file.write(np.ascontiguousarray(each, dtype=np.float32).data)
            self._parts.clear()

    def wave(self) -> NDArray[np.float32]:
        """All samples; those of a long wave are a mapping, and the file goes with it."""
        if self._file is None:
            return np.concatenate(self._parts)
        with self._file as file:
            file.flush()
            mapped = mmap.mmap(file.fileno(), 4 * self._samples)
        wave = np.frombuffer(mapped, np.float32)
        address = wave.ctypes.data
        _maps[address] = mapped
        weakref.finalize(wave, _maps.pop, address, None)
        return wave

    def close(self) -> None:
        """Let go of the file of a wave that is not wanted any more."""
        if self._file is not None:
            self._file.close()


def parts_of(wave: torch.Tensor) -> Iterator[torch.Tensor]:
    """The parts of a wave, in order; what was looked at takes no memory any more."""
    for part in wave.split(AT_ONCE):  # type: ignore[no-untyped-call]
        yield part
        release(wave)


def release(wave: torch.Tensor) -> None:
    """Let go of the memory of a wave that lies in a file; it is read again where it is wanted."""
    mapped = _maps.get(wave.untyped_storage().data_ptr()) if _maps else None
    if mapped is not None:
        mapped.madvise(mmap.MADV_DONTNEED)


@functools.cache
def _works() -> Any:
    """What is known of each wave; a wave that is let go of takes its works with it."""
    from torch.utils.weak import WeakTensorKeyDictionary

    return WeakTensorKeyDictionary()


def compute_once(wave: torch.Tensor, name: Hashable, make: Callable[[], Any]) -> Any:
    """What `make` gives for this wave (this very tensor), made the first time it is asked for."""
    return compute_once_each([wave], name, lambda waves: [make() for _ in waves])[0]


def compute_once_each(
    waves: Sequence[torch.Tensor],
    name: Hashable,
    make: Callable[[Sequence[torch.Tensor]], Sequence[Any]],
) -> list[Any]:
    """What is known of each wave under ``name``; `make` gets those of which it is not known yet.

    Waves are distinguished as objects, not by their samples: the runner hands the same tensors to
    every metric. What is kept must not be written into.
    """
    works = _works()
    own = [works.setdefault(wave, {}) for wave in waves]
    new = {id(wave): wave for wave, known in zip(waves, own, strict=True) if name not in known}
    if new:
        for wave, value in zip(new.values(), make(list(new.values())), strict=True):
            works[wave][name] = value
    return [known[name] for known in own]


def forget(waves: Sequence[torch.Tensor]) -> None:
    """Let go of what is known of these waves."""
    for wave in waves:
        _works().pop(wave, None)
