"""Valid bodies of every form and every JSON endpoint, each with something wrong: never a 500.

The forms are those that the pages show: a crawl fills each in as a browser would. A request is
rolled back, so that the next one finds the same studies, drafts and sessions.
"""

from __future__ import annotations

import json
import random
import shutil
import sys
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass, field
from html.parser import HTMLParser
from http import HTTPStatus
from typing import Any
from urllib.parse import quote, urlencode, urljoin, urlsplit

import pytest
from django.core.signals import got_request_exception
from django.db import transaction
from django.test import Client

from config import limits
from config.incoming_requests import is_in_utf_8
from config.operations import health
from listening.drafts import folder
from listening.models import Draft, Membership, Project, Session, Study
from tests.factories import arrive, current, make_study, make_user
from tests.listening.sample_questionnaire import about
from tests.rest.asking import token_of

pytestmark = pytest.mark.django_db
NASTY: tuple[str, ...] = (
    *("", " ", "\x00", "a\x00b", "\ud800", "\udfff\ud800", "\ufeff", "\u202e", "\u2028", "\x7f"),
    *("9" * 20, "9" * 400, "9" * 5_000, "-" + "9" * 5_000, "１" * 30, "²", "½", "٣", "Ⅷ", "1_0"),
    *("1e999", "-1e999", "1e-999", "NaN", "Infinity", "-0", "0x10", "1,5", "1.", ".5", "+5", "-1"),
    *("2147483648", "9223372036854775808", "32768", "0", "1", "3.14159265358979", "1" * 17 + ".0"),
    *("null", "None", "undefined", "true", "[]", "{}", "[[]]", '{"a": 1}', '"', "'", "%00", "\\"),
    *("2026-13-45", "0000-00-00", "9999-12-31", "10000-01-01", "2026-02-30T25:61:61+99:99"),
    *("../../etc/passwd", "/etc/passwd", "a/../b", "C:\\x", "con", "é" * 300, "x" * 70_000),
    *("😀" * 200, "İ", "ß" * 90, "a\r\nSet-Cookie: b=c", "a\tb", "a\nb", "{{7*7}}", "%s%n", "{0}"),
    *("<script>", "' OR 1=1 --", "=1+1", "＝1", "a@x@y", "a@b.c", "http://[", "https://a:99999/"),
)
OTHER_KINDS: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2**31, 2**63, 2**70, -(2**70), 1.5, 1e308, [], {}, [None], [[]]),
    *({"a": None}, {"": ""}, {"\x00": "\x00"}, ["\ud800"], "", "x"),
)
CHARSETS = ("utf-16", "utf-7", "nonsense", "latin-1", "idna", "punycode", "hex", "zlib")
FORM, MULTIPART = "application/x-www-form-urlencoded", "multipart/form-data"
JSON = "application/json"


@dataclass
class Sent:
    """A request that is meant: its fields, or its JSON."""

    path: str
    fields: list[tuple[str, str]] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)
    json: Any = None
    method: str = "POST"


