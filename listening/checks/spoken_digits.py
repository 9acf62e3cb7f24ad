"""Spoken digits in the languages that are there, and noise with the spectrum of their voice."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import numpy as np
import soundfile

from listening.checks.sounds import Samples, at_level, shaped_noise

FOLDER = Path(__file__).parent / "audio"
RATE_HZ = 16_000  # of the recordings: consonants such as the s of “six” need what is above 4 kHz
LANGUAGES = tuple(sorted(path.name for path in FOLDER.iterdir() if path.is_dir()))
SLOT_S = 0.7  # each digit starts a slot, so that its length does not change that of the sound
FRAME = 512


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
