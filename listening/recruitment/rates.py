"""What Prolific calls a fair reward per hour: asked there, else the figures of its help pages."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256

from django.core.cache import cache
from redis.exceptions import RedisError

from listening.models import Connection
from listening.prolific import ProlificError
from listening.recruitment.connecting import client_of
from listening.recruitment.plan import FLOOR

RECOMMENDED = {"GBP": 900, "USD": 1200}  # per hour, where Prolific cannot be asked
KEPT_S = 3600
NOT_ASKED_AGAIN_S = 60  # after Prolific did not answer: a page should not wait for it each time


@dataclass(frozen=True)
class HourlyRates:
    """In minor units per hour, of one currency."""

    minimum_minor: int
    recommended_minor: int
    is_prolifics: bool  # named by Prolific for this workspace and these filters


def usual_rates(currency: str) -> HourlyRates:
    """The figures of Prolific's help pages, as known when this was written."""
    return HourlyRates(FLOOR.get(currency, 0), RECOMMENDED.get(currency, 0), is_prolifics=False)


def rates_of(connection: Connection, currency: str, filters: Iterable[str] = ()) -> HourlyRates:
    """Prolific's own for who passes these filters, kept for an hour; the usual ones without it.

    A minimum below the published one is not followed: that one is Prolific's rule for everybody.
    """
    names = sorted(filters)
    key = sha256(" ".join((connection.workspace, currency, *names)).encode()).hexdigest()
    name = f"prolific/rates/{connection.pk}/{key}"
    kept: list[int] | None = None
    with suppress(RedisError):
        kept = cache.get(name)
    if kept is None:
        kept = _asked(connection, currency, names)
        with suppress(RedisError):
            cache.set(name, kept, timeout=KEPT_S if kept else NOT_ASKED_AGAIN_S)
    usual = usual_rates(currency)
    if not kept:
        return usual
    minimum, recommended = kept
    return HourlyRates(max(minimum, usual.minimum_minor), recommended, is_prolifics=True)


def _asked(connection: Connection, currency: str, filters: list[str]) -> list[int]:
    """Minimum and recommendation; empty where Prolific does not say."""
    try:
        with client_of(connection) as prolific:
            rates = prolific.reward_rates(connection.workspace, currency, filters)
    except ProlificError:
        return []
    return [rates.minimum, max(rates.recommended, rates.minimum)]
