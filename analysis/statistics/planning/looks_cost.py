"""What planned looks cost and save: raters and pay of a plan, with and without the rule."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from analysis.statistics.flat_row import FlatRow
from analysis.statistics.planning.group_sequential import (
    crossings,
    efficacy_bounds,
    futility_bounds,
    regions_of,
)
from analysis.statistics.planning.precision import standard_error_of
from analysis.statistics.planning.proposal import Proposal
from analysis.statistics.planning.study_design import PlanningError

LOOKS = (0.2, 0.4, 0.6, 0.8, 1.0)
EFFECTS = (0.0, 1.0, 1.5)  # of the planned difference


@dataclass(frozen=True)
class LooksCost(FlatRow):
    """A rule's largest number of raters and pay, the means at ``effect`` times the planned size.

    ``power`` (0..1) is the probability that the comparison is significant.
    """

    rule: str
    effect: float
    largest_raters: int
    expected_raters: float
    largest_total: float
    expected_total: float
    power: float


def looks_cost(proposal: Proposal) -> list[LooksCost]:
    """One comparison of a plan without looks and with five, a row per rule and true difference.

    The information at a look is that of the design with as many ratings as there are then: items
    that all looks share make it rise faster than the raters. Nothing where a look has fewer than
    two raters.
    """
    need, design = proposal.requirements, proposal.plan.design
    level = need.strict_level
    try:
        designs = [need.design(max(1, round(t * design.ratings_per_stimulus))) for t in LOOKS]
        errors = [standard_error_of(need.of, each, need.components) for each in designs]
    except PlanningError:
        return []
    shares = [each.raters_in_all / design.raters_in_all for each in designs]
    information = [(errors[-1] / se) ** 2 for se in errors]
    steps = (np.diff(shares) <= 0).any() or (np.diff(information) <= 0).any()
    if steps or designs[0].raters < 2:
        return []
    bounds = efficacy_bounds(shares, level)
    drift = need.size / errors[-1]
    floors = (*futility_bounds(shares, bounds, drift), 0.0)
    rows = []
    for rule, regions, at in (
        ("none", regions_of(efficacy_bounds((1.0,), level)), [1.0]),
        ("planned_looks", regions_of(bounds, floors), information),
    ):
        for effect in EFFECTS:
            found = crossings(at, regions, effect * drift)
            mean = found.mean_share(shares[-len(at) :])
            rows.append(
                LooksCost(
                    rule=rule,
                    effect=effect,
                    largest_raters=design.raters_in_all,
                    expected_raters=mean * design.raters_in_all,
                    largest_total=proposal.cost.total,
                    expected_total=mean * proposal.cost.total,
                    power=found.significant,
                )
            )
    return rows
