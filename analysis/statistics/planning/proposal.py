"""A plan: raters and ratings, their cost and assurance, and its check by simulation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from analysis.statistics.planning.alternatives import ItemsRow, by_items, half_width_of
from analysis.statistics.planning.assurance import Assurance, assurance
from analysis.statistics.planning.plan_search import Plan
from analysis.statistics.planning.precision import DIFFERENCE
from analysis.statistics.planning.requirements import HALF_WIDTH, Requirements
from analysis.statistics.planning.simulated_check import SimulatedCheck, simulated_check
from analysis.statistics.planning.study_design import Cost, cost_of

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
