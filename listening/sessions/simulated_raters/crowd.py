"""Many scripted raters at once: who comes, how many at a time, and what they report together."""

from __future__ import annotations

import asyncio
import ssl
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

from listening.sessions.simulated_raters.opinions import Opinions, Truth
from listening.sessions.simulated_raters.scripted_rater import Kind, Known, Report, ScriptedRater


@dataclass(frozen=True)
class Shares:
    """The part of the crowd that is of each kind; all others are careful."""

    careless: float = 0.10
    leaver: float = 0.10
    returner: float = 0.05
    double: float = 0.05
    withdrawer: float = 0.02
    agent: float = 0.0

    def by_kind(self) -> dict[Kind, float]:
        return {
            Kind.CARELESS: self.careless,
            Kind.LEAVER: self.leaver,
            Kind.RETURNER: self.returner,
            Kind.DOUBLE: self.double,
            Kind.WITHDRAWER: self.withdrawer,
            Kind.AGENT: self.agent,
        }


def planned_kinds(raters: int, shares: Shares, seed: int) -> list[Kind]:
    """The kind of each rater: the shares rounded to whole raters, in an order given by the seed."""
    kinds = [kind for kind, share in shares.by_kind().items() for _ in range(round(raters * share))]
    if min(shares.by_kind().values()) < 0 or len(kinds) > raters:
        raise ValueError("the shares must be at least 0 and add up to at most 1")
    kinds += [Kind.CAREFUL] * (raters - len(kinds))
    Random(f"{seed}/kinds").shuffle(kinds)
    return kinds


@dataclass
class Summary:
    """The reports of a whole crowd, counted."""

    reports: Sequence[Report]
    seconds: float = 0.0
    trouble: Counter[str] = field(default_factory=Counter)
    refused: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        for report in self.reports:
            self.trouble.update(report.trouble)
            self.refused.update(report.refused)

    @property
    def acknowledged(self) -> set[str]:
        """Codes of all trials whose answer the server said it has stored."""
        return {code for report in self.reports for code in report.acknowledged}

    @property
    def withdrawn(self) -> set[str]:
        """Those of raters who withdrew afterwards: their answers are deleted, as promised."""
        gone = [r.acknowledged for r in self.reports if r.end == "withdrawn"]
        return {code for codes in gone for code in codes}

    @property
    def ends(self) -> dict[Kind, Counter[str]]:
        table: dict[Kind, Counter[str]] = {}
        for report in self.reports:
            table.setdefault(report.kind, Counter())[report.end] += 1
        return table

    @property
    def failures(self) -> Counter[str]:
        return Counter(report.why for report in self.reports if report.end == "failed")


async def send_crowd(
    base_url: str,
    landing: str,
    known: Known,
    truth: Truth,
    kinds: Sequence[Kind],
    *,
    concurrency: int = 16,
    tls: ssl.SSLContext | bool = True,
) -> Summary:
    """Every rater takes the study once; at most `concurrency` of them at the same time."""
    places = asyncio.Semaphore(concurrency)
    began = time.monotonic()

    async def one(number: int, kind: Kind) -> Report:
        async with places:
            rater = ScriptedRater(base_url, landing, known, Opinions(truth, number), kind, tls=tls)
            return await rater.take()

    reports = await asyncio.gather(*(one(n, kind) for n, kind in enumerate(kinds)))
    return Summary(reports, seconds=time.monotonic() - began)
