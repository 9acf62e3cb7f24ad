"""A rater's hands on questionnaires and checks of several sounds."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Locator, Page, expect

from tests.browser.fake import FakeServer
from tests.browser.forms import FormsHouse

NewPage = Callable[..., Page]
Serve = Callable[..., FakeServer]


def house_of(server: FakeServer) -> FormsHouse:
    assert isinstance(server.house, FormsHouse)
    return server.house


def open_session(page: Page, server: FakeServer) -> None:
    page.goto(f"{server.url}/s/demo/")
    expect(page.locator("h1")).to_be_visible()


def group(page: Page, words: str) -> Locator:
    return page.locator("fieldset.question", has_text=words)


def tick(page: Page, words: str, *answers: str) -> None:
    for answer in answers:
        label = page.get_by_text(answer, exact=True)
        group(page, words).locator("label").filter(has=label).click()


def send(page: Page) -> None:
    page.get_by_role("button", name="Go on").click()


def fill_in(page: Page, *, hearing: str = "Yes, as far as I know") -> None:
    """All that must be answered."""
    tick(page, "What is your gender?", "I prefer not to say")
    tick(page, "How old are you?", "25–34")
    tick(page, "first language?", "Yes")
    tick(page, "Is your hearing normal?", hearing)
    page.get_by_label("For how many years").fill("12")
    tick(page, "Which of these do you own?", "Smart speaker", "A screen reader")


def listen(page: Page) -> None:
    page.locator(".player-button").click()
    expect(page.locator(".player")).to_have_attribute("data-state", "heard")


def pick(page: Page, text: str) -> None:
    listen(page)
    page.locator("label.option", has_text=text).click()
    page.locator("[data-part=next]").click()
