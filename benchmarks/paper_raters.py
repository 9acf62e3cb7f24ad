"""Scripted raters without a network: the same views and functions, in processes of the bench.

They load no clips: making a clip's appearance is the greatest part of what a rater costs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Coroutine, Mapping
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any
from urllib.parse import urlencode

from listening.sessions.simulated_raters import Kind, Truth, drawn_qualities
from listening.sessions.simulated_raters.browser import Form, Page, read_page
from listening.sessions.simulated_raters.knowledge import rater_knowledge, roles_of
from listening.sessions.simulated_raters.opinions import Opinions
from listening.sessions.simulated_raters.scripted_rater import Report, ScriptedRater

AT_ONCE = 3


class NoNetwork:
    """The browser of `listening.sessions.simulated_raters`, over Django's test client."""

    def __init__(self, trouble: Counter[str]) -> None:
        from django.test import Client

        self.client, self.trouble = Client(headers={"accept-language": "en"}), trouble

    async def page(self, url: str) -> Page:
        return self._read(url, self.client.get(url, follow=True))

    async def submit(self, page: Page, form: Form, changes: Mapping[str, str]) -> Page:
        where = form.action or page.url
        data = {**form.fields, **changes}
        return self._read(where, self.client.post(where, data, follow=True))

    async def clip(self, url: str) -> bytes:
        return b""

    async def post_json(self, url: str, body: Mapping[str, Any]) -> tuple[int, dict[str, Any]]:
        reply = self.client.post(url, body, content_type="application/json")
        return reply.status_code, reply.json()

    def _read(self, url: str, reply: Any) -> Page:
        chain = reply.redirect_chain
        return read_page(chain[-1][0] if chain else url, reply.status_code, reply.content.decode())

    async def close(self) -> None:
        return


class DirectRater(ScriptedRater):
    """A scripted rater of the house itself."""

    def _new_browser(self) -> Any:
        return NoNetwork(self.report.trouble)


def finished(work: Coroutine[Any, Any, Report]) -> Report:
    """What a coroutine gives back that never has to wait."""
    try:
        work.send(None)
    except StopIteration as end:
        report: Report = end.value
        return report
    raise RuntimeError("a direct rater waited for something")


def send_directly(key: str, first: int, count: int, careless: float) -> Counter[str]:
    """Raters with the numbers from `first` on, three at a time; what became of them."""
    from django.db import connections

    connections.close_all()  # no two processes share one
    ends: Counter[str] = Counter()
    with ProcessPoolExecutor(AT_ONCE, get_context("fork")) as pool:
        parts = [range(first + n, first + count, AT_ONCE) for n in range(AT_ONCE)]
        given = ([key] * AT_ONCE, parts, [careless] * AT_ONCE)
        for each in pool.map(one_after_the_other, *given):
            ends.update(each)
    return ends


def one_after_the_other(key: str, numbers: range, careless: float, seed: int = 1) -> Counter[str]:
    from django.core import signing
    from django.urls import reverse

    from listening.models import Study

    study = Study.objects.get(key=key)
    known = rater_knowledge(study)
    truth = Truth(seed, drawn_qualities(roles_of(study), seed))
    token = signing.dumps(study.key, salt="simulate")
    landing = f"{reverse('landing', args=[study.link])}?{urlencode({'simulate': token})}"
    every = round(1 / careless)
    ends: Counter[str] = Counter()
    for number in numbers:
        kind = Kind.CARELESS if number % every == every - 1 else Kind.CAREFUL
        rater = DirectRater("", landing, known, Opinions(truth, number), kind)
        report = finished(rater.take())
        ends[f"{report.end} {report.why}".strip()] += 1
        ends.update({f"refused: {why}": n for why, n in report.refused.items()})
    return ends
