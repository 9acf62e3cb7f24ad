"""A worker that has no job for long ends by itself, and is started again when one comes."""

import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
from celery.worker import state

from config.run import preparation, worker_steps
from config.run.on_demand_worker import RestingQueue, resting
from config.run.processes import LogPipes
from config.run.supervisor import Service
from config.run.worker_steps import Clock, Rest, tick

PATIENCE_S = 60.0


@pytest.fixture
def ended(monkeypatch: pytest.MonkeyPatch) -> threading.Event:
    """Set when a step asks its worker to end."""
    asked = threading.Event()
    monkeypatch.setattr(worker_steps, "end_this_worker", asked.set)
    monkeypatch.setattr(worker_steps, "LOOK_EVERY_S", 0.01)
    monkeypatch.setattr(worker_steps.heartbeats, "end", lambda: None)
    return asked


def test_a_worker_rests_when_its_last_job_is_long_over(ended: threading.Event):
    job = threading.Event()  # anything that can be in a weak set
    state.active_requests.add(job)
    rest = Rest(None, rest_after=0.05)
    try:
        rest.start(None)
        assert not ended.wait(0.3)  # longer than that, but it works
    finally:
        state.active_requests.discard(job)
    assert ended.wait(PATIENCE_S)


def test_a_worker_that_is_stopped_is_not_ended_again(ended: threading.Event):
    rest = Rest(None, rest_after=0.05)
    rest.stopping.set()
    rest.look()
    assert not ended.is_set()


def test_without_their_options_a_worker_has_neither_step():
    assert not Rest(None).enabled
    assert not Clock(None).enabled
    assert Rest(None, rest_after=600).enabled
    assert Clock(None, clock=True).enabled


def test_a_worker_whose_clock_fails_ends(ended: threading.Event):
    def fail() -> None:
        raise KeyError("schedule")

    tick(SimpleNamespace(start=fail))  # type: ignore[arg-type]  # a clock that fails
    assert ended.is_set()


# --- The supervisor's side -----------------------------------------------------------------------


@pytest.fixture
def service(tmp_path: Path) -> Iterator[Callable[..., Service]]:
    made: list[Service] = []

    def make(code: str, wanted: Callable[[], bool]) -> Service:
        command = [sys.executable, "-c", code]
        made.append(Service("gpu", command, tmp_path / "log", LogPipes(), wanted=wanted))
        return made[-1]

    yield make
    for each in made:
        if each.child:
            each.child.kill()
            each.child.wait()
        each.pipes.drain()


def healed(service: Service) -> str | None:
    """What it says when its process has ended."""
    assert service.child is not None
    service.child.wait(PATIENCE_S)
    return service.heal()


@pytest.mark.medium
def test_a_service_rests_until_it_is_wanted(service: Callable[..., Service]):
    wanted: list[bool] = []
    gpu = service("pass", wanted=lambda: bool(wanted))
    assert gpu.heal() is None
    assert gpu.child is None
    wanted.append(True)
    gpu.heal()
    wanted.clear()
    assert healed(gpu) is None  # it ended as it should: nothing to tell
    gpu.heal()
    assert gpu.child is None
    assert gpu.failures == 0


@pytest.mark.medium
def test_a_service_that_fails_at_its_work_says_so(service: Callable[..., Service]):
    gpu = service("raise SystemExit(3)", wanted=lambda: True)
    gpu.heal()
    assert "gpu ended (status 3)" in (healed(gpu) or "")
    assert gpu.failures == 1


def test_a_queue_without_its_server_has_no_jobs_and_says_that_somebody_looks(tmp_path: Path):
    queue = RestingQueue(tmp_path, "gpu", "jobs:gpu", tmp_path / "nobody.sock")
    assert not queue.has_jobs()
    ((name, age_s),) = resting(tmp_path)
    assert name == "gpu"
    assert age_s < PATIENCE_S
    looked_at = queue.next_at
    assert not queue.has_jobs()
    assert queue.next_at == looked_at  # not at each turn of a loop


# --- Pages of a start ----------------------------------------------------------------------------


def test_pages_of_a_start_wait_until_it_is_prepared(tmp_path: Path):
    result = tmp_path / "prepared.json"
    waiting = threading.Thread(target=preparation.wait_for, args=(result,), daemon=True)
    waiting.start()
    time.sleep(0.1)
    assert waiting.is_alive()
    result.touch()
    waiting.join(PATIENCE_S)
    assert not waiting.is_alive()
