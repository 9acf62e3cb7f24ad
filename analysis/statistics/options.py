"""What an analysis is asked for: breakdowns, level, seed, intervals and rules, as plain text."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import inf
from typing import Any

from analysis.ratings.estimands import estimand_of
from analysis.ratings.grouping import COMPARABLE, CRITERION, CROSSABLE, SINGLE, Breakdown
from analysis.statistics.comparisons.hypothesis_sentences import FORMS, hypothesis_from
from analysis.statistics.screening.rule import Rule
from analysis.statistics.screening.rule_text import rule_from, rule_text
from analysis.statistics.screening.screened import DEFAULT, Spared
from listening.common.command_name import command
from listening.common.spreadsheets import clean_name

INTERVALS = ("two_way", "bootstrap", "mixed", "these_items")
MAIN_INTERVAL = "two_way"  # always computed and printed first, since every claim rests on it
USUAL_INTERVALS = (MAIN_INTERVAL, "bootstrap")
REPLICATES = 2000
MOST_REPLICATES = 100_000
MOST_DRAWS = 25_000
_IF_ANY = ("versions", "margins", "spared", "hypotheses", "covariates")
_LISTS = ("intervals", "parts", "versions", "hypotheses", "covariates")


class OptionsError(ValueError):
    """An option that makes no sense; the message says which would."""


@dataclass(frozen=True)
class Options:
    """All that decides the numbers of a report, but for the ratings themselves.

    ``breakdowns`` empty means: overall, and by each column that varies within conditions. What the
    registry of parts holds is not checked here: `analysis.report.pipeline.chosen_parts` does.
    """

    estimator: str = "mean_score"
    breakdowns: tuple[Breakdown, ...] = ()
    level: float = 0.95
    seed: int = 0
    intervals: tuple[str, ...] = USUAL_INTERVALS
    rules: tuple[Rule, ...] = field(default=DEFAULT)
    replicates: int = REPLICATES
    preset: str = ""  # of reports: att, long_form, lfs, nvv; see analysis.report.parts.presets
    parts: tuple[str, ...] = ()  # asked for beside those that every report has
    reference: str = ""  # the condition that others are compared with; empty: the one named so
    rope: float | None = None  # differences up to this size do not matter; None: the scale's own
    chains: int = 4  # of posterior draws
    draws: int = 1000  # of each chain
    versions: tuple[str, ...] = ()  # keys of earlier versions of the study to combine it with
    margins: tuple[tuple[str, float], ...] = ()  # by estimand: what versions may differ by
    spared: tuple[Spared, ...] = ()  # by rule: raters of whom it leaves out nothing
    hypotheses: tuple[str, ...] = ()  # that are tested, each a sentence
    covariates: tuple[str, ...] = ()  # of clips in the model of pairs: side, or outputs of metrics

    def __post_init__(self) -> None:
        if not 0.5 <= self.level < 1:
            raise OptionsError(f"level is {self.level:g}; give one from 0.5 to below 1, like 0.95")
        if self.seed < 0:
            raise OptionsError(f"seed is {self.seed}; give a whole number from 0 up")
        if not 100 <= self.replicates <= MOST_REPLICATES:
            raise OptionsError(f"replicates are {self.replicates}; give 100 to {MOST_REPLICATES}")
        if self.rope is not None and not 0 < self.rope < inf:
            raise OptionsError(f"rope is {self.rope:g}; give a size above 0, like 0.1")
        for name, size in self.margins:
            _check_margin(name, size)
        for text in self.hypotheses:
            _check_hypothesis(text)
        if not (2 <= self.chains <= 16 and 250 <= self.draws <= MOST_DRAWS):
            wrong = f"{self.chains} chains of {self.draws} draws"
            raise OptionsError(f"{wrong}; give 2 to 16 chains of 250 to {MOST_DRAWS} draws")
        if not self.intervals or set(self.intervals) - set(INTERVALS):
            wrong = ", ".join(self.intervals) or "empty"
            raise OptionsError(f"intervals are {wrong}; choose from {', '.join(INTERVALS)}")
        if MAIN_INTERVAL not in self.intervals:
            object.__setattr__(self, "intervals", (MAIN_INTERVAL, *self.intervals))

    @property
    def compared(self) -> list[Breakdown]:
        """The breakdowns that are tables of results."""
        return [each for each in self.breakdowns if each.compare not in SINGLE]

    @property
    def single(self) -> tuple[str, ...]:
        """Whose own scores are asked for: stimulus, item."""
        return tuple(each.compare for each in self.breakdowns if each.compare in SINGLE)

    def parameters(self) -> dict[str, Any]:
        """The options as plain values that JSON and a table row can hold."""
        return {
            "estimator": self.estimator,
            "by": [str(breakdown) for breakdown in self.breakdowns],
            "level": self.level,
            "seed": self.seed,
            "intervals": list(self.intervals),
            "rules": [rule_text(rule) for rule in self.rules],
            "replicates": self.replicates,
            "preset": self.preset,
            "parts": list(self.parts),
            "reference": self.reference,
            "rope": self.rope,
            "chains": self.chains,
            "draws": self.draws,
        } | self._if_any()

    def _if_any(self) -> dict[str, Any]:
        """Versions combined and exclusions undone: where there are none, all is as it was."""
        named: dict[str, Any] = {"versions": list(self.versions)} if self.versions else {}
        named |= {"margins": dict(self.margins)} if self.margins else {}
        named |= {"hypotheses": list(self.hypotheses)} if self.hypotheses else {}
        named |= {"covariates": list(self.covariates)} if self.covariates else {}
        return named | ({"spared": list(map("/".join, self.spared))} if self.spared else {})


def options_from(parameters: Mapping[str, Any]) -> Options:
    """Options from plain values, as `Options.parameters` gives them; what is absent is default."""
    values = dict(parameters)
    unknown = sorted(set(values) - {*Options().parameters(), *_IF_ANY})
    if unknown:
        known = ", ".join(Options().parameters())
        raise OptionsError(f"no option {', '.join(unknown)}; there are {known}")
    for name in ("estimator", "preset", "reference"):
        if not isinstance(values.get(name, ""), str):
            raise OptionsError(f"{name} is {values[name]!r}; give a text")
    for name in (*_LISTS, "by", "rules", "spared"):
        if not _are_texts(values.get(name, ())):
            raise OptionsError(f"{name} is {values[name]!r}; give a list of texts")
    values |= {"reference": clean_name(values["reference"])} if values.get("reference") else {}
    try:
        if "by" in values:
            values["breakdowns"] = tuple(breakdown_from(text) for text in values.pop("by"))
        if "rules" in values:
            values["rules"] = tuple(rule_from(text) for text in values["rules"])
        for name in _LISTS:
            if name in values:
                values[name] = tuple(values[name])
        if "spared" in values:
            values["spared"] = tuple(map(spared_from, values["spared"]))
        values |= _margins(values)
    except (TypeError, ValueError) as error:
        raise OptionsError(str(error)) from None
    numbers = (("level", float), ("seed", int), ("replicates", int), ("rope", float))
    for name, kind in (*numbers, ("chains", int), ("draws", int)):
        if name in values and (values[name] is not None or name != "rope"):
            values[name] = _number(name, values[name], kind)
    return Options(**values)


def _are_texts(value: object) -> bool:
    return isinstance(value, list | tuple) and all(isinstance(each, str) for each in value)


def _margins(values: Mapping[str, Any]) -> dict[str, Any]:
    margins = values.get("margins")
    if margins is None:
        return {}
    return {"margins": tuple((k, _number("margin", v, float)) for k, v in dict(margins).items())}


def spared_from(text: str) -> Spared:
    """A rule's key and a rater from text such as ``answer_time/r8k2``."""
    key, slash, rater = clean_name(text).partition("/")
    if key not in Rule.registry or not slash or not rater:
        raise ValueError(f"spared is {text!r}; write the key of a rule, a slash, and the rater")
    return key, rater


