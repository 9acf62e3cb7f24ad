"""What the recruiting page shows: the plan with its form, or the study with its rows and money."""

from __future__ import annotations

from contextlib import suppress
from decimal import Decimal
from typing import Any

from django.core.cache import cache
from django.core.paginator import Paginator
from django.http import HttpRequest
from redis.exceptions import RedisError

from listening.addresses import public_route
from listening.design.sources import sources_of
from listening.models import Connection, Recruitment, Study
from listening.prolific import ProlificError
from listening.prolific.wire import Json
from listening.recruitment import connecting, desk, drafting, ledger, paying
from listening.recruitment import plan as plans
from listening.recruitment.places import first_plan, groups_of_earlier, places_needed
from listening.recruitment.plan import Plan, money
from listening.recruitment.rates import HourlyRates, rates_of
from listening.source_quotas import counts_of
from listening.views import recruiting_form as forms

ROWS_PER_PAGE = 50
FILTERS_KEPT_S = 3600
SHOWN = {"": "all", "todo": "to decide", "mismatch": "mismatches"}
HELD = ("APPROVED", "AWAITING REVIEW", "PARTIALLY APPROVED")  # places that are filled


def plan_facts(
    request: HttpRequest,
    study: Study,
    connection: Connection,
    recruitment: Recruitment | None,
    typed: Plan | None,
) -> dict[str, Any]:
    stored = drafting.plan_of(recruitment) if recruitment else first_plan(study, connection)
    plan = typed or stored
    rates = rates_for(connection, plan)
    filters = filters_of(connection)
    chosen = request.GET.get("filter", "")
    features = connection.features
    return {
        "plan": plan,
        "reward": money(plan.reward_minor, plan.currency),
        "hourly": f"{plan.hourly_minor / 100:.2f}",
        "screened_out_pay": f"{plan.screened_out_minor / 100:.2f}",
        "floor": money(rates.minimum_minor, plan.currency),
        "recommended": money(rates.recommended_minor, plan.currency),
        "asked_rates": rates.is_prolifics,
        "devices": [(each, each in plan.devices) for each in plans.DEVICES],
        "fixed_allowed": features.get("fixed_screen_out"),
        "secure_allowed": features.get("secure_links"),
        "filters": forms.filter_titles(filters),
        "new_filter": forms.filter_facts(filters, chosen) if chosen else None,
        "used_filters": filters_in_words(plan),
        "groups": [
            (group, title, group in plan.keep_out)
            for group, title in groups_of_earlier(study, connection).items()
        ],
        "saved": recruitment is not None,
        "budget": (
            f"{recruitment.budget_minor / 100:.2f}"
            if recruitment and recruitment.budget_minor is not None
            else ""
        ),
    }


def rates_for(connection: Connection, plan: Plan) -> HourlyRates:
    """What Prolific recommends to pay whom this plan's filters leave."""
    return rates_of(connection, plan.currency, (str(each["filter_id"]) for each in plan.filters))


def source_facts(study: Study) -> list[dict[str, Any]]:
    """The ways in that the study names: address, quota, who came; none where it names none."""
    if not study.sources:
        return []
    landing = public_route("landing", study.link)
    named = {source.key: source for source in sources_of(study.sources)}
    return [
        {
            "counts": counts,
            "source": named.get(counts.key),
            "address": named[counts.key].address(landing) if counts.key in named else "",
        }
        for counts in counts_of(study)
    ]


def filters_of(connection: Connection) -> list[Json]:
    """What participants can be chosen by, kept for an hour; none while Prolific is away."""
    name = f"prolific/filters/{connection.pk}/{connection.workspace}"
    with suppress(RedisError):
        kept: list[Json] | None = cache.get(name)
        if kept is not None:
            return kept
    try:
        with connecting.client_of(connection) as prolific:
            found: list[Json] = [dict(each) for each in prolific.filters(connection.workspace)]
    except ProlificError:
        return []
    with suppress(RedisError):
        cache.set(name, found, timeout=FILTERS_KEPT_S)
    return found


