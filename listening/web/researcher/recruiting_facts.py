"""What the recruiting page shows: the plan with its form, or the study with its rows and money."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from django.core.cache import cache
from django.core.paginator import Paginator
from django.http import HttpRequest
from redis.exceptions import RedisError

from listening.common.addresses import public_route
from listening.design.sources import sources_of
from listening.models import Connection, Recruitment, Study
from listening.recruitment import connecting, deciding, desk, drafting, ledger, paying
from listening.recruitment import plan as plans
from listening.recruitment.errors import RecruitmentError
from listening.recruitment.places import (
    HourlyRates,
    first_plan,
    groups_of_earlier,
    places_needed,
    rates_of,
    with_length_of,
)
from listening.recruitment.plan import MOST_PLACES, Plan, money, whole_minor
from listening.recruitment.prolific import ProlificError
from listening.recruitment.prolific.wire import Json
from listening.recruitment.terms import seal_of, terms_of
from listening.sessions.source_quotas import counts_of
from listening.web.researcher.recruiting_form import filter_facts, filter_titles

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
    plan = typed or with_length_of(stored, study)
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
        "filters": filter_titles(filters),
        "new_filter": filter_facts(filters, chosen) if chosen else None,
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


def read_again(recruitment: Recruitment) -> str:
    """Reads a study that is not live yet from Prolific before a sum of it is shown.

    Gives why it could not be read; "" where it was.
    """
    try:
        drafting.find_out(recruitment, tries=1)
    except RecruitmentError as error:
        return str(error)
    return ""


def live_facts(request: HttpRequest, recruitment: Recruitment) -> dict[str, Any]:
    """A draft, or a published study with its submissions and its money."""
    unread = read_again(recruitment) if recruitment.state != Recruitment.State.LIVE else ""
    plan, terms, currency = (
        drafting.plan_of(recruitment),
        terms_of(recruitment),
        recruitment.currency,
    )
    rows = desk.rows_of_desk(recruitment) if recruitment.state == Recruitment.State.LIVE else []
    pay = desk.pay_of(recruitment, rows)
    expected = ledger.with_fees(recruitment, terms.rewards_minor)
    locked = ledger.locked_by_publishing(recruitment)
    return {
        "plan": plan,
        "terms": terms,
        "unread": unread,
        "seal": seal_of(recruitment),
        "changes": drafting.changes_of(recruitment),
        "currency": currency,
        "reward": money(terms.reward_minor, currency),
        "expected": money(expected, currency),
        "screen_outs": money(whole_minor(locked) - whole_minor(expected), currency),
        "screened_out_pay": money(terms.screened_out_minor, currency),
        "locked": money(locked, currency),
        "codes": [
            (
                outcome.replace("_", " "),
                recruitment.codes.get(outcome, ""),
                plans.WHAT_CODES_DO[way],
                way == plans.PAYS_SCREEN_OUT,
            )
            for outcome, way in recruitment.ways.items()
        ],
        "used_filters": filters_of_terms(recruitment),
        "address": plans.study_address(public_route("landing", recruitment.study.link)),
        "pay": pay,
        "pay_hourly": money(pay.median_hourly or 0, currency),
        "pay_clip": money(pay.per_clip or 0, currency),
        "pay_floor": money(pay.floor, currency),
        "stale": desk.is_stale(recruitment),
        **_spending_facts(request, recruitment, rows),
        **_desk_facts(request, rows, currency),
        **_money_facts(recruitment),
    }


def filters_of_terms(recruitment: Recruitment) -> list[tuple[str, str]]:
    """The filters that Prolific has, in the words of the plan where it knows them."""
    words = drafting.plan_of(recruitment).words
    names = [str(each.get("filter_id", "")) for each in terms_of(recruitment).filters]
    return [(name, str(words.get(name, name))) for name in names]


def _spending_facts(
    request: HttpRequest, recruitment: Recruitment, rows: list[desk.Row]
) -> dict[str, Any]:
    """What the buttons cost that add places or screen-outs, or approve: sums with fees."""
    terms, currency = terms_of(recruitment), recruitment.currency
    needed = max(places_needed(recruitment.study) - _coming(recruitment, rows), 0)
    places = _number(request, "places") or recruitment.places + needed
    screened = sum(
        row.submission is not None and row.submission.status == "SCREENED OUT" for row in rows
    )
    slots = _number(request, "slots") or terms.slots
    added, raised = (
        drafting.cost_of_places(recruitment, places),
        drafting.cost_of_slots(recruitment, slots),
    )
    approvable = sum(row.is_approvable for row in rows)
    approved = deciding.cost_of_approvals(recruitment, approvable)
    left = ledger.left_of_budget(recruitment)
    return {
        "more": needed,
        "places_typed": places,
        "places_added": max(places - terms.places, 0),
        "place_each": str(ledger.with_fees(recruitment, terms.reward_minor)),
        "places_seen": whole_minor(added),
        "places_cost": money(added, currency),
        "slots_typed": slots,
        "slots_added": max(slots - terms.slots, 0),
        "slot_each": str(ledger.with_fees(recruitment, terms.screened_out_minor)),
        "slots_seen": whole_minor(raised),
        "slots_cost": money(raised, currency),
        "slots_used": screened,
        "slots_are_used": bool(terms.slots) and screened >= terms.slots,
        "approvable": approvable,
        "approve_seen": whole_minor(approved),
        "approve_cost": money(approved, currency),
        "approve_one": money(deciding.cost_of_approvals(recruitment, 1), currency),
        "budget_left": "" if left is None else left,
        "sign": money(0, currency).removesuffix("0.00"),
    }


def _number(request: HttpRequest, name: str) -> int:
    """What was typed before and is asked again with its sum; 0 where nothing was."""
    text = request.GET.get(name, "")
    is_number = text.isascii() and text.isdigit() and len(text) < 7
    return min(int(text), MOST_PLACES) if is_number else 0


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
        "due_soon": sum(row.is_due_soon for row in rows),
    }


def _money_facts(recruitment: Recruitment) -> dict[str, Any]:
    currency = recruitment.currency
    owed = paying.owed(recruitment)
    batches = list(recruitment.bonus_batches.all())
    for batch in batches:
        total = batch.total_minor
        batch.said = money(total, currency) if total else ""  # type: ignore[attr-defined]
    limit = recruitment.budget_minor
    return {
        "sums": [
            (words, money(minor, currency)) for words, minor in ledger.money_of(recruitment).rows()
        ],
        "differences": [
            (each.name, *(money(m, currency) for m in (each.ours, each.theirs)), each.agrees)
            for each in ledger.reconciled(recruitment)
        ],
        "owed": owed,
        "owed_sum": money(sum(each.minor for each in owed), currency),
        "batches": [(batch, paying.in_doubt(batch)) for batch in batches],
        "limit": money(limit, currency) if limit is not None else "",
        "limit_typed": f"{limit / 100:.2f}" if limit is not None else "",
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
