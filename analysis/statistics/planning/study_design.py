"""The design of a study, in the numbers that its precision depends on."""

from __future__ import annotations

from dataclasses import dataclass

WITHIN = "within"
RANDOM = "random"
BETWEEN = "between"
ASSIGNMENTS = (WITHIN, RANDOM, BETWEEN)


class PlanningError(ValueError):
    """A plan that cannot be made, with what to change."""


@dataclass(frozen=True)
class Design:
    """Raters R, items T, ratings per clip and conditions: a clip is one item by one condition.

    ``assignment`` says who hears what: ``within``, each rater the same number of clips of every
    condition; ``random``, clips drawn from the mixed pool; ``between``, other raters for each
    condition (R is then the number per condition). ``uneven`` is the coefficient of variation of
    the number of ratings per rater (0: all alike). Raises PlanningError when a count is below 1,
    a clip would need more ratings than there are raters, or the assignment is unknown.
    """

    raters: int
    items: int
    ratings_per_clip: int
    conditions: int
    assignment: str = WITHIN
    uneven: float = 0.0

    def __post_init__(self) -> None:
        counts = (self.raters, self.items, self.ratings_per_clip, self.conditions)
        names = ("raters", "items", "ratings per clip", "conditions")
        for name, count in zip(names, counts, strict=True):
            if count < 1:
                raise PlanningError(f"{name} is {count}; give 1 or more")
        if self.ratings_per_clip > self.raters:
            raise PlanningError(
                f"{self.ratings_per_clip} ratings per clip need as many raters; "
                f"there are {self.raters}"
            )
        if self.assignment not in ASSIGNMENTS:
            raise PlanningError(f"assignment {self.assignment!r} is none of {ASSIGNMENTS}")
        if self.uneven < 0:
            raise PlanningError(f"uneven is {self.uneven}; give 0 or more")

    @property
    def ratings_per_condition(self) -> int:
        """n: the ratings that a condition's mean rests on."""
        return self.items * self.ratings_per_clip

    @property
    def ratings(self) -> int:
        """All ratings of the study."""
        return self.ratings_per_condition * self.conditions

    @property
    def ratings_per_rater(self) -> float:
        """How many clips a rater hears, on average."""
        groups = self.conditions if self.assignment == BETWEEN else 1
        return self.ratings / (self.raters * groups)

    @property
    def raters_in_all(self) -> int:
        """The people to recruit."""
        return self.raters * (self.conditions if self.assignment == BETWEEN else 1)


def design_of(
    ratings_per_clip: int,
    *,
    items: int,
    conditions: int,
    clips_per_rater: int,
    assignment: str = WITHIN,
) -> Design:
    """The design with so many ratings per clip: as many raters as share them."""
    clips = items * (1 if assignment == BETWEEN else conditions)
    load = min(clips_per_rater, clips)
    raters = max(2, ratings_per_clip, -(-clips * ratings_per_clip // load))
    return Design(raters, items, ratings_per_clip, conditions, assignment)
