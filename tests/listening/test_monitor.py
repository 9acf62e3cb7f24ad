"""The live monitor: one aggregate for all watchers, sent when it changed, to its owner only."""

import asyncio
import json
import threading
import time

import pytest
from asgiref.sync import sync_to_async
from asgiref.testing import ApplicationCommunicator
from channels.auth import AuthMiddlewareStack
from channels.routing import URLRouter
from django.conf import settings
from django.contrib.sessions.backends.db import SessionStore
from django.core.cache import cache
from django.core.cache.backends.redis import RedisCache
from django.db import DatabaseError, connections
from django.test import Client

from listening.common import ages, cached_counts
from listening.models import Study
from listening.selectors import progress
from listening.selectors.progress import forget_progress, latest_progress
from listening.web.researcher.live_monitor import StudyMonitor, websocket_urlpatterns
from tests.config.helpers import PATIENCE_S
from tests.factories import answer_all, arrive, make_study, make_user
from tests.own_cache import empty_cache

QUICK_S = 0.02


class Clock:
    """The time of day: it stands until it is moved."""

    def __init__(self) -> None:
        self.now = 1_000_000.0

    def time(self) -> float:
        return self.now

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch):
    held = Clock()
    for module in (ages, cached_counts, progress):
        monkeypatch.setattr(module, "time", held)
    return held


@pytest.fixture(autouse=True)
def _empty_cache():
    empty_cache()


@pytest.fixture
def counted(monkeypatch):
    """Counts how often the aggregate is made."""
    calls = []
    real = progress.study_progress

    def counting(study):
        calls.append(study)
        return real(study)

    monkeypatch.setattr(progress, "study_progress", counting)
    return calls


# --- One aggregate for all -----------------------------------------------------------------------


@pytest.mark.django_db
def test_many_looks_within_a_second_make_one_aggregate(counted, clock):
    study = make_study()
    for _ in range(50):
        latest_progress(study.key)
        clock.now += 0.019
    assert len(counted) == 1


@pytest.mark.django_db
@pytest.mark.medium
def test_after_a_second_the_aggregate_is_made_again(counted, clock):
    study = make_study()
    first = latest_progress(study.key)
    clock.now += 1.01
    answer_all(arrive(study), stop_after=2)
    second = latest_progress(study.key)
    assert len(counted) == 2
    assert (first["progress"]["total"]["rated"], second["progress"]["total"]["rated"]) == (0, 2)
    assert first["version"] != second["version"]


@pytest.mark.django_db
def test_a_slow_aggregate_rests_four_times_as_long_as_it_took(clock, monkeypatch):
    study = make_study()
    real = progress.study_progress

    def slow(key):
        clock.now += 3
        return real(key)

    monkeypatch.setattr(progress, "study_progress", slow)
    snapshot = latest_progress(study.key)
    assert snapshot["rests_until"] - snapshot["made_at"] == 4 * 3


@pytest.mark.django_db
def test_the_version_stays_while_no_number_changes(monkeypatch):
    study = make_study()
    first = latest_progress(study.key)
    forget_progress(study.key)
    assert latest_progress(study.key)["version"] == first["version"]


