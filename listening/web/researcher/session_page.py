"""The page of one rater's session: all that one needs to decide about it fairly."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.db.models import Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_GET

from listening.access.rights import LOOK, may_see_ids, study_for
from listening.checks import check_named
from listening.design.occasions import asks_between, kept_as
from listening.design.studyfile.occasionpart import plans_of
from listening.design.traps import TrapPlan
from listening.models import Session, Study, StudyEvent
from listening.models.study_log import event_title
from listening.recruitment.evidence import evidence_of
from listening.selectors.monitor import page_progress
from listening.selectors.progress import odds_of_traps
from listening.selectors.session_trials import FAR_SDS, ShownTrial, session_trials
from listening.sessions import session_summaries
from listening.sessions.outcomes import code_at_end, review_words
from listening.web.researcher.checks_and_traps import chance_text, questionnaire_title
from listening.web.researcher.raters_table import described, rows_of

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
def session_page(request: HttpRequest, key: str, pk: int) -> HttpResponse:
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
            "what": event_title(event),
            "others": int(event.details.get("sessions", 1)) - 1,
        }
        for event in events.order_by("at", "pk")
    ]


def around_session(study: Study, session: Session) -> dict[str, Any]:
    """Checks with the odds of guessing through, and answers with the words of their questions."""
    checks = [_check(study, asked, session.checks) for asked in study.checks]
    plans = plans_of(study.tasks.order_by("order")) if asks_between(study.questionnaires) else []
    answers = [
        answer
        for questionnaire in study.questionnaires
        for kept, said in kept_as(questionnaire, plans)
        for answer in _answers(questionnaire, session.questionnaires.get(kept), said)
    ]
    return {"checks": [check for check in checks if check], "answers": answers}


def _check(
    study: Study, asked: dict[str, Any], outcomes: Mapping[str, Any]
) -> dict[str, Any] | None:
    outcome = outcomes.get(asked["key"])
    if outcome is None:
        return None
    check = check_named(asked["key"])
    settings = check.settings(asked, language=study.language)
    return {
        "title": asked.get("title") or check.title,
        "passed": outcome["passed"],
        "failed": bool(outcome.get("done")) and not outcome["passed"],
        "right": outcome.get("right"),
        "total": outcome.get("total") if check.trials else 0,
        "attempts": outcome.get("attempts", 1),
        "odds": chance_text(check.odds(settings)) if settings.trials else "",
    }


def _answers(
    questionnaire: Mapping[str, Any], stored: Mapping[str, Any] | None, said: str
) -> list[dict[str, str]]:
    """`said`: at which occasion, where there are several."""
    if stored is None:
        return []
    title = questionnaire_title(questionnaire)
    return [
        {
            "questionnaire": title,
            "question": f"{question['question']} ({said})" if said else question["question"],
            "answer": _said(question, stored["answers"][question["key"]]),
        }
        for question in questionnaire["questions"]
        if question["key"] in stored["answers"]
    ]


def _said(question: Mapping[str, Any], answer: Any) -> str:
    """The words of the options that were chosen; else what was written."""
    texts = {option["value"]: option["text"] for option in question["options"]}
    given = answer if isinstance(answer, list) else [answer]
    return ", ".join(texts.get(str(each), str(each)) for each in given)
