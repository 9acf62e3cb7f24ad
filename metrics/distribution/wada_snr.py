"""How far speech stands out of its noise, by how the amplitudes of a clip are spread."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING

import numpy as np

from metrics.distribution.feature import Array, Feature

if TYPE_CHECKING:
    import torch

WINDOW_S, HOP_S = 3, 1  # as in TTSDS2
SHAPE = 0.4  # of the gamma distribution that amplitudes of speech follow
LOWEST_DB, HIGHEST_DB = -20, 100
LEAST = 1e-10  # of an amplitude, beside the peak
SILENT_DB = 0.0  # of digital silence, as in TTSDS2
QUANTILES = 20_000


class WadaSnr(Feature):
    """WADA-SNR in windows of 3 s; a shorter clip is one window (the package leaves it out)."""

    key = "wada_snr"
    factor = "environment"
    source = "Kim and Stern (2008), WADA-SNR, as in TTSDS2; its curve computed, not read off"
    rate_hz = 22_050

    def of(self, wave: torch.Tensor) -> Array:
        """Numbers in dB, (windows, 1)."""
        samples = wave.double().cpu().numpy()
        size, hop = WINDOW_S * self.rate_hz, HOP_S * self.rate_hz
        starts = range(0, max(len(samples) - size, 1), hop)
        return np.array([[wada_snr_db(samples[start : start + size])] for start in starts])


def wada_snr_db(wave: Array) -> float:
    """The ratio in dB, -20 to 100, of a wave, (samples,): ln of the mean less mean of the ln.

    Both of the amplitudes beside the peak, looked up on `curve`.
    """
    amplitudes = np.abs(wave)
    peak = amplitudes.max()
    if not peak:
        return SILENT_DB
    amplitudes = np.maximum(amplitudes / peak, LEAST)
    found = math.log(amplitudes.mean()) - np.log(amplitudes).mean()
    decibels, values = curve()
    return float(np.interp(found, values, decibels))


@functools.cache
def curve() -> tuple[Array, Array]:
    """Ratios in dB, and ln E|z| - E ln|z| of speech in normal noise at each: both rise.

    Speech has amplitudes of a gamma distribution of shape 0.4. Given one, x, the mean of |x + n| is
    that of a folded normal distribution; that of ln|x + n| rises by Dawson's integral.
    """
    from scipy.special import dawsn, gammaincinv, ndtr

    shares = (np.arange(QUANTILES) + 0.5) / QUANTILES
    speech = gammaincinv(SHAPE, shares)
    speech /= math.sqrt(SHAPE * (SHAPE + 1))  # its power is 1, as the noise's
    grid = np.linspace(0, 40, 40_001)
    slope = math.sqrt(2) * dawsn(grid / math.sqrt(2))
    rise = np.concatenate([[0], np.cumsum((slope[1:] + slope[:-1]) / 2) * (grid[1] - grid[0])])
    start = -(np.euler_gamma + math.log(2)) / 2  # of the noise alone
    decibels = np.arange(LOWEST_DB, HIGHEST_DB + 1).astype(np.float64)
    values = []
    for decibel in decibels:
        x = speech * 10 ** (decibel / 20)
        bell = math.sqrt(2 / math.pi) * np.exp(-(np.minimum(x, 40) ** 2) / 2)
        mean = (bell + x * (1 - 2 * ndtr(-x))).mean()
        far = np.log(np.maximum(x, 1)) - 1 / (2 * np.maximum(x, 1) ** 2)
        logs = np.where(x < grid[-1], start + np.interp(x, grid, rise), far)
        values.append(math.log(mean) - logs.mean())
    return decibels, np.array(values)
