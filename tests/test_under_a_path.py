"""Earnest below a path of a host: a crawl behind a proxy that passes nothing else on."""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from typing import Any
from urllib.parse import urljoin, urlsplit

import httpx
import pytest
from django.test import Client
from websockets.sync.client import connect

from config.incoming_requests import restore_prefix, without_prefix
from listening.common.addresses import public
from listening.common.asgi import Scope
from listening.models import Study
from tests.factories import make_study, make_user
from tests.listening.sounds import give_sound
from tests.listening.web import WebProcess
from tests.visitor import Visitor

HOST, PATH = "uni.example.org", "/earnest"
SITE = f"https://{HOST}{PATH}"
PASSWORD = "a long word of ada's own"
NAMED = re.compile(r'(?:href|src|action|data-[\w-]+)="((?:/|https?:)[^"#]*)')
IMPORTED = re.compile(r'from "([^"]+)"|import\("([^"]+)"\)|url\("?([^")]+)"?\)')


class Proxy(httpx.HTTPTransport):
    """What nginx does in front: it ends TLS, and passes on what lies below the path."""

    def __init__(self, port: int, *, takes_path_away: bool) -> None:
        super().__init__()
        self.port, self.takes_path_away = port, takes_path_away
        self.outside: list[str] = []

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        path = request.url.raw_path.decode()
        if request.url.host != HOST or not path.startswith(f"{PATH}/"):
            self.outside.append(str(request.url))
            return httpx.Response(404, request=request)
        if self.takes_path_away:
            path = path.removeprefix(PATH)
        headers = [*request.headers.raw, (b"x-forwarded-proto", b"https")]
        url = f"http://127.0.0.1:{self.port}{path}"
        inner = httpx.Request(request.method, url, headers=headers, stream=request.stream)
        return super().handle_request(inner)


@pytest.fixture(scope="module")
def below_path(django_db_setup: None) -> Iterator[WebProcess]:
    with WebProcess(EARNEST_PUBLIC_URL=SITE, EARNEST_TRUSTED_PROXIES="1") as running:
        yield running


MANNERS = {"path passed on": False, "path taken away": True}


@pytest.fixture(params=MANNERS.values(), ids=MANNERS)
def browser(below_path: WebProcess, request: pytest.FixtureRequest) -> Iterator[httpx.Client]:
    proxy = Proxy(below_path.port, takes_path_away=request.param)
    with httpx.Client(base_url=f"https://{HOST}", transport=proxy, timeout=60) as client:
        yield client
    assert proxy.outside == []


def log_in(browser: httpx.Client) -> str:
    """The cookie of a superuser's login, which a browser has for this path alone."""
    client = Client()
    client.force_login(make_user("ada", is_superuser=True, is_staff=True))
    key = client.cookies["sessionid"].value
    browser.cookies.set("__Secure-sessionid", key, domain=HOST, path=f"{PATH}/")
    return str(key)


def named_in(page: httpx.Response) -> set[str]:
    """Every address of this host in a page, script or style, without queries."""
    kind = page.headers.get("content-type", "").partition(";")[0]
    if kind == "text/html":
        found = [html.unescape(url) for url in NAMED.findall(page.text)]
    elif kind in ("text/javascript", "text/css"):
        found = ["".join(each) for each in IMPORTED.findall(page.text)]
        found = [url for url in found if url.startswith(("/", "."))]
    else:
        return set()
    whole = [urljoin(str(page.url), url).partition("?")[0] for url in found]
    return {url for url in whole if urlsplit(url).hostname == HOST}


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("browser", [False], indirect=True, ids=["path passed on"])
def test_every_address_of_every_page_lies_below_the_path(browser: httpx.Client):
    study = make_study(key="voices")
    give_sound(study)
    log_in(browser)
    todo, done = {f"{SITE}/", f"{SITE}/r/{study.link}/", f"{SITE}/login/"}, set[str]()
    while todo - done:
        url = sorted(todo - done)[0]
        done.add(url)
        page = browser.get(url)
        for _ in range(5):
            if not page.has_redirect_location:
                break
            assert page.headers["location"].startswith((f"{PATH}/", SITE)), url
            page = browser.get(page.headers["location"])
        assert page.status_code in (200, 400, 403, 404, 405), (url, page.text)
        for link in named_in(page):
            assert link.startswith(f"{SITE}/"), f"{url} names {link}"
        todo |= named_in(page)
        if page.status_code == 404:
            assert "/admin/" in url or "/ws/" in url or "-" in url, url
    assert {f"{SITE}/studies/voices/", f"{SITE}/account/"} <= done
    assert len(done) > 60


