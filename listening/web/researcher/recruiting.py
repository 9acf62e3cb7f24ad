"""The recruiting page: the plan and its form, the draft, then raters, decisions and money.

Every button posts an action; what it says stands above the page after it is loaded again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from math import isfinite, nan
from typing import Any, TypeVar
from urllib.parse import urlencode

from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone

from listening.access.rights import EDIT, study_for
from listening.common.addresses import public_route
from listening.common.views import attachment, logged_in_get, logged_in_post
from listening.design.sources import sources_of
from listening.models import Bonus, BonusBatch, Connection, Recruitment, Session, Study, Submission
from listening.models.study_log import note
from listening.recruitment import connecting, deciding, drafting, ledger, paying, syncing
from listening.recruitment import plan as plans
from listening.recruitment.errors import NotConfirmed, RecruitmentError
from listening.recruitment.filters import filters_of, languages_unfiltered
from listening.recruitment.places import (
    HourlyRates,
    first_plan,
    groups_of_earlier,
    places_needed,
    rates_of,
    with_length_of,
)
from listening.recruitment.plan import MOST_PLACES, Plan, minor_of, money, whole_minor
from listening.recruitment.prolific import ProlificError
from listening.recruitment.prolific.wire import Json
from listening.recruitment.terms import seal_of, terms_of
from listening.selectors.progress import forget_progress
from listening.sessions import lifecycle
from listening.sessions.source_quotas import change_quota, counts_of, set_secret
from listening.studies.length import session_length
from listening.web.posted_values import whole_number
from listening.web.researcher.study_page import who

SHOWN_CHOICES = 400  # of a filter: more are a list that nobody reads
ROWS_PER_PAGE = 50
SHOWN = {"": "all", "todo": "to decide", "mismatch": "mismatches"}
HELD = ("APPROVED", "AWAITING REVIEW", "PARTIALLY APPROVED")  # places that are filled
State = Recruitment.State
Answer = str | HttpResponse | None
TYPED = ("places", "slots")  # actions that are named after a number, which is shown again


@dataclass
class ReadPlan:
    """The plan as far as it could be read, and what is wrong, by field."""

    plan: Plan
    budget_minor: int | None
    two_people: bool
    problems: dict[str, str] = field(default_factory=dict)


def read_plan(post: QueryDict, before: Plan) -> ReadPlan:
    """`before` holds what the form does not show: currency, filters, the study's minutes."""
    problems: dict[str, str] = {}

    def money(name: str, default: int) -> int:
        try:
            return minor_of(post.get(name, "")) if post.get(name, "").strip() else default
        except ValueError as error:
            problems[name] = str(error)
            return default

    def number(name: str, default: int) -> int:
        text = post.get(name, "").strip()
        if text.isdecimal() and len(text) < 7:
            return int(text)
        problems[name] = "Give a whole number."
        return default

    budget = money("budget", -1)
    plan = replace(
        before,
        name=post.get("name", "").strip(),
        description=post.get("description", "").strip(),
        places=number("places", before.places),
        hourly_minor=money("hourly", before.hourly_minor),
        devices=tuple(each for each in post.getlist("devices") if each in plans.DEVICES),
        approval=_one_of(post, "approval", (plans.REVIEW, plans.AUTOMATIC)),
        screened_out=_one_of(post, "screened_out", (plans.RETURN, plans.FIXED)),
        screened_out_minor=money("screened_out_minor", before.screened_out_minor),
        secure="secure" in post,
        keep_out=tuple(post.getlist("keep_out")),
    )
    return ReadPlan(
        plan,
        None if budget < 0 else budget,
        "two_people" in post,
        plans.problems(plan) | problems,
    )


def _one_of(post: QueryDict, name: str, words: tuple[str, ...]) -> str:
    return post.get(name, "") if post.get(name) in words else words[0]


# --- Filters -------------------------------------------------------------------------------------


def filter_titles(filters: list[Json]) -> list[dict[str, str]]:
    """Those that can be offered, by title; groups are offered apart."""
    offered = [
        {"id": str(each.get("filter_id", "")), "title": str(each.get("title") or "")}
        for each in filters
        if each.get("type") in ("select", "range") and "group" not in str(each.get("filter_id"))
    ]
    return sorted((each for each in offered if each["id"]), key=lambda each: each["title"].lower())


