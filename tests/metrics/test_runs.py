"""A study's scoring run in shards: asked for, worked on twice, cancelled, healed, continued."""

import contextlib
import io
import shutil
from datetime import timedelta

import psycopg
import pytest
from celery import current_app
from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone

from listening.models import Condition, Item, Study
from metrics import jobs
from metrics.core import decoding
from metrics.management.commands import score_progress
from metrics.models import MetricScore, ScoringRun, ScoringShard
from metrics.scoring import runner, runs, study_scores
from metrics.scoring.presets import Choice
from tests.config.helpers import wait_for
from tests.factories import make_stimulus, make_user
from tests.metrics import reference

CLIPS = ("human-0880-clean", "human-0930-rt08", "flite_rms-0920-clean")
STATE, SHARD = ScoringRun.State, ScoringShard.State


@pytest.fixture
def study(tmp_path, monkeypatch):
    """A study of three clips whose originals lie in the test's folder."""
    study = Study.objects.create(owner=make_user(), key="real", title="Real", seed=1)
    condition = Condition.objects.create(study=study, key="c")
    monkeypatch.setattr("listening.audio.expected_path", lambda name: tmp_path / name)
    for clip in CLIPS:
        path = tmp_path / f"{clip}.flac"
        shutil.copyfile(reference.path(clip), path)
        stimulus = make_stimulus(study, condition, Item.objects.create(study=study, key=clip))
        stimulus.original, stimulus.sha256 = path.name, decoding.file_sha256(path)
        stimulus.save()
    return study


@pytest.fixture
def queue():
    """What would have been queued."""
    return []


@pytest.fixture
def counted(monkeypatch):
    """The clips that are really scored."""
    seen = []
    original = runner.score_batch

    def spy(metric, clips, device):
        seen.extend(clip.sha256 for clip, _ in clips)
        return original(metric, clips, device)

    monkeypatch.setattr(runner, "score_batch", spy)
    return seen


def ask(study, queue, shards=2, keys=("srmr",)):
    choices = [Choice(key) for key in keys]
    return runs.start_run(study.pk, study.key, choices, queue.append, by="me", shards=shards)


def progress_of(study):
    out = io.StringIO()
    call_command("score_progress", study.key, stdout=out)
    return out.getvalue()


@pytest.mark.django_db
def test_the_progress_of_no_run_says_why_and_how_to_have_one(study):
    for key, why in ((study.key, "none of its runs was left"), ("nowhere", "There is no study")):
        with pytest.raises(CommandError, match=why):
            call_command("score_progress", key)


@pytest.mark.parametrize(("workers", "said"), [(1, "1 worker,"), (2, "2 workers,")])
def test_one_worker_is_not_several(workers, said):
    told = dict.fromkeys(("run", "done", "total", "percent", "shards_done", "shards"), 1)
    told |= {"state": "working", "failed": 0, "stuck": 0, "doing": "SRMR", "left": ""}
    assert said in score_progress.progress_line({**told, "workers": workers})


def work(queue):
    while queue:
        runs.work_on(queue.pop(0), queue.append)


@pytest.mark.django_db(transaction=True)
@pytest.mark.medium
def test_a_run_is_split_by_the_hash_of_its_clips_and_ends_when_all_shards_have(study, queue):
    run = ask(study, queue)
    hashes = [stimulus.sha256 for stimulus in study.stimuli.all()]
    sizes = [sum(int(sha[:8], 16) % 2 == n for sha in hashes) for n in (0, 1)]
    assert list(run.shards.values_list("total", flat=True)) == sizes
    assert len(queue) == 2
    assert runs.progress(run)["left"] == ""  # nobody knows yet
    runs.work_on(queue[0], queue.append)
    run.refresh_from_db()
    assert run.state == STATE.WORKING
    assert MetricScore.objects.count() == sizes[0]
    assert runs.progress(run)["left"] == "about a minute left"
    assert f"{sizes[0]} of 3 scores" in progress_of(study)
    work(queue)
    run.refresh_from_db()
    assert (run.state, run.finished_at is None) == (STATE.DONE, False)
    told = runs.progress(run)
    assert (told["total"], told["done"], told["failed"], told["percent"]) == (3, 3, 0, 100)


