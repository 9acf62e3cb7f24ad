"""The recruiting page: from the plan over the draft to raters, decisions and money; the connection.

Every button posts an action; what it says stands above the page after it is loaded again.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from listening.access.rights import EDIT, study_for
from listening.models import Bonus, BonusBatch, Recruitment, Session, Study, Submission
from listening.models.study_log import note
from listening.recruitment import (
    connecting,
    deciding,
    drafting,
    ledger,
    paying,
    syncing,
)
from listening.recruitment import plan as plans
from listening.recruitment.errors import NotConfirmed, RecruitmentError
from listening.recruitment.places import first_plan, places_needed, with_length_of
from listening.recruitment.plan import MOST_PLACES, Plan, money
from listening.recruitment.prolific import ProlificError
from listening.recruitment.terms import terms_of
from listening.selectors.monitor import forget_progress
from listening.sessions import lifecycle
from listening.sessions.source_quotas import change_quota
from listening.studies.length import session_length
from listening.web.posted_values import whole_number
from listening.web.researcher.recruiting_facts import (
    SHOWN,
    filters_of,
    live_facts,
    plan_facts,
    rates_for,
    source_facts,
)
from listening.web.researcher.recruiting_form import (
    filter_facts,
    read_plan,
    with_filter,
    without_filter,
)
from listening.web.researcher.study_page import who

State = Recruitment.State


# --- The page ------------------------------------------------------------------------------------


@login_required
@require_GET
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


@login_required
@require_POST
def do(request: HttpRequest, key: str) -> HttpResponse:
    """One action of the page; what is refused says why, and nothing half is left behind."""
    study = study_for(request.user, key, EDIT)
    name = request.POST.get("action", "")
    action = ACTIONS.get(name)
    if action is None:
        messages.error(request, "There is no such action.")
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


Answer = str | HttpResponse | None
TYPED = ("places", "slots")  # actions that are named after a number, which is shown again


def _seen(request: HttpRequest) -> int:
    """The sum on the button that was pressed, in whole minor units; -1 where it named none."""
    text = request.POST.get("seen", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 13 else -1


def _recruitment(study: Study) -> Recruitment:
    found = _current(study)
    if found is None:
        raise RecruitmentError("There is no plan yet.")
    return found


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
    plan = drafting.plan_of(recruitment)
    return _with_filters(recruitment, without_filter(plan, request.POST.get("filter", "")))


def _with_filters(recruitment: Recruitment, plan: Plan) -> str:
    drafting.change_plan(recruitment, plan, budget_minor=recruitment.budget_minor)
    connection = recruitment.connection
    try:
        with connecting.client_of(connection) as prolific:
            eligible = prolific.eligible(plan.filters, connection.workspace)
    except ProlificError as error:
        return f"Saved. How many participants that leaves is not known: {error}"
    left = f"{eligible:,}" if eligible else "fewer than 25"
    return f"Saved. That leaves {left} participants."


def _send(request: HttpRequest, study: Study) -> Answer:
    recruitment = _recruitment(study)
    for change in drafting.send_draft(recruitment):
        messages.warning(request, change)
    if recruitment.state == State.LIVE:
        return "Prolific has published this study already."
    return "The draft is at Prolific. It costs nothing until you publish it."


def _publish(request: HttpRequest, study: Study) -> Answer:
    recruitment = _recruitment(study)
    if request.POST.get("sure") != "yes":
        raise RecruitmentError("Tick the box first: publishing locks the money.")
    drafting.publish(recruitment, request.POST.get("seal", ""))
    if recruitment.state == State.LIVE:
        return "Published. Raters come as soon as Prolific shows the study to them."
    if recruitment.state == State.PUBLISHING:
        return "Prolific was asked to publish it, and does not show it as active yet."
    raise RecruitmentError(recruitment.problem or "Prolific did not publish it.")


def _discard(request: HttpRequest, study: Study) -> Answer:
    drafting.discard_draft(_recruitment(study))
    return "The draft is gone. The plan is here, and can be changed and sent again."


def _test(request: HttpRequest, study: Study) -> Answer:
    address = drafting.try_it(_recruitment(study), request.POST.get("email", "").strip())
    return f"The test participant’s copy is at {address}"


def _look(request: HttpRequest, study: Study) -> Answer:
    syncing.sync(_recruitment(study))
    return "As Prolific has it now."


def _change_state(request: HttpRequest, study: Study) -> Answer:
    """Prolific and the study here go together where the box says so."""
    recruitment = _recruitment(study)
    word = request.POST.get("to", "")
    if word not in drafting.ACTIONS:
        raise RecruitmentError("It can be paused, resumed or stopped.")
    drafting.change_state(recruitment, word)
    if "here" in request.POST:
        from listening.studies import StudyError, open_study, pause_study

        try:
            (open_study if word == "resume" else pause_study)(study, by=who(request))
        except StudyError as error:
            messages.warning(request, str(error))
        forget_progress(study.key)
    return f"Prolific says: {recruitment.status.lower()}."


def _more_places(request: HttpRequest, study: Study) -> Answer:
    text = request.POST.get("places", "")
    if not text.isdecimal() or len(text) > 6:
        raise RecruitmentError("Give the whole number of places that there should be in all.")
    recruitment = _recruitment(study)
    drafting.more_places(recruitment, int(text), _seen(request))
    return f"There are {recruitment.places} places now."


def _more_slots(request: HttpRequest, study: Study) -> Answer:
    text = request.POST.get("slots", "")
    if not text.isdecimal() or len(text) > 6:
        raise RecruitmentError("Give the whole number of paid screen-outs that there should be.")
    recruitment = _recruitment(study)
    drafting.more_slots(recruitment, int(text), _seen(request))
    slots, status = terms_of(recruitment).slots, recruitment.status.lower()
    return f"Prolific pays {slots} screen-outs now. The study is {status} there."


def _change_limit(request: HttpRequest, study: Study) -> Answer:
    recruitment, text = _recruitment(study), request.POST.get("limit", "").strip()
    try:
        limit = plans.minor_of(text) if text else None
    except ValueError as error:
        raise RecruitmentError(str(error)) from None
    drafting.change_limit(recruitment, limit)
    said = "none" if limit is None else money(limit, recruitment.currency)
    return f"The limit of this study: {said}."


def _submission(request: HttpRequest, study: Study) -> Submission:
    pk = request.POST.get("submission", "")
    rows = Submission.objects.select_related("recruitment__connection", "recruitment__study")
    found = rows.filter(recruitment__study=study, pk=whole_number(pk)).first()
    if found is None:
        raise RecruitmentError("There is no such submission.")
    return found


def _decide(request: HttpRequest, study: Study) -> Answer:
    part = request.POST.get("part", "").strip()
    try:
        part_minor = plans.minor_of(part) if part else 0
    except ValueError as error:
        raise RecruitmentError(str(error)) from None
    return deciding.decide(
        _submission(request, study),
        request.POST.get("decision", ""),
        by=who(request),
        message=request.POST.get("message", ""),
        part_minor=part_minor,
    )


def _agree(request: HttpRequest, study: Study) -> Answer:
    return deciding.agree(_submission(request, study), who(request))


def _approve_all(request: HttpRequest, study: Study) -> Answer:
    recruitment = _recruitment(study)
    count = deciding.approve_many(recruitment, who(request), _seen(request))
    return f"{count} approved. Prolific works them off within minutes."


def _leave_out(request: HttpRequest, study: Study) -> Answer:
    """Use, not pay: the answers count no more, and whatever is paid stays paid."""
    code = request.POST.get("session", "")
    session = get_object_or_404(Session, study=study, code=code)
    lifecycle.reject(session, "left out: it does not fit what Prolific has")
    forget_progress(study.key)
    return "Those answers are left out and their places open again. Pay is not touched."


def _bonus(request: HttpRequest, study: Study) -> Answer:
    submission = _submission(request, study)
    purpose = request.POST.get("purpose", "").strip()[:40] or "thanks"
    try:
        minor = plans.minor_of(request.POST.get("amount", ""))
    except ValueError as error:
        raise RecruitmentError(str(error)) from None
    paying.decide_bonus(submission, purpose, minor, who(request))
    return "The bonus is owed. It is paid below, with all others."


def _take_back(request: HttpRequest, study: Study) -> Answer:
    pk = request.POST.get("bonus", "")
    owned = Bonus.objects.select_related("submission").filter(submission__recruitment__study=study)
    bonus = owned.filter(pk=whole_number(pk)).first()
    if bonus is None:
        raise RecruitmentError("There is no such bonus.")
    paying.take_back(bonus)
    return "The bonus is taken back: nothing of it was paid, and nothing of it is owed."


def _undo_batch(request: HttpRequest, study: Study) -> Answer:
    paying.undo_batch(_batch(request, study))
    return "Undone: nothing was paid, and all of it is owed again."


def _write_bonuses(request: HttpRequest, study: Study) -> Answer:
    recruitment = _recruitment(study)
    batch = paying.write_batch(recruitment)
    if batch is None:
        return "Nothing is owed."
    total = money(batch.total_minor or 0, recruitment.currency)
    return f"Written down at Prolific: {total} with fees. Nothing is paid before you say so."


def _batch(request: HttpRequest, study: Study) -> BonusBatch:
    pk = request.POST.get("batch", "")
    found = (
        BonusBatch.objects.select_related("recruitment__connection")
        .filter(recruitment__study=study, pk=whole_number(pk))
        .first()
    )
    if found is None:
        raise RecruitmentError("There is no such batch of bonuses.")
    return found


def _pay_bonuses(request: HttpRequest, study: Study) -> Answer:
    paying.pay(_batch(request, study))
    return "Prolific was asked to pay, once. The table shows when it has."


def _pay_again(request: HttpRequest, study: Study) -> Answer:
    freed = paying.pay_again(_batch(request, study))
    word = "bonus is" if freed == 1 else "bonuses are"
    return f"{freed} {word} owed again." if freed else "Prolific has paid all of it."


def _change_quota(request: HttpRequest, study: Study) -> Answer:
    text = request.POST.get("quota", "").strip() or "0"
    if not text.isdecimal() or int(text[:9]) > MOST_PLACES:
        raise RecruitmentError(f"A quota is a whole number up to {MOST_PLACES:,}; empty for none.")
    source = change_quota(study, request.POST.get("source", ""), int(text))
    if source is None:
        raise RecruitmentError("The study has no such way in.")
    return f"{source.name}: {f'at most {source.quota} sessions' if source.quota else 'no quota'}."


ACTIONS: dict[str, Callable[[HttpRequest, Study], Answer]] = {
    "save": _save,
    "quota": _change_quota,
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


@login_required
@require_GET
def ledger_csv(request: HttpRequest, key: str) -> HttpResponse:
    study = study_for(request.user, key, EDIT)
    text = ledger.as_csv(study.recruitments.all())
    note(study, "exported", who(request), file="ledger.csv")
    response = HttpResponse(text, content_type="text/csv; charset=utf-8")
    stamp = timezone.now().strftime("%Y-%m-%d")
    response["Content-Disposition"] = f'attachment; filename="{study.key}-ledger-{stamp}.csv"'
    return response
