"""Chromium for the tests of pages: a real browser, its autoplay rules and its complaints."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from _pytest.runner import runtestprotocol
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

from tests.browser.fake import FakeServer, Handler, House
from tests.browser.forms import FormsHouse, Requirements, read
from tests.browser.recorder import WORKLET
from tests.browser.story import Story
from tests.browser.taken import take  # noqa: F401  (a fixture)
from tests.config.helpers import PATIENCE_S

# The shell is Chromium without its windows and menus: the same engine at half the cost.
CHROMIUM = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
ELSEWHERE = {"LANGUAGE": "en_US", "LC_ALL": "C.UTF-8", "TZ": "UTC"}  # whatever this machine speaks
PHONE = {
    "viewport": {"width": 390, "height": 844},
    "device_scale_factor": 2,
    "is_mobile": True,
    "has_touch": True,
}
EXPECTED = (  # what tests provoke, and Chromium writes into its console
    "net::ERR_",
    *(f"status of {status}" for status in (403, 404, 409, 410, 422, 429, 500, 503)),
)
expect.set_options(timeout=1000 * PATIENCE_S)


def launching() -> dict[str, Any]:
    """How Chromium is started here: with none of this machine's habits."""
    path = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if path is None:
        pytest.fail(f"no Chromium here: install the package {CHROMIUM[0]}", pytrace=False)
    return {"executable_path": path, "args": ARGUMENTS, "env": os.environ | ELSEWHERE}


def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """A test of Firefox whose Firefox hung runs a second time, in a new one."""
    if item.path.name != "test_firefox.py":
        return None
    from tests.browser.firefox import has_hung, repeated_after_a_hang

    def run() -> list[pytest.TestReport]:
        if hasattr(item, "funcargs"):
            item._initrequest()  # type: ignore[attr-defined]  # fixtures anew for a second run
        return runtestprotocol(item, log=False, nextitem=nextitem)

    def say(words: str) -> None:
        print(f"\n{item.nodeid}: {words}", file=sys.__stderr__, flush=True)

    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    for report in repeated_after_a_hang(run, has_hung, say):
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


@pytest.fixture(scope="session")
def chromium() -> Iterator[tuple[Browser, asyncio.AbstractEventLoop]]:
    """One Chromium for all browser tests of this process, and the loop that Playwright talks by.

    Playwright lets its loop run in this thread beside the tests. Other tests, which come between
    those with a browser, must not see it: they start loops of their own.
    """
    how = launching()
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(**how)
        loop = asyncio.get_running_loop()
        asyncio._set_running_loop(None)
        yield found, loop
        asyncio._set_running_loop(loop)
        found.close()


@pytest.fixture(scope="module")
def browser(chromium: tuple[Browser, asyncio.AbstractEventLoop]) -> Iterator[Browser]:
    found, loop = chromium
    asyncio._set_running_loop(loop)
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"  # Django's guard would refuse the database
    yield found
    del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]
    asyncio._set_running_loop(None)


@pytest.fixture
def serve() -> Iterator[Callable[[Story], FakeServer]]:
    """Starts a fake house for a story."""
    servers: list[FakeServer] = []

    def start(story: Story) -> FakeServer:
        server = FakeServer(House(story)).__enter__()
        servers.append(server)
        return server

    yield start
    for server in servers:
        server.__exit__()


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fake house also serves the recorder: it must come from the page's own address."""
    files = Handler.file

    def file(self: Handler, path: Path) -> None:
        if path.name == "tap.test.js":
            return self.send(200, WORKLET.encode(), "text/javascript")
        return files(self, path)

    monkeypatch.setattr(Handler, "file", file)


@pytest.fixture
def serve_forms() -> Iterator[Callable[..., FakeServer]]:
    """Starts a fake house that asks these questionnaires and checks."""
    servers: list[FakeServer] = []

    def start(toml: str = "", *checks: Requirements) -> FakeServer:
        house = FormsHouse(forms=read(toml) if toml else [], checks=list(checks))
        servers.append(FakeServer(house).__enter__())
        return servers[-1]

    yield start
    for server in servers:
        server.__exit__()


@pytest.fixture
def new_page(browser: Browser) -> Iterator[Callable[..., Page]]:
    """Opens pages; after the test, nothing unexpected may stand in their consoles."""
    contexts: list[BrowserContext] = []
    complaints: list[str] = []

    def listen(page: Page) -> None:
        page.on("pageerror", lambda error: complaints.append(f"error: {error}"))
        page.on(
            "console",
            lambda message: (
                complaints.append(message.text) if message.type in ("error", "warning") else None
            ),
        )
        page.on("dialog", lambda dialog: dialog.accept())

    def open_page(context: BrowserContext | None = None, **options: Any) -> Page:
        # Every browser of a person sends its language; a headless one only if it is told one.
        # What fades and turns is drawn in each frame: a third of the cost of a page.
        still = {"locale": "en-US", "reduced_motion": "reduce"}
        context = context or browser.new_context(**{**still, **options})
        if context not in contexts:
            contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(1000 * PATIENCE_S)
        listen(page)
        return page

    yield open_page
    for context in contexts:
        context.close()
    serious = [text for text in complaints if not any(part in text for part in EXPECTED)]
    assert serious == []
