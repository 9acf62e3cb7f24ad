"""On which side digits are heard: both earpieces work and are worn the right way round."""

from random import Random
from typing import Any

import numpy as np

from listening.checks import sounds
from listening.checks.check import Check, CheckOption, CheckSettings, Wave
from listening.checks.sounds import EDGE_S, LEVEL_DBFS, rms
from listening.methods.method import gettext_noop

SPOKEN = 2
GAINS = {"left": (1.0, 0.0), "middle": (0.5**0.5, 0.5**0.5), "right": (0.0, 1.0)}  # equal power


class Stereo(Check):
    key = "stereo"
    title = gettext_noop("Left or right?")
    text = gettext_noop(
        "Please put headphones on both ears, the side marked L on the left one. Each time you hear "
        "two digits. Say on which side you hear them."
    )
    question = gettext_noop("Where do you hear the digits?")
    options = (
        CheckOption("left", gettext_noop("On the left"), "1"),
        CheckOption("middle", gettext_noop("In the middle"), "2"),
        CheckOption("right", gettext_noop("On the right"), "3"),
    )
    truths = tuple(GAINS)
    advice = gettext_noop(
        "That was not right every time. Check that both earpieces work, that the left one is on "
        "the left and that no “mono” setting is on. Then try again."
    )
    trials = 4
    pass_at_least = 4
    attempts = 2
    languages = sounds.LANGUAGES
    sample_rate_hz = sounds.RATE_HZ  # 1.6 s of both channels: 102 KB

    def facts(self, settings: CheckSettings, truth: str, rng: Random) -> dict[str, Any]:
        return {"digits": "".join(rng.sample("0123456789", SPOKEN))}

    def signal(self, settings: CheckSettings, seed: str, place: int) -> Wave:
        trial = self.plan(settings, seed)[place]
        words = sounds.spoken(settings.language, trial.facts["digits"])
        words = np.pad(words, round(EDGE_S * self.sample_rate_hz))
        return (rms(LEVEL_DBFS) * np.outer(words, GAINS[trial.truth])).astype(np.float32)
