"""A rater's hands: what the tests do on a session page."""

from __future__ import annotations

import time
from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.browser.fake import FakeServer
from tests.config.helpers import PATIENCE_S


def enter(page: Page, server: FakeServer, begins: str = "Begin") -> None:
    """Opens the session and begins the first task, by the words on its button."""
    page.goto(f"{server.url}/s/demo/")
    begin(page, begins)


def begin(page: Page, begins: str = "Begin") -> None:
    page.get_by_role("button", name=begins).click()
    expect(page.locator(".trial")).to_be_visible()


def hear(page: Page) -> None:
    """Plays all clips of the trial to their end."""
    page.locator(".player-button").click()
    heard_out(page)


def heard_out(page: Page) -> None:
    expect(page.locator(".player")).to_have_attribute("data-state", "heard")


def hear_together(page: Page) -> None:
    """Each clip of a trial whose clips play together."""
    buttons = page.locator(".clip-button")
    for place in range(buttons.count()):
        buttons.nth(place).click()
        expect(buttons.nth(place)).to_contain_class("heard")


def rate(page: Page, label: str = "4") -> None:
    """Hears the clip, chooses a label, goes on."""
    hear(page)
    choose(page, label)
    go_on(page)


def choose(page: Page, label: str, criterion: int = 0) -> None:
    fieldset = page.locator("fieldset.criterion").nth(criterion)
    fieldset.locator(f'label:has(input[value="{label}"])').click()


def go_on(page: Page) -> None:
    button = page.locator("[data-part=next]")
    expect(button).to_have_attribute("aria-disabled", "false")
    button.click()


def at_trial(page: Page, place: int) -> None:
    expect(page.locator("#count")).to_contain_text(f"{place} of ")


def arrived(page: Page, path: str) -> None:
    """Until the page has all of a clip that it fetched ahead."""
    script = "path => performance.getEntriesByName(location.origin + path).length > 0"
    page.wait_for_function(script, arg=path)


def wait_stored(page: Page, server: FakeServer, count: int) -> None:
    """Until the house has this many answers."""
    wait_until(page, lambda: len(server.house.stored) >= count)


def wait_until(page: Page, true: Callable[[], bool], limit_s: float = PATIENCE_S) -> None:
    """Until something is true outside of the page, which lives on meanwhile."""
    deadline = time.monotonic() + limit_s
    while not true():
        assert time.monotonic() < deadline, f"waited {limit_s} s in vain"
        page.wait_for_timeout(50)
