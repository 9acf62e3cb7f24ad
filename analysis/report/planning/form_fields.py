"""A plan's question read from text, as a form or a query string gives it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from analysis.statistics.planning.precision import DIFFERENCE, MEAN
from analysis.statistics.planning.requirements import GOALS, HALF_WIDTH, Requirements
from analysis.statistics.planning.study_design import Payment, PlanningError
from analysis.statistics.planning.variance_components import (
    TERMS,
    Components,
    components_from_model,
)

MOST_RATINGS = 50_000_000


@dataclass(frozen=True)
class Field:
    """A number of the form: its words, the smallest and largest value, whole or not, its start."""

    words: str
    low: float
    high: float
    start: float | None
    whole: bool = False


FIELDS: dict[str, Field] = {
    "size": Field("The size", 1e-6, 1e6, 0.2),
    "power": Field("The power in per cent", 1, 99.9, 80),
    "comparisons": Field("The number of comparisons", 1, 100_000, None, whole=True),
    "level": Field("The level in per cent", 50, 99.99, 95),
    "conditions": Field("The number of conditions", 1, 1000, 4, whole=True),
    "items": Field("The number of items", 2, 100_000, 40, whole=True),
    "clips_per_rater": Field("The number of clips per rater", 1, 10_000, 40, whole=True),
    "ratings_per_stimulus": Field(
        "The number of ratings per stimulus", 1, 10_000, None, whole=True
    ),
    "seconds_per_clip": Field("The seconds per clip", 0, 36_000, 12),
    "session_seconds": Field("The seconds of a session without its clips", 0, 36_000, 180),
    "traps": Field("The number of traps and practice clips", 0, 1000, 0),
    "pay_per_hour": Field("The pay per hour", 0, 1e6, 9),
    "fee": Field("The platform's fee in per cent", 0, 1000, 0),
    "tax": Field("The tax on the fee in per cent", 0, 1000, 0),
    "lost": Field("The share of sessions lost in per cent", 0, 95, 10),
}
SDS = {name: Field(f"The SD of {name}", 0, 1e6, None) for name in (*TERMS, "residual")}
TEXTS = {
    "goal": HALF_WIDTH,
    "of": DIFFERENCE,
    "assignment": "within",
    "source": "long_form",
    "currency": "GBP",
}


def starting_values(**known: Any) -> dict[str, str]:
    """What the form holds at first; ``known`` (of the study) goes before the usual."""
    usual = {name: field.start for name, field in FIELDS.items()}
    values = {**TEXTS, **usual, **{k: v for k, v in known.items() if v is not None}}
    return {name: _text(value) for name, value in values.items()}


def requirements_from(form: Mapping[str, str], components: Components) -> Requirements:
    """The question in a form's text values (see ``FIELDS`` and ``TEXTS``).

    Per cents become shares. Raises PlanningError that names the field that is wrong.
    """
    n = {name: _number(field, form.get(name, "")) for name, field in FIELDS.items()}
    optional = ("ratings_per_stimulus", "comparisons")
    missing = [FIELDS[k].words for k, v in n.items() if v is None and k not in optional]
    if missing:
        raise PlanningError(f"{missing[0]} is missing.")
    value = {name: number or 0.0 for name, number in n.items()}
    goal, of = form.get("goal", HALF_WIDTH), form.get("of", DIFFERENCE)
    if goal not in GOALS or of not in (MEAN, DIFFERENCE):
        raise PlanningError("Choose the goal: a half width, or a difference to detect.")
    payment = Payment(
        value["seconds_per_clip"],
        value["pay_per_hour"],
        value["session_seconds"],
        value["traps"],
        value["fee"] / 100,
        value["tax"] / 100,
        value["lost"] / 100,
        form.get("currency", "")[:8].strip(),
    )
    per_clip, compared = n["ratings_per_stimulus"], n["comparisons"]
    need = Requirements(
        goal,
        value["size"],
        components,
        payment,
        items=int(value["items"]),
        conditions=int(value["conditions"]),
        clips_per_rater=int(value["clips_per_rater"]),
        of=of,
        power=value["power"] / 100,
        comparisons=None if compared is None else int(compared),
        ratings_per_stimulus=None if per_clip is None else int(per_clip),
        assignment=form.get("assignment", "within"),
        level=value["level"] / 100,
    )
    if need.items * need.conditions * (need.ratings_per_stimulus or 1) > MOST_RATINGS:
        raise PlanningError("That study is too large to plan here: over fifty million ratings.")
    return need


def own_components(form: Mapping[str, str]) -> Components:
    """Components typed by hand, as sd_rater, sd_rater_condition, sd_item, sd_stimulus, sd_residual.

    Empty ones are 0; raises PlanningError without a residual or for what is no number.
    """
    numbers = {name: _number(field, form.get(f"sd_{name}", "")) for name, field in SDS.items()}
    if not numbers["residual"]:
        raise PlanningError("Give the standard deviation of the rest (residual), above 0.")
    sds = {name: value or 0.0 for name, value in numbers.items()}
    return components_from_model(sds, "typed by hand")


def _number(field: Field, text: str) -> float | None:
    text = text.strip().replace(",", ".") if text.count(",") == 1 else text.strip()
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        raise PlanningError(f"{field.words} is no number: “{text[:40]}”.") from None
    if not field.low <= value <= field.high or (field.whole and value != int(value)):
        kind = "a whole number" if field.whole else "a number"
        raise PlanningError(f"{field.words} must be {kind} from {field.low:g} to {field.high:g}.")
    return value


def _text(value: Any) -> str:
    return "" if value is None else f"{value:g}" if isinstance(value, int | float) else str(value)
