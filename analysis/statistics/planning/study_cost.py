"""What a design costs: hours of listening, pay and fees."""

from __future__ import annotations

from dataclasses import dataclass

from analysis.statistics.flat_row import FlatRow
from analysis.statistics.planning.study_design import Design, PlanningError


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
