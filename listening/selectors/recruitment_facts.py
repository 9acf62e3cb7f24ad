"""What a recruitment paid and whom it asked for, counted."""

from __future__ import annotations

from typing import TypedDict

from listening.models import LedgerEntry, Recruitment
from listening.recruitment.plan import Plan, whole_minor
from listening.recruitment.terms import terms_of


class RecruitmentFacts(TypedDict):
    """A study at Prolific; money in minor units."""

    places: int
    minutes: float
    hourly_minor: int
    reward_minor: int
    currency: str
    devices: list[str]
    filters: list[str]
    published_on: str
    rewards: int  # how many were paid
    bonuses: int
    bonuses_minor: float


def recruitment_facts(each: Recruitment) -> RecruitmentFacts:
    plan, terms, kind = Plan.from_dict(each.plan), terms_of(each), LedgerEntry.Kind
    is_as_planned = terms.reward_minor == plan.reward_minor and terms.minutes == plan.minutes
    hourly = plan.hourly_minor if is_as_planned else round(terms.hourly_minor(terms.minutes))
    paid = LedgerEntry.objects.filter(recruitment=each)
    bonuses = list(paid.filter(kind=kind.BONUS).values_list("minor", flat=True))
    return RecruitmentFacts(
        places=each.places or plan.places,
        minutes=terms.minutes,
        hourly_minor=hourly,
        reward_minor=whole_minor(terms.reward_minor),
        currency=each.currency or plan.currency,
        devices=list(terms.devices),
        filters=[str(words) for words in plan.words.values()],
        published_on=each.published_at.date().isoformat() if each.published_at else "",
        rewards=paid.filter(kind=kind.REWARD).count(),
        bonuses=len(bonuses),
        bonuses_minor=float(sum(bonuses)),
    )
