"""A double of Prolific for a module, healed after each test; the settings point to it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.prolific_double.client import Double


@pytest.fixture(scope="module")
def running() -> Iterator[Double]:
    with Double.running() as double:
        yield double


@pytest.fixture
def double(running: Double, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Double]:
    settings.EARNEST_PROLIFIC_API = running.url
    monkeypatch.setattr("listening.prolific.client.FIRST_PAUSE_S", 0.01)
    everything = {"fixed_screen_out": True, "secure_links": True, "dynamic_payment": True}
    running.set(balance=100_000_00, features=everything)
    yield running
    running.heal()
