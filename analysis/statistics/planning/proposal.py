"""A plan: raters and ratings, their cost and assurance, and its check by simulation."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, TypedDict

from analysis.statistics.planning.plan_search import Plan
from analysis.statistics.planning.precision import (
    DIFFERENCE,
    Assurance,
    assurance,
    half_width,
    minimal_difference,
    standard_error_of,
)
from analysis.statistics.planning.requirements import HALF_WIDTH, Requirements
from analysis.statistics.planning.simulated_check import SimulatedCheck, simulated_check
from analysis.statistics.planning.study_design import Cost, Design, PlanningError, cost_of

STEPS = (0.25, 0.5, 0.75, 1, 1.25, 1.5, 2, 3)
ITEM_STEPS = (0.5, 0.75, 1, 1.5, 2, 3, 4)


@dataclass(frozen=True)
class ItemsRow:
    """The plan that reaches the goal with another number of items, and its money."""

    items: int
    ratings_per_stimulus: int
    raters: int
    ratings: int
    total: float


def by_items(requirements: Requirements) -> list[ItemsRow]:
    """The plan for fewer and more items; those that cannot reach the goal are left out.

    Nothing where the number of ratings per clip is given.
    """
    rows: list[ItemsRow] = []
    if requirements.ratings_per_stimulus is not None:
        return rows
    for items in sorted({max(2, round(requirements.items * step)) for step in ITEM_STEPS}):
        try:
            plan = replace(requirements, items=items).plan()
        except PlanningError:
            continue
        d = plan.design
        total = cost_of(d, requirements.payment).total
        rows.append(ItemsRow(items, d.ratings_per_stimulus, d.raters_in_all, d.ratings, total))
    return rows


class NearbyDesign(TypedDict):
    """A design beside the plan's (``per_clip`` marks that one): precision, raters and money."""

    per_clip: str
    ratings_per_stimulus: int
    raters: int
    ratings: int
    half_width: float | None
    found: float | None  # the smallest true difference that is found four times in five
    reached: float
    total: float
    hours: float


def nearby_designs(requirements: Requirements, plan: Plan) -> list[NearbyDesign]:
    """Designs with fewer and more ratings per clip than the plan: precision, raters and money."""
    chosen = plan.design.ratings_per_stimulus
    steps = sorted({max(1, round(chosen * step)) for step in STEPS})
    rows: list[NearbyDesign] = []
    for per_clip in steps:
        design = requirements.design(per_clip)
        cost = cost_of(design, requirements.payment)
        se = standard_error_of(requirements.of, design, requirements.components)
        rows.append(
            {
                "per_clip": f"{per_clip} ◀" if per_clip == chosen else str(per_clip),
                "ratings_per_stimulus": per_clip,
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


CHECK_RUNS = 1000
MOST_SIMULATED = 20_000_000  # ratings in all the runs of a check
SAVES = 2 / 3  # of the money: what is worth a word


@dataclass(frozen=True)
class Proposal:
    """The plan, its cost, and its assurance (None where the components' certainty is unknown)."""

    requirements: Requirements
    plan: Plan
    cost: Cost
    assured: Assurance | None = None
    items: tuple[ItemsRow, ...] = ()

    @property
    def half_width(self) -> float:
        """Of the plan's interval by the formula, in score units."""
        return half_width_of(self.requirements, self.plan.design) or 0.0

    @property
    def better(self) -> ItemsRow | None:
        """The cheapest of the plans with more items, if it saves a third of the money."""
        more = [row for row in self.items if row.items > self.requirements.items]
        cheapest = min(more, key=lambda row: row.total, default=None)
        saves = cheapest is not None and cheapest.total < SAVES * self.cost.total
        return cheapest if saves else None

    def row(self) -> dict[str, Any]:
        """The plan and its cost as one flat row of plain values."""
        cost = {f"cost_{key}": value for key, value in self.cost.row().items()}
        known = {f"sd_{key}": value for key, value in self.requirements.components.row().items()}
        assured = {}
        if self.assured:
            assured = {f"assurance_{key}": value for key, value in self.assured.row().items()}
        need = self.requirements
        wanted = {"goal": need.goal, "size": need.size, "of": need.of, "level": need.level}
        return {**wanted, **self.plan.row(), **cost, **known, **assured}


def propose(requirements: Requirements) -> Proposal:
    """The plan, its cost and assurance; raises PlanningError with what would reach the goal."""
    plan = requirements.plan()
    cost = cost_of(plan.design, requirements.payment)
    assured = None
    if (
        requirements.components.degrees
        and requirements.of == DIFFERENCE
        and requirements.goal != HALF_WIDTH
    ):
        level = requirements.strict_level
        assured = assurance(
            plan.design, requirements.components, requirements.size, level=level, draws=400
        )
    return Proposal(requirements, plan, cost, assured, tuple(by_items(requirements)))


def check(proposal: Proposal, *, runs: int = CHECK_RUNS, seed: int = 0) -> SimulatedCheck:
    """The plan tried on simulated studies; fewer runs where studies are large (200 at least)."""
    requirements, design = proposal.requirements, proposal.plan.design
    runs = max(200, min(runs, MOST_SIMULATED // design.ratings))
    return simulated_check(
        design,
        requirements.components,
        requirements.size,
        of=requirements.of,
        runs=runs,
        level=requirements.level,
        comparisons=requirements.compared,
        seed=seed,
    )
