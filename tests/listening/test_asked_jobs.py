"""Jobs that somebody waits for come to their end though their message, or their worker, is gone."""

from contextlib import nullcontext
from datetime import UTC, datetime, timedelta
from importlib import import_module

import psycopg
import pytest
from celery import current_app
from django.apps import apps
from django.conf import settings
from django.db import OperationalError as DatabaseAway
from django.db import connection
from django.utils import timezone
from kombu import Connection
from kombu.exceptions import OperationalError

from analysis.models import AnalysisRun, Leaderboard, RunFile
from analysis.web import board_jobs, corpus_jobs, jobs, planning_jobs, validity_jobs
from config.backups.restore import queue_again
from config.operations import shared_counters
from listening.common import job_queues
from listening.jobs import send_invitations
from listening.models import AskedJob, requested_jobs
from listening.models.requested_jobs import GIVEN_UP, MOST_TRIES, alone, ask, requests_of, send_lost
from tests.config.helpers import wait_for
from tests.factories import make_study, make_user

JOB = jobs.run_analysis
NOBODY = 10**9  # no run has this number: the job finds nothing to do
EMPTY = datetime(9999, 1, 1, tzinfo=UTC)
# Who loses one of these waits for the clock, which asks for the same of its own accord; the two
# last keep what they wait for in tables or ask again after a minute.
OTHERWISE = {
    "listening.jobs.send_message": "listening.jobs.send_messages",
    "listening.jobs.sync_recruitment": "listening.jobs.look_at_prolific",
    "metrics.jobs.score_shard": "metrics.jobs.continue_dead_shards",
    "listening.jobs.recount": "",
    "analysis.jobs.fit_pairs": "listening.jobs.ask_for_pair_fits",
}


@pytest.fixture
def sent(monkeypatch, db):
    """What is put into the queue: nobody ever gets it."""
    found = []
    for job in (JOB, jobs.make_run_file, board_jobs.make_leaderboard, send_invitations):
        monkeypatch.setattr(job, "delay", lambda *given, job=job: found.append((job.name, *given)))
    return found


@pytest.fixture
def until(monkeypatch):
    """Up to when the queues have lost or given out what was sent; all of it, at first."""
    found = {"analysis": EMPTY, "default": EMPTY}
    monkeypatch.setattr(job_queues, "processed_until", found.__getitem__)
    return found


@pytest.fixture
def asked_one(sent, until, django_capture_on_commit_callbacks):
    """A job that was asked for, and whose message is dropped."""
    with django_capture_on_commit_callbacks(execute=True):
        ask(JOB, NOBODY)
        assert sent == []  # before the transaction commits there is nothing to work on
    assert sent == [(JOB.name, NOBODY)]
    sent.clear()
    return AskedJob.objects.get()


def test_each_job_is_asked_for_in_a_table_or_comes_again_by_the_clock():
    current_app.loader.import_default_modules()  # as a worker does
    rooms = ("listening.", "metrics.", "analysis.")
    ours = {name for name in current_app.tasks if name.startswith(rooms)}
    by_clock = {each["task"] for each in settings.CELERY_BEAT_SCHEDULE.values()}
    written_down = {
        name for name in ours if hasattr(current_app.tasks[name].run, "is_written_down")
    }
    assert set(filter(None, OTHERWISE.values())) <= by_clock
    assert ours - by_clock - set(OTHERWISE) == written_down
    assert len(written_down) == 9
    seen_by_nobody = {"listening.jobs.send_invitations", "metrics.jobs.suggest_codes"}
    assert written_down - set(GIVEN_UP) == seen_by_nobody  # their pages show what is under way


