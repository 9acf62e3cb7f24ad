"""From the precision wanted to the raters and ratings needed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any

from analysis.statistics.planning.precision import (
    DIFFERENCE,
    MEAN,
    half_width,
    power_of,
    shared_level,
    standard_error,
    standard_error_of_difference,
)
from analysis.statistics.planning.study_design import WITHIN, Design, PlanningError, design_of
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
        names = ("items", "ratings_per_stimulus", "conditions", "ratings", "ratings_per_rater")
        design = {name: getattr(self.design, name) for name in (*names, "assignment")}
        own = {each.name: getattr(self, each.name) for each in fields(self)[1:]}
        return {"raters": self.design.raters_in_all, **design, **own}


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
    comparisons: int = 1,
) -> Plan:
    """The fewest ratings per clip, and raters, whose interval is ``wanted`` ± wide or less.

    The intervals of so many ``comparisons`` hold at ``level`` at once. Each rater hears
    ``clips_per_rater`` clips. Raises PlanningError when no number of raters can reach it with these
    items (then the items are what is missing: the message says how many).
    """
    if wanted <= 0:
        raise PlanningError(f"a half width of {wanted} cannot be reached; give one above 0")

    def width(design: Design) -> float:
        return half_width(design, components, of=of, level=shared_level(level, comparisons))

    make = _maker(items, conditions, clips_per_rater, assignment)
    note = _at_once(comparisons)
    return _search(make, components, width, lambda reached: reached <= wanted, note)


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
    value. So many ``comparisons`` hold at ``level`` at once. Raises PlanningError when no number of
    raters can reach it with these items.
    """
    if difference == 0 or not 0 < wanted_power < 1 or comparisons < 1:
        raise PlanningError("give a difference other than 0, a power in 0..1, 1 comparison or more")
    strict = shared_level(level, comparisons)

    def reached(design: Design) -> float:
        return power_of(design, components, difference, of=of, level=strict)

    make = _maker(items, conditions, clips_per_rater, assignment)
    enough = _at_once(comparisons)
    return _search(make, components, reached, lambda power: power >= wanted_power, enough)


def _at_once(comparisons: int) -> str:
    return f"{comparisons} comparisons share the error (Šidák)" if comparisons > 1 else ""


def _search(
    make: Callable[[int], Design],
    components: Components,
    measure: Callable[[Design], float],
    enough: Callable[[float], bool],
    note: str = "",
) -> Plan:
    """The plan of the fewest ratings per clip that are enough, of what a design is measured by."""
    many = make(MOST_PER_CLIP)
    if not enough(measure(many)):
        missing = _items_missing(lambda t: enough(measure(replace(many, items=t))), many.items)
        raise PlanningError(missing)
    design = make(_least(lambda per_clip: enough(measure(make(per_clip))), 0, MOST_PER_CLIP))
    se = standard_error(design, components)
    both = standard_error_of_difference(design, components)
    return Plan(design, measure(design), se, both, note)


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
    return partial(
        design_of,
        items=items,
        conditions=conditions,
        clips_per_rater=clips_per_rater,
        assignment=assignment,
    )


def _least(enough: Callable[[int], bool], low: int, high: int) -> int:
    """The least number that is enough, by bisection: ``low`` is not, and ``high`` is."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def _items_missing(enough: Callable[[int], bool], items: int) -> str:
    needed = items
    while needed < 1_000_000 and not enough(needed):
        needed *= 2
    if needed >= 1_000_000:
        return "no number of raters or items reaches this; ask for less precision"
    return (
        f"no number of raters reaches this with {items} items, which differ too much: "
        f"about {_least(enough, needed // 2, needed)} items are the least"
    )
