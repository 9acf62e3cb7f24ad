"""The page of one rater's session: all that one needs to decide about it fairly."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_GET

from listening.access.rights import LOOK, may_see_ids, study_for
from listening.design.traps import TrapPlan
from listening.models import Session, Study, StudyEvent
from listening.models.study_log import said
from listening.recruitment.evidence import evidence_of
from listening.selectors.around_trials import odds_of_traps
from listening.selectors.monitor import page_progress
from listening.selectors.session_trials import FAR_SDS, ShownTrial, session_trials
from listening.sessions import session_summaries
from listening.sessions.outcomes import code_at_end, review_words
from listening.web.researcher.checks_and_traps import chance_text
from listening.web.researcher.raters_table import described, rows_of
from listening.web.researcher.session_checks import around_session

TRIALS_PER_PAGE = 50
SHOWS = {
    "": "all trials",
    "traps": "traps",
    "far": "far from the others",
    "reasons": "with reasons",
}
JUDGED = ("rejected", "restored")  # events


@login_required
@require_GET
def page(request: HttpRequest, key: str, pk: int) -> HttpResponse:
    study = study_for(request.user, key, LOOK)
    session = get_object_or_404(rows_of(study).select_related("study"), pk=pk)
    if session_summaries.is_stale(session):
        session_summaries.count_sessions([pk])
        session = rows_of(study).select_related("study").get(pk=pk)
    trials = session_trials(session)
    show = request.GET.get("show", "") if request.GET.get("show", "") in SHOWS else ""
    shown = [trial for trial in trials if _is_asked(trial, show)]
    evidence = evidence_of(study, [pk]).get(pk)
    (row,) = described([session])
    context = {
        "study": study,
        "row": row,
        "session": session,
        "evidence": evidence,
        "usual": session_summaries.usual(study.pk),
        "around": around_session(study, session),
        "traps": trap_facts(study, trials),
        "page": Paginator(shown, TRIALS_PER_PAGE).get_page(request.GET.get("page")),
        "show": show,
        "shows": [(name, words, _count(trials, name)) for name, words in SHOWS.items()],
        "far_sds": FAR_SDS,
        "decisions": _decisions(study, session),
        "sittings": study.sessions.filter(rater=session.rater_id).exclude(pk=pk).order_by("pk"),
        "completion_code": code_at_end(session),
        "reviewed_for": review_words(session.review),
        "shows_prolific_ids": may_see_ids(study, request.user),
        "may_be_rejected": session.status in REJECTABLE,
        "shared_from": session_summaries.SHARED_FROM,
    }
    return render(request, "researcher/rater.html", context)


REJECTABLE = (Session.Status.STARTED, Session.Status.FINISHED, Session.Status.EXPIRED)


def _is_asked(trial: ShownTrial, show: str) -> bool:
    if show == "traps":
        return trial.is_trap
    if show == "far":
        return trial.is_far
    return bool(trial.reason) if show == "reasons" else True


def _count(trials: list[ShownTrial], show: str) -> int:
    return sum(_is_asked(trial, show) for trial in trials)


def trap_facts(study: Study, trials: list[ShownTrial]) -> list[dict[str, Any]]:
    """By task and kind of trap: how this rater did, how all did, and what guessing would do."""
    progress = {task["key"]: task for task in page_progress(study.key)["tasks"]}
    facts = []
    for task in study.tasks.order_by("order"):
        own = [t for t in trials if t.task_key == task.key and t.is_trap and t.passed is not None]
        plan = TrapPlan.from_dict(task.traps)
        if not own or not plan.kinds:
            continue
        odds, trouble = odds_of_traps(task, plan)
        of_all = {each["kind"]: each for each in progress[task.key]["traps"]}
        kinds = []
        for kind in plan.kinds:
            met = [trial for trial in own if trial.trap == kind.kind]
            everybody = of_all.get(kind.kind, {"passed": 0, "answered": 0})
            passed = sum(bool(trial.passed) for trial in met)
            kinds.append({"kind": kind, "met": len(met), "passed": passed, "all": everybody})
        guessing = chance_text(odds.guessing) if odds else ""
        facts.append(
            {
                "task": task.title or task.key,
                "kinds": kinds,
                "guessing": guessing,
                "trouble": trouble,
            }
        )
    return facts


def _decisions(study: Study, session: Session) -> list[dict[str, Any]]:
    """What the study's log has of this rater, the oldest first."""
    code = session.rater.code
    about = Q(details__rater=code) | Q(details__raters__contains=[code])
    events = StudyEvent.objects.filter(about, study_id=study.pk, what__in=JUDGED)
    return [
        {
            "event": event,
            "what": said(event),
            "others": int(event.details.get("sessions", 1)) - 1,
        }
        for event in events.order_by("at", "pk")
    ]
