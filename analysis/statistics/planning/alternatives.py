"""Plans beside the plan: fewer and more ratings of each clip, fewer and more items."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypedDict

from analysis.statistics.planning.plan_search import Plan
from analysis.statistics.planning.precision import (
    half_width,
    minimal_difference,
    standard_error_of,
)
from analysis.statistics.planning.requirements import Requirements
from analysis.statistics.planning.study_design import Design, PlanningError, cost_of

STEPS = (0.25, 0.5, 0.75, 1, 1.25, 1.5, 2, 3)
ITEM_STEPS = (0.5, 0.75, 1, 1.5, 2, 3, 4)


@dataclass(frozen=True)
class ItemsRow:
    """The plan that reaches the goal with another number of items, and its money."""

    items: int
    ratings_per_clip: int
    raters: int
    ratings: int
    total: float


def by_items(requirements: Requirements) -> list[ItemsRow]:
    """The plan for fewer and more items; those that cannot reach the goal are left out.

    Nothing where the number of ratings per clip is given.
    """
    rows: list[ItemsRow] = []
    if requirements.ratings_per_clip is not None:
        return rows
    for items in sorted({max(2, round(requirements.items * step)) for step in ITEM_STEPS}):
        try:
            plan = replace(requirements, items=items).plan()
        except PlanningError:
            continue
        d = plan.design
        total = cost_of(d, requirements.payment).total
        rows.append(ItemsRow(items, d.ratings_per_clip, d.raters_in_all, d.ratings, total))
    return rows


class NearbyDesign(TypedDict):
    """A design beside the plan's (``per_clip`` marks that one): precision, raters and money."""

    per_clip: str
    ratings_per_clip: int
    raters: int
    ratings: int
    half_width: float | None
    found: float | None  # the smallest true difference that is found four times in five
    reached: float
    total: float
    hours: float


def around(requirements: Requirements, plan: Plan) -> list[NearbyDesign]:
    """Designs with fewer and more ratings per clip than the plan: precision, raters and money."""
    chosen = plan.design.ratings_per_clip
    steps = sorted({max(1, round(chosen * step)) for step in STEPS})
    rows: list[NearbyDesign] = []
    for per_clip in steps:
        design = requirements.design(per_clip)
        cost = cost_of(design, requirements.payment)
        se = standard_error_of(requirements.of, design, requirements.components)
        rows.append(
            {
                "per_clip": f"{per_clip} ◀" if per_clip == chosen else str(per_clip),
                "ratings_per_clip": per_clip,
                "raters": design.raters_in_all,
                "ratings": design.ratings,
                "half_width": half_width_of(requirements, design),
                "found": minimal_difference(se, level=requirements.strict_level) if se else None,
                "reached": requirements.reached(design),
                "total": cost.total,
                "hours": cost.hours,
            }
        )
    return rows


def half_width_of(requirements: Requirements, design: Design, of: str = "") -> float | None:
    """The half width (score units) that a design gives; None for one that is too small."""
    try:
        level = requirements.level_of(of or requirements.of)
        return half_width(design, requirements.components, of=of or requirements.of, level=level)
    except PlanningError:
        return None
