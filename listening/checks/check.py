"""Check, its trials and outcome, and the registry of checks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from math import ceil
from random import Random
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from listening.checks.check_settings import CheckSettings, Number, read_settings
from listening.common.odds import at_least, in_attempts
from listening.common.registry import Registry
from listening.methods.method import gettext_noop

Wave = npt.NDArray[np.float32]

ALL = gettext_noop("Please play every sound and answer it first.")
CHOOSE = gettext_noop("Please choose one of the answers for each sound.")
ONCE_MORE = gettext_noop("That was not enough. Please try once more.")


@dataclass(frozen=True)
class CheckOption:
    """One answer that a rater may choose."""

    value: str
    text: str
    hotkey: str = ""


@dataclass(frozen=True)
class CheckTrial:
    """One sound with its question; `truth` and `facts` never leave the server."""

    question: str
    options: tuple[CheckOption, ...]
    truth: str
    facts: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """What one attempt came to, and what is kept of it."""

    passed: bool
    right: int
    total: int
    facts: Mapping[str, Any] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        counts = {"passed": self.passed, "right": self.right, "total": self.total}
        return {**counts, **self.facts}


class Check:
    """A test before the trials; a subclass registers itself by its `key`.

    `seed` is the server's secret for one attempt of one session: it alone fixes truths and sounds,
    so nothing needs to be stored before the answers come, and no two raters can share answers.
    """

    key: ClassVar[str]
    title: ClassVar[str]
    text: ClassVar[str]
    kind: ClassVar[str] = "choices"  # volume, choices or digits: what the page shows
    question: ClassVar[str] = ""
    options: ClassVar[tuple[CheckOption, ...]] = ()
    truths: ClassVar[tuple[str, ...]] = ()  # values that can be right, each as often
    advice: ClassVar[str] = ONCE_MORE  # what to mend before the next attempt
    trials: ClassVar[int] = 0
    pass_at_least: ClassVar[int] = 0
    attempts: ClassVar[int] = 1
    on_fail: ClassVar[str] = "screen_out"
    feedback: ClassVar[bool] = True
    languages: ClassVar[tuple[str, ...]] = ()
    numbers: ClassVar[Mapping[str, Number]] = {}
    sample_rate_hz: ClassVar[int] = 44_100
    registry: ClassVar[Registry[Check]] = Registry("check", "listening.checks")

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        Check.registry.add(cls)

    def settings(self, given: Mapping[str, Any], *, language: str = "en") -> CheckSettings:
        """The check as the study asks it, in the study's language; Unfit when it cannot be."""
        return read_settings(self, given, language)

    def plan(self, settings: CheckSettings, seed: str) -> tuple[CheckTrial, ...]:
        """The trials of one attempt, with what is right."""
        rng = secret_rng(self.key, seed, "plan")
        drawn = evenly_drawn(self.truths, settings.trials, rng)
        return tuple(
            CheckTrial(self.question, self.options, truth, self.facts(settings, truth, rng))
            for truth in drawn
        )

    def facts(self, settings: CheckSettings, truth: str, rng: Random) -> dict[str, Any]:
        """What else is drawn for a trial."""
        return {}

    def signal(self, settings: CheckSettings, seed: str, place: int) -> Wave:
        """The sound at this place: (samples,) mono or (samples, 2), in [-1, 1]."""
        raise NotImplementedError

    def read(self, answer: str, trial: CheckTrial) -> str:
        """The answer as it is compared with the truth; ValueError when it is none."""
        if answer not in [option.value for option in trial.options]:
            raise ValueError(CHOOSE)
        return answer

    def judge(self, settings: CheckSettings, seed: str, answers: Sequence[str]) -> Outcome:
        """What the answers of one attempt come to; ValueError, in a rater's words, when some lack.

        An answer is right or wrong; enough right ones pass.
        """
        trials = self.plan(settings, seed)
        if len(answers) != len(trials):
            raise ValueError(ALL)
        given = [self.read(a, trial) for a, trial in zip(answers, trials, strict=True)]
        truths = [trial.truth for trial in trials]
        right = sum(a == truth for a, truth in zip(given, truths, strict=True))
        facts = {"answers": given, "truths": truths, **settings.numbers}
        return Outcome(right >= settings.pass_at_least, right, len(trials), facts)

    def feedback_sentence(self, settings: CheckSettings) -> str:
        """The sentence after a failed attempt that may be repeated; it betrays no answer."""
        return self.advice if settings.feedback else ONCE_MORE

    def chance(self) -> float:
        """Of one trial being right by guessing among the answers that can be right."""
        return 1 / len(self.truths) if self.truths else 1.0

    def odds_once(self, settings: CheckSettings) -> float:
        """Of passing one attempt by guessing."""
        return at_least(settings.pass_at_least, settings.trials, self.chance())

    def odds(self, settings: CheckSettings) -> float:
        """Of passing by guessing in one of the attempts."""
        return in_attempts(self.odds_once(settings), settings.attempts)


def check_named(key: str) -> Check:
    """The check with this key; KeyError lists those there are."""
    try:
        return Check.registry[key]()
    except KeyError:
        known = ", ".join(sorted(Check.registry))
        raise KeyError(f"no check “{key}”; there are: {known}") from None


def _secret(*words: object) -> bytes:
    return sha256("|".join(map(str, words)).encode()).digest()


def secret_rng(*words: object) -> Random:
    """Draws that only who knows all the words can repeat."""
    return Random(_secret(*words))


def secret_noise(*words: object) -> np.random.Generator:
    """The same for sounds; what is heard of it tells nothing about other words."""
    return np.random.Generator(np.random.PCG64(int.from_bytes(_secret(*words))))


def evenly_drawn(values: Sequence[str], count: int, rng: Random) -> list[str]:
    """So many values in an order that nobody can predict, none much more often than another.

    All orders are equally likely in which each value comes at most once more or less often than
    even shares would have it; so neither one button nor counting what is left helps a guesser.
    """
    if not count:
        return []
    fewest, most = count // len(values) - 1, ceil(count / len(values)) + 1
    while True:
        drawn = rng.choices(values, k=count)
        if all(fewest <= drawn.count(value) <= most for value in values):
            return drawn
