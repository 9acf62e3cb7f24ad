"""How many people a study needs, the fair reward, and the plan that a draft begins with.

Prolific is asked what a fair reward per hour is; without an answer, its help pages' figures hold.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import sha256
from math import ceil

from django.core.cache import cache
from redis.exceptions import RedisError

from listening.design.blocks import amount_of, sessions_of
from listening.models import Block, Connection, Recruitment, Study, Task
from listening.recruitment import plan as plans
from listening.recruitment.connecting import client_of
from listening.recruitment.filters import with_language_filters
from listening.recruitment.ledger import fee_share
from listening.recruitment.plan import FLOOR, Plan
from listening.recruitment.prolific import ProlificError
from listening.sessions.allocation import trials_of
from listening.studies.length import session_length

RECOMMENDED = {"GBP": 900, "USD": 1200}  # per hour, where Prolific cannot be asked
USUAL_FEE, USUAL_TAX = 1 / 3, 0.2  # Prolific's for universities, and the British tax on it
CACHE_S = 3600
RETRY_AFTER_S = 60  # after Prolific did not answer: a page should not wait for it each time
HEADPHONES = "<p>You need headphones and a quiet place.</p>"


@dataclass(frozen=True)
class HourlyRates:
    """In minor units per hour, of one currency."""

    minimum_minor: int
    recommended_minor: int
    is_prolifics: bool  # named by Prolific for this workspace and these filters


@dataclass(frozen=True)
class Fees:
    """What comes on top of rewards, as a share of them, and where the figure is from."""

    share: float
    words: str


def fees_for(connection: Connection | None) -> Fees:
    """As Prolific said for the last study recruited so, else what it asks of universities."""
    earlier = Recruitment.objects.filter(connection=connection, expected_minor__isnull=False)
    last = earlier.order_by("-pk").first() if connection else None
    share = float(fee_share(last)) if last else 0.0
    if last is not None and share > 0:
        return Fees(share, f"{share:.1%} fees and tax, as Prolific said for “{last.study.key}”")
    usual = USUAL_FEE * (1 + USUAL_TAX)
    words = (
        f"assumed: Prolific’s fee of {USUAL_FEE:.1%} for universities (companies pay 42.8%), and "
        f"{USUAL_TAX:.0%} tax on it as in the United Kingdom"
    )
    return Fees(usual, words)


def rates_of(connection: Connection, currency: str, filters: Iterable[str] = ()) -> HourlyRates:
    """Prolific's own for who passes these filters, kept for an hour; the usual ones without it.

    A minimum below the published one is not followed: that one is Prolific's rule for everybody.
    """
    names = sorted(filters)
    key = sha256(" ".join((connection.workspace, currency, *names)).encode()).hexdigest()
    name = f"prolific/rates/{connection.pk}/{key}"
    rates: list[int] | None = None
    with suppress(RedisError):
        rates = cache.get(name)
    if rates is None:
        rates = _ask_rates(connection, currency, names)
        with suppress(RedisError):
            cache.set(name, rates, timeout=CACHE_S if rates else RETRY_AFTER_S)
    usual = HourlyRates(FLOOR.get(currency, 0), RECOMMENDED.get(currency, 0), is_prolifics=False)
    if not rates:
        return usual
    minimum, recommended = rates
    return HourlyRates(max(minimum, usual.minimum_minor), recommended, is_prolifics=True)


def _ask_rates(connection: Connection, currency: str, filters: list[str]) -> list[int]:
    """Minimum and recommendation; empty where Prolific does not say."""
    try:
        with client_of(connection) as prolific:
            rates = prolific.reward_rates(connection.workspace, currency, filters)
    except ProlificError:
        return []
    return [rates.minimum, max(rates.recommended, rates.minimum)]


def places_needed(study: Study) -> int:
    """Sessions that fill every open place of the study once; 0 when it is full."""
    needs = [_sessions_of(task) for task in study.tasks.order_by("order")]
    return sessions_of(needs, study.task_plan)


def _sessions_of(task: Task) -> int:
    if task.study.state != Study.State.DRAFT:
        blocks = task.blocks.filter(state=Block.State.OPEN).count()
    else:  # not opened yet: as many as its targets will make
        return amount_of(trials_of(task), task).sessions
    return ceil(blocks / max(task.blocks_per_session, 1))


def with_length_of(plan: Plan, study: Study) -> Plan:
    """The plan with the length that the study has now, from which the reward follows."""
    length = session_length(study)
    exact = length.measured_minutes or length.estimated_minutes
    plan = replace(plan, minutes=length.minutes, exact_minutes=exact)
    too_much = plan.screened_out_minor >= plan.reward_minor
    is_fixed = plan.screened_out == plans.FIXED
    return plans.with_fair_screen_out(plan) if is_fixed and too_much else plan


def first_plan(study: Study, connection: Connection) -> Plan:
    """What the form starts with: from the researcher's last study there, else usual values."""
    currency = connection.currency or "GBP"
    payment = study.payment if study.payment.get("currency") == currency else {}
    minutes = session_length(study).minutes
    rates = rates_of(connection, currency)
    words = f"Listen to short clips of speech and say what you think of them, about {minutes} min."
    plan = Plan(
        name=study.title[: plans.LONGEST_NAME],
        description=f"<p>{words}</p>{HEADPHONES}",
        places=max(places_needed(study), 1),
        minutes=minutes,
        hourly_minor=rates.recommended_minor,
        floor_minor=rates.minimum_minor,
        currency=currency,
        screened_out=plans.FIXED if connection.features.get("fixed_screen_out") else plans.RETURN,
        secure=bool(connection.features.get("secure_links")),
    )
    if "per_hour" in payment:
        plan = replace(plan, hourly_minor=round(100 * payment["per_hour"]))
    last = Recruitment.objects.filter(connection=connection).exclude(study=study).first()
    if last is None or not last.plan or last.plan.get("currency") != currency:
        return plans.with_fair_screen_out(with_language_filters(plan, study, connection))
    earlier_plan = Plan.from_dict(last.plan)
    plan = replace(
        plan,
        hourly_minor=plan.hourly_minor if "per_hour" in payment else earlier_plan.hourly_minor,
        devices=earlier_plan.devices,
        filters=earlier_plan.filters,
        words=earlier_plan.words,
        approval=earlier_plan.approval,
        screened_out=earlier_plan.screened_out,
        secure=earlier_plan.secure,
    )
    return plans.with_fair_screen_out(with_language_filters(plan, study, connection))


def groups_of_earlier(study: Study, connection: Connection) -> dict[str, str]:
    """Group at Prolific -> the study whose raters are in it."""
    earlier = Recruitment.objects.filter(connection=connection).exclude(group="")
    return {each.group: each.study.title for each in earlier.exclude(study=study)}
