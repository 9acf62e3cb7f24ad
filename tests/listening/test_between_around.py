"""Answers given between trials: export, researchers' pages, previews, simulated raters."""

from __future__ import annotations

import asyncio
import csv
import io
import re
from typing import Any

import pytest
from django.core import signing
from django.test import Client

from analysis.ratings.study_scores import questionnaires_csv, sessions_csv, spread_out
from listening.models import Session, Study
from listening.selectors import rating_rows, session_columns, session_rows
from listening.sessions import lifecycle, stages
from listening.sessions.simulated_raters import Kind, Truth, send_crowd
from listening.sessions.simulated_raters.knowledge import rater_knowledge
from listening.studies import create_study
from tests.factories import an_answer, arrive, current, kept_keys, make_user
from tests.listening.folders import CONDITIONS, STUDY, make_folder
from tests.listening.sounds import give_sound
from tests.listening.test_between import EFFORT, PAUSE, a_study, between, walk
from tests.listening.test_between_studyfile import BETWEEN, FORM, TASKS
from tests.listening.test_researcher_pages import page_of, words_of
from tests.listening.test_researcher_pages_around import page
from tests.listening.test_stages import ABOUT, AFTER, question, stage
from tests.listening.web import WebProcess

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    """After an answer in each occasion, “yes” and “no” in turn."""
    return a_study(AFTER, PAUSE, EFFORT, key="around")


def answered(study: Study, *answers: str) -> Session:
    session, given = arrive(study), iter(answers)
    while (now := stage(session)) != "end":
        if now == "trial":
            lifecycle.record_answer(session, an_answer(current(session)))
        else:
            key = now.removeprefix("questionnaire ")
            stages.record_questionnaire(session, key, {"hearing": next(given)})
    return session


@pytest.mark.medium
def test_every_occasion_has_a_column_of_its_own(study: Study) -> None:
    answered(study, "yes", "no", "no", "yes", "yes")
    arrive(study)
    columns = [each for each in session_columns(study.key) if each.startswith("question_")]
    assert columns == [
        "question_after_hearing",
        "question_pause_hearing_after_mos_block_1",
        "question_pause_hearing_after_att_block_1",
        "question_effort_hearing_after_mos",
        "question_effort_hearing_after_att",
    ]
    whole, begun = map(spread_out, session_rows(study.key))
    assert [whole[each] for each in columns] == ["yes", "yes", "no", "no", "yes"]
    assert [begun[each] for each in columns] == [None] * 5
    assert ",".join(columns) in next(iter(sessions_csv(study.key)))


