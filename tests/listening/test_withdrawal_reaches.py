"""After a withdrawal no table holds what the rater gave, and no stored analysis what it read."""

import json
import logging
import time
from pathlib import Path

import pytest
from django.conf import settings
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.urls import reverse

from analysis.models import AnalysisRun, RunFile
from analysis.statistics.options import Options
from listening.models import Rater, Rating, Session, Study, Trial
from listening.models.sealed import seal
from listening.selectors.progress import forget_progress
from listening.sessions import lifecycle
from listening.studies import erasure
from tests.factories import answer_all, arrive, make_study
from tests.listening.test_rater_doors import enter, post
from tests.listening.test_researcher_pages import words_of

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


@pytest.mark.medium
def test_the_search_finds_what_is_there(session):
    analysed(session)
    for word in WORDS:
        assert Session._meta.db_table in tables_with(word)
    assert tables_with("Mictlan") == ["analysis_analysisrun", Session._meta.db_table]


@pytest.mark.parametrize("rejected", [False, True])
@pytest.mark.medium
def test_no_table_holds_what_the_withdrawn_gave(session, rejected):
    analysed(session)
    if rejected:
        lifecycle.reject(session, "too fast")
    lifecycle.withdraw(session)
    session.refresh_from_db()
    assert [tables_with(word) for word in WORDS] == [[]] * len(WORDS)
    assert (session.status, Rating.objects.count()) == ("withdrawn", 0)
    assert session.rejected_because == ("rejected before" if rejected else "")
    assert tables_with("too fast") == []


@pytest.mark.medium
def test_stored_analyses_are_stale_and_their_files_gone(
    session, django_capture_on_commit_callbacks
):
    done, running = analysed(session), a_run(session, state="running")
    queued = a_run(session, state="queued")
    other = analysed(arrive(make_study(key="other")))
    with django_capture_on_commit_callbacks(execute=True) as callbacks:
        lifecycle.withdraw(session)
    assert callbacks  # once more after the commit: runs that began meanwhile
    states = {run.pk: run.state for run in AnalysisRun.objects.all()}
    assert states == {
        done.pk: "stale",
        running.pk: "stale",
        queued.pk: "queued",
        other.pk: "done",
    }
    assert [file.run_id for file in RunFile.objects.all()] == [other.pk]


@pytest.mark.medium
def test_who_gave_no_answer_leaves_analyses_as_they_are(session):
    run, idle = analysed(session), arrive(session.study)
    lifecycle.withdraw(idle)
    run.refresh_from_db()
    assert run.state == "done"


@pytest.mark.medium
def test_a_second_withdrawal_changes_nothing_more(session):
    lifecycle.withdraw(session)
    run = analysed(session)
    lifecycle.withdraw(session)
    run.refresh_from_db()
    assert run.state == "done"


@pytest.mark.medium
def test_the_researcher_reads_which_results_were_deleted(session, admin_client):
    run = analysed(session)
    AnalysisRun.objects.filter(pk=run.pk).update(parameters=Options().parameters())
    lifecycle.withdraw(session)
    page = admin_client.get(reverse("results", args=[session.study.key])).content.decode()
    assert "The last analysis was deleted" in page
    assert reverse("results-again", args=[session.study.key, run.pk]) in page


# --- The way there, by the rater's own page -----------------------------------------------------

IDS = {"PROLIFIC_PID": "fe" * 12, "STUDY_ID": "dc" * 12, "SESSION_ID": "ba" * 12}


def all_that_is_kept(since: float) -> dict[str, bytes]:
    """Every table, file changed since (media, logs) and cached value, by a name that says where.

    A database's own files hold deleted rows until they are vacuumed: they are read as tables.
    """
    kept: dict[str, bytes] = {}
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            name = connection.ops.quote_name(table)
            cursor.execute(f"SELECT string_agg(row_to_json(t)::text, chr(10)) FROM {name} AS t")
            (rows,) = cursor.fetchone()
            kept[table] = (rows or "").encode()
    for place in (Path(settings.MEDIA_ROOT), Path(settings.EARNEST_VAR) / "logs"):
        for path in place.rglob("*"):
            if not path.is_file() or path.stat().st_mtime < since:
                continue
            kept[str(path)] = path.name.encode() + path.read_bytes()
    client = cache._cache.get_client()
    for key in client.scan_iter():
        kept[f"cache {key.decode()}"] = key + (client.dump(key) or b"")  # of any type
    return kept


