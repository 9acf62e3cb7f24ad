"""How many people a study needs, and the plan that a draft begins with."""

from __future__ import annotations

from dataclasses import replace
from math import ceil

from listening.design.amounts import amount_of, sessions_of
from listening.models import Block, Connection, Recruitment, Study, Task
from listening.recruitment import plan as plans
from listening.recruitment.plan import Plan
from listening.recruitment.rates import rates_of
from listening.sessions.allocation import trials_of
from listening.studies.length import session_length

HEADPHONES = "<p>You need headphones and a quiet place.</p>"


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
    said = study.payment if study.payment.get("currency") == currency else {}
    minutes = session_length(study).minutes
    rates = rates_of(connection, currency)
    plan = Plan(
        name=study.title[: plans.LONGEST_NAME],
        description=f"<p>{_about(study)}</p>{HEADPHONES}",
        places=max(places_needed(study), 1),
        minutes=minutes,
        hourly_minor=rates.recommended_minor,
        floor_minor=rates.minimum_minor,
        currency=currency,
        screened_out=plans.FIXED if connection.features.get("fixed_screen_out") else plans.RETURN,
        secure=bool(connection.features.get("secure_links")),
    )
    if "per_hour" in said:
        plan = replace(plan, hourly_minor=round(100 * said["per_hour"]))
    last = Recruitment.objects.filter(connection=connection).exclude(study=study).first()
    if last is None or not last.plan or last.plan.get("currency") != currency:
        return plans.with_fair_screen_out(plan)
    kept = Plan.from_dict(last.plan)
    plan = replace(
        plan,
        hourly_minor=plan.hourly_minor if "per_hour" in said else kept.hourly_minor,
        devices=kept.devices,
        filters=kept.filters,
        words=kept.words,
        approval=kept.approval,
        screened_out=kept.screened_out,
        secure=kept.secure,
    )
    return plans.with_fair_screen_out(plan)


def _about(study: Study) -> str:
    minutes = session_length(study).minutes
    return f"Listen to short clips of speech and say what you think of them, about {minutes} min."


def groups_of_earlier(study: Study, connection: Connection) -> dict[str, str]:
    """Group at Prolific -> the study whose raters are in it."""
    earlier = Recruitment.objects.filter(connection=connection).exclude(group="")
    return {each.group: each.study.title for each in earlier.exclude(study=study)}
