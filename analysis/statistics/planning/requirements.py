"""What is asked of a plan: the precision wanted, the study's shape, what is known, the money."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from analysis.statistics.planning.plan_search import Plan, plan_for_difference, plan_for_half_width
from analysis.statistics.planning.precision import (
    DIFFERENCE,
    MEAN,
    half_width,
    power_of,
    shared_level,
)
from analysis.statistics.planning.precision import standard_error as se_of_mean
from analysis.statistics.planning.precision import standard_error_of_difference as se_of_difference
from analysis.statistics.planning.study_design import (
    ASSIGNMENTS,
    WITHIN,
    Design,
    Payment,
    PlanningError,
    design_of,
)
from analysis.statistics.planning.variance_components import Components

HALF_WIDTH, POWER = "half_width", "power"
GOALS = (HALF_WIDTH, POWER)


@dataclass(frozen=True)
class Requirements:
    """A plan's question; sizes in score units, shares from 0 to 1.

    ``goal`` half_width: the interval of ``of`` is ``size`` ± or narrower; power: a true difference
    of ``size`` is found with ``power``. ``of``: the difference of two conditions, or one mean (of
    comparison scores: its distance from no preference). ``comparisons`` share the error: None for
    all pairs of the conditions, as a report has them, and for one mean.
    ``ratings_per_stimulus`` None: as few as are enough; else what that number gives.
    """

    goal: str
    size: float
    components: Components
    payment: Payment
    items: int
    conditions: int
    clips_per_rater: int
    of: str = DIFFERENCE
    power: float = 0.8
    comparisons: int | None = None
    ratings_per_stimulus: int | None = None
    assignment: str = WITHIN
    level: float = 0.95

    def __post_init__(self) -> None:
        if self.goal not in GOALS or self.of not in (MEAN, DIFFERENCE):
            raise PlanningError(f"plan for {' or '.join(GOALS)}, of a {MEAN} or a {DIFFERENCE}")
        if self.assignment not in ASSIGNMENTS:
            raise PlanningError(f"assignment is one of {', '.join(ASSIGNMENTS)}")
        if not self.size > 0 or not 0 < self.power < 1 or not 0.5 <= self.level < 1:
            raise PlanningError(
                "the size is above 0, the power between 0 and 1, the level 0.5 to below 1"
            )
        if self.of == DIFFERENCE and self.conditions < 2:
            raise PlanningError("a difference needs two conditions; with one, plan for its mean")
        if self.compared < 1 or (self.ratings_per_stimulus or 1) < 1:
            raise PlanningError("comparisons and ratings per stimulus are 1 or more")

    @property
    def compared(self) -> int:
        """How many comparisons share the error."""
        if self.comparisons is not None:
            return self.comparisons
        return self.conditions * (self.conditions - 1) // 2 if self.of == DIFFERENCE else 1

    @property
    def strict_level(self) -> float:
        """The level of one comparison when all hold at once."""
        return shared_level(self.level, self.compared)

    def level_of(self, of: str) -> float:
        """The level of an interval: several differences share the error, means stand alone."""
        return self.strict_level if of == self.of else self.level

    def reached(self, design: Design) -> float:
        """What a design gives of the goal: a half width (score units), or a power (0..1)."""
        if self.goal == HALF_WIDTH:
            return half_width(design, self.components, of=self.of, level=self.strict_level)
        return self.power_with(design)

    def power_with(self, design: Design) -> float:
        """The power (0..1) of a design, at the level that all comparisons share."""
        return power_of(design, self.components, self.size, of=self.of, level=self.strict_level)

    def enough(self, design: Design) -> bool:
        """Whether a design reaches the goal."""
        reached = self.reached(design)
        return reached <= self.size if self.goal == HALF_WIDTH else reached >= self.power

    def design(self, ratings_per_stimulus: int) -> Design:
        """The design with so many ratings per clip: as many raters as share them."""
        return design_of(ratings_per_stimulus, **self._shape)

    @property
    def _shape(self) -> dict[str, Any]:
        """What the design is asked to have, as `design_of` takes it."""
        names = ("items", "conditions", "clips_per_rater", "assignment")
        return {name: getattr(self, name) for name in names}

    def plan(self) -> Plan:
        """The design asked for; PlanningError where nothing reaches the goal, with what would."""
        if self.items < 2 or self.clips_per_rater < 1:
            raise PlanningError("give two items or more, and one clip per rater or more")
        if self.ratings_per_stimulus is not None:
            design = self.design(self.ratings_per_stimulus)
            se, both = se_of_mean(design, self.components), 0.0
            if self.conditions > 1:
                both = se_of_difference(design, self.components)
            return Plan(design, self.reached(design), se, both)
        wanted: dict[str, Any] = {
            **self._shape,
            "of": self.of,
            "level": self.level,
            "comparisons": self.compared,
        }
        if self.goal == HALF_WIDTH:
            return plan_for_half_width(self.size, self.components, **wanted)
        return plan_for_difference(self.size, self.components, **wanted, wanted_power=self.power)
