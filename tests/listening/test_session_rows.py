"""Sessions leave the room as pseudonymous rows, and the house as a file that no cell can harm."""

import csv
import io
import re
from typing import Any

import pytest
from django.core.management import call_command

from analysis.ratings.study_scores import sessions_csv, spread_out
from listening.models import Block, Session, Study
from listening.selectors import (
    SessionRow,
    method_facts,
    rater_answers,
    rating_rows,
    ratings_state,
    session_columns,
    session_rows,
)
from listening.sessions import lifecycle, stages
from tests.factories import FACTS, an_answer, answer_all, arrive, current, make_study, make_user
from tests.listening.sample_questionnaire import read

pytestmark = pytest.mark.django_db

FORMULA = '=HYPERLINK("http://example.org/","prize")'


def question(key: str, kind: str, *options: str) -> dict[str, Any]:
    blank = {"question": key, "help": "", "required": False, "low": None, "high": None}
    blank |= {"longest": 500, "show_if": None, "screen_out": []}
    return {
        "key": key,
        "kind": kind,
        "options": [{"value": o, "text": o} for o in options],
        **blank,
    }


ABOUT = {
    **{"key": "about", "when": "before", "title": "About", "text": "", "use": [], "ready": []},
    "questions": [
        question("age", "number"),
        question("devices", "many", "speaker", "headphones", "phone"),
        question("languages", "text"),
    ],
}
STEREO = {"key": "stereo", "trials": 2, "attempts": 1, "on_fail": "continue"}


@pytest.fixture
def study() -> Study:
    texts = {"consent_version": "2.1"}
    return make_study(
        key="asked", checks=[{"key": "volume"}, STEREO], questionnaires=[ABOUT], texts=texts
    )


def through(session: Session, answers: dict[str, Any]) -> Session:
    stages.record_questionnaire(session, "about", answers)
    stages.record_check(session, "volume", {"comfortable": True})
    stages.record_check(session, "stereo", {"answers": ["left", "left"]})
    session.refresh_from_db()
    return session


def row_of(session: Session) -> dict[str, Any]:
    (row,) = (r for r in session_rows(session.study.key) if r["session"] == f"s{session.pk}")
    return spread_out(row)


@pytest.mark.medium
def test_a_row_tells_what_happened_around_the_trials(study):
    session = arrive(study, device="phone")
    through(session, {"age": "41", "devices": ["phone", "speaker"]})
    for facts in ({"stalls": 2, "hidden_ms": 1500}, {"stalls": 1, "hidden_ms": 500.4}):
        lifecycle.record_answer(session, an_answer(current(session), playback=FACTS | facts))
    lifecycle.skip(session, current(session).code, "load", {"stalls": 3})
    answer_all(session)
    stages.record_comment(session, "Two clips were cut off.")
    row = row_of(session)
    check = session.checks["stereo"]
    assert {
        k: v for k, v in row.items() if k not in ("consented_at", "finished_at", "seconds")
    } == {
        **{"session": f"s{session.pk}", "rater": session.rater.code, "status": "finished"},
        **{
            "device": "phone",
            "language": "en",
            "source": "",
            "simulated": True,
            "consent_version": "2.1",
            "wording_first": 0,
            "wording_last": 0,
        },
        **{"trials_answered": 4, "trials_skipped": 1, "hidden_ms": 2000, "stalls": 6},
        **{"check_volume_passed": True, "check_volume_right": 1, "check_volume_total": 1},
        **{"check_volume_attempts": 1, "check_stereo_passed": check["passed"]},
        **{"check_stereo_right": check["right"], "check_stereo_total": 2},
        **{"check_stereo_attempts": 1, "question_about_age": 41},
        **{"question_about_devices": "speaker; phone", "question_about_languages": None},
        **{"comment": "Two clips were cut off.", "rejected_because": "", "paid": False},
        **{"needs_review": "", "completion_code": ""},  # the study has no codes
    }
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", row["consented_at"])
    assert row["consented_at"] < row["finished_at"]
    session.refresh_from_db()
    assert session.finished_at is not None
    took = session.finished_at - session.started_at
    assert row["seconds"] == pytest.approx(took.total_seconds(), abs=0.001)


