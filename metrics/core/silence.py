"""What counts as silence: one rule, applied before every metric."""

from __future__ import annotations

import math

from metrics.core import wave_memory
from metrics.core.lazy_torch import torch

FRAME_S = 0.025
SILENT_DBFS = -70.0  # the absolute gate of ITU-R BS.1770 lies at -70 LUFS


def silence(wave: torch.Tensor, rate_hz: int = 16_000) -> str:
    """Return why a wave, (samples,), holds no sound that can be measured; empty when it does.

    Sound is what moves: an offset counts for nothing. The wave is silent when no frame of 25 ms has
    a root mean square of -70 dB of full scale or more about its own mean. What is found is kept
    with the wave, so that it is looked at once for all metrics.
    """
    power: float = wave_memory.compute_once(
        wave, ("loudest power", rate_hz), lambda: _loudest_power(wave, rate_hz)
    )
    if power >= 10 ** (SILENT_DBFS / 10):
        return ""
    if all(bool((part == wave[0]).all()) for part in wave_memory.parts_of(wave)):
        value = float(wave[0]) if len(wave) else 0.0
        return f"silent: every sample has the value {value:.3g}" if value else "silent"
    return (
        f"silent: no 25 ms of it are above {10 * math.log10(max(power, 1e-30)):.0f} dBFS, "
        f"and sound is measured from {SILENT_DBFS:.0f} dBFS on"
    )


def _loudest_power(wave: torch.Tensor, rate_hz: int) -> float:
    """Return the largest variance of a frame."""
    size, loudest = round(FRAME_S * rate_hz), 0.0
    for part in wave_memory.parts_of(wave):
        whole = len(part) // size * size
        for frames in (part[:whole].reshape(-1, size), part[whole:].reshape(1, -1)):
            if frames.numel():
                power = frames.var(dim=1, correction=0).amax()
                loudest = max(loudest, float(power))
    return loudest
