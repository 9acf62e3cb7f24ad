"""Chromium for the tests of pages: a real browser, its autoplay rules and its complaints."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from tests.browser.fake import FakeServer, House
from tests.browser.forms import Asked, FormsHouse, read
from tests.browser.story import Story

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


@pytest.fixture(scope="module")  # Playwright's event loop must not outlive the browser tests
def browser() -> Iterator[Browser]:
    path = (
        shutil.which("chromium")
        or shutil.which("chromium-browser")
        or shutil.which("google-chrome")
    )
    if path is None:
        pytest.fail("no Chromium on this machine: install the package chromium", pytrace=False)
    with sync_playwright() as playwright:
        # Playwright keeps an event loop in this thread; Django's guard would refuse the database.
        os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "1"
        found = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield found
        found.close()
        del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]


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
def serve_forms() -> Iterator[Callable[..., FakeServer]]:
    """Starts a fake house that asks these questionnaires and checks."""
    servers: list[FakeServer] = []

    def start(toml: str = "", *checks: Asked) -> FakeServer:
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
        context = context or browser.new_context(**options)
        if context not in contexts:
            contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(8_000)
        listen(page)
        return page

    yield open_page
    for context in contexts:
        context.close()
    serious = [text for text in complaints if not any(part in text for part in EXPECTED)]
    assert serious == []
