"""A clock that goes back leaves nothing old that is taken for fresh, and keeps nobody out."""

import math
from datetime import UTC, datetime, timedelta

import pytest
from celery import Celery
from django.core.cache import cache

from config.beat_scheduler import Scheduler
from config.limits import Limit, _Throttle
from listening.common import ages, cached_counts
from listening.common.ages import CLOCK_SKEW_S, age_s, in_last_s
from listening.notifications import sending
from listening.selectors import progress
from tests.factories import make_study
from tests.own_cache import empty_cache

BACK_S = 7200.0


class Clock:
    """The time of day, which a test sets back; what measures a duration is not moved by it."""

    def __init__(self) -> None:
        self.now = 1_000_000_000.0

    def time(self) -> float:
        return self.now

    def monotonic(self) -> float:
        return 0.0


@pytest.fixture
def clock(monkeypatch):
    held = Clock()
    for module in (ages, cached_counts, progress):
        monkeypatch.setattr(module, "time", held)
    empty_cache()
    return held


def test_an_age_is_never_negative():
    assert age_s(100.0, 160.0) == 60
    assert age_s(100.0, 100.0 - CLOCK_SKEW_S) == 0  # two machines differ a little
    assert age_s(100.0, 90.0) == math.inf
    now = datetime(2026, 5, 1, tzinfo=UTC)
    assert age_s(now - timedelta(minutes=1), now) == 60
    assert age_s(now + timedelta(hours=2), now) == math.inf
    low, high = in_last_s(60, now)
    assert low == now - timedelta(minutes=1)
    assert now <= high < now + timedelta(hours=2)


@pytest.mark.django_db
@pytest.mark.medium
def test_counts_that_were_made_in_the_future_are_made_again(clock):
    study = make_study()
    before = progress.latest_progress(study.key)
    clock.now -= BACK_S
    assert progress.latest_progress(study.key)["made_at"] == before["made_at"] - BACK_S

    first = cached_counts.remake("times", study.key)
    assert cached_counts.look("times", study.key, 60.0) == first
    clock.now -= BACK_S
    assert first.is_old
    assert cached_counts.look("times", study.key, 60.0) == cached_counts.Kept([], clock.now, 0.0)


def test_a_worker_is_asked_again_though_it_was_asked_in_the_future(clock):
    assert cached_counts.claim("ages/asked", 60)
    assert not cached_counts.claim("ages/asked", 60)
    clock.now -= BACK_S
    assert cached_counts.claim("ages/asked", 60)
    assert not cached_counts.claim("ages/asked", 60)
    cache.delete("ages/asked")
    assert cached_counts.claim("ages/asked", 60)


def test_attempts_of_the_future_keep_nobody_out(clock, monkeypatch, rf):
    empty_cache()
    monkeypatch.setattr(_Throttle, "timer", clock.time)
    limit = Limit("attempts of this test", (), 3, 60, lambda request: "ada")

    def is_let_in() -> bool:
        return _Throttle(limit).allow_request(rf.post("/"), None)

    assert [is_let_in() for _ in range(4)] == [True, True, True, False]
    clock.now -= BACK_S
    assert [is_let_in() for _ in range(4)] == [True, True, True, False]
    refused = _Throttle(limit)
    assert not refused.allow_request(rf.post("/"), None)
    assert 0 < (refused.wait() or 60) <= 60


def test_the_beat_goes_on_after_the_clock_went_back(clock, monkeypatch):
    monkeypatch.setattr("config.beat_scheduler.time", clock)
    app = Celery("a beat of a test", fixups=[], broker="memory://", set_as_current=False)
    app.conf.beat_schedule = {"look": {"task": "look", "schedule": 30.0}}
    now = datetime(2026, 5, 1, 12, tzinfo=UTC)
    monkeypatch.setattr(type(app), "now", lambda self: now)
    sent = []
    monkeypatch.setattr(Scheduler, "apply_async", lambda self, entry, **_: sent.append(entry.name))
    beat = Scheduler(app=app, lazy=True)
    beat.setup_schedule()

    def pass_s(seconds: float) -> None:
        nonlocal now
        now += timedelta(seconds=seconds)
        clock.now += seconds
        for _ in range(5):
            beat.tick()

    pass_s(31)
    assert sent.count("look") == 1
    pass_s(-BACK_S)
    pass_s(31)
    assert sent.count("look") == 2


@pytest.mark.django_db
def test_messages_that_waited_when_the_clock_went_back_are_due(settings):
    from listening.models import Channel, Delivery
    from tests.factories import make_user

    now = datetime(2026, 5, 1, tzinfo=UTC)
    channel = Channel.objects.create(owner=make_user(), name="Mail", kind="mail", address="a@b.de")
    states = {
        "never sent": {"tries": 0, "state": "waiting"},
        "dropped by a worker": {"tries": 1, "state": "sending"},
        "tried before": {"tries": 1, "state": "waiting"},
    }
    for text, fields in states.items():
        made = Delivery.objects.create(
            channel=channel, event="test", text=text, next_at=now + timedelta(hours=2), **fields
        )
        Delivery.objects.filter(pk=made.pk).update(created_at=now + timedelta(hours=2))
    due = Delivery.objects.filter(sending._is_due(now)).values_list("text", flat=True)
    assert set(due) == {"never sent", "dropped by a worker"}
