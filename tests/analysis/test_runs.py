"""Analysis runs: queued on commit, run by the job, may run twice, fail with a reason."""

import io
import json
import zipfile

import pytest
from django.db import IntegrityError, transaction
from kombu.exceptions import OperationalError

from analysis.models import AnalysisRun, RunFile
from analysis.ratings.table import table_hash
from analysis.report import draws_file
from analysis.statistics.options import Options
from analysis.web import artifacts, cache, jobs
from analysis.web.artifacts import Kind
from analysis.web.first_runs import default_options
from analysis.web.jobs import (
    Growing,
    Teller,
    asked_file,
    asked_run,
    cancel_run,
    make_run_file,
    run_analysis,
    start_run,
)
from listening.models import Condition, Item, Rating, Session
from listening.selectors import condition_labels, ratings_state, still_open
from listening.sessions import lifecycle
from listening.studies import close_study
from tests.analysis.rated_study import rated_study, score_stimuli
from tests.factories import make_study

pytestmark = pytest.mark.usefixtures("without_models", "answer_alone")
QUICK = Options(replicates=200)


def made_run(study, **fields):
    return AnalysisRun.objects.create(
        study=study, estimator="mean_score", parameters=QUICK.parameters() | fields
    )


MADE = {}  # what the first run of the module's study gave, field by field


def done_run(study):
    """A finished run, which is computed once for the module."""
    run = made_run(study)
    if not MADE:
        run_analysis(run.pk)
        run.refresh_from_db()
        named_elsewhere = {"id", "study", "estimator", "parameters", "created_at"}
        names = {field.name for field in AnalysisRun._meta.concrete_fields} - named_elsewhere
        MADE.update({name: getattr(run, name) for name in names})
    AnalysisRun.objects.filter(pk=run.pk).update(**MADE)
    run.refresh_from_db()
    assert (run.state, run.error) == ("done", "")
    return run


@pytest.mark.slow
def test_a_run_whose_worker_died_is_done_by_the_next_and_not_again(study):
    run = made_run(study)
    AnalysisRun.objects.filter(pk=run.pk).update(state="running")
    run_analysis(run.pk)
    run.refresh_from_db()
    assert (run.state, run.error) == ("done", "")
    report = run.report()
    assert run.table_hash == report["provenance"]["table_hash"]
    assert run.version == "1"
    assert report["data"]["ratings"] == 30
    assert run.finished_at is not None
    run_analysis(run.pk)
    again = AnalysisRun.objects.get(pk=run.pk)
    assert (again.result, again.finished_at) == (run.result, run.finished_at)


def test_a_run_that_was_deleted_meanwhile_is_no_error(db):
    run_analysis(10**9)


def test_options_that_make_no_sense_fail_the_run_with_the_reason(study):
    run = made_run(study, level=3)
    run_analysis(run.pk)
    run.refresh_from_db()
    assert run.state == "failed"
    assert "level is 3" in run.error


def test_a_broken_analysis_fails_the_run_and_is_logged(study, monkeypatch, caplog):
    def broken(*args):
        raise RuntimeError("out of paper")

    monkeypatch.setattr(jobs, "study_tables", broken)
    run = made_run(study)
    run_analysis(run.pk)
    run.refresh_from_db()
    assert run.state == "failed"
    assert "RuntimeError: out of paper" in run.error
    assert "out of paper" in caplog.text


def test_the_job_is_sent_when_the_transaction_commits(
    study, monkeypatch, django_capture_on_commit_callbacks
):
    sent = []
    monkeypatch.setattr(run_analysis, "delay", sent.append)
    with django_capture_on_commit_callbacks(execute=True):
        run = start_run(study.pk, QUICK)
        assert sent == []
    assert sent == [run.pk]
    assert run.parameters == QUICK.parameters()


def test_a_queue_that_cannot_be_reached_fails_the_run(
    study, monkeypatch, django_capture_on_commit_callbacks
):
    def unreachable(pk):
        raise OperationalError("connection refused")

    monkeypatch.setattr(run_analysis, "delay", unreachable)
    with django_capture_on_commit_callbacks(execute=True):
        run = start_run(study.pk, QUICK)
    run.refresh_from_db()
    assert run.state == "failed"
    assert "job queue is not reachable" in run.error