def filter_facts(filters: list[Json], name: str) -> dict[str, Any] | None:
    """One filter as its own small form shows it."""
    entry = next((each for each in filters if each.get("filter_id") == name), None)
    if entry is None:
        return None
    choices = entry.get("choices") or {}
    return {
        "id": name,
        "title": entry.get("title") or name,
        "question": entry.get("question") or "",
        "is_range": entry.get("type") == "range",
        "min": entry.get("min"),
        "max": entry.get("max"),
        "choices": list(choices.items())[:SHOWN_CHOICES] if isinstance(choices, Mapping) else [],
    }


def with_filter(plan: Plan, known: Mapping[str, Any], post: QueryDict) -> Plan:
    """The plan with one more filter; ValueError with a sentence where nothing was chosen."""
    name = str(known["id"])
    if known["is_range"]:
        bounds = {
            end: _bound(post.get(end, ""))
            for end in ("lower", "upper")
            if post.get(end, "").strip()
        }
        if not bounds:
            raise ValueError(f"Give a lowest or a highest value for “{known['title']}”.")
        chosen: dict[str, Any] = {"filter_id": name, "selected_range": bounds}
        words = " to ".join(str(bounds.get(end, "any")) for end in ("lower", "upper"))
    else:
        texts = {str(value): str(text) for value, text in known["choices"]}
        values = [value for value in post.getlist("values") if value in texts]
        if not values:
            raise ValueError(f"Choose at least one answer for “{known['title']}”.")
        chosen = {"filter_id": name, "selected_values": values}
        words = ", ".join(texts[value] for value in values)
    others = tuple(each for each in plan.filters if each.get("filter_id") != name)
    filter_words = {**plan.words, name: f"{known['title']}: {words}"}
    return replace(plan, filters=(*others, chosen), words=filter_words)


def _bound(text: str) -> float | int:
    try:
        number = float(text.replace(",", "."))
    except ValueError:
        number = nan
    if not isfinite(number):
        raise ValueError(f"“{text[:20]}” is not a number.")
    return int(number) if number == int(number) else number


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
        "used_filters": filters_in_words(plan.filters, plan.words),
        "unfiltered": languages_unfiltered(plan, study),
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
            "has_secret": bool(study.source_secret(counts.key)),
        }
        for counts in counts_of(study)
    ]


def reread_study(recruitment: Recruitment) -> str:
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
    unread = reread_study(recruitment) if recruitment.state != Recruitment.State.LIVE else ""
    plan, terms, currency = (
        drafting.plan_of(recruitment),
        terms_of(recruitment),
        recruitment.currency,
    )
    rows = deciding.desk_rows(recruitment) if recruitment.state == Recruitment.State.LIVE else []
    pay = deciding.pay_of(recruitment, rows)
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
        "used_filters": filters_in_words(terms.filters, plan.words),
        "address": plans.study_address(public_route("landing", recruitment.study.link)),
        "pay": pay,
        "pay_hourly": money(pay.median_hourly or 0, currency),
        "pay_clip": money(pay.per_clip or 0, currency),
        "pay_floor": money(pay.floor, currency),
        "stale": deciding.is_stale(recruitment),
        **_spending_facts(request, recruitment, rows),
        **_desk_facts(request, rows, currency),
        **_money_facts(recruitment),
    }


def _spending_facts(
    request: HttpRequest, recruitment: Recruitment, rows: list[deciding.Row]
) -> dict[str, Any]:
    """What the buttons cost that add places or screen-outs, or approve: sums with fees."""
    terms, currency = terms_of(recruitment), recruitment.currency
    needed = max(places_needed(recruitment.study) - _coming(recruitment, rows), 0)
    places = _number(request, "places") or recruitment.places + needed
    screened = sum(
        row.submission is not None and row.submission.status == "SCREENED OUT" for row in rows
    )
    slots = _number(request, "slots") or terms.slots
    added = drafting.cost_of_raise(recruitment, places=places)
    raised = drafting.cost_of_raise(recruitment, slots=slots)
    approvable = sum(row.is_approvable for row in rows)
    approved = deciding.cost_of_approvals(recruitment, approvable)
    left = ledger.remaining_budget(recruitment)
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


