"""How high a clip is spoken."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from metrics.distribution.feature import Array, Feature

if TYPE_CHECKING:
    import torch

HOP = 256  # samples
FRAMES = 1_000  # that count, from the start: 11.6 s, as in TTSDS2
NONE_HZ = 1e-6  # of a clip without voice, as in TTSDS2


class Pitch(Feature):
    """The mean of F0 over a clip, with unvoiced frames interpolated."""

    key = "pitch"
    factor = "prosody"
    source = "Morise et al. (2009), DIO with StoneMask (pyworld), as in TTSDS2"
    rate_hz = 22_050

    def of(self, wave: torch.Tensor) -> Array:
        """One number in Hz, (1, 1)."""
        import pyworld

        samples = wave.double().cpu().numpy()
        f0, times = pyworld.dio(
            samples, self.rate_hz, frame_period=HOP / self.rate_hz * 1000, speed=1
        )
        f0 = pyworld.stonemask(samples, f0, times, self.rate_hz)[:FRAMES]
        voiced = np.flatnonzero(f0 > NONE_HZ)
        if not len(voiced):
            return np.array([[NONE_HZ]])
        return np.array([[np.interp(np.arange(len(f0)), voiced, f0[voiced]).mean()]])