def test_a_row_tells_the_language_that_the_rater_chose(study):
    study.translations = {"zh-Hans": {}}
    study.save()
    chosen, other = (arrive(study, language=tag) for tag in ("zh-Hans", "fr"))
    assert row_of(chosen)["language"] == "zh-Hans"
    assert row_of(other)["language"] == study.language == "en"


def test_the_columns_are_those_of_every_row_in_the_order_of_the_study(study):
    arrive(study)
    through(arrive(study), {"age": 30})
    columns = session_columns(study.key)
    for row in session_rows(study.key):
        assert list(row) == list(SessionRow.__annotations__)
        assert set(spread_out(row)) == set(columns)
    around = [c for c in columns if c.startswith(("check_", "question_"))]
    assert around[:2] == ["check_volume_passed", "check_volume_right"]
    assert around[-3:] == [
        "question_about_age",
        "question_about_devices",
        "question_about_languages",
    ]


def test_no_row_names_a_person_or_opens_a_session(study):
    session = arrive(study, prolific_id="5f1c0aBEEF", prolific_session="subm-9", simulated=False)
    through(session, {"age": 30})
    text = "".join(sessions_csv(study.key))
    assert session.rater.code in text
    for secret in ("5f1c0aBEEF", "subm-9", session.code):
        assert secret not in text
    assert str(session.checks["stereo"]["truths"]) not in text


@pytest.mark.medium
def test_every_status_is_told_and_withdrawn_rows_are_bare(study):
    done, out, gone, away, judged = (arrive(study) for _ in range(5))
    for session in (done, gone, away, judged):
        through(session, {"age": 30, "languages": "Deutsch"})
    answer_all(done)
    for session in (away, judged):
        answer_all(session, stop_after=1)
    lifecycle.withdraw(gone)
    lifecycle.reject(judged, "slept")
    mark = ratings_state(study.key)["mark"]
    Block.objects.filter(session=away).update(state=0, session=None, lease_until=None)
    Session.objects.filter(pk=out.pk).update(status="screened", rejected_because="check x: 0 of 2")
    found = {int(row["session"][1:]): row for row in session_rows(study.key)}
    order = [done, out, gone, away, judged]
    statuses = [found[s.pk]["status"] for s in order]
    assert statuses == ["finished", "screened", "withdrawn", "expired", "rejected"]
    assert list(found) == [s.pk for s in order]
    assert ratings_state(study.key)["mark"] != mark  # so that stored analyses are out of date
    told = {row["session"]: row["session_status"] for row in rating_rows(study.key)}
    assert told == {f"s{s.pk}": found[s.pk]["status"] for s in (done, away, judged)}
    assert found[out.pk]["rejected_because"] == "check x: 0 of 2"
    assert set(found[gone.pk]["answers"].values()) == {None}
    assert set(found[gone.pk]["checks"].values()) == {None}
    assert found[away.pk]["seconds"] is None


@pytest.mark.medium
def test_answers_that_are_covariates_are_read_by_rater_and_go_with_a_withdrawal(study):
    form = {
        **ABOUT,
        "questions": [{**q, "covariate": q["key"] == "age"} for q in ABOUT["questions"]],
    }
    Study.objects.filter(pk=study.pk).update(questionnaires=[form])
    assert rater_answers(study.key) == {"question_about_age": {}}
    young, gone, silent = (arrive(study) for _ in range(3))
    for session, answers in ((young, {"age": 30}), (gone, {"age": 40}), (silent, {})):
        through(session, answers)
    answer_all(young)
    lifecycle.withdraw(gone)
    assert rater_answers(study.key) == {"question_about_age": {young.rater.code: "30"}}
    assert method_facts(study.key)["covariates"] == rater_answers(study.key)
    assert {row["rater"] for row in rating_rows(study.key)} == {young.rater.code}


