"""What a draft comes to: ratings, raters, minutes, money, and what guessers get past."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

from listening.design.blocks import Amount, amount_of, sessions_of, trials_of
from listening.design.draft_context import rated_rows
from listening.design.draft_toml import roles, table_trials
from listening.design.duration import SessionLength, estimate
from listening.design.odds import TrapOdds, through_checks, through_traps
from listening.design.settings import derive
from listening.design.studyfile import Reading, StudyFile, read_sent_folder
from listening.drafts.files import facts_of
from listening.drafts.folder import rows_of, table_of, whole_folder_of
from listening.models import Draft
from listening.recruitment.connecting import connection_for
from listening.recruitment.places import RECOMMENDED, Fees, fees_for
from listening.recruitment.plan import Plan

LISTENED_TO = 200  # clips that stand for the length of all
CURRENCY = "GBP"
COUNTS = ("block_size", "ratings_per_stimulus", "blocks_per_session")


@dataclass(frozen=True)
class Cost:
    """In minor units: of one rater, of all, and what comes on top."""

    hourly: int
    each: int
    pay: int
    fees: int
    currency: str
    fee_words: str  # where the fees are from; "": there are none

    @property
    def total(self) -> int:
        return self.pay + self.fees


@dataclass(frozen=True)
class Figures:
    """Of the draft as it is now; None where something is missing for it."""

    ratings: int | None
    raters: int | None
    clips_each: int | None  # that a rater hears, without traps
    length: SessionLength | None
    cost: Cost | None
    checks: float | None  # the chance of guessing through
    traps: TrapOdds | None  # of the task whose traps are passed most easily
    mistakes: int


def reading_of(draft: Draft) -> Reading:
    """The draft as the import reads it, with the import's own list of mistakes."""
    return read_sent_folder(whole_folder_of(draft))


def figures_of(draft: Draft, reading: Reading) -> Figures:
    top = table_of(draft)
    amounts = amounts_of(draft, reading, top)
    plan = str(top.get("study", {}).get("task_plan", "all"))
    raters = sessions_of((each.sessions for each in amounts), plan)
    each = [amount.screens_each for amount in amounts]
    length = length_of(draft, reading)
    study = reading.study
    return Figures(
        sum(amount.ratings for amount in amounts) or None,
        raters or None,
        (max(each, default=0) if plan == "one" else sum(each)) or None,
        length,
        cost_of(draft, top, raters, length.minutes) if length and raters else None,
        through_checks(study) if study else None,
        easiest(study) if study else None,
        len(reading.problems),
    )


def amounts_of(draft: Draft, reading: Reading, top: Mapping[str, Any]) -> list[Amount]:
    """One for each task; while something is to mend, of those that can be counted."""
    study = whole(reading)
    if study is not None:
        return [amount_of(trials_of(study, task), task) for task in study.tasks]
    rated = rated_rows(dict(top), rows_of(draft))
    amounts = []
    for task in top.get("tasks", []):
        counts = {"blocks_per_session": 1, **{k: task[k] for k in COUNTS if k in task}}
        if len(counts) == len(COUNTS) and all(
            isinstance(n, int) and n > 0 for n in counts.values()
        ):
            block_settings = SimpleNamespace(
                material={}, repeat_items=bool(task.get("repeat_items")), **counts
            )
            amounts.append(amount_of(table_trials(task, rated, roles(dict(top))), block_settings))
    return amounts


def whole(reading: Reading) -> StudyFile | None:
    """The study with what its settings make; None while something is to mend."""
    return derive(reading.study).added_to(reading.study) if reading.study else None


def cost_of(draft: Draft, top: Mapping[str, Any], raters: int, minutes: int) -> Cost | None:
    """Of all raters: as the study says who pays and how much, else as Prolific recommends."""
    payment = top.get("study", {}).get("payment", {})
    currency, by = payment.get("currency", CURRENCY), payment.get("by", "prolific")
    per_hour = payment.get("per_hour", RECOMMENDED.get(currency, 0) / 100)
    if "per_session" in payment and minutes and isinstance(payment["per_session"], int | float):
        per_hour = 60 * payment["per_session"] / minutes
    elif "per_hour" not in payment and ("per_clip" in payment or currency not in RECOMMENDED):
        return None  # not known here
    if not isinstance(per_hour, int | float) or not isinstance(currency, str):
        return None
    hourly = 0 if by == "nobody" else round(100 * per_hour)
    plan = Plan("", "", raters, minutes, hourly, currency)
    pay = raters * plan.reward_minor
    fees = fees_for(connection_for(draft)) if by == "prolific" else Fees(0.0, "")
    return Cost(hourly, plan.reward_minor, pay, round(pay * fees.share), currency, fees.words)


def easiest(study: StudyFile) -> TrapOdds | None:
    """Of all tasks with traps, the odds of those that guessers pass most often."""
    odds_by_task = []
    for task in study.tasks:
        try:
            odds_by_task.append(through_traps(study, task))
        except (ValueError, KeyError):
            continue  # traps in words: nobody guesses these
    return max(
        (odds for odds in odds_by_task if odds), key=lambda odds: odds.guessing, default=None
    )


def length_of(draft: Draft, reading: Reading) -> SessionLength | None:
    file = whole(reading)
    if reading.study is None or file is None:
        return None
    files = {s.key: s.file for s in reading.study.stimuli[:LISTENED_TO]}
    facts = facts_of(draft, list(files.values()))
    seconds = {
        key: float(facts[name]["duration_s"])
        for key, name in files.items()
        if "duration_s" in facts[name]
    }
    return estimate(file, seconds)
