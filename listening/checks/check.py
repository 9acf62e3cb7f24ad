"""Check, its settings, trials and outcome, the odds of guessing, and the registry of checks.

A study sets a check within the bounds that the check declares; `Unfit` names the field and the
remedy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from math import ceil, comb
from random import Random
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from listening.common.plugins import class_named
from listening.common.registry import Registry
from listening.methods.method import gettext_noop

MOST_TRIALS = 20
MOST_ATTEMPTS = 10
ON_FAIL = ("screen_out", "continue")
KINDS = ("volume", "choices", "digits")
WORDS = ("title", "text")
LONGEST = {"title": 200, "text": 5000}
Wave = npt.NDArray[np.float32]
ALL = gettext_noop("Please play every sound and answer it first.")
CHOOSE = gettext_noop("Please choose one of the answers for each sound.")
ONCE_MORE = gettext_noop("That was not enough. Please try once more.")


def at_least(right: int, trials: int, chance: float) -> float:
    """Probability of `right` or more of `trials` when each is right with this chance."""
    if not 0 <= chance <= 1 or trials < 0:
        raise ValueError(f"{trials} trials with a chance of {chance:g} cannot be")
    terms = (
        comb(trials, k) * chance**k * (1 - chance) ** (trials - k)
        for k in range(max(right, 0), trials + 1)
    )
    return min(1.0, sum(terms))


def in_attempts(once: float, attempts: int) -> float:
    """Probability of passing at least one of so many attempts, each drawn anew."""
    return 1.0 - float((1.0 - once) ** attempts)


class Unfit(ValueError):
    """A setting that cannot be; `field` says which, `remedy` what to write instead."""

    def __init__(self, field: str, problem: str, remedy: str) -> None:
        self.field, self.problem, self.remedy = field, problem, remedy
        super().__init__(f"{problem} {remedy}")


@dataclass(frozen=True)
class Number:
    """A number of a check that a study may set, and its bounds."""

    default: float
    low: float
    high: float


@dataclass(frozen=True)
class CheckSettings:
    """A check as one study asks it."""

    key: str
    title: str
    text: str
    trials: int
    pass_at_least: int
    attempts: int
    on_fail: str  # screen_out: the session ends; continue: the outcome is kept as a fact
    feedback: bool  # is the rater told what to mend before the next attempt?
    language: str = ""  # of the spoken digits
    numbers: Mapping[str, float] = field(default_factory=dict)  # the check's own, such as snr_db


def read_settings(check: Check, overrides: Mapping[str, Any], language: str) -> CheckSettings:
    """The check's defaults with what the study changes; Unfit names field and remedy."""
    known = names_of(check)
    for name in overrides:
        if name not in (*known, "key"):
            raise Unfit(
                name,
                f"The check “{check.key}” has no setting “{name}”.",
                f"It has: {', '.join(known)}.",
            )
    words = {name: _words(overrides.get(name, getattr(check, name)), name) for name in WORDS}
    trials, passed = _marks(check, overrides)
    on_fail = overrides.get("on_fail", check.on_fail)
    if on_fail not in ON_FAIL:
        raise Unfit("on_fail", f"“{on_fail}” is no answer to a failure.", _one_of(ON_FAIL))
    feedback = overrides.get("feedback", check.feedback)
    if not isinstance(feedback, bool):
        raise Unfit("feedback", f"{feedback!r} is neither yes nor no.", "Write true or false.")
    return CheckSettings(
        key=check.key,
        **words,
        trials=trials,
        pass_at_least=passed,
        attempts=_whole("attempts", overrides.get("attempts", check.attempts), MOST_ATTEMPTS),
        on_fail=on_fail,
        feedback=feedback,
        language=_language(check, overrides.get("language"), language),
        numbers={name: _number(name, n, overrides) for name, n in check.numbers.items()},
    )