def _check_hypothesis(text: str) -> None:
    try:
        hypothesis = hypothesis_from(text)
    except ValueError as error:
        raise OptionsError(str(error)) from None
    if hypothesis is None:
        raise OptionsError(f"the hypothesis {text!r} cannot be tested: write {FORMS}")


def _check_margin(name: str, size: float) -> None:
    try:
        estimand_of(name)
    except KeyError as error:
        raise OptionsError(f"margin of {name}: {error.args[0]}") from None
    if not 0 < size < inf:
        raise OptionsError(f"the margin of {name} is {size:g}; give a size above 0, like 0.1")


def _number(name: str, value: Any, kind: type[int] | type[float]) -> int | float:
    try:
        return kind(value)
    except (TypeError, ValueError, OverflowError):
        like = "0.95" if kind is float else "7"
        raise OptionsError(f"{name} is {value!r}; give a number, like {like}") from None


def breakdown_from(text: str) -> Breakdown:
    """A breakdown from text: ``voice,dimension``, ``system:voice``; ``condition:`` is overall.

    ``stimulus`` and ``item`` ask for the scores of single clips, or texts.
    """
    compare, colon, rest = text.partition(":")
    if not colon and text not in SINGLE:
        compare, rest = "condition", text
    by = tuple(dict.fromkeys(name.strip() for name in rest.split(",") if name.strip()))
    if compare in SINGLE and by:
        raise OptionsError(f"scores of each {compare} are not crossed; write --by {compare}")
    if compare not in (*COMPARABLE, *SINGLE):
        raise OptionsError(f"{compare!r} cannot be compared; choose {', '.join(COMPARABLE)}")
    unknown = [name for name in by if name not in (*CROSSABLE, CRITERION)]
    if unknown:
        known = ", ".join((*CROSSABLE, *SINGLE))
        raise OptionsError(f"no results by {', '.join(unknown)}; choose {known}")
    return Breakdown(compare, tuple(name for name in by if name not in (compare, CRITERION)))


def command_line(options: Options, with_scores: bool = False) -> str:
    """The command that makes the same numbers from the exported ratings.csv."""
    parts = [command("analyse ratings.csv")] + ["--scores scores.csv"] * with_scores
    parts += [f"--estimator {options.estimator}"]
    parts += [f"--by {breakdown}" for breakdown in options.breakdowns]
    parts += [f"--level {options.level:g}", f"--seed {options.seed}"]
    parts += [f"--interval {name}" for name in options.intervals]
    parts += [f"--rule {shlex.quote(rule_text(rule))}" for rule in options.rules] or [
        "--no-screening"
    ]
    parts += [f"--spare {shlex.quote('/'.join(each))}" for each in options.spared]
    parts += [f"--replicates {options.replicates}"]
    parts += [f"--preset {options.preset}"] if options.preset else []
    parts += [f"--part {key}" for key in options.parts]
    parts += [f"--reference {shlex.quote(options.reference)}"] if options.reference else []
    parts += [f"--rope {options.rope:g}"] if options.rope is not None else []
    parts += [f"--margin {name}={size:g}" for name, size in options.margins]
    parts += [f"--hypothesis {shlex.quote(text)}" for text in options.hypotheses]
    parts += [f"--covariate {shlex.quote(name)}" for name in options.covariates]
    if (options.chains, options.draws) != (Options.chains, Options.draws):
        parts += [f"--chains {options.chains}", f"--draws {options.draws}"]
    return " ".join(parts)
