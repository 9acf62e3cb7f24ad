"""How a study sets a check: its defaults, what a researcher may change, and clear refusals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import ceil
from typing import Any, ClassVar, Protocol

MOST_TRIALS = 20
MOST_ATTEMPTS = 10
ON_FAIL = ("screen_out", "continue")
WORDS = ("title", "text")
LONGEST = {"title": 200, "text": 5000}


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


class Defaults(Protocol):
    """What a check brings of its own, and a study may change in part; `check.Check` is one."""

    key: ClassVar[str]
    title: ClassVar[str]
    text: ClassVar[str]
    trials: ClassVar[int]
    pass_at_least: ClassVar[int]
    attempts: ClassVar[int]
    on_fail: ClassVar[str]
    feedback: ClassVar[bool]
    languages: ClassVar[tuple[str, ...]]
    numbers: ClassVar[Mapping[str, Number]]


def read_settings(check: Defaults, given: Mapping[str, Any], language: str) -> CheckSettings:
    """The check's defaults with what the study changes; Unfit names field and remedy."""
    known = names_of(check)
    for name in given:
        if name not in (*known, "key"):
            raise Unfit(
                name,
                f"The check “{check.key}” has no setting “{name}”.",
                f"It has: {', '.join(known)}.",
            )
    words = {name: _words(given.get(name, getattr(check, name)), name) for name in WORDS}
    trials, passed = _marks(check, given)
    on_fail = given.get("on_fail", check.on_fail)
    if on_fail not in ON_FAIL:
        raise Unfit("on_fail", f"“{on_fail}” is no answer to a failure.", _one_of(ON_FAIL))
    feedback = given.get("feedback", check.feedback)
    if not isinstance(feedback, bool):
        raise Unfit("feedback", f"{feedback!r} is neither yes nor no.", "Write true or false.")
    return CheckSettings(
        key=check.key,
        **words,
        trials=trials,
        pass_at_least=passed,
        attempts=_whole("attempts", given.get("attempts", check.attempts), MOST_ATTEMPTS),
        on_fail=on_fail,
        feedback=feedback,
        language=_language(check, given.get("language"), language),
        numbers={name: _number(name, n, given) for name, n in check.numbers.items()},
    )


def names_of(check: Defaults) -> tuple[str, ...]:
    """The settings that a study may give this check."""
    if not check.trials:
        return WORDS
    spoken = ("language",) if check.languages else ()
    marks = ("trials", "pass_at_least", "attempts", "on_fail", "feedback")
    return (*marks, *spoken, *check.numbers, *WORDS)


def _marks(check: Defaults, given: Mapping[str, Any]) -> tuple[int, int]:
    """Trials and how many must be right: without a mark, the default's share of the trials."""
    if not check.trials:
        return 0, 0
    trials = _whole("trials", given.get("trials", check.trials), MOST_TRIALS)
    share = ceil(trials * check.pass_at_least / check.trials)
    passed = _whole("pass_at_least", given.get("pass_at_least", share), MOST_TRIALS)
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


def _number(name: str, number: Number, given: Mapping[str, Any]) -> float:
    value = given.get(name, number.default)
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


def _language(check: Defaults, given: Any, study: str) -> str:
    """The language asked for, which must be there; else the study's, else the first there is."""
    if not check.languages:
        return ""
    if given is None:
        spoken = study.replace("_", "-").split("-")[0].lower()
        return spoken if spoken in check.languages else check.languages[0]
    if given not in check.languages:
        raise Unfit(
            "language", f"There are no digits spoken in “{given}”.", _one_of(check.languages)
        )
    return str(given)


def _one_of(names: tuple[str, ...]) -> str:
    return f"Write one of: {', '.join(names)}."