def names_of(check: Check) -> tuple[str, ...]:
    """The settings that a study may give this check."""
    if not check.trials:
        return WORDS
    spoken = ("language",) if check.languages else ()
    marks = ("trials", "pass_at_least", "attempts", "on_fail", "feedback")
    return (*marks, *spoken, *check.numbers, *WORDS)


def _marks(check: Check, overrides: Mapping[str, Any]) -> tuple[int, int]:
    """Trials and how many must be right: without a mark, the default's share of the trials."""
    if not check.trials:
        return 0, 0
    trials = _whole("trials", overrides.get("trials", check.trials), MOST_TRIALS)
    share = ceil(trials * check.pass_at_least / check.trials)
    passed = _whole("pass_at_least", overrides.get("pass_at_least", share), MOST_TRIALS)
    if passed > trials:
        raise Unfit(
            "pass_at_least",
            f"{passed} right answers cannot be had in {trials} trials.",
            f"Write a whole number from 1 to {trials}.",
        )
    return trials, passed


def _whole(name: str, value: Any, most: int) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
        problem = f"“{value}” is not a number that it can be."
        raise Unfit(name, problem, f"Write a whole number from 1 to {most}.")
    return value


def _number(name: str, number: Number, overrides: Mapping[str, Any]) -> float:
    value = overrides.get(name, number.default)
    allowed = isinstance(value, int | float) and not isinstance(value, bool)
    if not allowed or not number.low <= value <= number.high:
        remedy = f"Write a number from {number.low:g} to {number.high:g}."
        raise Unfit(name, f"“{value}” is not a number that it can be.", remedy)
    return float(value)


def _words(value: Any, name: str) -> str:
    if not isinstance(value, str) or not value.strip() or len(value) > LONGEST[name]:
        remedy = f"Write 1 to {LONGEST[name]} characters, or leave it out for the usual words."
        raise Unfit(name, f"The {name} of a check needs words.", remedy)
    return value


def _language(check: Check, choice: Any, study: str) -> str:
    """The language asked for, which must be there; else the study's, else the first there is."""
    if not check.languages:
        return ""
    if choice is None:
        spoken = study.replace("_", "-").split("-")[0].lower()
        return spoken if spoken in check.languages else check.languages[0]
    if choice not in check.languages:
        raise Unfit(
            "language", f"There are no digits spoken in “{choice}”.", _one_of(check.languages)
        )
    return str(choice)


def _one_of(names: tuple[str, ...]) -> str:
    return f"Write one of: {', '.join(names)}."


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
    registry: ClassVar[Registry[Check]] = Registry(
        "check", "listening.checks", group="earnest.checks"
    )

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        Check.registry.add(cls)

    @classmethod
    def contract_problems(cls) -> list[str]:
        """What a plug-in's check does against the contract, asked once with its own settings."""
        check, seed = cls(), "contract"
        settings = check.settings({})
        wrong = []
        if cls.kind not in KINDS:
            wrong.append(f"kind is {cls.kind!r}, but must be {', '.join(KINDS)}")
        wave = np.asarray(check.signal(settings, seed, 0))
        if wave.ndim not in (1, 2) or not wave.size or not np.all(np.abs(wave) <= 1):
            wrong.append("its sound must be samples, or samples by 2, from -1 to 1")
        truths = [trial.truth for trial in check.plan(settings, seed)]
        if truths and not check.judge(settings, seed, truths).passed:
            wrong.append("a rater with every answer right does not pass")
        return wrong

    def settings(self, overrides: Mapping[str, Any], *, language: str = "en") -> CheckSettings:
        """The check as the study asks it, in the study's language; Unfit when it cannot be."""
        return read_settings(self, overrides, language)

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
        parsed_answers = [self.read(a, trial) for a, trial in zip(answers, trials, strict=True)]
        truths = [trial.truth for trial in trials]
        right = sum(a == truth for a, truth in zip(parsed_answers, truths, strict=True))
        facts = {"answers": parsed_answers, "truths": truths, **settings.numbers}
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
    """The check with this key; `MissingClass` lists those there are."""
    return class_named(Check.registry, key)()


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
