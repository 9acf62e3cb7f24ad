"""Every answer to a questionnaire as a plain pseudonymous row, with the occasion it was for."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, TypedDict

from listening.design.occasions import is_between, occasions_of
from listening.design.studyfile.occasionpart import plans_of
from listening.models import Session, Study


class QuestionnaireRow(TypedDict):
    """One answer of one session; what was asked several times has a row for each time."""

    session: str  # as in SessionRow
    rater: str
    questionnaire: str
    when: str  # as study.toml has it
    task: (
        str  # after which it was asked, or between whose blocks; empty before and after the trials
    )
    block: int | None  # after how many of the task's blocks; None: not between blocks
    question: str
    answer: str
    answered_at: str


def questionnaire_rows(study: str) -> Iterator[QuestionnaireRow]:
    """The answers of a study, session by session in the order of arrival, read in pieces."""
    row = Study.objects.get(key=study)
    asked = list(_asked(row))
    sessions = Session.objects.filter(study=row, pilot=False).exclude(questionnaires={})
    fields = sessions.order_by("pk").values_list("pk", "rater__code", "questionnaires")
    for pk, rater, given in fields.iterator(chunk_size=2000):
        for questionnaire, kept, task, block in asked:
            stored = given.get(kept, {})
            for question in questionnaire["questions"]:
                answer = stored.get("answers", {}).get(question["key"])
                if answer is not None:
                    yield {
                        "session": f"s{pk}",
                        "rater": rater,
                        "questionnaire": questionnaire["key"],
                        "when": questionnaire["when"],
                        "task": task,
                        "block": block,
                        "question": question["key"],
                        "answer": plain(answer),
                        "answered_at": _utc(stored.get("at")),
                    }


def _asked(study: Study) -> Iterator[tuple[dict[str, Any], str, str, int | None]]:
    """Each questionnaire as often as it is asked, with the key of its answers, task and block."""
    plans = plans_of(study.tasks.order_by("order"))
    for questionnaire in study.questionnaires:
        if not is_between(questionnaire):
            yield questionnaire, questionnaire["key"], "", None
        for occasion in occasions_of(questionnaire, plans):
            yield questionnaire, occasion.key, occasion.task_key, occasion.blocks or None


def plain(answer: Any) -> Any:
    """An answer in one cell."""
    return "; ".join(map(str, answer)) if isinstance(answer, list) else answer


def _utc(at: str | None) -> str:
    if not at:
        return ""
    moment = datetime.fromisoformat(at).astimezone(UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
