"""What Prolific calls a fair reward per hour: asked there, else the figures of its help pages."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256

from django.core.cache import cache
from redis.exceptions import RedisError

from listening.models import Connection, Recruitment
from listening.recruitment.connecting import client_of
from listening.recruitment.ledger import fee_share
from listening.recruitment.plan import FLOOR
from listening.recruitment.prolific import ProlificError

RECOMMENDED = {"GBP": 900, "USD": 1200}  # per hour, where Prolific cannot be asked
USUAL_FEE, USUAL_TAX = 1 / 3, 0.2  # Prolific's for universities, and the British tax on it
KEPT_S = 3600
NOT_ASKED_AGAIN_S = 60  # after Prolific did not answer: a page should not wait for it each time


@dataclass(frozen=True)
class HourlyRates:
    """In minor units per hour, of one currency."""

    minimum_minor: int
    recommended_minor: int
    is_prolifics: bool  # named by Prolific for this workspace and these filters


@dataclass(frozen=True)
class Fees:
    """What comes on top of rewards, as a share of them, and where the figure is from."""

    share: float
    words: str


def fees_for(connection: Connection | None) -> Fees:
    """As Prolific said for the last study recruited so, else what it asks of universities."""
    asked = Recruitment.objects.filter(connection=connection, expected_minor__isnull=False)
    last = asked.order_by("-pk").first() if connection else None
    share = float(fee_share(last)) if last else 0.0
    if last is not None and share > 0:
        return Fees(share, f"{share:.1%} fees and tax, as Prolific said for “{last.study.key}”")
    usual = USUAL_FEE * (1 + USUAL_TAX)
    words = (
        f"assumed: Prolific’s fee of {USUAL_FEE:.1%} for universities (companies pay 42.8%), and "
        f"{USUAL_TAX:.0%} tax on it as in the United Kingdom"
    )
    return Fees(usual, words)


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
