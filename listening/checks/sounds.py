"""Noises, tones and pauses that the checks are made of."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Samples = npt.NDArray[np.float64]

LEVEL_DBFS = -26.0  # of the clips, and of the sound with which the rater set the volume


def rms(level_dbfs: float) -> float:
    return float(10 ** (level_dbfs / 20))


def at_level(wave: Samples, level_dbfs: float) -> Samples:
    """The same sound with this root mean square over all its samples and channels."""
    return wave * (rms(level_dbfs) / float(np.sqrt(np.mean(wave**2))))


def faded(wave: Samples, rate_hz: int, fade_s: float) -> Samples:
    """With raised-cosine ramps at both ends, the same in every channel."""
    n = round(fade_s * rate_hz)
    ramp = np.sin(np.linspace(0, np.pi / 2, n)) ** 2
    gain = np.ones(len(wave))
    gain[:n], gain[-n:] = ramp, ramp[::-1]
    return wave * (gain[:, np.newaxis] if wave.ndim == 2 else gain)


def in_a_row(intervals: list[Samples], rate_hz: int, *, pause_s: float, edge_s: float) -> Samples:
    """Intervals with silence between them and at both ends."""
    shape = intervals[0].shape[1:]
    pause = np.zeros((round(pause_s * rate_hz), *shape))
    edge = np.zeros((round(edge_s * rate_hz), *shape))
    row = [edge]
    for k, interval in enumerate(intervals):
        row += [pause, interval] if k else [interval]
    return np.concatenate([*row, edge])


def shaped_noise(magnitude: Samples, samples: int, rng: np.random.Generator) -> Samples:
    """Noise with this magnitude at each of samples // 2 + 1 frequencies, and random phases."""
    phases = rng.uniform(0, 2 * np.pi, len(magnitude))
    return np.fft.irfft(magnitude * np.exp(1j * phases), samples)
