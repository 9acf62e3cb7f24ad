"""Which of three tones is quietest; one of them cancels itself in the air (Woods et al. 2017)."""

from random import Random
from typing import Any

import numpy as np

from listening.checks.check import Check, CheckSettings, Wave
from listening.checks.sounds import (
    EDGE_S,
    INTERVAL_S,
    PAUSE_S,
    PLACES,
    WHICH,
    Samples,
    faded,
    in_a_row,
    rms,
)
from listening.methods.method import gettext_noop

TONE_HZ = 200.0
TONE_DBFS = -20.0  # a low tone sounds softer than speech of the same level
QUIETER_DB = 6.0
FADE_S = 0.1


class Antiphase(Check):
    key = "antiphase"
    title = gettext_noop("Which tone is the quietest?")
    text = gettext_noop(
        "Please put headphones on both ears. Each time you hear three low tones, one after the "
        "other. Say which one is the quietest."
    )
    question = gettext_noop("Which tone is the quietest?")
    options = WHICH
    truths = PLACES
    advice = gettext_noop(
        "That was not right often enough. Check that you wear headphones on both ears and that no "
        "“mono” setting is on. Then try again."
    )
    trials = 6
    pass_at_least = 5
    attempts = 2
    sample_rate_hz = 8_000  # the lowest that every browser decodes; the tone needs 400

    def facts(self, settings: CheckSettings, truth: str, rng: Random) -> dict[str, Any]:
        return {"inverted": rng.choice([place for place in PLACES if place != truth])}

    def signal(self, settings: CheckSettings, seed: str, place: int) -> Wave:
        """Over loudspeakers the tone that is inverted in one ear fades and seems the quietest."""
        trial = self.plan(settings, seed)[place]
        tones = [
            self._tone(
                -QUIETER_DB if where == trial.truth else 0.0, where == trial.facts["inverted"]
            )
            for where in PLACES
        ]
        row = in_a_row(tones, self.sample_rate_hz, pause_s=PAUSE_S, edge_s=EDGE_S)
        return row.astype(np.float32)

    def _tone(self, level_db: float, inverted: bool) -> Samples:
        time_s = np.arange(round(INTERVAL_S * self.sample_rate_hz)) / self.sample_rate_hz
        left = np.sqrt(2) * rms(TONE_DBFS + level_db) * np.sin(2 * np.pi * TONE_HZ * time_s)
        ears = np.stack([left, -left if inverted else left], axis=1)
        return faded(ears, self.sample_rate_hz, FADE_S)