class Forms(HTMLParser):
    """The forms and links of a page."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self.url, self.forms, self.links = url, list[Sent](), list[str]()
        self.by_id: dict[str, Sent] = {}
        self.form: Sent | None = None
        self.text: tuple[str, str] | None = None
        self.choice = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "a" and given.get("href", "").startswith(("/", "?")):
            self.links.append(urljoin(self.url, given["href"]).partition("#")[0])
        elif tag == "form":
            method = given.get("method", "get").upper()
            self.form = Sent(urljoin(self.url, given.get("action") or self.url), method=method)
            self.forms.append(self.form)
            self.by_id[given.get("id", "")] = self.form
        form = self.by_id.get(given["form"]) if "form" in given else self.form
        name = given.get("name", "")
        if form is None or not name:
            if tag == "option" and self.form and self.choice and self._is_new(self.choice):
                self.form.fields.append((self.choice, given.get("value", "")))
            return
        if tag == "select":
            self.choice = name
        elif tag == "textarea":
            self.text = (name, "")
        elif given.get("type") == "file":
            form.files[name] = b"key,title\na,A\n"
        elif tag in ("input", "button"):
            usual = {"number": "3", "email": "a@example.org", "url": "https://example.org/"}
            form.fields.append((name, given.get("value") or usual.get(given.get("type", ""), "x")))

    def _is_new(self, name: str) -> bool:
        return self.form is not None and all(name != known for known, _ in self.form.fields)

    def handle_data(self, data: str) -> None:
        if self.text:
            self.text = (self.text[0], self.text[1] + data)

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea" and self.text:
            if self.form:
                self.form.fields.append(self.text)
            self.text = None
        elif tag == "select":
            self.choice = ""
        elif tag == "form":
            self.form = None


def crawled(client: Client, starts: list[str], most: int) -> Iterator[Sent]:
    """Every form of the pages that links lead to, each address of a form once."""
    todo, done, known = list(starts), set[str](), set[tuple[str, frozenset[str]]]()
    while todo and len(done) < most:
        url = todo.pop(0)
        if url in done or "logout" in url:
            continue
        done.add(url)
        with transaction.atomic():
            answer = client.get(url)
            if answer.streaming:
                b"".join(answer.streaming_content)  # which closes it
            transaction.set_rollback(True)
        assert answer.status_code < 500, url
        if answer.status_code != 200 or not answer["Content-Type"].startswith("text/html"):
            continue
        page = Forms(url)
        page.feed(answer.content.decode())
        todo += [link for link in page.links if "?" not in link]
        for form in page.forms:
            do = {value for name, value in form.fields if name in ("do", "action")}
            mark = (urlsplit(form.path).path, frozenset({n for n, _ in form.fields} | do))
            if mark not in known:
                known.add(mark)
                yield form


class Mutations:
    """Breaks what was meant in one or a few places."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def value(self) -> Any:
        return self.random.choice(NASTY)

    def body(self, meant: Sent) -> tuple[str, bytes, str]:
        """The address, the body and its content type."""
        path = meant.path
        if self.random.random() < 0.15:
            mark = "&" if "?" in path else "?"
            name = self.random.choice([n for n, _ in meant.fields] or ["page"])
            path += f"{mark}{_escaped(name)}={_escaped(self.value())}"
        if self.random.random() < 0.05:
            path = path.rstrip("/") + "/" + _escaped(self.value()[:50]) + "/"
        if meant.json is not None:
            return path, self._cut(self._json(meant.json)), self._kind(JSON)
        fields = self._fields(meant.fields)
        if meant.files or self.random.random() < 0.3:
            return path, self._cut(self._parts(fields, meant.files)), self._multipart()
        return path, self._cut(_urlencoded(fields)), self._kind(FORM)

    def _fields(self, meant: list[tuple[str, str]]) -> list[tuple[str, Any]]:
        fields: list[tuple[str, Any]] = list(meant)
        for _ in range(self.random.choice((0, 1, 1, 1, 2, 3))):
            if not fields:
                break
            at, way = self.random.randrange(len(fields)), self.random.random()
            if way < 0.75:
                fields[at] = (fields[at][0], self.value())
            elif way < 0.85:
                del fields[at]
            elif way < 0.95:
                fields.append((fields[at][0], self.value()))
            else:
                fields[at] = (self.value(), fields[at][1])
        return fields

    def _json(self, meant: Any) -> bytes:
        value = deepcopy(meant)
        for _ in range(self.random.choice((0, 1, 1, 2))):
            value = self._changed(value)
        text = json.dumps(value)
        way = self.random.random()
        if way < 0.05:
            text = text.replace(":", ": 1e999, " + '"x":', 1)
        elif way < 0.1:
            text = text.replace("{", '{"trial": "a", "trial": "b", ', 1)
        elif way < 0.13:
            text = text.replace(":", ":" + "[" * 3_000, 1)
        elif way < 0.16:
            text = text.replace(":", ": " + "9" * 5_000 + ', "y":', 1)
        elif way < 0.18:
            text = "NaN"
        return text.encode()

    def _changed(self, value: Any) -> Any:
        """A value with one place in it changed, at any depth."""
        if isinstance(value, dict) and value and self.random.random() < 0.9:
            name, way = self.random.choice(list(value)), self.random.random()
            if way < 0.8:
                value[name] = self._changed(value[name])
            elif way < 0.9:
                del value[name]
            else:
                value[self.value()] = value[name]
            return value
        if isinstance(value, list) and value and self.random.random() < 0.8:
            at = self.random.randrange(len(value))
            value[at] = self._changed(value[at])
            return value
        # a copy: a list that stands in two places could come to hold itself, which is no JSON
        other = deepcopy(self.random.choice(OTHER_KINDS))
        return other if self.random.random() < 0.4 else self.value()

    def _parts(self, fields: list[tuple[str, Any]], files: dict[str, bytes]) -> bytes:
        out = b""
        for name, value in fields:
            head = f'--b\r\nContent-Disposition: form-data; name="{name}"\r\n\r\n{value}\r\n'
            out += head.encode("utf-8", "surrogatepass")
        for name, content in files.items():
            title = self.value() if self.random.random() < 0.5 else "file.csv"
            data = self.value().encode("utf-8", "surrogatepass")
            data = data if self.random.random() < 0.5 else content
            head = f'--b\r\nContent-Disposition: form-data; name="{name}"; filename="{title}"\r\n'
            kind = self.random.choice(("text/csv", "text/csv; charset=nonsense", "\x00"))
            head += f"Content-Type: {kind}\r\n"
            if self.random.random() < 0.1:
                head += "Content-Transfer-Encoding: base64\r\n"
            out += head.encode("utf-8", "surrogatepass") + b"\r\n" + data + b"\r\n"
        return out + b"--b--\r\n"

    def _multipart(self) -> str:
        boundary = self.random.choice(["b"] * 8 + ["", "c", "b" * 300, "é", "\x00"])
        kind = f"{MULTIPART}; boundary={boundary}" if boundary else MULTIPART
        return self._kind(kind)

    def _kind(self, kind: str) -> str:
        if self.random.random() < 0.05:
            return f"{kind}; charset={self.random.choice(CHARSETS)}"
        odd = self.random.random() < 0.03
        return self.random.choice(("", "\x00", "text/plain")) if odd else kind

    def _cut(self, body: bytes) -> bytes:
        way = self.random.random()
        if way < 0.03:
            return body[: self.random.randint(0, len(body))]
        if way < 0.06 and body:
            at = self.random.randrange(len(body))
            return body[:at] + self.random.choice((b"\x00", b"\xff", b"%", b"%00")) + body[at + 1 :]
        return body


