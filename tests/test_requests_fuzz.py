"""Requests at random, to every address: refused or answered, never an error of ours."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from http import HTTPStatus
from typing import Any

import pytest
from django.db import transaction
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from analysis.models import AnalysisRun
from config import limits
from config.operations import health
from listening.models import Session, Study
from listening.sessions.lifecycle import NoRoom
from metrics.models import ScoringRun
from tests.factories import arrive, current, make_study, make_user

pytestmark = pytest.mark.django_db
METHODS = ("GET", "POST", "HEAD", "OPTIONS", "PUT", "PATCH", "DELETE", "TRACE", "PROPFIND")
WEIGHTS = (40, 40, 3, 3, 3, 3, 3, 3, 2)
ODD = (
    *(
        "",
        "0",
        "-1",
        "1e309",
        "NaN",
        "null",
        "true",
        "\x00",
        "a\x00b",
        "\ud800",
        "\u202e",
        "é" * 300,
    ),
    *(
        "' OR 1=1 --",
        "{{7*7}}",
        "%s%n",
        "../../etc/passwd",
        "<script>",
        "x" * 5000,
        "\r\nSet-Cookie: a=b",
    ),
    *("2026-13-45", "99999999999999999999", "١٢", "[]", "{}", "a,b", "on", "yes", " "),
)
KINDS = (
    "application/json",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=b",
    "multipart/form-data",
    "multipart/form-data; boundary=" + "b" * 300,
    "text/plain; charset=nonsense",
    "application/json; charset=utf-16",
    "audio/wav",
    "",
    "\x00",
)
HEADERS = (
    *(
        "X-Forwarded-For",
        "Accept-Language",
        "Accept",
        "Range",
        "If-None-Match",
        "If-Modified-Since",
    ),
    *("Origin", "Referer", "Cookie", "Content-Encoding", "X-Request-Id", "Authorization", "Host"),
)


def patterns_of(resolver: URLResolver) -> Iterator[list[Any]]:
    """Each address as its parts: text, and in between the converters of its parameters."""
    for each in resolver.url_patterns:
        if isinstance(each, URLResolver):
            for rest in patterns_of(each):
                yield [each.pattern, *rest]
        elif isinstance(each, URLPattern):
            yield [each.pattern]


class Fuzz:
    """Draws requests: mostly nearly right ones, which get further than noise does."""

    def __init__(self, seed: int, study: Study, runs: list[int]) -> None:
        self.random = random.Random(seed)
        self.study, self.runs = study, runs
        self.sessions: list[Session] = []
        routes = list(patterns_of(get_resolver()))
        admin = [route for route in routes if str(route[0]) == "admin/"]
        doors = [r for r in routes if str(r[-1]).startswith(("api/", "r/", "s/", "k/", "login"))]
        self.routes = [r for r in routes if r not in admin] + admin[::20]
        self.routes += doors * (len(self.routes) // len(doors))  # every second request

    def value(self, name: str = "") -> str:
        pick = self.random
        session = pick.choice(self.sessions)
        known = {
            "code": [session.code],
            "link": [self.study.link],
            "key": [self.study.key],
            "pk": [str(run) for run in self.runs],
            "token": ["A" * 72, "A" * 76],
            "app_label": ["listening", "analysis", "auth"],
            "object_id": [str(session.pk), "1"],
        }.get(name, [self.study.key, session.code, "mos", "1"])
        return pick.choice(known) if pick.random() < 0.75 else pick.choice(ODD)

    def address(self) -> str:
        parts = []
        for pattern in self.random.choice(self.routes):
            text = str(pattern)
            for name, converter in pattern.converters.items():
                kind = type(converter).__name__.removesuffix("Converter").lower()
                value = self.value(name).replace("#", "").replace("?", "") or "x"
                text = text.replace(f"<{kind}:{name}>", value).replace(f"<{name}>", value)
            parts.append(text.replace("^", "").replace("$", "").replace("\\Z", ""))
        path = "/" + "".join(parts)
        return path if self.random.random() < 0.9 else path + self.random.choice(ODD)[:50]

    def json_value(self, depth: int = 0) -> Any:
        pick = self.random.random()
        if pick < 0.2 and depth < 3:
            return {
                self.value(): self.json_value(depth + 1) for _ in range(self.random.randint(0, 4))
            }
        if pick < 0.35 and depth < 3:
            return [self.json_value(depth + 1) for _ in range(self.random.randint(0, 4))]
        return self.random.choice([None, True, -1, 0, 2**70, 1.5, 1e308, *ODD])

    def body(self) -> tuple[bytes, str]:
        session = self.random.choice(self.sessions)
        kind = self.random.choice(KINDS)
        open_trial = current(session) if session.status == "started" else None
        right: dict[str, Any] = {
            "trial": open_trial.code if open_trial else "x",
            "answers": {"0": "1"},
            "latency_ms": 900,
            "plays": 1,
            "heard_fraction": 1.0,
            "playback": {"stalls": 0},
            "text": "some words",
            "key": "volume",
            "reason": "load",
            "confirm": self.random.random() < 0.05,
            "consent": "yes",
            "username": "researcher",
            "password": "x",
        }
        for name in self.random.sample(sorted(right), self.random.randint(0, 4)):
            right[name] = self.json_value()
        way = self.random.random()
        if way < 0.5:
            body = json.dumps(right).encode("utf-8", "surrogatepass")
            kind = kind if self.random.random() < 0.2 else KINDS[0]
        elif way < 0.7:
            pairs = (f"{name}={value}" for name, value in right.items())
            body = "&".join(pairs).encode("utf-8", "surrogatepass")
            kind = kind if self.random.random() < 0.2 else KINDS[1]
        elif way < 0.9:
            name, file = self.value(), self.value()
            body = (
                f'--b\r\nContent-Disposition: form-data; name="{name}"; filename="{file}"\r\n'
                f"Content-Type: {self.random.choice(KINDS)}\r\n\r\n{self.value()}\r\n--b--\r\n"
            ).encode("utf-8", "surrogatepass")
            kind = KINDS[2]
        else:
            body = self.random.randbytes(self.random.randint(0, 200))
        if self.random.random() < 0.1:
            body = body[: self.random.randint(0, len(body))]
        return body, kind

    def header(self) -> dict[str, str]:
        names = self.random.sample(HEADERS, self.random.choice((0, 0, 0, 1, 2)))
        texts = {name: self.value().replace("\r\n", " ") for name in names}
        return {n: t.encode("utf-8", "replace").decode("latin-1") for n, t in texts.items()}

    def request(self, client: Client) -> tuple[str, str, int]:
        method = self.random.choices(METHODS, WEIGHTS)[0]
        path, (body, kind) = self.address(), self.body()
        query = "&".join(
            f"{self.value()}={self.value()}" for _ in range(self.random.choice((0, 0, 1, 3)))
        )
        with transaction.atomic():
            response = client.generic(
                method,
                path.encode("utf-8", "replace").decode(),
                body if method not in ("GET", "HEAD") else b"",
                content_type=kind,
                headers=self.header(),
                QUERY_STRING=query.encode("utf-8", "replace").decode("latin-1"),
            )
            if response.streaming:
                b"".join(response.streaming_content)  # what fails while it is sent fails too
        return method, path, response.status_code


@pytest.mark.parametrize("requests", [300, pytest.param(100_000, marks=pytest.mark.soak)])
@pytest.mark.medium
def test_no_request_ends_in_an_error_of_ours(requests, monkeypatch, caplog):
    monkeypatch.setattr(limits, "LIMITS", ())  # else most would be sent away unread
    monkeypatch.setattr(health, "LOOKS", {})  # it looks from a thread of its own
    study = make_study(items=60, texts={"consent": "I agree."})
    owner = make_user("operator", is_superuser=True, is_staff=True)
    runs = [AnalysisRun.objects.create(study=study, estimator="mean_score", version="1").pk]
    runs.append(ScoringRun.objects.create(study=study, metrics=[]).pk)
    stranger, researcher = (
        Client(raise_request_exception=False),
        Client(raise_request_exception=False),
    )
    researcher.force_login(owner)
    fuzz = Fuzz(requests, study, runs)
    statuses: Counter[int] = Counter()
    failed = []
    for number in range(requests):
        client = researcher if number % 2 else stranger
        if number % 200 == 0:
            with suppress(NoRoom):  # full: the last ones go on
                fuzz.sessions = [arrive(study), arrive(study)]  # others may have withdrawn
        if number % 20 == 1:
            researcher.force_login(owner)  # it may have found the way out
        method, path, status = fuzz.request(client)
        statuses[status] += 1
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            failed.append((status, method, path[:120]))
    print(dict(sorted(statuses.items())))
    assert failed == []
    reached = {200, 302, 400, 404, 405}  # it got as far as the views
    if requests > 10_000:  # a few hundred need not hold an answer that is only partly wrong
        reached |= {422}
    assert reached <= statuses.keys()