@pytest.mark.parametrize(
    "playback",
    [
        {"hidden_ms": "many", "stalls": None},
        {"hidden_ms": [1], "stalls": {"a": 1}},
        {"hidden_ms": -5, "stalls": -1},
        {},
    ],
)
def test_what_a_page_reports_wrongly_counts_as_nothing(study, playback):
    session = through(arrive(study), {"age": 30})
    lifecycle.record_answer(session, an_answer(current(session), playback=playback))
    row = row_of(session)
    assert (row["hidden_ms"], row["stalls"]) == (0, 0)


def test_a_page_that_reports_the_impossible_does_not_stop_the_file(study):
    session = through(arrive(study), {"age": 30})
    huge = {"hidden_ms": 1e308, "stalls": 10**40}
    for _ in range(3):
        lifecycle.record_answer(session, an_answer(current(session), playback=huge))
    assert (row_of(session)["hidden_ms"], row_of(session)["stalls"]) == (3 * 10**9, 3 * 10**9)


@pytest.mark.medium
def test_no_cell_is_taken_for_a_formula_and_lines_stay_in_their_cell(study):
    session = through(arrive(study), {"languages": FORMULA})
    answer_all(session)
    stages.record_comment(session, '-1+1|cmd\n"quoted", 中文')
    (cells,) = csv.DictReader(io.StringIO("".join(sessions_csv(study.key))))
    assert cells["question_about_languages"] == "'" + FORMULA
    assert cells["comment"] == '\'-1+1|cmd\n"quoted", 中文'
    assert (cells["simulated"], cells["check_volume_passed"]) == ("true", "true")


def test_a_study_without_sessions_has_a_file_with_its_columns(study):
    assert "".join(sessions_csv(study.key)).strip() == ",".join(session_columns(study.key))


# --- Taken as a file -----------------------------------------------------------------------------


@pytest.mark.medium
def test_the_owner_takes_the_file_from_the_results_page(client, study):
    through(arrive(study), {"age": 30})
    client.force_login(study.owner)
    url = "/studies/asked/results/sessions.csv"
    assert url in client.get("/studies/asked/results/").content.decode()
    response = client.get(url)
    assert response["Content-Type"] == "text/csv; charset=utf-8"
    assert response["Content-Disposition"] == 'attachment; filename="asked-sessions.csv"'
    text = b"".join(response.streaming_content).decode()
    assert text == "".join(sessions_csv("asked"))
    assert len(text.splitlines()) == 2


def test_nobody_else_takes_it(client, study):
    url = "/studies/asked/results/sessions.csv"
    assert client.get(url).url.startswith("/login/")
    client.force_login(make_user("somebody-else"))
    assert client.get(url).status_code == 404
    client.force_login(study.owner)
    assert client.post(url).status_code == 405


@pytest.mark.slow
def test_the_export_writes_it_beside_the_ratings(study, tmp_path, capsys):
    answer_all(through(arrive(study), {"age": 30}))
    call_command(
        "export_study", "asked", "--everything", "--out", str(tmp_path), "--replicates", "200"
    )
    assert (tmp_path / "sessions.csv").read_bytes().decode() == "".join(sessions_csv("asked"))
    assert str(tmp_path / "sessions.csv") in capsys.readouterr().out


@pytest.mark.medium
def test_who_does_not_speak_the_language_of_the_chosen_pages_is_screened_out() -> None:
    toml = '[[questionnaires]]\nkey = "about"\nuse = "fluent_languages"\n'
    toml += '[[questionnaires.questions]]\nkey = "fluent_languages"\n'
    forms, problems = read(toml + 'screen_out_unless = ["{language}"]')
    assert problems == []
    study = make_study(key="two", questionnaires=list(forms), translations={"zh-Hans": {}})
    english, chinese = arrive(study), arrive(study, language="zh-Hans")
    for session in (english, chinese):
        stages.record_questionnaire(session, "about", {"fluent_languages": ["en", "de"]})
    row, out = row_of(english), row_of(chinese)
    assert (row["status"], row["question_about_fluent_languages"]) == ("started", "en; de")
    assert (out["status"], out["question_about_fluent_languages"]) == ("screened", "en; de")
    chinese.refresh_from_db()
    assert "none of zh" in chinese.rejected_because
    assert not chinese.trials.exclude(state="gone").exists()
