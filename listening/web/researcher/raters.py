"""The page of a study's raters: their table and its CSV, each session, and decisions."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping
from typing import Any

from django.contrib import messages
from django.core.paginator import Paginator
from django.db.models import Q
from django.http import HttpRequest, HttpResponse, QueryDict, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone

from listening.access.rights import ANALYSE, EDIT, LOOK, may_see_ids, study_for
from listening.checks import check_named
from listening.common.spreadsheets import safe_cell
from listening.common.tables import TableView
from listening.common.views import logged_in_get, logged_in_post
from listening.design.occasions import answer_keys, asks_between
from listening.design.questions import question_kind
from listening.design.studyfile.questionnaire_tables import plans_of
from listening.design.traps import TrapPlan
from listening.models import Session, Study, StudyEvent
from listening.models.study_log import event_title, note
from listening.recruitment.evidence import evidence_of
from listening.selectors.progress import odds_of_traps, page_progress
from listening.selectors.session_trials import FAR_SDS, ShownTrial, session_trials
from listening.sessions import session_summaries
from listening.sessions.outcomes import code_at_end, review_words
from listening.sessions.rejection import AT_ONCE, Judged
from listening.studies import StudyError
from listening.web.posted_values import whole_number
from listening.web.researcher.checks_and_traps import chance_text, questionnaire_title
from listening.web.researcher.raters_plot import raters_plot
from listening.web.researcher.raters_table import described, raters_table, rows_of
from listening.web.researcher.study_page import who
from listening.web.session_decisions import MARKS, decide, mark_pay

READ_AT_ONCE = 2000  # rows of a CSV
LEFT = {  # why a session stays as it was
    "rejected": "already withdrawn, screened out or rejected",
    "restored": "not rejected",
    **dict.fromkeys(MARKS, "already marked, simulated, or paid under Recruiting"),
}
FIGURES = (
    *("trials", "answered", "skipped", "traps", "traps_failed", "checks_failed"),
    *("median_ms", "agreement", "shared", "signs"),
)
HEAD = (
    *("session", "rater", "state", "rejected_because", "review", "source", "device"),
    *("simulated", *FIGURES, "started_at_utc"),
)
TRIALS_PER_PAGE = 50
SHOWS = {
    "": "all trials",
    "traps": "traps",
    "far": "outliers",
    "reasons": "with justifications",
}
JUDGED = ("rejected", "restored")  # events
REJECTABLE = (Session.Status.STARTED, Session.Status.FINISHED, Session.Status.EXPIRED)


def _read_table(request: HttpRequest, study: Study, query: QueryDict) -> TableView:
    table = raters_table(study, sees_ids=may_see_ids(study, request.user))
    return table.read(rows_of(study), query)


@logged_in_get
def page(request: HttpRequest, key: str) -> HttpResponse:
    study = study_for(request.user, key, LOOK)
    uncounted = session_summaries.bring_up_to_date(study.pk)
    shown = _read_table(request, study, request.GET)
    rows = described(shown.page)
    context = {
        "study": study,
        "shown": shown,
        "rows": rows,
        "uncounted": uncounted,
        "as_of": min((row["summary"].made_at for row in rows if row["summary"]), default=None),
        "at_once": AT_ONCE,
        "shared_from": session_summaries.SHARED_FROM,
        "shows_prolific_ids": may_see_ids(study, request.user),
    }
    return render(request, "researcher/raters.html", context)


@logged_in_get
def plot(request: HttpRequest, key: str) -> HttpResponse:
    """The plot of the sessions that the filters leave, when it is unfolded."""
    study = study_for(request.user, key, LOOK)
    sessions = _read_table(request, study, request.GET).filtered
    context = {"study": study, "plot": raters_plot(sessions)}
    return render(request, "researcher/_raters_plot.html", context)


# --- Decided about those chosen ------------------------------------------------------------------


@logged_in_post
def judge(request: HttpRequest, key: str) -> HttpResponse:
    """Rejects, restores or marks as paid the chosen sessions, or all that the filters leave."""
    study = study_for(request.user, key, EDIT)
    to, reason = request.POST.get("to", ""), request.POST.get("reason", "")
    chosen, trouble = _chosen(request, study)
    try:
        if trouble:
            raise StudyError(trouble)
        act = mark_pay if to in MARKS else decide
        judged = act(study, chosen, to, reason, by=who(request))
    except StudyError as error:
        messages.error(request, f"Nothing was changed. {error}")
        return redirect(_back(request, study))
    _tell(request, to, judged)
    return redirect(_back(request, study))


def _chosen(request: HttpRequest, study: Study) -> tuple[list[int], str]:
    """Which sessions, and what stands against it; "" where nothing does."""
    if "all" in request.POST:
        shown = _read_table(request, study, QueryDict(request.POST.get("query", "")))
        if shown.ignored:
            return [], " ".join(shown.ignored)
        chosen = list(shown.filtered.values_list("pk", flat=True))
        if str(len(chosen)) != request.POST["all"]:
            return [], f"{len(chosen):,} sessions match now, because new ones arrived. Check again."
    else:
        pks = [whole_number(pk) for pk in request.POST.getlist("session")]
        chosen = list(study.sessions.filter(pk__in=pks).values_list("pk", flat=True))
        if len(chosen) < len(set(pks)):
            return [], "Some of these sessions no longer belong to this study. Check again."
    return chosen, ""


def _tell(request: HttpRequest, to: str, judged: Judged) -> None:
    """What became of it: how many, and what was not done."""
    count = len(judged.raters)
    named = f"the session of {judged.raters[0]}" if count == 1 else f"{count:,} sessions"
    after = {
        "rejected": "The ratings are kept but no longer count, and their slots are open again.",
        "restored": "The ratings count again where their slots are still free.",
        **dict.fromkeys(MARKS, "Ratings do not change."),
    }
    if count:
        summary = f"Marked as {to}: {named}." if to in MARKS else f"{to.capitalize()} {named}."
        messages.success(request, f"{summary} {after[to]}")
    if judged.not_counting:
        summary = f"{judged.not_counting:,} of their ratings do not count"
        why = "other raters have filled the slot, or the block failed its traps"
        messages.warning(request, f"{summary}: {why}. They are kept.")
    if left := judged.left_as_they_were:
        messages.warning(request, f"{left:,} not changed: {LEFT[to]}.")


def _back(request: HttpRequest, study: Study) -> str:
    """To the page that asked: one rater's, or the table as it was filtered."""
    pk = request.POST.get("from", "")
    if pk.isdecimal() and len(pk) < 16:
        return reverse("rater", args=[study.key, int(pk)])
    query = QueryDict(request.POST.get("query", "")[:2000]).urlencode()
    return reverse("raters", args=[study.key]) + (f"?{query}" if query else "")


