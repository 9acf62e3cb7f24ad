"""Mel filter banks on Slaney's scale, as librosa makes them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

BREAK_HZ = 1_000.0  # below it the scale is linear, above it logarithmic
HZ_PER_MEL = 200 / 3
LOG_STEP = np.log(6.4) / 27  # of one mel above the break


def mel_filters(
    rate_hz: int, n_fft: int, bands: int, highest_hz: float | None = None
) -> NDArray[np.float32]:
    """Return triangular filters of unit area: (bands, n_fft // 2 + 1), float32.

    Equal to ``librosa.filters.mel(sr=rate_hz, n_fft=n_fft, n_mels=bands, fmax=highest_hz)`` but
    for rounding (1e-9). ``n_fft`` may be odd. ``highest_hz``: default half the rate.

    Source: Slaney (1998), Auditory Toolbox.
    """
    bins_hz = np.fft.rfftfreq(n_fft, 1 / rate_hz)
    top = hz_to_mel(rate_hz / 2 if highest_hz is None else highest_hz)
    edges_hz = mel_to_hz(np.linspace(0.0, top, bands + 2))
    widths = np.diff(edges_hz)
    rising = (bins_hz - edges_hz[:-2, None]) / widths[:-1, None]
    falling = (edges_hz[2:, None] - bins_hz) / widths[1:, None]
    triangles = np.maximum(0.0, np.minimum(rising, falling))
    unit_area = 2.0 / (edges_hz[2:] - edges_hz[:-2])
    return (triangles * unit_area[:, None]).astype(np.float32)


def hz_to_mel(hz: float) -> float:
    """Return the place of a frequency on Slaney's scale."""
    if hz < BREAK_HZ:
        return hz / HZ_PER_MEL
    return float(BREAK_HZ / HZ_PER_MEL + np.log(hz / BREAK_HZ) / LOG_STEP)


def mel_to_hz(mels: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the frequencies in Hz of places on Slaney's scale."""
    break_mel = BREAK_HZ / HZ_PER_MEL
    above = BREAK_HZ * np.exp(LOG_STEP * (mels - break_mel))
    return np.where(mels < break_mel, mels * HZ_PER_MEL, above)