def _urlencoded(fields: list[tuple[str, Any]]) -> bytes:
    return urlencode([(_raw(name), _raw(value)) for name, value in fields]).encode()


def _raw(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _escaped(text: str) -> str:
    return quote(_raw(text), safe="")


@dataclass
class World:
    """What requests are sent to: by whom, and what a valid one is at this moment."""

    clients: dict[str, Client]
    owner: Any
    sessions: list[Session]
    draft: Draft
    forms: list[Sent] = field(default_factory=list)

    def endpoints(self) -> list[Sent]:
        """Every endpoint that takes JSON; the bodies name what there is now."""
        draft = self.draft.code
        fresh, asked, ready = self.sessions

        def rater(session: Session, door: str, body: Any) -> Sent:
            return Sent(f"/api/s/{session.code}/{door}/", json=body)

        trial = current(ready)
        code, reason = trial.code if trial else "x", {"text": "flat", "keystrokes": 4}
        answer = {"trial": code, "answers": {"0": "4"}, "latency_ms": 900, "plays": 1}
        answer |= {"heard_fraction": 1.0, "justification": reason}
        answer |= {"playback": {"stalls": 0, "heard_s": [1.5], "mixer": ""}}
        said = {"age": "35-44", "hours": 2, "where": "home", "words": "none"}
        save = {"revision": 1, "changes": {"study.title": "A title"}, "over": ["study.title"]}
        sent = {
            "study": {"study": {"key": "fuzz", "title": "T"}, "tasks": [{"method": "mos"}]},
            "stimuli": [{"stimulus": "a", "condition": "b", "item": "c", "file": "a.wav"}],
            "files": {"a.wav": "UklGRg=="},
        }
        v1 = "/api/v1/"
        key = fresh.study.key
        return [
            *[rater(ready, "answers", answer)] * 3,
            rater(ready, "skips", {"trial": code, "reason": "load", "playback": {"stalls": 1}}),
            rater(fresh, "checks", {"key": "volume", "answer": {"comfortable": True}}),
            rater(asked, "questionnaires", {"key": "about", "answers": said}),
            rater(ready, "comments", {"text": "fine"}),
            rater(ready, "withdraw", {"confirm": True}),
            *[Sent(f"/drafts/{draft}/save/", json=save)] * 3,
            Sent(f"/drafts/{draft}/upload/?path=a.wav&size=4&offset=0", json="RIFF"),
            Sent(f"{v1}studies", json=sent),
            Sent(f"{v1}validations", json=sent),
            Sent(f"{v1}studies/{key}", json={"name": "n", "tags": ["a"]}, method="PATCH"),
            Sent(f"{v1}studies/{key}/state", json={"state": "paused"}),
            Sent(f"{v1}studies/{key}/copies", json={"key": "copy"}),
            Sent(f"{v1}studies/{key}/decisions", json={"sessions": ["s1"], "accept": True}),
            Sent(f"{v1}studies/{key}/metrics/runs", json={"preset": "fast"}),
            Sent(f"{v1}studies/{key}/results/runs", json={"options": {"seed": 1}}),
            Sent(f"{v1}webhooks", json={"url": "https://example.org/", "events": ["full"]}),
        ]


def world() -> World:
    owner = make_user("researcher", is_staff=True)
    study = make_study(
        key="voices",
        items=20,
        texts={"consent": "I agree."},
        checks=[{"key": "volume"}],
        sources=[{"key": "panel", "kind": "panel"}],
    )
    asks, plain = make_study(questionnaires=[about()]), make_study(key="plain")
    project = Project.objects.create(name="Ours")
    Membership.objects.create(project=project, user=owner, role="owner")
    Study.objects.filter(pk=make_study(key="draft-study", items=4).pk).update(state="draft")
    draft = folder.begin(owner, "mos")
    api = Client(
        raise_request_exception=False, headers={"Authorization": f"Bearer {token_of('researcher')}"}
    )
    clients = {"api": api}
    for name in ("stranger", "researcher"):
        clients[name] = Client(raise_request_exception=False)
    clients["researcher"].force_login(owner)
    made = World(clients, owner, [arrive(study), arrive(asks), arrive(plain)], draft)
    starts = [f"/r/{study.link}/", "/login/", "/password/lost/", "/new/", "/account/", "/planning/"]
    starts += [f"/drafts/{draft.code}/{page}" for page in ("", "questions/", "raters/", "review/")]
    starts += [f"/studies/voices/{page}/" for page in ("manage", "raters", "reviews", "recruiting")]
    starts += ["/studies/voices/invitations/panel/", f"/projects/{project.pk}/", "/messages/"]
    starts += ["/studies/voices/", "/studies/draft-study/", "/studies/voices/metrics/"]
    starts += ["/studies/voices/results/", "/leaderboards/", "/account/tokens/", "/prolific/"]
    made.forms = list(crawled(clients["stranger"], starts[:3], 3))
    made.forms += crawled(clients["researcher"], starts, 60)
    return made


def send(client: Client, meant: Sent, mutations: Mutations) -> int:
    path, body, kind = mutations.body(meant)
    address, _, query = path.partition("?")
    method = meant.method if mutations.random.random() < 0.98 else "PUT"
    if not is_in_utf_8(kind):  # refused before Django, whose handler this client calls
        return HTTPStatus.UNSUPPORTED_MEDIA_TYPE
    with transaction.atomic():
        answer = client.generic(
            method,
            address,
            b"" if method == "GET" else body,
            content_type=kind,
            QUERY_STRING=query or (body.decode("latin-1") if method == "GET" else ""),
        )
        if answer.streaming:
            b"".join(answer.streaming_content)
        transaction.set_rollback(True)
    return answer.status_code


class Causes(Counter[str]):
    """Errors of ours by their type and the line that raised them, with a request that has each."""

    def note(self, error: BaseException, meant: Sent) -> None:
        lines = traceback.extract_tb(error.__traceback__)
        own = [line for line in lines if "site-packages" not in line.filename] or lines
        place = f"{own[-1].filename.rpartition('/')[2]}:{own[-1].lineno}"
        self[f"{type(error).__name__} at {place}, {meant.method} {meant.path[:80]}"] += 1


SOAK = [pytest.param(2_500, seed, marks=pytest.mark.soak) for seed in range(1, 41)]


@pytest.mark.parametrize(("requests", "seed"), [(120, 200), *SOAK])
@pytest.mark.slow
def test_no_form_and_no_json_with_something_wrong_in_it_ends_in_an_error(
    requests, seed, monkeypatch
):
    monkeypatch.setattr(limits, "LIMITS", ())
    monkeypatch.setattr(health, "LOOKS", {})
    made, mutations = world(), Mutations(seed)
    place = folder.place_of(made.draft)
    kept = place.with_name(f"{made.draft.code}-kept")
    shutil.copytree(place, kept)
    endpoints = made.endpoints()
    assert len(made.forms) > 40
    statuses: Counter[int] = Counter()
    failed = Causes()
    slowest: dict[str, float] = {}
    raised: list[BaseException] = []

    def hear(**_: Any) -> None:
        raised.append(sys.exc_info()[1] or RuntimeError())

    got_request_exception.connect(hear)
    for number in range(requests):
        form = mutations.random.random() < 0.6
        meant = mutations.random.choice(made.forms if form else endpoints)
        who = "api" if meant.path.startswith("/api/v1/") else "researcher"
        if mutations.random.random() < 0.1:
            who = "stranger"
        if number % 10 == 0:
            made.clients["researcher"].force_login(made.owner)  # it may have found the way out
        raised.clear()
        began = time.thread_time()
        try:
            status = send(made.clients[who], meant, mutations)
        except Exception as error:  # past Django's own handler
            raised.append(error)
            status = 500
        spent = time.thread_time() - began
        if spent > slowest.get(meant.path, 0):
            slowest[meant.path] = spent
        statuses[status] += 1
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            failed.note(raised[-1] if raised else RuntimeError(str(status)), meant)
        if meant.path.startswith("/drafts/"):
            shutil.rmtree(place, ignore_errors=True)
            shutil.copytree(kept, place)
    got_request_exception.disconnect(hear)
    most = sorted(slowest.items(), key=lambda path: -path[1])[:5]
    print(dict(sorted(statuses.items())), *most, *failed.items(), sep="\n")
    shutil.rmtree(kept)
    assert failed == {}
    assert {200, 302, 400, 404, 422} <= statuses.keys()  # it got as far as the views
