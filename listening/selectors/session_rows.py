"""Every session of a study, and every answer to its questionnaires, as plain pseudonymous rows."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any, TypedDict

from django.db import connection, transaction

from listening.common.covariate_levels import levels_of
from listening.design.occasions import Column, columns_of, is_between, occasions_of
from listening.design.questionnaires import PREFER_NOT
from listening.design.questions import part_key, question_kind
from listening.design.sources import source_named
from listening.design.studyfile.questionnaire_tables import plans_of
from listening.models import Session, Study
from listening.models.sealed import unseal
from listening.sessions.leases import ANSWERED, SKIPPED, STATUS_NOW
from listening.sessions.outcomes import completion_code_of, outcome_of, review_words, visit_of

CHECK_FACTS = ("passed", "right", "total", "attempts")
JOINED = "; "  # between the reasons for a review
SESSIONS = """
SELECT 's' || s.id, r.code, {status_now},
    s.device, coalesce(nullif(s.language, ''), st.language), s.source, r.simulated,
    s.consent_version, s.wording_first, s.wording_last,
    to_char(s.started_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
    coalesce(to_char(s.finished_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'), ''),
    round(extract(epoch FROM s.finished_at - s.started_at)::numeric, 3)::float8,
    t.answered, t.skipped, t.hidden_ms, t.stalls,
    s.checks::text, s.questionnaires::text, s.comment, s.rejected_because, s.review,
    s.code, s.paid, s.status, s.prolific_session <> '' OR r.prolific_id IS NOT NULL,
    r.external_id, s.external_session, s.external_project
FROM listening_session s
JOIN listening_study st ON st.id = s.study_id
JOIN listening_rater r ON r.id = s.rater_id,
LATERAL (SELECT count(*) FILTER (WHERE {answered}) AS answered,
        count(*) FILTER (WHERE {skipped}) AS skipped,
        coalesce(sum({hidden_ms}), 0)::bigint AS hidden_ms,
        coalesce(sum({stalls}), 0)::bigint AS stalls
    FROM listening_trial WHERE session_id = s.id) t
WHERE st.key = %s AND NOT s.pilot ORDER BY s.id
"""
# What a page reports is only taken where it is a number that can be.
NUMBER = """CASE WHEN jsonb_typeof(playback->'{0}') = 'number'
    THEN least(greatest((playback->>'{0}')::numeric, 0), 1e9) END"""


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
    occasions = list(_all_occasions(row))
    sessions = Session.objects.filter(study=row, pilot=False).exclude(questionnaires={})
    fields = sessions.order_by("pk").values_list("pk", "rater__code", "questionnaires")
    for pk, rater, answers in fields.iterator(chunk_size=2000):
        for questionnaire, answer_key, task, block in occasions:
            stored = answers.get(answer_key, {})
            for question in questionnaire["questions"]:
                answer = stored.get("answers", {}).get(question["key"])
                kind = question_kind(question)
                for part in kind.parts(question) if answer is not None else ():
                    yield {
                        "session": f"s{pk}",
                        "rater": rater,
                        "questionnaire": questionnaire["key"],
                        "when": questionnaire["when"],
                        "task": task,
                        "block": block,
                        "question": part_key(question, part),
                        "answer": plain(kind.part_of(answer, part)),
                        "answered_at": _utc(stored.get("at")),
                    }


def _all_occasions(study: Study) -> Iterator[tuple[dict[str, Any], str, str, int | None]]:
    """Each occasion of each questionnaire, with the key of its answers, its task and block."""
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


class SessionRow(TypedDict):
    """One session as it leaves the room; no participant id, no code that opens it.

    `checks` and `answers` hold a value, maybe none, for every one of the study's columns.
    """

    session: str  # as in RatingRow
    rater: str
    status: str  # "expired" also where the rater is away and others have the places by now
    device: str
    language: str  # in which the rater read the pages
    source: str  # the way in, where the study names some
    simulated: bool
    consent_version: str
    wording_first: int  # revision of the study's words that it began with; 0: as opened
    wording_last: int  # the newest that its page was given
    consented_at: str
    finished_at: str
    seconds: float | None  # from consent to the end
    trials_answered: int
    trials_skipped: int  # clips that could not be played
    hidden_ms: int  # the page was out of sight, over all trials
    stalls: int  # playing stopped to wait for more of the clip
    checks: dict[str, Any]  # check_<key>_passed, _right, _total, _attempts
    answers: dict[str, Any]  # question_<questionnaire>_<question>, and _after_… where asked between
    comment: str
    rejected_because: str
    needs_review: str  # why a person should look at it before it is paid
    completion_code: str  # that its rater was given at the end
    paid: bool


def session_columns(study: str) -> tuple[str, ...]:
    """The names of a session row's values, checks and answers spread out, in their order."""
    row = Study.objects.get(key=study)
    answers = tuple(column.name for column in _questions(row))
    checks = tuple(f"check_{check['key']}_{fact}" for check in row.checks for fact in CHECK_FACTS)
    spread = {"checks": checks, "answers": answers}
    return tuple(
        column for name in SessionRow.__annotations__ for column in spread.get(name, (name,))
    )


def _questions(study: Study) -> list[Column]:
    """Which answers each column holds, also of those that are given several times."""
    plans = plans_of(study.tasks.order_by("order"))
    return [column for each in study.questionnaires for column in columns_of(each, plans)]


def rater_answers(study: str) -> dict[str, dict[str, str]]:
    """The newest answers to questions that are covariates, by column of sessions.csv and rater.

    Answers to choose from that are coded as numbers are told in words: they are no amounts.
    """
    row = Study.objects.get(key=study)
    compared = {
        column.name: (column, _words_of_codes(question))
        for form in row.questionnaires
        for column in columns_of(form, ())
        for question in form["questions"]
        if question["key"] == column.question and question.get("covariate")
    }
    if not compared:
        return {}
    sessions = Session.objects.filter(study=row, pilot=False).exclude(questionnaires={})
    known: dict[str, dict[str, str]] = {name: {} for name in compared}
    for rater, kept in sessions.order_by("pk").values_list("rater__code", "questionnaires"):
        for name, (column, words) in compared.items():
            answer = column.answer_in(kept)
            if answer not in (None, PREFER_NOT):
                known[name][rater] = words.get(str(answer), str(answer))
    return known


def _words_of_codes(question: Mapping[str, Any]) -> dict[str, str]:
    """The words of a single choice whose stored values all look like numbers."""
    options = question.get("options", []) if question_kind(question).covariate == "answers" else []
    words = {str(option["value"]): str(option["text"]) for option in options}
    return words if words and not levels_of(words) and levels_of(words.values()) else {}


def session_rows(study: str) -> Iterator[SessionRow]:
    """Every session of a study in the order of arrival, read in pieces."""
    row = Study.objects.get(key=study)
    questions = _questions(row)
    names = tuple(SessionRow.__annotations__)
    checks_at = names.index("checks")
    query = SESSIONS.format(
        status_now=STATUS_NOW,
        answered=ANSWERED,
        skipped=SKIPPED,
        hidden_ms=NUMBER.format("hidden_ms"),
        stalls=NUMBER.format("stalls"),
    )
    with transaction.atomic(), connection.connection.cursor(name="session_rows") as cursor:
        cursor.itersize = 2000
        cursor.execute(query, [study])
        for values in cursor:
            *own, status, from_prolific, identity, submission, project = values
            session_row = dict(zip(names, own, strict=True))
            review, code = session_row["needs_review"], session_row["completion_code"]
            session_row["needs_review"] = JOINED.join(review_words(review))
            session_row["completion_code"] = completion_code_of(
                outcome_of(status, review),
                row.completion_codes,
                session=code,
                from_prolific=from_prolific,
                source=(source := source_named(row.sources, session_row["source"])),
                visit=visit_of(
                    source,
                    owner=row.owner_id,
                    study=row.pk,
                    identity=unseal(identity or ""),
                    submission=unseal(submission),
                    project=unseal(project),
                ),
                secret=row.source_secret(session_row["source"]),
            )
            session_row["checks"] = _checks(row.checks, json.loads(values[checks_at]))
            stored = json.loads(values[checks_at + 1])
            session_row["answers"] = {c.name: plain(c.answer_in(stored)) for c in questions}
            yield session_row  # type: ignore[misc]  # its names are SessionRow's


def _checks(checks: list[dict[str, Any]], outcomes: Mapping[str, Any]) -> dict[str, Any]:
    return {
        f"check_{check['key']}_{fact}": outcomes.get(check["key"], {}).get(fact)
        for check in checks
        for fact in CHECK_FACTS
    }