@pytest.mark.django_db(transaction=True)
@pytest.mark.medium
def test_a_job_that_comes_twice_works_once(study, queue, counted):
    ask(study, queue)
    work([*queue, *queue])
    assert len(counted) == 3


@pytest.mark.django_db(transaction=True)
@pytest.mark.medium
def test_a_shard_that_another_worker_holds_is_left_to_it(study, queue, counted):
    ask(study, queue, shards=1)
    shard = queue[0]
    with elsewhere(shard) as free:
        assert free
        runs.work_on(shard, queue.append)
        assert counted == []
        ScoringShard.objects.update(state=SHARD.RUNNING)
        assert runs.heal(queue.append) == 0  # somebody holds it
    queue.clear()
    wait_for(lambda: runs.heal(queue.append))  # its connection is gone, and its lock with it
    work(queue)
    assert len(counted) == 3


@contextlib.contextmanager
def elsewhere(shard):
    """Another worker's connection, that tries to take the shard."""
    given = connection.get_connection_params()
    names = ("host", "port", "user", "password", "dbname")
    with psycopg.connect(**{k: given[k] for k in names if given.get(k)}) as other:
        (free,) = other.execute(
            "SELECT pg_try_advisory_lock(%s)", [runs.lock_number(shard)]
        ).fetchone()
        yield free


@pytest.mark.django_db(transaction=True)
def test_asking_again_joins_the_run_that_works(study, queue):
    assert ask(study, queue) == ask(study, queue)
    assert ask(study, queue, keys=("srmr_norm",)) != ask(study, queue)
    assert ScoringRun.objects.count() == 2


@pytest.mark.django_db(transaction=True)
@pytest.mark.medium
def test_a_cancelled_run_stops_after_its_batch_and_can_be_continued(
    study, queue, counted, monkeypatch
):
    monkeypatch.setitem(runner.BATCH_S, "cpu", 0.1)  # a batch per clip
    run = ask(study, queue, shards=1)
    store = study_scores.store

    def cancelling(batch, device):
        store(batch, device)
        runs.cancel(run)

    monkeypatch.setattr(study_scores, "store", cancelling)
    work(queue)
    run.refresh_from_db()
    assert run.state == STATE.CANCELLED
    assert MetricScore.objects.count() == len(counted) == 1
    monkeypatch.setattr(study_scores, "store", store)
    assert not runs.cancel(run)
    assert runs.continue_run(run, queue.append) == 1
    work(queue)
    run.refresh_from_db()
    assert run.state == STATE.DONE
    assert len(counted) == 3


@pytest.mark.django_db(transaction=True)
@pytest.mark.medium
def test_a_dead_worker_shows_and_its_shard_is_queued_again_once(study, queue):
    run = ask(study, queue, shards=1)
    shard = run.shards.get()
    queue.clear()
    long_ago = timezone.now() - timedelta(minutes=5)
    ScoringShard.objects.update(state=SHARD.RUNNING, heartbeat_at=long_ago)
    assert runs.progress(run)["stuck"] == 1
    with runs.hold_shard(shard.pk), elsewhere(shard.pk) as free:
        assert not free
    assert runs.heal(queue.append) == 1
    assert runs.heal(queue.append) == 0
    assert queue == [shard.pk]
    work(queue)
    run.refresh_from_db()
    assert run.state == STATE.DONE


@pytest.mark.django_db(transaction=True)
def test_a_shard_whose_message_was_lost_is_queued_again_but_not_one_that_waits(
    study, queue, monkeypatch
):
    run = ask(study, queue, shards=1)
    shard = run.shards.get()
    queue.clear()
    oldest = {"gpu": shard.heartbeat_at - timedelta(seconds=1)}
    monkeypatch.setattr(runs, "processed_until", oldest.__getitem__)
    assert runs.heal(queue.append) == 0  # it waits behind others, however long
    oldest["gpu"] = shard.heartbeat_at + timedelta(seconds=1)
    assert runs.heal(queue.append) == 1
    assert queue == [shard.pk]


