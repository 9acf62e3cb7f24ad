"""F0, voicing and mel-cepstra of a clip by the WORLD vocoder's analysis (package pyworld)."""

from __future__ import annotations

import functools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FRAME_S = 0.005
FFT = 1024

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Voice:
    """What WORLD hears in each frame of 5 ms, (frames, ...)."""

    f0_hz: Array  # (frames,); 0 where the frame is unvoiced
    mel_cepstra: Array  # (frames, order + 1); the first one is the level
    power_db: Array  # (frames,): of the envelope, beside its mean over the clip


def f0_of(wave: Array, rate_hz: int, low_hz: float, high_hz: float) -> tuple[Array, Array]:
    """F0 in Hz, (frames,), 0 where unvoiced, and the frames' times in s: Harvest, refined.

    ``wave``: (samples,), float64. Source: Morise (2017), Harvest; StoneMask for the refinement.
    """
    import pyworld

    raw, times = pyworld.harvest(
        wave, rate_hz, f0_floor=low_hz, f0_ceil=high_hz, frame_period=FRAME_S * 1000
    )
    return pyworld.stonemask(wave, raw, times, rate_hz), times


def voice_of(
    wave: Array, rate_hz: int, low_hz: float, high_hz: float, order: int, alpha: float
) -> Voice:
    """F0 and the mel-cepstrum of CheapTrick's envelope; ``wave``: (samples,), float64."""
    import pyworld

    f0, times = f0_of(wave, rate_hz, low_hz, high_hz)
    envelope = pyworld.cheaptrick(wave, f0, times, rate_hz, fft_size=FFT)
    power = envelope.mean(axis=1)
    level_db = 10 * np.log10(power / power.mean())
    return Voice(f0, mel_cepstra(envelope, order, alpha), level_db)


def mel_cepstra(envelope: Array, order: int, alpha: float) -> Array:
    """Mel-cepstra, (frames, order + 1), of power spectra, (frames, bins), warped by ``alpha``.

    The cepstrum of the log power, its first coefficient halved, through the frequency transform
    of Oppenheim and Johnson: SPTK's sp2mc.
    """
    cepstra = np.fft.irfft(np.log(envelope))
    cepstra[:, 0] /= 2
    warped: Array = cepstra @ frequency_transform(cepstra.shape[1], order, alpha).T
    return warped


@functools.lru_cache(maxsize=4)
def frequency_transform(size: int, order: int, alpha: float) -> Array:
    """The matrix, (order + 1, size), that brings a cepstrum to the warped frequency axis.

    Column n is the series of ((z^-1 - alpha) / (1 - alpha z^-1))^n turned round: each follows
    from the one before it.
    """
    columns = np.zeros((order + 1, size))
    columns[0, 0] = 1.0
    beta = 1 - alpha**2
    for n in range(1, size):
        before, column = columns[:, n - 1], columns[:, n]
        column[0] = alpha * before[0]
        if order:
            column[1] = beta * before[0] + alpha * before[1]
        for m in range(2, order + 1):
            column[m] = before[m - 1] + alpha * (before[m] - column[m - 1])
    return columns