@pytest.mark.slow
def test_rejected_sessions_are_left_out_of_the_next_run(study):
    Session.objects.filter(pk=Session.objects.earliest("pk").pk).update(status="rejected")
    run = made_run(study)
    run_analysis(run.pk)
    run.refresh_from_db()
    counts = {row["rule"]: row["ratings"] for row in run.report()["exclusions"]}
    assert counts["session_status"] == 10


@pytest.mark.parametrize(
    "fields",
    [
        {"state": "done"},
        {"state": "queued", "result": "{}"},
        {"state": "failed"},
        {"state": "running", "error": "x"},
    ],
)
def test_the_database_refuses_a_run_that_contradicts_itself(study, fields):
    with pytest.raises(IntegrityError), transaction.atomic():
        AnalysisRun.objects.create(study=study, estimator="mean_score", **fields)


@pytest.mark.slow
def test_a_run_tells_how_far_it_is_and_stores_its_answer_first_and_for_good(study, monkeypatch):
    """The verdict on the first screen must not change when the rest has come."""
    told, real = [], Teller.__call__
    stored, really_grown = [], Growing.__call__

    def tell(self, share, words):
        real(self, share, words)
        told.append((share, words, AnalysisRun.objects.values_list("doing", flat=True).get()))

    def grown(self, report):
        really_grown(self, report)
        stored.append(AnalysisRun.objects.get().page_report())

    monkeypatch.setattr(Teller, "__call__", tell)
    monkeypatch.setattr(Growing, "__call__", grown)
    monkeypatch.setattr(jobs, "TELL_EVERY_S", 0.0)
    run = made_run(study, parts=["agreement", "participants", "screening"])
    run_analysis(run.pk)
    shares = [share for share, _, _ in told]
    assert shares == sorted(shares)
    assert 0 <= shares[0] < shares[-1] <= 1
    assert told[0][1] == "Reading the ratings"
    assert all(cache == words[:200] for _, words, cache in told)
    assert any(words.startswith("Agreement between raters") for _, words, _ in told)
    run.refresh_from_db()
    parts = {part["key"] for part in run.report()["parts"]}
    assert (run.state, run.error) == ("done", "")
    assert parts == {"answer", "agreement", "participants", "screening"}  # none was lost
    last = run.page_report()
    assert [part["key"] for part in stored[0]["parts"]] == ["answer"]
    assert [len(each["pending"]) for each in stored] == list(range(len(stored)))[::-1]
    assert "pending" not in last
    for each in stored:
        found = {part["key"]: part for part in last["parts"]}
        assert [found[part["key"]] for part in each["parts"]] == each["parts"]
        for key in ("estimates", "contrasts", "shares", "warnings", "data", "interim"):
            assert each[key] == last[key]
    assert [p["key"] for p in last["parts"]].index("agreement") < len(last["parts"]) - 1


def test_what_is_told_too_soon_is_not_stored(study, monkeypatch):
    run = made_run(study)
    AnalysisRun.objects.filter(pk=run.pk).update(state="running")
    clock = iter([10.0, 10.0, 10.5, 11.2, 11.2])
    monkeypatch.setattr(jobs.time, "monotonic", lambda: next(clock))
    tell = Teller(run.pk)
    for share in (0.1, 0.2, 0.3):
        tell(share, f"step {share}")
    run.refresh_from_db()
    assert (run.share, run.doing) == (0.3, "step 0.3")


@pytest.mark.medium
def test_a_run_that_is_cancelled_stops_at_its_next_step_and_stores_nothing(study, monkeypatch):
    monkeypatch.setattr(jobs, "TELL_EVERY_S", 0.0)
    run = made_run(study)
    reached, real = [], Teller.__call__

    def tell(self, share, words):
        reached.append(words)
        if words == "Differences between conditions":
            assert cancel_run(run.pk)
        real(self, share, words)

    monkeypatch.setattr(Teller, "__call__", tell)
    run_analysis(run.pk)
    run.refresh_from_db()
    assert (run.state, run.result, run.brief, run.error) == ("cancelled", "", "", "")
    assert reached[-1] == "Differences between conditions"
    assert not cancel_run(run.pk)


def test_a_queued_run_that_is_cancelled_never_starts(study):
    run = made_run(study)
    cancel_run(run.pk)
    run_analysis(run.pk)
    run.refresh_from_db()
    assert (run.state, run.started_at) == ("cancelled", None)


