"""Three spoken digits in noise of the same spectrum: hearing, device and place at once (P.808)."""

import re
import unicodedata
from collections.abc import Sequence

import numpy as np

from listening.checks import sounds
from listening.checks.check import (
    Check,
    CheckSettings,
    CheckTrial,
    Number,
    Outcome,
    Wave,
    secret_noise,
    secret_rng,
)
from listening.checks.sounds import LEVEL_DBFS, faded, rms
from listening.methods.method import gettext_noop

DIGITS = "0123456789"
TRIPLETS = 720  # of three different digits
LEAD_S = 0.5  # noise before the first digit
FADE_S = 0.05
THREE = gettext_noop("Please type the three digits of each sound, for example 427.")
WRITTEN = str.maketrans("零〇一二三四五六七八九", "00123456789")


class DigitsInNoise(Check):
    key = "digits_in_noise"
    kind = "digits"
    title = gettext_noop("Digits in noise")
    text = gettext_noop(
        "Each time you hear three digits; from the second time on there is noise, too. Type the "
        "three digits that you hear. If you are not sure, guess."
    )
    question = gettext_noop("Which three digits do you hear?")
    advice = gettext_noop(
        "Too many digits were missed. Go to a quiet place, check your headphones and the volume, "
        "then try again."
    )
    trials = 5
    pass_at_least = 3
    languages = sounds.LANGUAGES
    numbers = {"snr_db": Number(-2.0, -20.0, 20.0)}
    sample_rate_hz = sounds.RATE_HZ

    def plan(self, settings: CheckSettings, seed: str) -> tuple[CheckTrial, ...]:
        """The first triplet is clean; digits differ within a triplet, and triplets differ."""
        rng = secret_rng(self.key, seed, "plan")
        drawn: list[str] = []
        while len(drawn) < settings.trials:
            triplet = "".join(rng.sample(DIGITS, 3))
            if triplet not in drawn:
                drawn.append(triplet)
        return tuple(
            CheckTrial(self.question, (), triplet, {"clean": k == 0})
            for k, triplet in enumerate(drawn)
        )

    def signal(self, settings: CheckSettings, seed: str, place: int) -> Wave:
        """Speech and noise together have the level of the clips, whatever their ratio."""
        trial = self.plan(settings, seed)[place]
        words = sounds.spoken(settings.language, trial.truth)
        wave = np.pad(words, round(LEAD_S * self.sample_rate_hz))
        if trial.facts["clean"]:
            return (rms(LEVEL_DBFS) * wave).astype(np.float32)
        rng = secret_noise(self.key, seed, "noise", place)
        noise = sounds.voice_noise(settings.language, len(wave), rng)
        power_ratio = 10 ** (-settings.numbers["snr_db"] / 10)  # of noise to speech
        mixed = (wave + np.sqrt(power_ratio) * noise) / np.sqrt(1 + power_ratio)
        return (rms(LEVEL_DBFS) * faded(mixed, self.sample_rate_hz, FADE_S)).astype(np.float32)

    def read(self, answer: str, trial: CheckTrial) -> str:
        """Three digits, however they were typed: “4 2 7”, “４２７” or “四二七”."""
        plain = unicodedata.normalize("NFKC", answer[:40]).translate(WRITTEN)
        plain = re.sub(r"[\s,.、。-]", "", plain)
        if not re.fullmatch(r"[0-9]{3}", plain):
            raise ValueError(THREE)
        return plain

    def judge(self, settings: CheckSettings, seed: str, answers: Sequence[str]) -> Outcome:
        """A triplet counts when all three digits are right; single digits are kept as a fact."""
        outcome = super().judge(settings, seed, answers)
        pairs = zip(outcome.facts["answers"], outcome.facts["truths"], strict=True)
        hits = sum(a == b for answer, truth in pairs for a, b in zip(answer, truth, strict=True))
        facts = {**outcome.facts, "digits_right": hits, "language": settings.language}
        return Outcome(outcome.passed, outcome.right, outcome.total, facts)

    def chance(self) -> float:
        return 1 / TRIPLETS