def test_a_job_whose_message_was_lost_is_sent_again_once_and_the_operator_sees_it(
    asked_one, sent, caplog
):
    shared_counters.counter_server().delete(
        shared_counters._key(int(timezone.now().timestamp() // 3600))
    )
    assert send_lost() == 1
    assert sent == [(JOB.name, NOBODY)]
    assert "its message was lost" in caplog.text
    assert (
        f"job {JOB.name}",
        "sent again, its message was lost",
        1,
    ) in shared_counters.failures_of_last_day()
    JOB(NOBODY)
    assert send_lost() == 0
    assert not AskedJob.objects.exists()


def test_a_job_that_waits_behind_others_is_not_sent_twice(asked_one, sent, until):
    until["analysis"] = asked_one.sent_at - timedelta(seconds=1)  # the oldest waits as long
    AskedJob.objects.update(asked_at=timezone.now() - timedelta(days=1))
    assert send_lost() == 0
    until["analysis"] = asked_one.sent_at + timedelta(seconds=1)
    assert send_lost() == 1


def test_a_job_in_a_worker_s_hands_is_left_to_it_and_sent_again_when_the_worker_dies(
    asked_one, sent, until
):
    until["analysis"] = asked_one.sent_at - timedelta(days=1)
    AskedJob.objects.update(begun_at=timezone.now(), tries=1)
    with held(asked_one):
        assert send_lost() == 0
        done = []
        requested_jobs._work_on(asked_one.mark, lambda: done.append(1))
        assert done == []  # the same message, come twice
    assert wait_for(send_lost) == 1  # the server sees that the connection is gone
    assert AskedJob.objects.get().begun_at is None


def held(row):
    """Another worker's connection, which works on the job as long as this lasts."""
    given = connection.get_connection_params()
    names = ("host", "port", "user", "password", "dbname")
    other = psycopg.connect(**{k: given[k] for k in names if given.get(k)}, autocommit=True)
    taken = other.execute("SELECT pg_try_advisory_lock(%s)", [requested_jobs.lock_of(row.mark)])
    assert taken.fetchone() == (True,)
    return other


def test_a_run_that_takes_its_worker_down_each_time_fails_with_a_reason(sent, until):
    run = AnalysisRun.objects.create(study=make_study(), estimator="mean_score", state="running")
    file_of = AnalysisRun.objects.create(study=run.study, state="done", result="{}")
    file = RunFile.objects.create(run=file_of, name="bundle.zip", state="running")
    board = Leaderboard.objects.create(owner=make_user(), title="All", state="waiting")
    for job, pk in ((JOB, run.pk), (jobs.make_run_file, file.pk)):
        ask(job, pk)
    ask(board_jobs.make_leaderboard, board.pk)
    AskedJob.objects.update(begun_at=timezone.now(), tries=MOST_TRIES - 1)
    assert send_lost() == 3
    AskedJob.objects.update(begun_at=timezone.now(), tries=MOST_TRIES)
    assert send_lost() == 0
    for row in (run, file, board):
        row.refresh_from_db()
        assert row.state == "failed"
        assert "its worker died 3 times, perhaps for want of memory" in row.error
    assert not AskedJob.objects.exists()


def test_what_is_kept_in_the_cache_fails_with_a_reason_too():
    planning_jobs._give_up("why", "planning/pilot/x", "x")
    assert "why" in planning_jobs.pilot_state("x")["problem"]
    validity_jobs._give_up("why", "x", validity_jobs.NOW, {}, "mark")
    kept = validity_jobs.cache.get(validity_jobs._name("x", validity_jobs.NOW))
    assert (kept["state"], "why" in kept["problem"]) == ("failed", True)
    corpus_jobs._give_up("why", "x", "mark")
    kept = corpus_jobs.cache.get(corpus_jobs._name("x"))
    assert (kept["state"], "why" in kept["problem"]) == ("failed", True)


def test_a_job_that_fails_has_ended_but_one_that_lost_its_database_comes_again(asked_one):
    def fails(error):
        raise error

    with pytest.raises(DatabaseAway):
        requested_jobs._work_on(asked_one.mark, lambda: fails(DatabaseAway("gone")))
    assert AskedJob.objects.get().tries == 1
    with pytest.raises(ValueError, match="wrong"):
        requested_jobs._work_on(asked_one.mark, lambda: fails(ValueError("wrong")))
    assert not AskedJob.objects.exists()


def test_a_job_that_is_asked_for_while_it_is_done_is_done_once_more(asked_one, sent):
    requested_jobs._work_on(asked_one.mark, lambda: ask(JOB, NOBODY))
    row = requests_of(JOB).get()  # one row, however often it is asked for
    assert (row.pk, row.begun_at) == (asked_one.pk, None)
    assert send_lost() == 1


def test_without_a_queue_a_job_waits_for_it(
    sent, until, monkeypatch, django_capture_on_commit_callbacks
):
    def unreachable(*given):
        raise OperationalError("connection refused")

    with monkeypatch.context() as away, django_capture_on_commit_callbacks(execute=True):
        away.setattr(send_invitations, "delay", unreachable)
        away.setattr(JOB, "delay", unreachable)
        ask(send_invitations, [], "Hello", "{link}", False)
        ask(JOB, NOBODY)
        for callback in connection.run_on_commit[:]:
            callback[1]()
        connection.run_on_commit.clear()
    assert not requests_of(JOB).exists()  # its run says that it failed
    assert send_lost() == 1
    assert sent == [(send_invitations.name, [], "Hello", "{link}", False)]


def test_a_job_of_another_version_is_not_kept_for_ever(asked_one, caplog):
    AskedJob.objects.update(job="listening.jobs.nobody_knows_this")
    assert send_lost() == 0
    assert not AskedJob.objects.exists()
    assert "is no job of this version" in caplog.text


@pytest.fixture
def queue_of_its_own(servers, monkeypatch):
    """The name of a queue of the real broker, empty at the start and at the end."""
    name = f"of-this-test-{settings.TEST_SLOT}"
    monkeypatch.setattr(job_queues, "QUEUES", (name,))
    with current_app.connection_for_write() as broker:
        broker.default_channel.queue_purge(name)
        yield name
        broker.default_channel.queue_purge(name)


def test_what_is_older_than_the_oldest_message_of_a_queue_is_in_it_no_more(
    queue_of_its_own, monkeypatch
):
    def age_s() -> float:
        return (datetime.now(UTC) - job_queues.processed_until(queue_of_its_own)).total_seconds()

    def send(seconds_ago: float) -> None:
        long_ago = timezone.now().timestamp() - seconds_ago
        with monkeypatch.context() as old:
            old.setattr(job_queues.time, "time", lambda: long_ago)
            current_app.send_task("metrics.jobs.of_this_test", queue=queue_of_its_own)

    on_its_way = job_queues.ON_ITS_WAY.total_seconds()
    assert age_s() == pytest.approx(on_its_way, abs=30)
    send(500)
    send(100)
    assert age_s() == pytest.approx(500 + on_its_way, abs=30)


def test_of_a_queue_that_cannot_be_looked_into_only_its_emptiness_is_known(monkeypatch):
    def age_s() -> float:
        return (datetime.now(UTC) - job_queues.processed_until("analysis")).total_seconds()

    states = [job_queues.QueueState("analysis", None, None)]
    monkeypatch.setattr(job_queues, "queue_states", lambda: states)  # as of RabbitMQ
    with Connection("memory://") as broker:
        monkeypatch.setattr(current_app, "connection_for_read", lambda **_: nullcontext(broker))
        assert age_s() == pytest.approx(
            job_queues.ON_ITS_WAY.total_seconds(), abs=30
        )  # none is there
        broker.SimpleQueue("analysis").put("a job")
        assert age_s() == pytest.approx(job_queues.UNSEEN.total_seconds(), abs=30)
        broker.SimpleQueue("analysis").clear()
        assert age_s() == pytest.approx(job_queues.ON_ITS_WAY.total_seconds(), abs=30)


def test_a_lock_is_let_go_of_at_the_end(db):
    row = AskedJob(mark="0" * 64)
    with alone(requested_jobs.lock_of(row.mark)) as mine:
        assert mine
    held(row).close()


def test_what_waited_before_jobs_were_written_down_is_written_down_once(sent, until):
    run = AnalysisRun.objects.create(study=make_study(), estimator="mean_score", state="running")
    migration = import_module("analysis.migrations.0007_jobs_written_down")
    for _ in range(2):
        migration.write_down(apps, None)
    row = AskedJob.objects.get()
    assert row.mark == requested_jobs.mark_of(JOB.name, (run.pk,))
    assert send_lost() == 1
    assert sent == [(JOB.name, run.pk)]


def test_a_restored_house_sends_no_mail_that_the_other_one_may_have_sent(
    sent, django_capture_on_commit_callbacks
):
    run = AnalysisRun.objects.create(study=make_study(), estimator="mean_score", state="running")
    ask(JOB, run.pk)
    ask(send_invitations, [1, 2], "Hello", "{link}", False)
    said = []
    with django_capture_on_commit_callbacks(execute=True):
        queue_again(said.append)
    assert sent == [(JOB.name, run.pk)]
    assert [row.job for row in AskedJob.objects.all()] == [JOB.name]
    assert said == [
        "Not done again, ask for it where it is still wanted: send_invitations",
        "Queued again: 1 analysis that waited",
    ]
