"""The table of a study's sessions, and what each rater answered around the trials."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from django.core.paginator import Page, Paginator
from django.db.models import Case, Count, Exists, F, Max, OuterRef, Q, Value, When

from listening.checks import check_named
from listening.design.occasions import asks_between, kept_as
from listening.design.studyfile.occasionpart import plans_of
from listening.design.traps import TRAINING
from listening.models import Block, Session, Study, Trial
from listening.outcomes import code_at_end, review_words
from listening.recruitment.evidence import evidence_of
from listening.views.beforehand import questionnaire_title

SESSIONS_PER_PAGE = 25
ANSWERS_SHOWN = 40  # of a session on the page; all of them are in sessions.csv
LONGEST_SHOWN = 400  # characters
SHOWN_AS = {"expired": "left", "screened": "screened out", "started": "listening"}


def session_page(study: Study, status: str, number: str | None) -> Page[Any]:
    """One page of the study's sessions, newest first, with what each has done."""
    holds = Block.objects.filter(session=OuterRef("pk"), state=Block.State.LEASED)
    left = Q(status=Session.Status.STARTED) & ~Exists(holds)  # its places went to others
    shown = Case(When(left, then=Value(str(Session.Status.EXPIRED))), default=F("status"))
    sessions = (
        Session.objects.filter(study=study, pilot=False)
        .select_related("rater", "study")
        .annotate(shown=shown)
    )
    if status in Session.Status.values:
        sessions = sessions.filter(shown=status)
    page: Page[Any] = Paginator(
        sessions.order_by("-started_at", "-pk"), SESSIONS_PER_PAGE
    ).get_page(number)
    facts = _facts([session.pk for session in page])
    before = _before(page)
    evidence = evidence_of(study, [session.pk for session in page])
    for session in page:
        session.facts = facts.get(session.pk, {})
        session.called = SHOWN_AS.get(session.shown, session.shown)
        last = session.finished_at or session.facts.get("last")
        took = last - session.started_at if last else None
        session.minutes = took.total_seconds() / 60 if took else None
        session.around = around_trials(study, session)
        session.before = before.get(session.pk, 0)
        known = evidence.get(session.pk)
        session.signs = known.signs if known else []
        session.reviewed_for = review_words(session.review)
        session.completion_code = code_at_end(session)
        session.may_be_rejected = session.status not in UNREJECTABLE
    return page


def _before(page: Page[Any]) -> dict[int, int]:
    """How many other raters began earlier from the address and browser of each session."""
    origins = {session.origin for session in page if session.origin}
    same = Session.objects.filter(study=page[0].study, origin__in=origins) if origins else ()
    raters: dict[str, list[int]] = defaultdict(list)
    before = {}
    for other in sorted(same, key=lambda each: each.pk):
        before[other.pk] = len({*raters[other.origin]} - {other.rater_id})
        raters[other.origin].append(other.rater_id)
    return before


UNREJECTABLE = (Session.Status.WITHDRAWN, Session.Status.REJECTED, Session.Status.SCREENED)


def _facts(sessions: list[int]) -> dict[int, dict[str, Any]]:
    answered = Q(state=Trial.State.ANSWERED)
    planned = Q(state=Trial.State.PLANNED)
    trap = answered & ~Q(trap__in=("", TRAINING))
    rows = (
        Trial.objects.filter(session__in=sessions)
        .order_by()
        .values("session")
        .annotate(
            done=Count("pk", filter=answered),
            total=Count("pk", filter=answered | planned),
            skipped=Count("pk", filter=Q(state=Trial.State.SKIPPED)),
            traps=Count("pk", filter=trap),
            passed=Count("pk", filter=trap & Q(trap_passed=True)),
            last=Max("answered_at"),
        )
    )
    return {row["session"]: dict(row) for row in rows}


def status_links(chosen: str) -> list[dict[str, Any]]:
    """The filters above the table."""
    return [
        {"name": name, "text": SHOWN_AS.get(name, name), "chosen": name == chosen}
        for name in Session.Status.values
    ]


def around_trials(study: Study, session: Session) -> dict[str, Any]:
    """Checks, answers and comment of one session, as its details show them."""
    checks = [_check(asked, session.checks) for asked in study.checks]
    done = [check for check in checks if check]
    plans = plans_of(study.tasks.order_by("order")) if asks_between(study.questionnaires) else []
    answers = [
        answer
        for questionnaire in study.questionnaires
        for kept, said in kept_as(questionnaire, plans)
        for answer in _answers(questionnaire, session.questionnaires.get(kept), said)
    ]
    screened = session.status == Session.Status.SCREENED
    return {
        "checks": done,
        "failed": [] if screened else [c["title"] for c in done if c["failed"]],
        "answers": answers[:ANSWERS_SHOWN],
        "more": max(0, len(answers) - ANSWERS_SHOWN),
        "comment": _short(session.comment, 3 * LONGEST_SHOWN),
    }


def _check(asked: Mapping[str, Any], outcomes: Mapping[str, Any]) -> dict[str, Any] | None:
    outcome = outcomes.get(asked["key"])
    if outcome is None:
        return None
    check = check_named(asked["key"])
    return {
        "title": asked.get("title") or check.title,
        "passed": outcome["passed"],
        "failed": bool(outcome.get("done")) and not outcome["passed"],
        "right": outcome.get("right"),
        "total": outcome.get("total") if check.trials else 0,
        "attempts": outcome.get("attempts", 1),
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
            "answer": _short(_said(question, stored["answers"][question["key"]]), LONGEST_SHOWN),
        }
        for question in questionnaire["questions"]
        if question["key"] in stored["answers"]
    ]


def _said(question: Mapping[str, Any], answer: Any) -> str:
    """The words of the options that were chosen; else what was written."""
    texts = {option["value"]: option["text"] for option in question["options"]}
    given = answer if isinstance(answer, list) else [answer]
    return ", ".join(texts.get(str(each), str(each)) for each in given)


def _short(text: str, longest: int) -> str:
    return text if len(text) <= longest else f"{text[:longest]}…"
