"""From the precision wanted to the raters and ratings needed."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from analysis.statistics.planning.precision import (
    DIFFERENCE,
    MEAN,
    half_width,
    power_of,
    standard_error,
    standard_error_of_difference,
)
from analysis.statistics.planning.study_design import WITHIN, Design, PlanningError
from analysis.statistics.planning.variance_components import Components

MOST_PER_CLIP = 10_000


@dataclass(frozen=True)
class Plan:
    """A design that reaches what was wanted, with the fewest ratings; score units.

    ``reached`` is the half width, or the power (0..1), that it gives.
    """

    design: Design
    reached: float
    standard_error: float
    standard_error_of_difference: float
    note: str = ""

    def row(self) -> dict[str, Any]:
        """The plan as one flat row of plain values."""
        d = self.design
        return {
            "raters": d.raters_in_all,
            "items": d.items,
            "ratings_per_clip": d.ratings_per_clip,
            "conditions": d.conditions,
            "ratings": d.ratings,
            "ratings_per_rater": d.ratings_per_rater,
            "assignment": d.assignment,
            "reached": self.reached,
            "standard_error": self.standard_error,
            "standard_error_of_difference": self.standard_error_of_difference,
            "note": self.note,
        }


def plan_for_half_width(
    wanted: float,
    components: Components,
    *,
    items: int,
    conditions: int,
    clips_per_rater: int,
    of: str = MEAN,
    assignment: str = WITHIN,
    level: float = 0.95,
) -> Plan:
    """The fewest ratings per clip, and raters, whose interval is ``wanted`` ± wide or less.

    Each rater hears ``clips_per_rater`` clips. Raises PlanningError when no number of raters can
    reach it with these items (then the items are what is missing: the message says how many).
    """
    if wanted <= 0:
        raise PlanningError(f"a half width of {wanted} cannot be reached; give one above 0")

    def width(design: Design) -> float:
        return half_width(design, components, of=of, level=level)

    make = _maker(items, conditions, clips_per_rater, assignment)
    design = _fewest(make, lambda d: width(d) <= wanted)
    if design is None:
        raise PlanningError(
            _items_missing(lambda t: width(replace(make(MOST_PER_CLIP), items=t)) <= wanted, items)
        )
    return _plan(design, components, width(design))


def plan_for_difference(
    difference: float,
    components: Components,
    *,
    items: int,
    conditions: int,
    clips_per_rater: int,
    wanted_power: float = 0.8,
    comparisons: int = 1,
    of: str = DIFFERENCE,
    assignment: str = WITHIN,
    level: float = 0.95,
) -> Plan:
    """The fewest ratings per clip, and raters, that find a true ``difference`` with the power.

    ``of`` says of what: two conditions' means, or one ``mean`` (of comparison scores) from a fixed
    value. ``comparisons`` divides 1 - level (Bonferroni). Raises PlanningError when no number of
    raters can reach it with these items.
    """
    if difference == 0 or not 0 < wanted_power < 1 or comparisons < 1:
        raise PlanningError("give a difference other than 0, a power in 0..1, 1 comparison or more")
    strict = 1 - (1 - level) / comparisons

    def reached(design: Design) -> float:
        return power_of(design, components, difference, of=of, level=strict)

    make = _maker(items, conditions, clips_per_rater, assignment)
    design = _fewest(make, lambda d: reached(d) >= wanted_power)
    if design is None:
        many = make(MOST_PER_CLIP)
        raise PlanningError(
            _items_missing(lambda t: reached(replace(many, items=t)) >= wanted_power, items)
        )
    note = f"Bonferroni over {comparisons} comparisons" if comparisons > 1 else ""
    return _plan(design, components, reached(design), note)


def _plan(design: Design, components: Components, reached: float, note: str = "") -> Plan:
    se = standard_error(design, components)
    return Plan(design, reached, se, standard_error_of_difference(design, components), note)


def _maker(
    items: int, conditions: int, clips_per_rater: int, assignment: str
) -> Callable[[int], Design]:
    if items < 2 or conditions < 1 or clips_per_rater < 1:
        raise PlanningError("give 2 or more items, 1 or more conditions and clips per rater")
    heard = conditions if assignment == WITHIN else 1
    if clips_per_rater < heard:
        raise PlanningError(
            f"{clips_per_rater} clips per rater cannot hold every one of {conditions} conditions; "
            "give more, or choose another assignment"
        )
    clips = items * (1 if assignment == "between" else conditions)

    def make(per_clip: int) -> Design:
        load = min(clips_per_rater, clips)
        raters = max(2, per_clip, math.ceil(clips * per_clip / load))
        return Design(raters, items, per_clip, conditions, assignment)

    return make


def _fewest(make: Callable[[int], Design], enough: Callable[[Design], bool]) -> Design | None:
    """The design of the fewest ratings per clip that is enough, by bisection; None without any."""
    if not enough(make(MOST_PER_CLIP)):
        return None
    low, high = 0, MOST_PER_CLIP  # low is never enough, high always is
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(make(middle)) else (middle, high)
    return make(high)


def _items_missing(enough: Callable[[int], bool], items: int) -> str:
    needed = items
    while needed < 1_000_000 and not enough(needed):
        needed *= 2
    if needed >= 1_000_000:
        return "no number of raters or items reaches this; ask for less precision"
    low, high = needed // 2, needed
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return (
        f"no number of raters reaches this with {items} items, which differ too much: "
        f"about {high} items are the least"
    )
