"""What one rater did around the trials: checks, questionnaires, the comment at the end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from listening.checks import check_named
from listening.design.occasions import asks_between, kept_as
from listening.design.studyfile.occasionpart import plans_of
from listening.models import Session, Study
from listening.web.researcher.checks_and_traps import chance_text, questionnaire_title


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
