"""The design of a study, in the numbers that its precision depends on, and what it costs."""

from __future__ import annotations

from dataclasses import dataclass

from analysis.statistics.flat_row import FlatRow

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
    ratings_per_stimulus: int
    conditions: int
    assignment: str = WITHIN
    uneven: float = 0.0

    def __post_init__(self) -> None:
        counts = (self.raters, self.items, self.ratings_per_stimulus, self.conditions)
        names = ("raters", "items", "ratings per stimulus", "conditions")
        for name, count in zip(names, counts, strict=True):
            if count < 1:
                raise PlanningError(f"{name} is {count}; give 1 or more")
        if self.ratings_per_stimulus > self.raters:
            raise PlanningError(
                f"{self.ratings_per_stimulus} ratings per stimulus need as many raters; "
                f"there are {self.raters}"
            )
        if self.assignment not in ASSIGNMENTS:
            raise PlanningError(f"assignment {self.assignment!r} is none of {ASSIGNMENTS}")
        if self.uneven < 0:
            raise PlanningError(f"uneven is {self.uneven}; give 0 or more")

    @property
    def ratings_per_condition(self) -> int:
        """n: the ratings that a condition's mean rests on."""
        return self.items * self.ratings_per_stimulus

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
    ratings_per_stimulus: int,
    *,
    items: int,
    conditions: int,
    clips_per_rater: int,
    assignment: str = WITHIN,
) -> Design:
    """The design with so many ratings per clip: as many raters as share them."""
    clips = items * (1 if assignment == BETWEEN else conditions)
    load = min(clips_per_rater, clips)
    raters = max(2, ratings_per_stimulus, -(-clips * ratings_per_stimulus // load))
    return Design(raters, items, ratings_per_stimulus, conditions, assignment)


@dataclass(frozen=True)
class Payment:
    """Seconds per trial and per session beside the trials, pay per hour, fees and losses.

    ``trials_beside`` counts traps and practice per rater. ``fee`` is the platform's share on top
    of the pay (0.25 is 25 %), ``tax`` the share on top of the fee. ``lost`` is the share of
    sessions that are paid and not used (0 to below 1).
    """

    seconds_per_trial: float
    pay_per_hour: float
    session_seconds: float = 120.0
    trials_beside: float = 0.0
    fee: float = 0.0
    tax: float = 0.0
    lost: float = 0.0
    currency: str = ""

    def __post_init__(self) -> None:
        for name in ("seconds_per_trial", "pay_per_hour", "session_seconds", "trials_beside"):
            if getattr(self, name) < 0:
                raise PlanningError(f"{name} is {getattr(self, name)}; give 0 or more")
        if min(self.fee, self.tax) < 0 or not 0 <= self.lost < 1:
            raise PlanningError("fee and tax are 0 or more, the share lost is 0 to below 1")


@dataclass(frozen=True)
class Cost(FlatRow):
    """Sessions to recruit, minutes of one, hours in all; pay, fees and total in the currency."""

    sessions: int
    session_minutes: float
    hours: float
    pay: float
    fees: float
    total: float
    per_rating: float
    currency: str


def cost_of(design: Design, payment: Payment) -> Cost:
    """Time and money of a design: every rater in one session, those lost recruited on top.

    sessions = raters / (1 - lost), rounded up; seconds of a session = session_seconds +
    (clips + trials_beside) x seconds_per_trial; fees = pay x fee x (1 + tax).
    """
    sessions = -int(-design.raters_in_all // (1 - payment.lost))
    trials = design.ratings_per_rater + payment.trials_beside
    seconds = payment.session_seconds + trials * payment.seconds_per_trial
    hours = sessions * seconds / 3600
    pay = hours * payment.pay_per_hour
    fees = pay * payment.fee * (1 + payment.tax)
    total = pay + fees
    return Cost(
        sessions, seconds / 60, hours, pay, fees, total, total / design.ratings, payment.currency
    )