def live_facts(request: HttpRequest, recruitment: Recruitment) -> dict[str, Any]:
    """A draft, or a published study with its submissions and its money."""
    plan, currency = drafting.plan_of(recruitment), recruitment.currency
    rows = desk.rows_of_desk(recruitment) if recruitment.state == Recruitment.State.LIVE else []
    pay = desk.pay_of(recruitment, rows)
    more = max(places_needed(recruitment.study) - _coming(recruitment, rows), 0)
    top_up = ledger.with_fees(recruitment, Decimal(plan.reward_minor) * more)
    return {
        "plan": plan,
        "currency": currency,
        "reward": money(plan.reward_minor, currency),
        "expected": money(float(recruitment.expected_minor or 0), currency),
        "most": money(float(drafting.most_minor(recruitment)), currency),
        "codes": [
            (
                outcome.replace("_", " "),
                recruitment.codes.get(outcome, ""),
                plans.WHAT_CODES_DO[way],
            )
            for outcome, way in recruitment.ways.items()
        ],
        "used_filters": filters_in_words(plan),
        "address": plans.study_address(public_route("landing", recruitment.study.link)),
        "pay": pay,
        "pay_hourly": money(pay.median_hourly or 0, currency),
        "pay_clip": money(pay.per_clip or 0, currency),
        "pay_floor": money(pay.floor, currency),
        "stale": desk.is_stale(recruitment),
        "more": more,
        "more_total": recruitment.places + more,
        "more_cost": money(float(top_up), currency),
        **_desk_facts(request, rows, currency),
        **_money_facts(recruitment),
    }


def _desk_facts(request: HttpRequest, rows: list[desk.Row], currency: str) -> dict[str, Any]:
    show = request.GET.get("show", "")
    shown = Paginator([row for row in rows if _is_shown(row, show)], ROWS_PER_PAGE)
    page = shown.get_page(request.GET.get("page"))
    for row in page:
        for bonus in row.bonuses:
            bonus.said = money(bonus.minor, currency)  # type: ignore[attr-defined]
            bonus.words = bonus.purpose.replace("_", " ")  # type: ignore[attr-defined]
    return {
        "rows": page,
        "show": show,
        "shows": [
            (name, words, name == show, sum(_is_shown(row, name) for row in rows))
            for name, words in SHOWN.items()
        ],
        "show_query": f"show={show}" if show in SHOWN else "",
        "counts": desk.counts_of(rows),
        "approvable": sum(row.is_approvable for row in rows),
    }


def _money_facts(recruitment: Recruitment) -> dict[str, Any]:
    currency = recruitment.currency
    owed = paying.owed(recruitment)
    batches = list(recruitment.bonus_batches.all())
    for batch in batches:
        total = batch.total_minor
        batch.said = money(float(total), currency) if total else ""  # type: ignore[attr-defined]
    limit = recruitment.budget_minor
    return {
        "sums": [
            (words, money(float(minor), currency))
            for words, minor in ledger.money_of(recruitment).rows()
        ],
        "differences": [
            (each.name, *(money(float(m), currency) for m in (each.ours, each.theirs)), each.agrees)
            for each in ledger.reconciled(recruitment)
        ],
        "owed": owed,
        "owed_sum": money(sum(each.minor for each in owed), currency),
        "batches": [(batch, paying.in_doubt(batch)) for batch in batches],
        "limit": money(limit, currency) if limit is not None else "",
    }


def filters_in_words(plan: Plan) -> list[tuple[str, str]]:
    names = [str(each["filter_id"]) for each in plan.filters]
    return [(name, plan.words.get(name, name)) for name in names]


def _coming(recruitment: Recruitment, rows: list[desk.Row]) -> int:
    """Places at Prolific that are still to be filled, or are being filled now."""
    held = sum(row.submission is not None and row.submission.status in HELD for row in rows)
    return max(recruitment.places - held, 0)


def _is_shown(row: desk.Row, show: str) -> bool:
    if show == "mismatch":
        return bool(row.mismatches)
    if show == "todo":
        return row.is_waiting or row.is_undecided
    return True
