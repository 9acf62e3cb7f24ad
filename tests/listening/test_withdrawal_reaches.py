"""After a withdrawal no table holds what the rater gave, and no stored analysis what it read."""

import pytest
from django.db import connection
from django.urls import reverse

from analysis.models import AnalysisRun, RunFile
from analysis.statistics.options import Options
from listening import sessions
from listening.models import Rating, Session
from tests.factories import answer_all, arrive, make_study

pytestmark = pytest.mark.django_db

GIVEN = {
    "comment": "my comment, Quetzalcoatl",
    "device": "phone-Tlaloc",
    "checks": {"volume": {"passed": True, "heard": "Xolotl"}},
    "questionnaires": {"age": {"answers": {"age": "Mictlan"}}},
}
WORDS = ("Quetzalcoatl", "Tlaloc", "Xolotl", "Mictlan")


def tables_with(word: str) -> list[str]:
    """Every table of the database with a row in which this word stands, in any column."""
    found = []
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            name = connection.ops.quote_name(table)
            cursor.execute(
                f"SELECT 1 FROM {name} AS t WHERE strpos(row_to_json(t)::text, %s) > 0 LIMIT 1",
                [word],
            )
            found += [table] if cursor.fetchone() else []
    return found


@pytest.fixture
def session() -> Session:
    session = arrive(make_study())
    answer_all(session)
    Session.objects.filter(pk=session.pk).update(**GIVEN)
    return session


def a_run(session: Session, **fields) -> AnalysisRun:
    return AnalysisRun.objects.create(
        study=session.study, estimator="mean_score", version="1", **fields
    )


def analysed(session: Session) -> AnalysisRun:
    """A run whose report quotes the rater, with its bundle."""
    run = a_run(session, state="done", result="Mictlan said", brief="Xolotl", table_hash="t")
    RunFile.objects.create(run=run, name="bundle.zip", state="done", content=b"Tlaloc")
    return run


def test_the_search_finds_what_is_there(session):
    analysed(session)
    for word in WORDS:
        assert Session._meta.db_table in tables_with(word)
    assert tables_with("Mictlan") == ["analysis_analysisrun", Session._meta.db_table]


@pytest.mark.parametrize("rejected", [False, True])
def test_no_table_holds_what_the_withdrawn_gave(session, rejected):
    analysed(session)
    if rejected:
        sessions.reject(session, "too fast")
    sessions.withdraw(session)
    session.refresh_from_db()
    assert [tables_with(word) for word in WORDS] == [[]] * len(WORDS)
    assert (session.status, Rating.objects.count()) == ("withdrawn", 0)
    assert session.rejected_because == ("rejected before" if rejected else "")
    assert tables_with("too fast") == []


def test_stored_analyses_are_stale_and_their_files_gone(
    session, django_capture_on_commit_callbacks
):
    done, running = analysed(session), a_run(session, state="running")
    queued = a_run(session, state="queued")
    other = analysed(arrive(make_study(key="other")))
    with django_capture_on_commit_callbacks(execute=True) as callbacks:
        sessions.withdraw(session)
    assert callbacks  # once more after the commit: runs that began meanwhile
    states = {run.pk: run.state for run in AnalysisRun.objects.all()}
    assert states == {
        done.pk: "stale",
        running.pk: "stale",
        queued.pk: "queued",
        other.pk: "done",
    }
    assert [file.run_id for file in RunFile.objects.all()] == [other.pk]


def test_who_gave_no_answer_leaves_analyses_as_they_are(session):
    run, idle = analysed(session), arrive(session.study)
    sessions.withdraw(idle)
    run.refresh_from_db()
    assert run.state == "done"


def test_a_second_withdrawal_changes_nothing_more(session):
    sessions.withdraw(session)
    run = analysed(session)
    sessions.withdraw(session)
    run.refresh_from_db()
    assert run.state == "done"


def test_the_researcher_reads_which_results_were_deleted(session, admin_client):
    run = analysed(session)
    AnalysisRun.objects.filter(pk=run.pk).update(parameters=Options().parameters())
    sessions.withdraw(session)
    page = admin_client.get(reverse("results", args=[session.study.key])).content.decode()
    assert "The last analysis was deleted" in page
    assert reverse("results-again", args=[session.study.key, run.pk]) in page