@pytest.mark.slow
def test_asking_again_for_the_same_is_answered_from_what_is_stored(study, monkeypatch):
    monkeypatch.setattr(run_analysis, "delay", run_analysis)
    first = asked_run(study.pk, study.key, QUICK)
    assert asked_run(study.pk, study.key, QUICK) == first  # it waits
    done_run(study).delete()
    AnalysisRun.objects.filter(pk=first.pk).update(**MADE)
    assert asked_run(study.pk, study.key, QUICK) == first
    assert asked_run(study.pk, study.key, Options(replicates=201)) != first
    Session.objects.filter(pk=Session.objects.earliest("pk").pk).update(status="rejected")
    assert asked_run(study.pk, study.key, QUICK) != first


@pytest.mark.slow
def test_other_code_computes_again(study, monkeypatch):
    first = done_run(study)
    assert asked_run(study.pk, study.key, QUICK) == first
    for module in (jobs, cache):
        monkeypatch.setattr(module, "code_mark", lambda: "another")
    assert asked_run(study.pk, study.key, QUICK) != first


@pytest.mark.slow
def test_a_job_that_reads_the_same_ratings_copies_what_came_out(study, monkeypatch):
    first = done_run(study)
    AnalysisRun.objects.update(ratings_mark="unknown")
    monkeypatch.setattr("analysis.report.build.report_of", None)
    again = made_run(study)
    run_analysis(again.pk)
    again.refresh_from_db()
    assert again.state == "done"
    assert (again.result, again.brief, again.ratings) == (
        first.result,
        first.brief,
        first.ratings,
    )


@pytest.mark.slow
def test_new_scores_of_a_metric_are_another_analysis(study):
    first = done_run(study)
    score_stimuli(study)
    assert asked_run(study.pk, study.key, QUICK) != first


@pytest.mark.slow
def test_a_report_of_the_first_format_is_still_shown(client, study):
    run = done_run(study)
    older = {k: v for k, v in run.report().items() if k not in ("parts", "labels", "interim")}
    AnalysisRun.objects.update(result=json.dumps(older | {"format": 1}), brief="", ratings=None)
    client.force_login(study.owner)
    text = client.get(f"/studies/{study.key}/results/").content.decode()
    assert "There is no answer in one sentence; the estimates are below." in text
    assert "<svg" in text
    assert "Data and methods" in text


@pytest.mark.slow
def test_a_file_that_takes_long_is_made_once_and_kept(
    client, study, monkeypatch, django_capture_on_commit_callbacks
):
    made = []
    kind = Kind("bundle.zip", "All", "about", lambda run: made.append(run) or b"PK-content")
    monkeypatch.setattr(artifacts, "KINDS", (kind,))
    monkeypatch.setattr(make_run_file, "delay", make_run_file)
    run = done_run(study)
    client.force_login(study.owner)
    url = f"/studies/{study.key}/results/runs/{run.pk}/make/bundle.zip/"
    for _ in range(2):
        with django_capture_on_commit_callbacks(execute=True):
            assert client.post(url).status_code == 302
    assert made == [run]
    answer = client.get(f"/studies/{study.key}/results/bundle.zip?run={run.pk}")
    assert (answer.content, answer["Content-Type"]) == (b"PK-content", "application/zip")
    assert client.post(url.replace("bundle", "other")).status_code == 404


@pytest.mark.slow
def test_a_file_that_cannot_be_made_says_why_and_may_be_asked_for_again(
    study, monkeypatch, django_capture_on_commit_callbacks
):
    def broken(run):
        raise ValueError("no ink")

    monkeypatch.setattr(artifacts, "KINDS", (Kind("bundle.zip", "All", "about", broken),))
    monkeypatch.setattr(make_run_file, "delay", make_run_file)
    run = done_run(study)
    for _ in range(2):
        with django_capture_on_commit_callbacks(execute=True):
            asked_file(run, "bundle.zip")
        file = RunFile.objects.get()
        assert (file.state, file.error, file.content) == ("failed", "no ink", None)