# --- Taken out -----------------------------------------------------------------------------------


@logged_in_get
def raters_csv(request: HttpRequest, key: str) -> HttpResponse | StreamingHttpResponse:
    """What the filters leave, in the order of the table."""
    study = study_for(request.user, key, ANALYSE)
    session_summaries.bring_up_to_date(study.pk)
    shown = _read_table(request, study, request.GET)
    if shown.ignored:
        return HttpResponse("\n".join(shown.ignored), status=400, content_type="text/plain")
    note(study, "exported", who(request), file="raters.csv", filters=shown.query or "none")
    stamp = timezone.now().strftime("%Y-%m-%d")
    response = StreamingHttpResponse(_lines(shown), content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{study.key}-raters-{stamp}.csv"'
    return response


class _Line:
    """What csv writes to."""

    def write(self, line: str) -> str:
        return line


def _lines(shown: TableView) -> Iterator[str]:
    writer = csv.writer(_Line(), lineterminator="\n")
    yield writer.writerow(HEAD)
    part: list[Session] = []
    for session in shown.ordered.iterator(chunk_size=READ_AT_ONCE):
        part.append(session)
        if len(part) == READ_AT_ONCE:
            yield from (writer.writerow(_cells(row)) for row in described(part))
            part = []
    yield from (writer.writerow(_cells(row)) for row in described(part))


def _cells(row: dict[str, Any]) -> list[Any]:
    session, summary = row["session"], row["summary"]
    return [
        *(f"s{session.pk}", session.rater.code, row["called"]),
        *(safe_cell(session.rejected_because), session.review, session.source, session.device),
        session.rater.simulated,
        *(getattr(summary, name) if summary else None for name in FIGURES),
        session.started_at.strftime("%Y-%m-%d %H:%M:%S"),
    ]


@logged_in_get
def session_page(request: HttpRequest, key: str, pk: int) -> HttpResponse:
    study = study_for(request.user, key, LOOK)
    session = get_object_or_404(rows_of(study).select_related("study"), pk=pk)
    if session_summaries.is_stale(session):
        session_summaries.count_sessions([pk])
        session = rows_of(study).select_related("study").get(pk=pk)
    trials = session_trials(session)
    show = request.GET.get("show", "") if request.GET.get("show", "") in SHOWS else ""
    shown = [trial for trial in trials if _is_wanted(trial, show)]
    evidence = evidence_of(study, [pk]).get(pk)
    (row,) = described([session])
    context = {
        "study": study,
        "row": row,
        "session": session,
        "evidence": evidence,
        "usual": session_summaries.usual(study.pk),
        "around": session_context(study, session),
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


def _is_wanted(trial: ShownTrial, show: str) -> bool:
    if show == "traps":
        return trial.is_trap
    if show == "far":
        return trial.is_far
    return bool(trial.reason) if show == "reasons" else True


def _count(trials: list[ShownTrial], show: str) -> int:
    return sum(_is_wanted(trial, show) for trial in trials)


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


def session_context(study: Study, session: Session) -> dict[str, Any]:
    """Checks with the odds of guessing through, and answers with the words of their questions."""
    checks = [_check(study, entry, session.checks) for entry in study.checks]
    plans = plans_of(study.tasks.order_by("order")) if asks_between(study.questionnaires) else []
    answers = [
        answer
        for questionnaire in study.questionnaires
        for answer_key, occasion in answer_keys(questionnaire, plans)
        for answer in _answers(questionnaire, session.questionnaires.get(answer_key), occasion)
    ]
    return {"checks": [check for check in checks if check], "answers": answers}


def _check(
    study: Study, entry: dict[str, Any], outcomes: Mapping[str, Any]
) -> dict[str, Any] | None:
    outcome = outcomes.get(entry["key"])
    if outcome is None:
        return None
    check = check_named(entry["key"])
    settings = check.settings(entry, language=study.language)
    return {
        "title": entry.get("title") or check.title,
        "passed": outcome["passed"],
        "failed": bool(outcome.get("done")) and not outcome["passed"],
        "right": outcome.get("right"),
        "total": outcome.get("total") if check.trials else 0,
        "attempts": outcome.get("attempts", 1),
        "odds": chance_text(check.odds(settings)) if settings.trials else "",
    }


def _answers(
    questionnaire: Mapping[str, Any], stored: Mapping[str, Any] | None, occasion: str
) -> list[dict[str, str]]:
    """`said`: at which occasion, where there are several."""
    if stored is None:
        return []
    title = questionnaire_title(questionnaire)
    return [
        {
            "questionnaire": title,
            "question": f"{asked} ({occasion})" if occasion else asked,
            "answer": _answer_text(question, kind.part_of(answer, part)),
        }
        for question in questionnaire["questions"]
        if (answer := stored["answers"].get(question["key"])) is not None
        for kind in (question_kind(question),)
        for part, asked in kind.parts(question).items()
    ]


def _answer_text(question: Mapping[str, Any], answer: Any) -> str:
    """The words of the options that were chosen; else what was written."""
    texts = {option["value"]: option["text"] for option in question["options"]}
    choices = answer if isinstance(answer, list) else [answer]
    return ", ".join(texts.get(str(each), str(each)) for each in choices)