def places_with(word: str, kept: dict[str, bytes]) -> list[str]:
    return [place for place, what in kept.items() if word.encode() in what]


@pytest.mark.medium
def test_by_the_pages_own_doors_nothing_is_left_in_tables_files_logs_or_caches(caplog):
    caplog.set_level(logging.DEBUG)
    since = time.time() - 1
    study = make_study(completion_codes={"complete": "ALLSAME1"})
    client = Client()
    session = enter(client, study, **IDS)
    trial = session.trials.get(position=1)
    skipped = {"trial": trial.code, "reason": "decode", "playback": {"stalls": 1}}
    assert post(client, session, "skips", skipped).status_code == 200
    told_before = {"error": "Tezcatlipoca"}  # versions before stored whatever a page sent
    Trial.objects.filter(pk=trial.pk).update(playback=told_before)
    assert "listening_trial" in tables_with("Tezcatlipoca")  # what is looked for was there
    Rater.objects.update(simulated=True)  # who needs no time to listen
    answer_all(session)
    said = {"text": "Huitzilopochtli"}
    assert post(client, session, "comments", said).status_code == 200
    trials = [trial.code for trial in session.trials.all()]
    answer = post(client, session, "withdraw", {"confirm": True})
    assert json.loads(answer.content)["end"]["outcome"] == "withdrawn"
    given = ["Tezcatlipoca", "Huitzilopochtli", *trials, *IDS.values()]
    kept = all_that_is_kept(since) | {"logged": caplog.text.encode()}
    assert len(kept) > 20
    assert {word: places_with(word, kept) for word in given} == {word: [] for word in given}
    # Who it was stays under seal, so that nobody is asked again; the study's date takes that too.
    pid, submission = IDS["PROLIFIC_PID"], IDS["SESSION_ID"]
    assert (tables_with(seal(pid)), tables_with(seal(submission))) == (["listening_rater"], [])
    Study.objects.update(state="closed")
    erasure.erase(study)
    assert tables_with(seal(pid)) == []


@pytest.mark.parametrize("rejected", [False, True])
@pytest.mark.medium
def test_the_page_offers_the_way_out_after_the_end_too(rejected):
    client, study = Client(), make_study()
    session = enter(client, study, **IDS)
    Rater.objects.update(simulated=True)
    post(client, session, "loaded", {})
    answer_all(session)
    if rejected:
        lifecycle.reject(session, "too fast")
    address = f"/api/s/{session.code}/"
    end = json.loads(client.get(address).content)["end"]
    assert (end["outcome"], end["withdrawable"]) == ("complete", True)
    assert json.loads(Client().get(address).content)["end"]["withdrawable"] is False  # not its own
    gone = post(client, session, "withdraw", {"confirm": True})
    end = json.loads(gone.content)["end"]
    assert (end["outcome"], end["withdrawable"]) == ("withdrawn", False)
    assert Rating.objects.count() == 0


# --- What was made before ------------------------------------------------------------------------


@pytest.mark.medium
def test_what_was_estimated_goes_and_the_pages_say_who_is_gone_from_what(
    session, admin_client, django_capture_on_commit_callbacks
):
    study, other = session.study, arrive(session.study)
    answer_all(other)
    estimates = f"planning/pilot/{study.key}"
    cache.set(estimates, {"state": "done", "pilots": [{"ratings": 10}]})
    run = analysed(session)
    AnalysisRun.objects.filter(pk=run.pk).update(parameters=Options().parameters())
    owner = Client()
    owner.force_login(study.owner)
    for name in ("results-ratings", "results-scores"):
        kind = ["csv"] if name == "results-ratings" else []
        assert owner.get(reverse(name, args=[study.key, *kind])).status_code == 200
    for each in (session, other):
        with django_capture_on_commit_callbacks(execute=True):
            lifecycle.withdraw(each)
    assert cache.get(estimates) is None
    assert owner.get(reverse("results-sessions", args=[study.key])).status_code == 200
    forget_progress(study.key)
    page = words_of(owner.get(reverse("study", args=[study.key])).content.decode())
    assert "2 raters withdrew after answering" in page
    assert "ratings.csv , downloaded by researcher" in page
    assert "sessions.csv" not in page  # taken out after: they are not in it
    assert "scores.csv" not in page  # nothing of raters is in it
    results = words_of(admin_client.get(reverse("results", args=[study.key])).content.decode())
    assert "2 raters withdrew after this analysis." in results