@pytest.mark.medium
def test_every_answer_has_a_row_with_its_task_and_its_block(study: Study) -> None:
    session = answered(study, "yes", "no", "no", "yes", "yes")
    arrive(study)
    text = "".join(questionnaires_csv(study.key))
    rows = list(csv.DictReader(io.StringIO(text)))
    own = {"session": f"s{session.pk}", "rater": session.rater.code, "question": "hearing"}
    assert all(own.items() <= row.items() for row in rows)
    names = ("questionnaire", "when", "task", "block", "answer")
    assert [tuple(row[name] for name in names) for row in rows] == [
        ("after", "after", "", "", "yes"),
        ("pause", "between_blocks", "mos", "1", "yes"),
        ("pause", "between_blocks", "att", "1", "no"),
        ("effort", "after_task", "mos", "", "no"),
        ("effort", "after_task", "att", "", "yes"),
    ]
    times = {row["answered_at"] for row in rows}
    assert all(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", at) for at in times)


@pytest.mark.medium
def test_the_owner_takes_the_rows_from_the_results_page(client: Client, study: Study) -> None:
    url = f"/studies/{study.key}/results/questionnaires.csv"
    assert client.get(url).status_code == 302
    client.force_login(make_user("somebody"))
    assert client.get(url).status_code == 404
    client.force_login(study.owner)
    response = client.get(url)
    assert response["Content-Disposition"] == 'attachment; filename="around-questionnaires.csv"'
    text = b"".join(response.streaming_content).decode()
    assert text.startswith("session,rater,questionnaire,when,task,block,question,answer,")


@pytest.mark.medium
def test_what_speaks_of_headphones_at_any_time_counts_against_them() -> None:
    asked = between("device", "after_task")
    options = [{"value": each, "text": each} for each in ("in_ear", "loudspeaker")]
    asked["questions"] = [question("listening_device", options=options)]
    study = a_study(asked, blocks=1)
    told = {}
    for first, second in (
        ("in_ear", "in_ear"),
        ("in_ear", "loudspeaker"),
        ("loudspeaker", "in_ear"),
    ):
        session, given = arrive(study), iter((first, second))
        while (now := stage(session)) != "end":
            if now == "trial":
                lifecycle.record_answer(session, an_answer(current(session)))
            else:
                key = now.removeprefix("questionnaire ")
                stages.record_questionnaire(session, key, {"listening_device": next(given)})
        told[f"s{session.pk}"] = (first, second) == ("in_ear", "in_ear")
    assert {row["session"]: row["headphones"] for row in rating_rows(study.key)} == told


# --- Researchers' pages ---------------------------------------------------------------------------


@pytest.mark.medium
def test_the_study_says_when_they_are_asked_and_counts_raters_once(
    client: Client, study: Study
) -> None:
    client.force_login(study.owner)
    walk(arrive(study))
    text = page(client)
    assert "pause pause between blocks of mos, att 1 1 –" in text
    assert "effort effort after mos, att 1 1 –" in text
    Study.objects.update(questionnaires=[between("rare", "between_blocks", "att", every=3)])
    study.tasks.update(blocks_per_session=4)
    assert "between blocks of att, every 3" in page(client)


@pytest.mark.medium
def test_a_session_says_after_what_each_answer_was_given(client: Client, study: Study) -> None:
    client.force_login(study.owner)
    session = answered(study, "yes", "no", "no", "yes", "yes")
    text = words_of(page_of(client, f"/studies/around/raters/{session.pk}/"))
    assert "hearing? (after mos block 1) Yes" in text
    assert "hearing? (after mos) No" in text
    assert "hearing? (after att) Yes" in text


# --- The preview ----------------------------------------------------------------------------------


def stages_of(state: dict[str, Any]) -> list[Any]:
    return [
        each.get("until") or (each.get("questionnaire") or {}).get("key") or each["stage"]
        for each in state["preview_stages"]
    ]


@pytest.mark.parametrize("language", ["en", "zh-Hans"])
@pytest.mark.medium
def test_the_preview_asks_after_the_clips_of_each_task(client: Client, tmp_path, language) -> None:
    words = '\n[study.translations.zh-Hans.questionnaires.effort]\ntitle = "累吗？"\n'
    more = FORM.replace('key = "effort"\nWHEN', f'key = "pause"\n{BETWEEN}', 1)
    form = FORM.replace("WHEN", 'when = "after_task"\ntitle = "Tired?"')
    text = STUDY + 'language = "en"' + words + CONDITIONS + TASKS + form + more
    made = create_study(make_folder(tmp_path, text), make_user())
    client.force_login(made.owner)
    url = f"/studies/{made.key}/preview/?consent=yes&lang={language}"
    state = client.get(url).context["state"]
    first = sum(trial["task"] == 0 for trial in state["preview_trials"])
    total = len(state["preview_trials"])
    assert stages_of(state) == [first, "pause@1.1", "effort@1", total, "effort@2"]
    forms = [each["questionnaire"] for each in state["preview_stages"] if "questionnaire" in each]
    assert forms[1]["title"] == ("Tired?" if language == "en" else "累吗？")
    assert forms[1]["place"].endswith(
        f"{first} of {total} done" if language == "en" else f"{first}/{total}"
    )


# --- Scripted raters ------------------------------------------------------------------------------


@pytest.mark.slow
def test_scripted_raters_answer_at_every_occasion(web: WebProcess, transactional_db: None) -> None:
    study = a_study(ABOUT, AFTER, PAUSE, EFFORT)
    give_sound(study)
    token = signing.dumps(study.key, salt="simulate")
    kinds = [Kind.CAREFUL, Kind.CARELESS, Kind.RETURNER, Kind.DOUBLE]
    truth = Truth(3, {"cond-0": 1.0, "cond-1": 0.0, "trap": 0.0})
    landing = f"/r/{study.link}/?simulate={token}"
    summary = asyncio.run(
        send_crowd(
            web.url, landing=landing, known=rater_knowledge(study), truth=truth, kinds=kinds,
            concurrency=4,
        )
    )  # fmt: skip
    assert (summary.trouble, summary.refused) == ({}, {})
    assert {str(report.end) for report in summary.reports} == {"complete"}
    for session in Session.objects.all():
        assert session.questionnaires.keys() == kept_keys(study)
        assert all(
            each["answers"]["hearing"] in ("yes", "no") for each in session.questionnaires.values()
        )
