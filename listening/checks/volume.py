"""A sound as loud as the clips, so that the rater sets a comfortable volume first."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from listening.checks.base import Check

DURATION_S = 2.0
LEVEL_DBFS = -26.0  # the active speech level that ITU-T P.800 studies use
SYLLABLES_HZ = 4.0  # the rate at which speech rises and falls


class Volume(Check):
    key = "volume"
    sample_rate_hz = 22_050  # enough for its band, and half as long to wait for on a slow line
    title = "Set your volume"
    text = (
        "Put your headphones on if you have them. Play the sound and set the volume so that it is "
        "clear and comfortable. Please leave it there until the end."
    )

    def signal(self) -> npt.NDArray[np.float32]:
        """Noise with the spectrum (pink) and the rhythm (4 Hz) of speech, seamless as a loop."""
        n = round(DURATION_S * self.sample_rate_hz)
        phases = np.random.default_rng(4).uniform(0, 2 * np.pi, n // 2 + 1)
        frequency_hz = np.fft.rfftfreq(n, 1 / self.sample_rate_hz)
        in_band = (frequency_hz > 100) & (frequency_hz < 8000)
        size = np.where(in_band, 1 / np.sqrt(np.maximum(frequency_hz, 1)), 0)
        noise = np.fft.irfft(size * np.exp(1j * phases), n)
        time_s = np.arange(n) / self.sample_rate_hz
        rhythm = 0.55 - 0.45 * np.cos(2 * np.pi * SYLLABLES_HZ * time_s)
        wave = noise * rhythm
        wave *= 10 ** (LEVEL_DBFS / 20) / np.sqrt(np.mean(wave**2))
        return wave.astype(np.float32)

    def result(self, answer: Mapping[str, Any]) -> dict[str, Any]:
        if answer.get("comfortable") is not True:
            raise ValueError("Please play the sound and set the volume first.")
        return {"passed": True}
