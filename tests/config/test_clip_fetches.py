"""Clips that are on their way at once are noted together; whose trial is locked waits alone."""

import asyncio
from pathlib import Path

import pytest

from config import clips
from config.clips import Clips
from config.loop_pool import LoopPool
from listening.audio.links import ClipRequest
from tests.config.test_answer_door import other_connection
from tests.factories import arrive, make_study

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def alone(monkeypatch):
    """What is left to a statement of its own."""
    left = []
    monkeypatch.setattr(clips, "_record_fetch", lambda clip: left.append((clip.trial, clip.place)))
    return left


@pytest.fixture
def trials():
    return list(arrive(make_study()).trials.order_by("position")[:3])


def fetched(trials):
    for trial in trials:
        trial.refresh_from_db()
    return [trial.fetched for trial in trials]


def noted(*requests):
    """Notes (trial, place of the clip) of all at once."""

    async def run():
        route = Clips(pool := LoopPool())
        asked = [ClipRequest("", Path("x"), trial, place, False) for trial, place in requests]
        await asyncio.gather(*map(route._record_fetch, asked))
        await pool.close()

    asyncio.run(run())


def test_clips_of_one_trial_and_of_others_are_noted_once_each(trials, alone):
    one, other, third = (trial.pk for trial in trials)
    noted((one, 0), (one, 2), (other, 1), (one, 0), (0, 0))
    assert fetched(trials) == [0b101, 0b10, 0]
    began = trials[0].fetched_at
    noted((one, 0), (one, 1), (third, 70))
    assert fetched(trials) == [0b111, 0b10, 1 << 62]
    assert (trials[0].fetched_at, alone) == (began, [])


def test_a_repeat_writes_nothing(trials):
    noted((trials[0].pk, 0))
    with other_connection() as other:
        version = "SELECT xmin, xmax FROM listening_trial WHERE id = %s"
        before = other.execute(version, [trials[0].pk]).fetchone()
        noted((trials[0].pk, 0))
        assert other.execute(version, [trials[0].pk]).fetchone() == before


def test_a_trial_that_somebody_has_locked_is_noted_alone_and_keeps_nobody_waiting(trials, alone):
    with other_connection() as busy, busy.transaction():
        busy.execute("SELECT FROM listening_trial WHERE id = %s FOR UPDATE", [trials[0].pk])
        noted((trials[0].pk, 0), (trials[1].pk, 0), (trials[0].pk, 1))
    assert sorted(alone) == [(trials[0].pk, 0), (trials[0].pk, 1)]
    assert fetched(trials) == [0, 1, 0]