def post(browser: httpx.Client, path: str, **fields: str) -> str:
    """Sends a form as its page has it; the address that the answer leads to."""
    token = re.search(r'name="csrfmiddlewaretoken" value="([^"]+)"', browser.get(path).text)
    assert token, path
    page = browser.post(
        fields.pop("to", path),
        data={"csrfmiddlewaretoken": token[1], **fields},
        headers={"Origin": f"https://{HOST}", "Referer": f"https://{HOST}{path}"},
    )
    assert page.status_code == 302, (path, page.text)
    return str(page.headers["location"])


@pytest.mark.medium
@pytest.mark.django_db(transaction=True)
def test_forms_lead_on_below_the_path(browser: httpx.Client):
    owner = make_user("ada")
    owner.set_password(PASSWORD)
    owner.save()
    asked = browser.get(f"{PATH}/account/").headers["location"]
    assert asked == f"{PATH}/login/?next={PATH}/account/"
    assert post(browser, asked, username="ada", password=PASSWORD) == f"{PATH}/account/"
    assert "ada" in browser.get(f"{PATH}/account/").text
    draft = post(browser, f"{PATH}/new/", kind="mos")
    assert draft.startswith(f"{PATH}/drafts/")
    assert browser.get(draft).status_code == 200
    deleted = post(browser, draft, to=f"{draft}do/", do="delete")
    assert deleted == f"{PATH}/new/"
    key = make_study(key="voices").key
    Study.objects.update(owner=owner)
    manage = f"{PATH}/studies/{key}/manage/"
    assert post(browser, manage, to=f"{manage}do/", action="name", name="Voices") == manage
    assert post(browser, manage, to=f"{PATH}/logout/").startswith(f"{PATH}/")
    assert browser.get(f"{PATH}/account/").headers["location"].startswith(f"{PATH}/login/")


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_a_rater_takes_a_study_below_the_path(browser: httpx.Client):
    study = make_study(key="voices")
    give_sound(study)
    visitor = Visitor(SITE, study.link)
    visitor.client.close()
    origin = {"Origin": f"https://{HOST}"}
    proxy = browser._transport
    visitor.client = httpx.Client(base_url=SITE, transport=proxy, timeout=60, headers=origin)
    rater = visitor.client
    state = visitor.arrive()
    assert visitor.code
    while state["stage"] == "trial":
        for url in state["trials"][0]["clips"]:
            assert url.startswith(f"{PATH}/c/")
            assert rater.get(f"https://{HOST}{url}").headers["content-type"] == "audio/flac"
        state = visitor.answer(state).json()["state"]
    assert state["stage"] == "end"
    for page in visitor.seen:
        for name, value in page.headers:
            if name == "set-cookie":
                assert re.search(rf"; Path={PATH}/", value), value
                assert "__Host-" not in value
    rater.close()


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("path", [PATH, ""], ids=["path passed on", "path taken away"])
def test_the_monitor_is_live_below_the_path(below_path: WebProcess, path: str):
    make_study(key="voices")
    with httpx.Client() as client:
        key = log_in(client)
    cookie = {"Cookie": f"__Secure-sessionid={key}"}
    address = f"ws://127.0.0.1:{below_path.port}{path}/ws/studies/voices/"
    with connect(address, origin=f"https://{HOST}", additional_headers=cookie) as socket:
        assert "progress" in str(socket.recv(timeout=240))


def test_a_proxy_may_take_the_path_away(settings: Any):
    settings.EARNEST_PATH = PATH
    for given in ("/r/abc/", "/earnest/r/abc/"):
        scope: Scope = {"path": given}
        restore_prefix(scope)
        assert scope["path"] == "/earnest/r/abc/"
        assert without_prefix(scope["path"]) == "/r/abc/"
    assert without_prefix("/earnestly/") == "/earnestly/"


def test_the_fast_path_of_answers_is_taken_below_the_path(settings: Any):
    settings.EARNEST_PATH = PATH
    from config.web import answers

    assert answers.takes({"path": f"{PATH}/api/s/abc/answers/", "method": "POST"})
    assert not answers.takes({"path": f"{PATH}/api/s/abc/skips/", "method": "POST"})


def test_links_of_mails_and_recruiters_hold_the_path_once(settings: Any):
    settings.EARNEST_PUBLIC_URL = SITE
    assert public(f"{PATH}/r/abc/") == f"{SITE}/r/abc/"
