"""A clip counts as sent with its last byte; those sent at once are stored in one statement."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from django.db import connections
from starlette.datastructures import Headers

from config import clips
from config.clips import Clips, clip_response
from listening.audio.links import ClipRequest
from listening.common.async_connections import LoopPool
from listening.sessions import answer_statements, task_rules
from tests.factories import arrive, make_study
from tests.listening.test_answer_endpoint import other_connection
from tests.own_cache import empty_cache

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def alone(monkeypatch):
    """What is left to a statement of its own."""
    left = []
    monkeypatch.setattr(
        clips, "_record_fetch", lambda clip, _: left.append((clip.trial, clip.place))
    )
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


# --- What counts as sent -------------------------------------------------------------------------

SOUND = bytes(range(256)) * 800
ETAG = clip_response("token", SOUND, Headers()).headers["etag"]


class Gone(Exception):
    """The browser leaves."""


def asked(monkeypatch, trial, *requests, served=SOUND, method="GET", leaves_after=10**9):
    """What a browser gets that asks for one clip with each of these headers in turn."""
    clip = ClipRequest("token", Path("x"), trial.pk, 0, False)
    monkeypatch.setattr(clips, "_clip_for", lambda token, cookies: (clip, served))
    empty_cache()

    async def run():
        route = Clips(pool := LoopPool(), threads=1)
        told = [await one(route, headers) for headers in requests]
        await route._in_thread(connections.close_all)
        await pool.close()
        return told

    async def one(route, headers):
        left, status, body = asyncio.Event(), [], bytearray()

        async def receive():
            await left.wait()
            return {"type": "http.disconnect"}

        async def send(message):
            status.append(message.get("status"))
            body.extend(message.get("body", b""))
            if len(body) >= leaves_after:
                left.set()
                await asyncio.sleep(0)  # as a socket does, which tells between two pieces
                await asyncio.sleep(0)

        raw = [(name.encode(), value.encode()) for name, value in headers.items()]
        scope = {"type": "http", "method": method, "path": "/c/token", "headers": raw}
        await route(scope | {"extensions": {"http.response.pathsend": {}}}, receive, send)
        return status[0], len(body)

    told = asyncio.run(run())
    trial.refresh_from_db()
    return told


def part(text):
    return {"range": f"bytes={text}"}


@pytest.fixture(params=["in memory", "a file"])
def served(request, tmp_path):
    """A short clip, and a long one."""
    if request.param == "in memory":
        return SOUND
    path = tmp_path / "clip.flac"
    path.write_bytes(SOUND)
    return path


@pytest.mark.medium
def test_a_clip_counts_with_its_last_byte(monkeypatch, trials, served):
    assert asked(monkeypatch, trials[0], {}, served=served) == [(200, len(SOUND))]
    assert trials[0].fetched == 1


SHORT_OF_IT = (
    *map(part, ("0-0", f"{len(SOUND)}-", "-1", f"0-{len(SOUND) - 2}", "1-")),
    {"if-none-match": ETAG},
)


@pytest.mark.medium
def test_what_holds_less_than_the_clip_does_not_count(monkeypatch, trials, served):
    several = [part("0-9,20-")] if isinstance(served, Path) else []  # else it is sent whole
    for headers in (*SHORT_OF_IT, *several):
        asked(monkeypatch, trials[0], headers, served=served)
        assert trials[0].fetched == 0, headers


def test_a_head_request_does_not_count(monkeypatch, trials):
    asked(monkeypatch, trials[0], {}, method="HEAD")
    assert (trials[0].fetched, trials[0].fetched_at) == (0, None)


def test_who_leaves_before_the_end_has_not_got_it(monkeypatch, trials, served):
    ((_, got),) = asked(monkeypatch, trials[0], {}, served=served, leaves_after=1)
    assert 0 < got < len(SOUND)
    assert trials[0].fetched == 0


def test_parts_count_once_they_make_up_the_clip(monkeypatch, trials, served):
    asked(monkeypatch, trials[0], part("1000-"), part("0-1"), served=served)
    assert trials[0].fetched == 0
    asked(monkeypatch, trials[0], part("1000-"), part("0-1"), part("2-999"), served=served)
    assert trials[0].fetched == 1


def test_the_time_of_a_long_clip_begins_with_its_first_byte(monkeypatch, trials, served):
    asked(monkeypatch, trials[0], part("0-9"), served=served)
    assert (trials[0].fetched_at is not None) == isinstance(served, Path)


@pytest.mark.parametrize(("share", "enough"), [(0.5, "102400"), (None, "65536")])
def test_of_a_long_clip_as_much_as_its_task_asks_for_is_enough(
    monkeypatch, trials, tmp_path, share, enough
):
    path = tmp_path / "clip.flac"
    path.write_bytes(SOUND)
    rules = task_rules.task_rules(trials[0].task_id)
    rules = replace(rules, playback=replace(rules.playback, share=share))
    monkeypatch.setattr(answer_statements, "task_rules", lambda task: rules)
    asked(monkeypatch, trials[0], part(f"0-{int(enough) - 2}"), served=path)
    assert trials[0].fetched == 0
    asked(monkeypatch, trials[0], part(f"0-{int(enough) - 1}"), served=path)
    assert trials[0].fetched == 1


def test_what_a_proxy_sends_counts_by_what_was_asked_for(monkeypatch, trials, tmp_path, settings):
    path = tmp_path / "clip.flac"
    path.write_bytes(SOUND)
    settings.MEDIA_ACCEL_PREFIX, settings.MEDIA_ROOT = "/inside/", tmp_path
    asked(monkeypatch, trials[0], part("0-0"), served=path)
    assert trials[0].fetched == 0
    asked(monkeypatch, trials[0], {}, served=path)
    assert trials[0].fetched == 1
