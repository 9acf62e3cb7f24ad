"""A double of Prolific for a module, healed after each test; a receiver of messages."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_network
from threading import Thread
from typing import Any

import pytest

from tests.listening.told import MAIL_KEPT, MessageReceiver
from tests.own_cache import empty_cache
from tests.play_money import Double


@pytest.fixture(scope="module")
def running() -> Iterator[Double]:
    with Double.running() as double:
        yield double


@pytest.fixture
def double(running: Double, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Double]:
    settings.EARNEST_PROLIFIC_API = running.url
    monkeypatch.setattr("listening.recruitment.prolific.client.FIRST_PAUSE_S", 0.01)
    everything = {"fixed_screen_out": True, "secure_links": True, "dynamic_payment": True}
    slow = {"publish_s": 3600, "pay_s": 3600}  # or when a test says so
    running.set(balance=100_000_00, features=everything, **slow)
    yield running
    running.heal()
    running.set(publish_s=0.2, pay_s=0.2)


@pytest.fixture
def receiver(settings: Any) -> Iterator[MessageReceiver]:
    """Webhooks and mail go nowhere else."""
    empty_cache()
    settings.EARNEST_MAIL, settings.DEFAULT_FROM_EMAIL = MAIL_KEPT, "earnest@example.org"
    settings.EARNEST_WEBHOOK_NETWORKS = (ip_network("127.0.0.1/32"),)
    with MessageReceiver() as server:
        Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()
        yield server
        server.shutdown()
