"""A researcher in Chromium: previews of methods are heard from start to end, nothing is sent."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.contrib.sessions.models import Session as LogIn
from django.test import Client
from playwright.sync_api import BrowserContext, Page, expect

from listening.models import Session
from tests.browser.conftest import PHONE
from tests.config.helpers import PATIENCE_S
from tests.factories import make_user
from tests.listening.web import WebProcess

ROBOT = (Path(__file__).parent / "robot.js").read_text(encoding="utf-8")
AT_ONCE = 3  # pages that are walked at the same time
# One of each screen, the slowest first: every method is walked in test_presets.py.
WALKED = ("mushra", "context_mos", "free_choice", "closed_response")
SMALL = {"width": 600, "height": 800}
EARS = """
window.__played = 0;
const play = HTMLMediaElement.prototype.play;
HTMLMediaElement.prototype.play = function () { window.__played += 1; return play.call(this); };
const start = AudioBufferSourceNode.prototype.start;
AudioBufferSourceNode.prototype.start = function (...all) {
  window.__played += 1;
  return start.apply(this, all);
};
"""


@pytest.fixture
def cookie(web: WebProcess, transactional_db: None) -> dict[str, Any]:
    """A researcher's log-in for the browser."""
    client = Client()
    client.force_login(make_user("ada"))
    name = "sessionid"
    return {"name": name, "value": client.cookies[name].value, "url": web.url}


@pytest.fixture
def open_page(
    cookie: dict[str, Any], new_page: Callable[..., Page], browser: Any
) -> Iterator[Callable[..., Page]]:
    """Pages of one logged-in researcher; every request that is no GET fails the test."""
    sent: list[str] = []
    contexts: list[BrowserContext] = []

    def opened(**options: Any) -> Page:
        context = browser.new_context(**{"reduced_motion": "reduce", **options})
        contexts.append(context)
        context.add_cookies([cookie])
        context.add_init_script(EARS)
        page = new_page(context)
        page.on(
            "request",
            lambda request: (
                sent.append(f"{request.method} {request.url}")
                if request.method != "GET" or "/api/" in urlsplit(request.url).path
                else None
            ),
        )
        return page

    yield opened
    assert sent == []
    assert not Session.objects.exists()
    assert LogIn.objects.count() <= 1


def begun(page: Page, url: str) -> Page:
    """The first trial is on the screen, and the robot is at it."""
    page.goto(url)
    expect(page.get_by_text("Preview: nothing is stored")).to_be_visible()
    page.get_by_role("button", name="Begin").click()  # a real one: browsers want it before sound
    page.evaluate(ROBOT)
    return page


def check_end(page: Page) -> None:
    """The robot came to the end, sounds were played for it, and nothing stays in the browser."""
    expect(page.get_by_text("This was a preview: nothing was stored.")).to_be_visible()
    trials = page.evaluate("JSON.parse(document.getElementById('state').textContent)")
    count = len(trials["preview_trials"])
    assert page.evaluate("window.__played") >= count
    assert page.evaluate("localStorage.length") == 0
    progress = page.locator("#progress").evaluate("bar => [bar.value, bar.max]")
    assert progress == [count, count]


def test_methods_are_heard_and_answered_to_their_end(
    web: WebProcess, open_page: Callable[..., Page]
) -> None:
    waiting = list(WALKED)
    walked: dict[str, Page] = {}
    done: list[str] = []
    seen: dict[str, str] = {}
    patience = time.monotonic() + PATIENCE_S
    while waiting or walked:
        while waiting and len(walked) < AT_ONCE:
            url = f"{web.url}/preview/examples/gallery/?task={waiting[0]}"
            walked[waiting.pop(0)] = begun(open_page(viewport=SMALL), url)
        next(iter(walked.values())).wait_for_timeout(250)
        for key, page in list(walked.items()):
            if page.locator(".view-end").count():
                check_end(page)
                done.append(key)
                walked.pop(key).close()
        shown = {key: page.locator("#stage").inner_text() for key, page in walked.items()}
        if shown != seen:
            seen, patience = shown, time.monotonic() + PATIENCE_S
        assert time.monotonic() < patience, seen
    assert sorted(done) == sorted(WALKED)


def test_a_check_goes_on_and_says_what_the_answers_would_have_come_to(
    web: WebProcess, open_page: Callable[..., Page]
) -> None:
    page = open_page(**PHONE)
    page.goto(f"{web.url}/preview/examples/gallery/?check=stereo")
    state = page.evaluate("JSON.parse(document.getElementById('state').textContent)")
    truths = state["preview_stages"][0]["truths"]
    wrong = next(o for o in ("left", "right") if o != truths[0])
    for place, truth in enumerate(truths):
        expect(page.locator(".player")).to_have_attribute("data-state", "ready")
        page.locator(".player-button").tap()
        expect(page.locator(".player")).to_have_attribute("data-state", "heard")
        value = truth if place else wrong
        page.locator(f'label:has(input[value="{value}"])').tap()
        page.locator(".trial [data-part=next][aria-disabled=false]").tap()
    expect(page.locator("#preview-said")).to_have_text(
        f"Right: {len(truths) - 1} of {len(truths)}. A rater would not pass."
    )
    expect(page.locator(".view-end")).to_be_visible()


def test_a_preset_is_walked_from_its_questions_to_its_trials_and_back_to_the_gallery(
    web: WebProcess, open_page: Callable[..., Page]
) -> None:
    page = open_page(viewport={"width": 1280, "height": 900})
    page.goto(f"{web.url}/gallery/")
    page.get_by_role("link", name="Preview preset: Audio Turing Test").click()
    page.get_by_role("checkbox").check()
    page.get_by_role("button", name="Start").click()
    for label in ("Woman", "35–44", "Yes", "Yes, as far as I know", "Loudspeakers", "Quiet"):
        page.get_by_text(label, exact=True).first.click()
    page.locator("[data-part=send]").click()
    expect(page.locator(".view-check")).to_be_visible()
    page.locator(".player-button").click()
    page.locator("[data-part=confirm][aria-disabled=false]").click()
    expect(page.locator("h1")).to_have_text("Who is speaking?")
    page.get_by_role("link", name="To the gallery").click()
    expect(page.locator("h1")).to_have_text("Gallery")