@pytest.mark.django_db
def test_while_one_counts_the_others_see_the_last_aggregate(counted, monkeypatch):
    study = make_study()
    monkeypatch.setattr(progress, "AT_MOST_EVERY_S", 0.0)
    monkeypatch.setattr(progress, "REST", 0)
    first = latest_progress(study.key)
    assert cached_counts.claim(f"progress/{study.key}/lock", PATIENCE_S)
    seen = []
    threads = [
        threading.Thread(target=lambda: seen.append(latest_progress(study.key))) for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == [first] * 8
    assert len(counted) == 1


def test_a_test_empties_no_other_process_s_cache(servers):
    other = RedisCache(settings.CACHES["default"]["LOCATION"], {"KEY_PREFIX": "another"})
    for each in (cache, other):
        each.set("kept", 1)
    empty_cache()
    assert (cache.get("kept"), other.get("kept")) == (None, 1)
    other.delete("kept")


@pytest.mark.django_db
def test_an_aggregate_that_failed_does_not_block_the_next(monkeypatch):
    study = make_study()
    real = progress.study_progress

    def failing(key):
        raise DatabaseError

    monkeypatch.setattr(progress, "study_progress", failing)
    with pytest.raises(DatabaseError):
        latest_progress(study.key)
    monkeypatch.setattr(progress, "study_progress", real)
    assert latest_progress(study.key)["progress"]["study"] == study.key


# --- The socket ----------------------------------------------------------------------------------


@pytest.fixture
def study(transactional_db):
    yield make_study(key="watched")
    asyncio.run(sync_to_async(connections.close_all)())  # those of the consumers' thread


def cookie_of(user):
    client = Client()
    client.force_login(user)
    return client.cookies[settings.SESSION_COOKIE_NAME].value


class Socket(ApplicationCommunicator):  # type: ignore[misc]  # asgiref's testing is untyped
    """The browser's end of one WebSocket; Channels' own needs daphne, which is not used here."""

    async def connect(self):
        await self.send_input({"type": "websocket.connect"})
        assert (await self.receive_output(timeout=PATIENCE_S))["type"] == "websocket.accept"

    async def message(self):
        output = await self.receive_output(timeout=PATIENCE_S)
        assert output["type"] == "websocket.send", output
        return json.loads(output["text"])

    async def closing_code(self):
        while (output := await self.receive_output(timeout=PATIENCE_S))["type"] == "websocket.send":
            pass
        await self.leave()
        return output["code"]

    async def leave(self):
        await self.send_input({"type": "websocket.disconnect", "code": 1001})
        await self.wait(timeout=PATIENCE_S)


def socket_of(user=None, key="watched"):
    headers = []
    if user is not None:
        headers = [(b"cookie", f"{settings.SESSION_COOKIE_NAME}={cookie_of(user)}".encode())]
    scope = {"type": "websocket", "path": f"/ws/studies/{key}/", "headers": headers}
    scope |= {"query_string": b"", "subprotocols": []}
    return Socket(AuthMiddlewareStack(URLRouter(websocket_urlpatterns)), scope)


@pytest.fixture
def _quick_ticks(monkeypatch):
    monkeypatch.setattr(StudyMonitor, "tick_s", QUICK_S)
    monkeypatch.setattr(progress, "AT_MOST_EVERY_S", 0.0)
    monkeypatch.setattr(progress, "REST", 0)


async def refusal_of(socket):
    await socket.connect()
    return await socket.closing_code()


@pytest.mark.asyncio
@pytest.mark.medium
async def test_the_owner_gets_the_progress_at_once(study):
    socket = await sync_to_async(socket_of)(study.owner)
    await socket.connect()
    message = await socket.message()
    assert message["type"] == "progress"
    assert message["progress"]["total"] == {"planned": 60, "rated": 0}
    assert message["progress"]["tasks"][0]["conditions"][0]["condition"] == "cond-0"
    await socket.leave()


@pytest.mark.asyncio
async def test_who_is_not_logged_in_is_told_so(study):
    assert await refusal_of(socket_of()) == 4403


@pytest.mark.asyncio
@pytest.mark.parametrize("key", ["watched", "unknown"])
@pytest.mark.medium
async def test_another_researcher_learns_nothing(study, key):
    stranger = await sync_to_async(make_user)("stranger")
    assert await refusal_of(await sync_to_async(socket_of)(stranger, key)) == 4404


@pytest.mark.asyncio
@pytest.mark.medium
async def test_a_superuser_may_watch(study):
    root = await sync_to_async(make_user)("root", is_superuser=True)
    socket = await sync_to_async(socket_of)(root)
    await socket.connect()
    assert (await socket.message())["type"] == "progress"
    await socket.leave()


@pytest.mark.asyncio
@pytest.mark.usefixtures("_quick_ticks")
@pytest.mark.medium
async def test_only_a_change_is_sent(study):
    socket = await sync_to_async(socket_of)(study.owner)
    await socket.connect()
    await socket.message()
    assert await socket.receive_nothing(timeout=0.4, interval=0.05)
    session = await sync_to_async(arrive)(study)
    await sync_to_async(answer_all)(session, stop_after=3)
    rated = []
    while not rated or rated[-1] < 3:
        message = await socket.message()
        rated.append(message["progress"]["total"]["rated"])
    assert rated == sorted(rated)
    assert await socket.receive_nothing(timeout=0.3, interval=0.05)
    await socket.leave()


@pytest.mark.asyncio
@pytest.mark.usefixtures("_quick_ticks")
@pytest.mark.medium
async def test_whatever_the_browser_sends_is_ignored(study, monkeypatch):
    monkeypatch.setattr(StudyMonitor, "heartbeat_s", 0.1)
    socket = await sync_to_async(socket_of)(study.owner)
    await socket.connect()
    await socket.message()
    for sent in ({"text": "no json"}, {"text": '{"study": "other"}'}, {"bytes": b"\xff"}):
        await socket.send_input({"type": "websocket.receive", **sent})
    assert (await socket.message())["type"] == "heartbeat"
    await socket.leave()


@pytest.mark.asyncio
@pytest.mark.usefixtures("_quick_ticks")
@pytest.mark.medium
async def test_silence_is_broken_by_a_heartbeat(study, monkeypatch):
    monkeypatch.setattr(StudyMonitor, "heartbeat_s", 0.1)
    socket = await sync_to_async(socket_of)(study.owner)
    await socket.connect()
    await socket.message()
    assert await socket.message() == {"type": "heartbeat", "counting": True}
    await socket.leave()


@pytest.mark.asyncio
@pytest.mark.usefixtures("_quick_ticks")
@pytest.mark.parametrize(
    ("change", "code"),
    [("log out", 4403), ("disabled", 4404), ("deleted", 4403), ("other owner", 4404)],
)
@pytest.mark.medium
async def test_who_loses_the_right_is_cut_off_though_the_numbers_never_stand_still(
    study, monkeypatch, change, code
):
    monkeypatch.setattr(StudyMonitor, "rights_s", 0.05)
    looks = []

    def another(key):
        looks.append(key)
        return {"version": str(len(looks)), "progress": {"looks": len(looks)}}

    monkeypatch.setattr("listening.web.researcher.live_monitor.latest_progress", another)
    socket = await sync_to_async(socket_of)(study.owner)
    await socket.connect()
    await socket.message()
    await sync_to_async(take_right)(study, change)
    assert await socket.closing_code() == code


def test_rights_are_asked_for_every_few_seconds():
    assert StudyMonitor.rights_s <= 5


@pytest.mark.asyncio
@pytest.mark.usefixtures("_quick_ticks")
@pytest.mark.medium
async def test_nothing_is_sent_while_nobody_can_say_who_may_see_it(study, monkeypatch):
    monkeypatch.setattr(StudyMonitor, "rights_s", 0.0)
    monkeypatch.setattr(StudyMonitor, "heartbeat_s", 0.1)
    real, away = StudyMonitor._check_right, []

    def unsteady(self):
        if away:
            raise DatabaseError
        return real(self)

    monkeypatch.setattr(StudyMonitor, "_check_right", unsteady)
    socket = await sync_to_async(socket_of)(study.owner)
    await socket.connect()
    assert (await socket.message())["type"] == "progress"
    away.append(True)
    while (await socket.message()) != {"type": "heartbeat", "counting": False}:
        pass
    away.clear()
    while (await socket.message()) != {"type": "heartbeat", "counting": True}:
        pass
    await socket.leave()


@pytest.mark.asyncio
@pytest.mark.usefixtures("_quick_ticks")
@pytest.mark.medium
async def test_one_account_opens_so_many_sockets_and_no_more(study, monkeypatch):
    monkeypatch.setattr(StudyMonitor, "most_open", 1)
    first, second, third = [await sync_to_async(socket_of)(study.owner) for _ in range(3)]
    await first.connect()
    await first.message()
    assert await refusal_of(second) == 4429
    await first.leave()
    await third.connect()
    assert (await third.message())["type"] == "progress"
    await third.leave()
    assert StudyMonitor.open_of == {}


def take_right(study, change):
    if change == "log out":
        SessionStore.get_model_class().objects.all().delete()
    elif change == "deleted":
        Study.objects.filter(pk=study.pk).update(owner=make_user("heir"))
        type(study.owner).objects.filter(pk=study.owner_id).delete()
    elif change == "disabled":
        type(study.owner).objects.filter(pk=study.owner_id).update(is_active=False)
    else:
        Study.objects.filter(pk=study.pk).update(owner=make_user("heir"))


@pytest.mark.asyncio
@pytest.mark.usefixtures("_quick_ticks")
@pytest.mark.medium
async def test_a_database_that_is_away_is_waited_for(study, monkeypatch):
    monkeypatch.setattr(StudyMonitor, "heartbeat_s", 0.1)
    real, away = progress.study_progress, [True]

    def unsteady(key):
        if away:
            raise DatabaseError
        return real(key)

    monkeypatch.setattr(progress, "study_progress", unsteady)
    socket = await sync_to_async(socket_of)(study.owner)
    await socket.connect()
    assert await socket.message() == {"type": "heartbeat", "counting": False}
    away.clear()
    while (message := await socket.message())["type"] == "heartbeat":
        pass
    assert message["progress"]["total"]["planned"] == 60
    await socket.leave()


@pytest.mark.asyncio
@pytest.mark.usefixtures("_quick_ticks")
@pytest.mark.medium
async def test_a_watcher_who_leaves_leaves_no_ticking_behind(study):
    before = len(asyncio.all_tasks())
    socket = await sync_to_async(socket_of)(study.owner)
    await socket.connect()
    await socket.message()
    await socket.leave()
    deadline = time.monotonic() + PATIENCE_S
    while len(asyncio.all_tasks()) > before:
        assert time.monotonic() < deadline, asyncio.all_tasks()
        await asyncio.sleep(QUICK_S)
