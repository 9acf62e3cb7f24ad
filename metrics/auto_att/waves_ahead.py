"""Clips of the batches to come, read and resampled by threads while the model learns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

from metrics.auto_att.dataset import LabelledClip
from metrics.core import decoding

if TYPE_CHECKING:
    import torch

READERS = 4


class WavesAhead:
    """Waves by clip; of what was announced, nothing is read twice, and taken waves are let go."""

    def __init__(self, rate_hz: int) -> None:
        self.rate_hz = rate_hz
        self._pool = ThreadPoolExecutor(READERS, "waves")
        self._coming: dict[str, Future[torch.Tensor]] = {}

    def announce(self, batches: Iterable[Sequence[LabelledClip]]) -> None:
        """Begin to read these batches; clips that are being read already are not read again."""
        for batch in batches:
            for clip in batch:
                if clip.path not in self._coming:
                    self._coming[clip.path] = self._pool.submit(self._read, clip.path)

    def take(self, batch: Sequence[LabelledClip]) -> list[torch.Tensor]:
        """The batch's waves, (samples,) each, in order; an AudioError when one cannot be read."""
        self.announce([batch])
        return [self._coming.pop(clip.path).result() for clip in batch]

    def close(self) -> None:
        """Let go of threads and of what nobody took."""
        self._pool.shutdown(wait=True, cancel_futures=True)
        self._coming.clear()

    def _read(self, path: str) -> torch.Tensor:
        import torch

        return torch.from_numpy(decoding.load_wave(path, self.rate_hz))
