"""How many beeps are there? Raters who play no sound, or do not listen, cannot say."""

import numpy as np

from listening.checks import Check, CheckOption, CheckSettings
from listening.checks.check import Wave
from listening.checks.sounds import LEVEL_DBFS, at_level, faded, in_a_row

PLUGIN_API_VERSION = 1
COUNTS = ("2", "3", "4", "5")
BEEP_S = 0.15
PAUSE_S = 0.25
EDGE_S = 0.1
TONE_HZ = 800.0


class Beeps(Check):
    """A row of two to five short tones."""

    key = "beeps"
    title = "How many beeps?"
    text = "You hear a row of short beeps. Count them."
    question = "How many beeps did you hear?"
    options = tuple(CheckOption(count, count, count) for count in COUNTS)
    truths = COUNTS
    trials = 3
    pass_at_least = 3
    attempts = 2
    sample_rate_hz = 8_000

    def signal(self, settings: CheckSettings, seed: str, place: int) -> Wave:
        count = int(self.plan(settings, seed)[place].truth)
        time_s = np.arange(round(BEEP_S * self.sample_rate_hz)) / self.sample_rate_hz
        beep = faded(np.sin(2 * np.pi * TONE_HZ * time_s), self.sample_rate_hz, 0.01)
        beeps = [at_level(beep, LEVEL_DBFS)] * count
        row = in_a_row(beeps, self.sample_rate_hz, pause_s=PAUSE_S, edge_s=EDGE_S)
        return row.astype(np.float32)
