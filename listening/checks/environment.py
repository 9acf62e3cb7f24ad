"""Which of two sounds has less noise: only heard in a quiet place with fair headphones (P.808)."""

from collections.abc import Mapping
from random import Random
from typing import Any

import numpy as np

from listening.checks import sounds
from listening.checks.check import (
    Check,
    CheckOption,
    CheckSettings,
    Number,
    Unfit,
    Wave,
    secret_noise,
)
from listening.checks.sounds import (
    EDGE_S,
    LEVEL_DBFS,
    PAUSE_S,
    Samples,
    at_level,
    faded,
    in_a_row,
    rms,
)
from listening.methods.method import gettext_noop

SPEECH_DIGITS = 2
LEAD_S = 0.15  # noise before and after the digits, where it is heard best
FADE_S = 0.02


class Environment(Check):
    key = "environment"
    title = gettext_noop("How quiet is it around you?")
    text = gettext_noop(
        "Each time you hear the same words twice. One of the two has a little less noise behind "
        "the voice. Say which one is the cleaner. The difference is small: listen closely."
    )
    question = gettext_noop("Which one has less noise?")
    options = (
        CheckOption("first", gettext_noop("The first"), "1"),
        CheckOption("second", gettext_noop("The second"), "2"),
        CheckOption("cannot_tell", gettext_noop("I cannot tell"), "3"),
    )
    truths = ("first", "second")  # who cannot tell is not wrong to say so, but it does not count
    advice = gettext_noop(
        "The difference was not heard often enough. Go to a quieter place, close the window, use "
        "headphones if you have some, then try again."
    )
    trials = 4
    pass_at_least = 2
    attempts = 4
    on_fail = "continue"  # P.808 pays these sessions and leaves them out of the analysis
    languages = sounds.LANGUAGES
    numbers = {"better_db": Number(50.0, 0.0, 70.0), "worse_db": Number(40.0, 0.0, 70.0)}
    sample_rate_hz = sounds.RATE_HZ  # 4.1 s, 131 KB; a lower rate would cut the noise's upper half

    def settings(self, overrides: Mapping[str, Any], *, language: str = "en") -> CheckSettings:
        settings = super().settings(overrides, language=language)
        worse, better = settings.numbers["worse_db"], settings.numbers["better_db"]
        if worse >= better:
            problem = f"{better:g} dB is not cleaner than {worse:g} dB."
            raise Unfit("better_db", problem, f"Write more than worse_db, which is {worse:g}.")
        return settings

    def facts(self, settings: CheckSettings, truth: str, rng: Random) -> dict[str, Any]:
        return {"digits": "".join(rng.sample("0123456789", SPEECH_DIGITS))}

    def signal(self, settings: CheckSettings, seed: str, place: int) -> Wave:
        """The same digits in the same white noise twice, at the two ratios."""
        trial = self.plan(settings, seed)[place]
        words = sounds.spoken(settings.language, trial.facts["digits"])
        words = np.pad(words, round(LEAD_S * self.sample_rate_hz))
        rng = secret_noise(self.key, seed, "noise", place)
        noise = at_level(rng.standard_normal(len(words)), 0.0)
        better, worse = settings.numbers["better_db"], settings.numbers["worse_db"]
        ratios_db = (better, worse) if trial.truth == "first" else (worse, better)
        halves = [self._mixed(words, noise, snr_db) for snr_db in ratios_db]
        row = in_a_row(halves, self.sample_rate_hz, pause_s=PAUSE_S, edge_s=EDGE_S)
        return row.astype(np.float32)

    def _mixed(self, words: Samples, noise: Samples, snr_db: float) -> Samples:
        """At one loudness, so that only the noise differs."""
        power_ratio = 10 ** (-snr_db / 10)
        mixed = (words + np.sqrt(power_ratio) * noise) / np.sqrt(1 + power_ratio)
        return faded(rms(LEVEL_DBFS) * mixed, self.sample_rate_hz, FADE_S)