def _desk_facts(request: HttpRequest, rows: list[deciding.Row], currency: str) -> dict[str, Any]:
    show = request.GET.get("show", "")
    shown = Paginator([row for row in rows if _is_shown(row, show)], ROWS_PER_PAGE)
    page = shown.get_page(request.GET.get("page"))
    for row in page:
        for bonus in row.bonuses:
            bonus.amount_text = money(bonus.minor, currency)  # type: ignore[attr-defined]
            bonus.words = bonus.purpose.replace("_", " ")  # type: ignore[attr-defined]
    return {
        "rows": page,
        "show": show,
        "shows": [
            (name, words, name == show, sum(_is_shown(row, name) for row in rows))
            for name, words in SHOWN.items()
        ],
        "show_query": f"show={show}" if show in SHOWN else "",
        "counts": deciding.counts_of(rows),
        "due_soon": sum(row.is_due_soon for row in rows),
    }


def _money_facts(recruitment: Recruitment) -> dict[str, Any]:
    currency = recruitment.currency
    owed = paying.owed(recruitment)
    batches = list(recruitment.bonus_batches.all())
    for batch in batches:
        total = batch.total_minor
        batch.amount_text = money(total, currency) if total else ""  # type: ignore[attr-defined]
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


def filters_in_words(
    filters: Iterable[Mapping[str, Any]], words: Mapping[str, Any]
) -> list[tuple[str, str]]:
    """The filters of a plan or of Prolific, in the words of the plan where it knows them."""
    names = [str(each.get("filter_id", "")) for each in filters]
    return [(name, str(words.get(name, name))) for name in names]


def _coming(recruitment: Recruitment, rows: list[deciding.Row]) -> int:
    """Places at Prolific that are still to be filled, or are being filled now."""
    held = sum(row.submission is not None and row.submission.status in HELD for row in rows)
    return max(recruitment.places - held, 0)


def _is_shown(row: deciding.Row, show: str) -> bool:
    if show == "mismatch":
        return bool(row.mismatches)
    if show == "todo":
        return row.is_waiting or row.is_undecided
    return True


# --- The page ------------------------------------------------------------------------------------


@logged_in_get
def page(request: HttpRequest, key: str) -> HttpResponse:
    return _page(request, study_for(request.user, key, EDIT))


def _page(
    request: HttpRequest,
    study: Study,
    *,
    plan: Plan | None = None,
    problems_of: dict[str, str] | None = None,
    status: int = 200,
) -> HttpResponse:
    connection = connecting.connection_for(study)
    recruitment = _current(study)
    context: dict[str, Any] = {
        "study": study,
        "connection": connection if connection and connection.token else None,
        "recruitment": recruitment,
        "length": session_length(study),
        "needed": places_needed(study),
        "play": connecting.is_play(),
        "sources": source_facts(study),
        "problems": problems_of or {},
    }
    if context["connection"] is not None and (
        recruitment is None or recruitment.state == State.PLANNED
    ):
        context |= plan_facts(request, study, context["connection"], recruitment, plan)
    elif context["connection"] is not None and recruitment is not None:
        context |= live_facts(request, recruitment)
        if recruitment.state == State.PLANNED:  # Prolific does not have the draft
            context |= plan_facts(request, study, context["connection"], recruitment, plan)
    return render(request, "researcher/recruiting.html", context, status=status)


def _current(study: Study) -> Recruitment | None:
    return (
        study.recruitments.exclude(state=State.DISCARDED)
        .select_related("connection", "study")
        .first()
    )


# --- What can be done ----------------------------------------------------------------------------


@logged_in_post
def do(request: HttpRequest, key: str) -> HttpResponse:
    """One action of the page; what is refused says why, and nothing half is left behind."""
    study = study_for(request.user, key, EDIT)
    name = request.POST.get("action", "")
    action = ACTIONS.get(name)
    if action is None:
        messages.error(request, "Unknown action.")
        return redirect("recruiting", key=key)
    try:
        answer = action(request, study)
    except RecruitmentError as error:
        messages.error(request, str(error))
        answer = None
        if isinstance(error, NotConfirmed) and name in TYPED:
            typed = {name: request.POST.get(name, ""), "show": request.POST.get("show", "")}
            return redirect(f"{reverse('recruiting', args=[key])}?{urlencode(typed)}")
    if isinstance(answer, HttpResponse):
        return answer
    if answer:
        messages.success(request, answer)
        if name != "look":
            note(study, "quota" if name == "quota" else "recruiting", who(request), said=answer)
    anchor = request.POST.get("anchor", "")
    back = reverse("recruiting", args=[key])
    show = request.POST.get("show", "")
    query = f"?show={show}" if show in SHOWN and show else ""
    return redirect(f"{back}{query}{f'#{anchor}' if anchor.isidentifier() else ''}")