@pytest.mark.django_db(transaction=True)
@pytest.mark.medium
def test_a_job_makes_way_after_its_time_and_the_rest_is_done_by_another(
    study, queue, counted, monkeypatch
):
    monkeypatch.setitem(runner.BATCH_S, "cpu", 0.1)
    monkeypatch.setattr(runs, "SLICE_S", 0.0)
    run = ask(study, queue, shards=1)
    jobs_done = 0
    while queue:
        jobs_done += 1
        runs.work_on(queue.pop(0), queue.append)
    run.refresh_from_db()
    assert (jobs_done, len(counted), run.state) == (3, 3, STATE.DONE)


@pytest.mark.django_db(transaction=True)
def test_a_shard_that_breaks_says_why_and_the_run_can_be_continued(study, queue, monkeypatch):
    run = ask(study, queue, shards=1)

    def broken(*given, **named):
        raise RuntimeError("disk on fire")

    monkeypatch.setattr(runs, "_score", broken)
    work(queue)
    run.refresh_from_db()
    assert run.state == STATE.FAILED
    assert runs.progress(run)["errors"] == [
        "it broke (RuntimeError: disk on fire); see the worker's log"
    ]
    monkeypatch.undo()


@pytest.mark.django_db(transaction=True)
@pytest.mark.medium
def test_failed_scores_are_counted_and_a_new_run_tries_them_again(study, queue, tmp_path):
    file = tmp_path / f"{CLIPS[0]}.flac"
    good = file.read_bytes()
    file.write_bytes(b"no audio")
    run = ask(study, queue, shards=1)
    work(queue)
    assert runs.progress(run)["failed"] == 1
    file.write_bytes(good)
    again = ask(study, queue, shards=1)
    work(queue)
    assert again != run
    assert runs.progress(again)["failed"] == 0
    assert not MetricScore.objects.filter(failed=True).exists()


@pytest.mark.django_db(transaction=True)
@pytest.mark.medium
def test_a_worker_computes_as_the_settings_say(study, queue, settings, monkeypatch):
    """A metric that allows it in what the setting says, on the worker's own device, one by one."""
    asked = []

    def score(work, stored, metrics, device, **more):
        own = [(metric.key, metric.parameters_dict().get("precision")) for metric in metrics]
        asked.append((own, device, more["metric_by_metric"]))

    monkeypatch.setattr(study_scores, "score_and_store", score)
    monkeypatch.setattr("torch.cuda.is_available", lambda: True)
    monkeypatch.setattr("torch.cuda.device_count", lambda: 2)
    settings.EARNEST_METRIC_PRECISION = "bf16"
    settings.EARNEST_METRIC_DEVICE = "cuda:1"
    settings.EARNEST_METRIC_BY_METRIC = True
    run = ask(study, queue, shards=1, keys=("length_s", "distillmos"))
    settings.EARNEST_METRIC_PRECISION = "float32"  # what a run was asked in stays
    work(queue)
    assert asked == [([("length_s", None), ("distillmos", "bf16")], "cuda:1", True)]
    settings.EARNEST_METRIC_DEVICE = "cuda:2"
    runs.cancel(run)
    again = ask(study, queue, shards=1, keys=("length_s",))
    work(queue)
    (error,) = runs.progress(again)["errors"]
    assert error == "device cuda:2 is not there: the last one is cuda:1"


def test_jobs_go_to_queue_gpu_and_dead_shards_are_looked_for_on_another():
    route = current_app.amqp.router.route({}, jobs.score_shard.name)
    assert route["queue"].name == "gpu"
    scheduled = settings.CELERY_BEAT_SCHEDULE["continue-dead-shards"]
    assert scheduled["task"] == jobs.continue_dead_shards.name
    assert scheduled["options"]["queue"] == "default"


@pytest.mark.parametrize("count", [1, 3, 8])
def test_a_shard_is_the_hash_modulo_their_number(count):
    assert runs.shard_of("0000000aff", count) == 10 % count