@pytest.mark.slow
def test_the_draws_of_a_model_are_those_of_the_analysis(
    db, with_models, monkeypatch, django_capture_on_commit_callbacks
):
    """Of four careful raters: what two said is explained exactly in one study of seven.

    That the file holds them is tested in test_part_models_draws.py.
    """
    asked = []
    monkeypatch.setattr(
        draws_file, "draws_of", lambda table, *about: asked.append((table, *about)) or b"draws"
    )
    study = rated_study(key="ranked", raters=6)
    assert set(artifacts.WITH_DRAWS) == set(draws_file.PARTS)
    monkeypatch.setattr(make_run_file, "delay", make_run_file)
    run = made_run(study, parts=["models"])
    run_analysis(run.pk)
    run.refresh_from_db()
    names = [name for name in artifacts.kinds(run.page_report()) if name.endswith(".nc")]
    assert names == ["draws-models-hls-turing-naturalness.nc"]
    with django_capture_on_commit_callbacks(execute=True):
        asked_file(run, names[0])
    file = RunFile.objects.get()
    assert (file.state, file.error) == ("done", "")
    assert bytes(file.content) == b"draws"
    ((table, options, part, title),) = asked
    assert (table_hash(table), options.parameters()) == (run.table_hash, run.parameters)
    ranked = run.report()["parts"][-1]
    assert (part, title) == ("models", ranked["tables"][0]["about"])
    file.delete()
    Session.objects.filter(pk=study.sessions.earliest("pk").pk).update(status="rejected")
    with django_capture_on_commit_callbacks(execute=True):
        asked_file(run, names[0])
    assert "the ratings have changed" in RunFile.objects.get().error


@pytest.mark.slow
def test_the_bundle_holds_the_report_and_the_ratings(
    study, monkeypatch, django_capture_on_commit_callbacks
):
    monkeypatch.setattr(make_run_file, "delay", make_run_file)
    run = done_run(study)
    with django_capture_on_commit_callbacks(execute=True):
        asked_file(run, "bundle.zip")
    file = RunFile.objects.get()
    assert (file.state, file.error) == ("done", "")
    names = zipfile.ZipFile(io.BytesIO(bytes(file.content))).namelist()
    for name in ("report.html", "estimates.csv", "ratings.csv"):
        assert any(each.endswith(name) for each in names)


def test_the_mark_of_ratings_changes_with_whatever_their_rows_show(study):
    seen = [ratings_state(study.key)]
    assert seen[0]["ratings"] == Rating.objects.count()
    assert ratings_state(study.key) == seen[0]
    Session.objects.filter(pk=Session.objects.earliest("pk").pk).update(paid=True)
    seen.append(ratings_state(study.key))
    Condition.objects.filter(study=study, key="cond-1").update(label="Another")
    seen.append(ratings_state(study.key))
    Item.objects.filter(study=study, key="item-1").update(dimension="irony")
    seen.append(ratings_state(study.key))
    lifecycle.withdraw(Session.objects.latest("pk"))
    seen.append(ratings_state(study.key))
    assert len({state["mark"] for state in seen}) == len(seen)
    assert seen[-1]["ratings"] == seen[0]["ratings"] - 13
    assert condition_labels(study.key) == {"cond-0": "", "cond-1": "Another", "cond-2": ""}


@pytest.mark.medium
def test_a_study_that_closes_is_analysed_without_bounds_for_looking(
    study, monkeypatch, django_capture_on_commit_callbacks
):
    sent = []
    monkeypatch.setattr(run_analysis, "delay", sent.append)
    before = asked_run(study.pk, study.key, default_options(study.key))
    AnalysisRun.objects.filter(pk=before.pk).update(
        state="done", result="{}", code=cache.code_mark(), **cache.marks(study.key)
    )
    with django_capture_on_commit_callbacks(execute=True):
        close_study(study)
        assert sent == []
    run = AnalysisRun.objects.first()
    assert (sent, run.parameters) == ([run.pk], before.parameters)
    assert run != before, "the same ratings, but now no more will come"
    assert not still_open(study.key)


def test_a_study_without_ratings_closes_without_an_analysis(db):
    study = make_study(key="unheard")
    close_study(study)
    assert not AnalysisRun.objects.exists()


def test_the_mark_of_code_knows_the_statistics():
    assert (cache.PACKAGE / "statistics" / "intervals.py").is_file()


def test_administrators_look_at_a_run_and_delete_it_but_change_nothing(study, admin_client):
    url = f"/admin/analysis/analysisrun/{made_run(study).pk}"
    page = admin_client.get(f"{url}/change/").content.decode()
    assert "Raters gone" in page
    assert "Created at" in page
    assert "<textarea" not in page
    assert 'name="raters_gone"' not in page
    assert admin_client.post(f"{url}/change/", {"raters_gone": 1}).status_code == 403
    assert admin_client.get("/admin/analysis/runfile/").status_code == 200
    assert admin_client.post(f"{url}/delete/", {"post": "yes"}).status_code == 302
    assert not AnalysisRun.objects.exists()
