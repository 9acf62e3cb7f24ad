"""A sound as loud as the clips, so that the rater sets a comfortable volume first."""

from collections.abc import Sequence

import numpy as np

from listening.checks.check import Check, CheckSettings, Outcome, Wave
from listening.checks.sounds import LEVEL_DBFS, at_level, shaped_noise
from listening.methods.method import gettext_noop

DURATION_S = 2.0
SYLLABLES_HZ = 4.0  # the rate at which speech rises and falls
COMFORTABLE = "comfortable"


class Volume(Check):
    key = "volume"
    kind = "volume"
    on_fail = "continue"  # it cannot fail: the page waits until the rater confirms
    sample_rate_hz = 22_050  # enough for its band, and half as long to wait for on a slow line
    title = gettext_noop("Set your volume")
    text = gettext_noop(
        "Put your headphones on if you have them. Play the sound and set the volume so that it is "
        "clear and comfortable. Please leave it there until the end."
    )

    def signal(self, settings: CheckSettings, seed: str, place: int) -> Wave:
        """Noise with the spectrum (pink) and the rhythm (4 Hz) of speech, seamless as a loop.

        The same for everyone: there is nothing to guess.
        """
        n = round(DURATION_S * self.sample_rate_hz)
        frequency_hz = np.fft.rfftfreq(n, 1 / self.sample_rate_hz)
        in_band = (frequency_hz > 100) & (frequency_hz < 8000)
        size = np.where(in_band, 1 / np.sqrt(np.maximum(frequency_hz, 1)), 0)
        noise = shaped_noise(size, n, np.random.default_rng(4))
        time_s = np.arange(n) / self.sample_rate_hz
        rhythm = 0.55 - 0.45 * np.cos(2 * np.pi * SYLLABLES_HZ * time_s)
        return at_level(noise * rhythm, LEVEL_DBFS).astype(np.float32)

    def judge(self, settings: CheckSettings, seed: str, answers: Sequence[str]) -> Outcome:
        """Passed by the one answer that the page sends once the sound was played."""
        if list(answers) != [COMFORTABLE]:
            raise ValueError(gettext_noop("Please play the sound and set the volume first."))
        return Outcome(True, 1, 1)
