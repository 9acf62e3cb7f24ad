"""Sounds that the checks are made of: noise, tones, spoken digits, and three intervals in a row."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np
import numpy.typing as npt
import soundfile

from listening.checks.check import CheckOption
from listening.methods.method import gettext_noop

Samples = npt.NDArray[np.float64]

LEVEL_DBFS = -26.0  # of the clips, and of the sound with which the rater set the volume
FOLDER = Path(__file__).parent / "audio"
RATE_HZ = 16_000  # of the recordings: consonants such as the s of “six” need what is above 4 kHz
LANGUAGES = tuple(sorted(path.name for path in FOLDER.iterdir() if path.is_dir()))
SLOT_S = 0.7  # each digit starts a slot, so that its length does not change that of the sound
FRAME = 512
PLACES = ("first", "second", "third")
WHICH = (
    CheckOption("first", gettext_noop("The first"), "1"),
    CheckOption("second", gettext_noop("The second"), "2"),
    CheckOption("third", gettext_noop("The third"), "3"),
)
INTERVAL_S = 1.0
PAUSE_S = 0.5
EDGE_S = 0.1  # silence before and after, so that no loudspeaker swallows the start


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


@lru_cache(maxsize=100)
def digit(language: str, number: str) -> Samples:
    """A spoken digit, RMS 1; the longest is shorter than a slot."""
    wave, rate_hz = soundfile.read(FOLDER / language / f"{number}.flac", dtype="float64")
    if rate_hz != RATE_HZ or len(wave) > SLOT_S * RATE_HZ:
        raise ValueError(f"the digit {number} in “{language}” has another rate or is too long")
    wave = at_level(wave, 0.0)
    wave.flags.writeable = False
    return wave


def spoken(language: str, numbers: str) -> Samples:
    """The digits one after the other, one per slot, equally loud."""
    slots = np.zeros(round(SLOT_S * RATE_HZ) * len(numbers))
    for k, number in enumerate(numbers):
        start, wave = k * round(SLOT_S * RATE_HZ), digit(language, number)
        slots[start : start + len(wave)] = wave
    return slots


@lru_cache(maxsize=20)
def spectrum(language: str) -> Samples:
    """Long-term power spectrum of the ten digits: mean over Hann frames of half overlap."""
    window = np.hanning(FRAME)
    total = np.zeros(FRAME // 2 + 1)
    for number in "0123456789":
        wave = np.pad(digit(language, number), FRAME // 2)
        frames = np.lib.stride_tricks.sliding_window_view(wave, FRAME)[:: FRAME // 2]
        total += np.mean(np.abs(np.fft.rfft(frames * window)) ** 2, axis=0)
    total.flags.writeable = False
    return total


def voice_noise(language: str, samples: int, rng: np.random.Generator) -> Samples:
    """Noise that masks every part of the voice alike: shaped like its long-term spectrum, RMS 1."""
    fine_hz = np.fft.rfftfreq(samples, 1 / RATE_HZ)
    coarse_hz = np.fft.rfftfreq(FRAME, 1 / RATE_HZ)
    magnitude = np.sqrt(np.interp(fine_hz, coarse_hz, spectrum(language)))
    magnitude[fine_hz < 60] = 0.0  # no voice is there, only rumble
    return at_level(shaped_noise(magnitude, samples, rng), 0.0)
