"""What a draft comes to: ratings, raters, minutes, money, and what stands against opening it."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

from listening.design.draft_context import heard
from listening.design.draft_toml import trials_of
from listening.design.duration import SessionLength, estimate
from listening.design.settings import derive
from listening.design.studyfile import Reading, read_folder
from listening.drafts.files import facts_of
from listening.drafts.folder import folder_of, rows_of, table_of
from listening.models import Draft
from listening.recruitment.plan import Plan, money
from listening.recruitment.rates import RECOMMENDED

LISTENED_TO = 200  # clips that stand for the length of all
CURRENCY = "GBP"


@dataclass(frozen=True)
class Figures:
    """Of the draft as it is now; None where something is missing for it."""

    ratings: int | None
    raters: int | None
    clips_each: int | None  # that a rater hears, without traps
    minutes: int | None
    cost: str  # of all raters at `hourly`, without fees; empty where it is not known
    hourly: str
    mistakes: int


def reading_of(draft: Draft) -> Reading:
    """The draft as the import reads it, with the import's own list of mistakes."""
    return read_folder(folder_of(draft))


def figures_of(draft: Draft, reading: Reading) -> Figures:
    top = table_of(draft)
    rated = heard(top, rows_of(draft))
    ratings, raters, each = 0, 0, 0
    for task in top.get("tasks", []):
        size, wanted = task.get("block_size"), task.get("ratings_per_stimulus")
        if not (isinstance(size, int) and isinstance(wanted, int) and size > 0):
            continue
        trials, blocks = trials_of(task, rated), task.get("blocks_per_session", 1)
        ratings += trials * wanted
        raters = max(raters, ceil(ceil(trials / size) * wanted / blocks))
        each += size * blocks
    length = length_of(draft, reading)
    hourly = RECOMMENDED[CURRENCY]
    cost = ""
    if length and raters:
        plan = Plan("", "", raters, length.minutes, hourly, CURRENCY)
        cost = money(raters * plan.reward_minor, CURRENCY)
    return Figures(
        ratings or None,
        raters or None,
        each or None,
        length.minutes if length else None,
        cost,
        money(hourly, CURRENCY),
        len(reading.problems),
    )


def length_of(draft: Draft, reading: Reading) -> SessionLength | None:
    if reading.study is None:
        return None
    file = derive(reading.study).added_to(reading.study)
    files = {s.key: s.file for s in reading.study.stimuli[:LISTENED_TO]}
    facts = facts_of(draft, list(files.values()))
    seconds = {
        key: float(facts[name]["duration_s"])
        for key, name in files.items()
        if "duration_s" in facts[name]
    }
    return estimate(file, seconds)