def _sum_seen(request: HttpRequest) -> int:
    """The sum on the button that was pressed, in whole minor units; -1 where it named none."""
    text = request.POST.get("seen", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 13 else -1


def _recruitment(study: Study) -> Recruitment:
    recruitment = _current(study)
    if recruitment is None:
        raise RecruitmentError("There is no recruitment plan yet.")
    return recruitment


def _save(request: HttpRequest, study: Study) -> Answer:
    connection = connecting.connection_for(study)
    if connection is None or not connection.token:
        raise RecruitmentError("Connect Prolific first.")
    recruitment = _current(study)
    stored = drafting.plan_of(recruitment) if recruitment else first_plan(study, connection)
    stored = with_length_of(stored, study)
    floor = rates_for(connection, stored).minimum_minor
    read = read_plan(request.POST, replace(stored, floor_minor=floor))
    if read.problems:
        return _page(request, study, plan=read.plan, problems_of=read.problems, status=422)
    if recruitment is None:
        recruitment = drafting.start_plan(study, connection, read.plan)
    drafting.change_plan(recruitment, read.plan, budget_minor=read.budget_minor)
    Recruitment.objects.filter(pk=recruitment.pk).update(two_people=read.two_people)
    if "send" not in request.POST:
        return "Saved. Nothing was sent."
    return _send(request, study)


def _add_filter(request: HttpRequest, study: Study) -> Answer:
    recruitment = _recruitment(study)
    connection = recruitment.connection
    known = filter_facts(filters_of(connection), request.POST.get("filter", ""))
    if known is None:
        raise RecruitmentError("Prolific has no such filter.")
    try:
        plan = with_filter(drafting.plan_of(recruitment), known, request.POST)
    except ValueError as error:
        raise RecruitmentError(str(error)) from None
    return _with_filters(recruitment, plan)


def _remove_filter(request: HttpRequest, study: Study) -> Answer:
    recruitment = _recruitment(study)
    plan, name = drafting.plan_of(recruitment), request.POST.get("filter", "")
    others = tuple(each for each in plan.filters if each.get("filter_id") != name)
    return _with_filters(recruitment, replace(plan, filters=others))


def _with_filters(recruitment: Recruitment, plan: Plan) -> str:
    drafting.change_plan(recruitment, plan, budget_minor=recruitment.budget_minor)
    connection = recruitment.connection
    try:
        with connecting.client_of(connection) as prolific:
            eligible = prolific.eligible(plan.filters, connection.workspace)
    except ProlificError as error:
        return f"Saved. The number of eligible participants is unknown: {error}"
    left = f"{eligible:,}" if eligible else "fewer than 25"
    return f"Saved. Eligible: {left} participants."


def _send(request: HttpRequest, study: Study) -> Answer:
    recruitment = _recruitment(study)
    for change in drafting.send_draft(recruitment):
        messages.warning(request, change)
    if recruitment.state == State.LIVE:
        return "Prolific has published this study already."
    return "The draft is on Prolific. It is free until you publish it."


def _publish(request: HttpRequest, study: Study) -> Answer:
    recruitment = _recruitment(study)
    if request.POST.get("sure") != "yes":
        raise RecruitmentError("Confirm first: publishing reserves the full amount.")
    drafting.publish(recruitment, request.POST.get("seal", ""))
    if recruitment.state == State.LIVE:
        return "Published. Participants can start as soon as Prolific lists the study."
    if recruitment.state == State.PUBLISHING:
        return "Publishing was requested. The study is not active on Prolific yet."
    raise RecruitmentError(recruitment.problem or "Prolific did not publish it.")


def _discard(request: HttpRequest, study: Study) -> Answer:
    drafting.discard_draft(_recruitment(study))
    return "The draft was deleted. You can change the plan and send it again."


def _test(request: HttpRequest, study: Study) -> Answer:
    address = drafting.try_it(_recruitment(study), request.POST.get("email", "").strip())
    return f"The test copy is at {address}"


def _look(request: HttpRequest, study: Study) -> Answer:
    syncing.sync(_recruitment(study))
    return "Updated from Prolific."


def _change_state(request: HttpRequest, study: Study) -> Answer:
    """Prolific and the study here go together where the box says so."""
    recruitment = _recruitment(study)
    word = request.POST.get("to", "")
    if word not in drafting.ACTIONS:
        raise RecruitmentError("Choose pause, resume or stop.")
    drafting.change_state(recruitment, word)
    if "here" in request.POST:
        from listening.studies import StudyError, open_study, pause_study

        try:
            (open_study if word == "resume" else pause_study)(study, by=who(request))
        except StudyError as error:
            messages.warning(request, str(error))
        forget_progress(study.key)
    return f"Prolific says: {recruitment.status.lower()}."


def _total(request: HttpRequest, name: str, of: str) -> int:
    text = request.POST.get(name, "")
    if not text.isdecimal() or len(text) > 6:
        raise RecruitmentError(f"Enter the total number of {of}.")
    return int(text)


def _more_places(request: HttpRequest, study: Study) -> Answer:
    places, recruitment = _total(request, "places", "places"), _recruitment(study)
    drafting.more_places(recruitment, places, _sum_seen(request))
    return f"There are {recruitment.places} places now."


def _more_slots(request: HttpRequest, study: Study) -> Answer:
    wanted, recruitment = _total(request, "slots", "paid screen-outs"), _recruitment(study)
    drafting.more_slots(recruitment, wanted, _sum_seen(request))
    slots, status = terms_of(recruitment).slots, recruitment.status.lower()
    return f"Prolific pays {slots} screen-outs now. The study is {status} there."


def _amount(text: str) -> int:
    """An amount in minor units."""
    try:
        return minor_of(text)
    except ValueError as error:
        raise RecruitmentError(str(error)) from None


def _change_limit(request: HttpRequest, study: Study) -> Answer:
    recruitment, text = _recruitment(study), request.POST.get("limit", "").strip()
    limit = _amount(text) if text else None
    drafting.change_limit(recruitment, limit)
    limit_text = "none" if limit is None else money(limit, recruitment.currency)
    return f"The limit of this study: {limit_text}."


Row = TypeVar("Row", Submission, Bonus, BonusBatch)


def _named(rows: QuerySet[Row], request: HttpRequest, name: str, what: str) -> Row:
    """The row whose number the form has in a field."""
    row = rows.filter(pk=whole_number(request.POST.get(name, ""))).first()
    if row is None:
        raise RecruitmentError(f"Unknown {what}.")
    return row


def _submission(request: HttpRequest, study: Study) -> Submission:
    rows = Submission.objects.select_related("recruitment__connection", "recruitment__study")
    mine = rows.filter(recruitment__study=study)
    return _named(mine, request, "submission", "submission")


def _decide(request: HttpRequest, study: Study) -> Answer:
    part = request.POST.get("part", "").strip()
    return deciding.decide(
        _submission(request, study),
        request.POST.get("decision", ""),
        by=who(request),
        message=request.POST.get("message", ""),
        part_minor=_amount(part) if part else 0,
    )


def _agree(request: HttpRequest, study: Study) -> Answer:
    return deciding.agree(_submission(request, study), who(request))


def _approve_all(request: HttpRequest, study: Study) -> Answer:
    recruitment = _recruitment(study)
    count = deciding.approve_many(recruitment, who(request), _sum_seen(request))
    return f"{count} approved. Prolific processes them within minutes."


def _leave_out(request: HttpRequest, study: Study) -> Answer:
    """Use, not pay: the answers count no more, and whatever is paid stays paid."""
    code = request.POST.get("session", "")
    session = get_object_or_404(Session, study=study, code=code)
    lifecycle.reject(session, "excluded: does not match Prolific’s data")
    forget_progress(study.key)
    return "The answers are excluded and their slots open again. Payment does not change."


def _bonus(request: HttpRequest, study: Study) -> Answer:
    submission = _submission(request, study)
    purpose = request.POST.get("purpose", "").strip()[:40] or "thanks"
    minor = _amount(request.POST.get("amount", ""))
    paying.decide_bonus(submission, purpose, minor, who(request))
    return "The bonus is due. Pay it under Payments."


def _take_back(request: HttpRequest, study: Study) -> Answer:
    owned = Bonus.objects.select_related("submission").filter(submission__recruitment__study=study)
    paying.take_back(_named(owned, request, "bonus", "bonus"))
    return "The bonus was canceled. It was not paid and is no longer due."


def _undo_batch(request: HttpRequest, study: Study) -> Answer:
    paying.undo_batch(_batch(request, study))
    return "Canceled. Nothing was paid, and all bonuses are due again."


def _write_bonuses(request: HttpRequest, study: Study) -> Answer:
    recruitment = _recruitment(study)
    batch = paying.write_batch(recruitment)
    if batch is None:
        return "No bonuses are due."
    total = money(batch.total_minor or 0, recruitment.currency)
    return f"Prepared on Prolific: {total} including fees. Nothing is paid until you confirm."


def _batch(request: HttpRequest, study: Study) -> BonusBatch:
    rows = BonusBatch.objects.select_related("recruitment__connection")
    mine = rows.filter(recruitment__study=study)
    return _named(mine, request, "batch", "batch of bonuses")


def _pay_bonuses(request: HttpRequest, study: Study) -> Answer:
    paying.pay(_batch(request, study))
    return "Payment was requested. The table shows when it is complete."


def _pay_again(request: HttpRequest, study: Study) -> Answer:
    freed = paying.pay_again(_batch(request, study))
    word = "bonus is" if freed == 1 else "bonuses are"
    return f"{freed} {word} due again." if freed else "Prolific has paid all bonuses."


def _change_quota(request: HttpRequest, study: Study) -> Answer:
    text = request.POST.get("quota", "").strip() or "0"
    if not text.isdecimal() or int(text[:9]) > MOST_PLACES:
        raise RecruitmentError(f"A quota is a whole number up to {MOST_PLACES:,}; empty for none.")
    source = change_quota(study, request.POST.get("source", ""), int(text))
    if source is None:
        raise RecruitmentError("The study has no such recruitment source.")
    return f"{source.name}: {f'at most {source.quota} sessions' if source.quota else 'no quota'}."


LONGEST_SECRET = 200


def _set_secret(request: HttpRequest, study: Study) -> Answer:
    secret = request.POST.get("secret", "").strip()
    if len(secret) > LONGEST_SECRET or not secret.isprintable():
        raise RecruitmentError(f"A secret is one line of at most {LONGEST_SECRET} characters.")
    source = set_secret(study, request.POST.get("source", ""), secret)
    if source is None:
        raise RecruitmentError("The study has no recruitment source that signs with a secret.")
    done = "is stored encrypted and not shown again" if secret else "was removed"
    return f"{source.name}: {source.secret_title} {done}."


ACTIONS: dict[str, Callable[[HttpRequest, Study], Answer]] = {
    "save": _save,
    "quota": _change_quota,
    "secret": _set_secret,
    "add_filter": _add_filter,
    "remove_filter": _remove_filter,
    "send": _send,
    "publish": _publish,
    "discard": _discard,
    "test": _test,
    "look": _look,
    "state": _change_state,
    "places": _more_places,
    "slots": _more_slots,
    "limit": _change_limit,
    "decide": _decide,
    "agree": _agree,
    "approve_all": _approve_all,
    "leave_out": _leave_out,
    "bonus": _bonus,
    "take_back": _take_back,
    "write_bonuses": _write_bonuses,
    "undo_batch": _undo_batch,
    "pay": _pay_bonuses,
    "pay_again": _pay_again,
}


@logged_in_get
def ledger_csv(request: HttpRequest, key: str) -> HttpResponse:
    study = study_for(request.user, key, EDIT)
    text = ledger.as_csv(study.recruitments.all())
    note(study, "exported", who(request), file="ledger.csv")
    stamp = timezone.now().strftime("%Y-%m-%d")
    return attachment(text, f"{study.key}-ledger-{stamp}.csv")
