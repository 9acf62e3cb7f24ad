"""A rater's hands: what the tests do on a session page."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from tests.browser.fake import FakeServer


def enter(page: Page, server: FakeServer) -> None:
    """Opens the session and begins the first task."""
    page.goto(f"{server.url}/s/demo/")
    begin(page)


def begin(page: Page) -> None:
    page.get_by_role("button", name="Begin").click()
    expect(page.locator(".trial")).to_be_visible()


def hear(page: Page) -> None:
    """Plays all clips of the trial to their end."""
    page.locator(".player-button").click()
    heard_out(page)


def heard_out(page: Page) -> None:
    expect(page.locator(".player")).to_have_attribute("data-state", "heard")


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


def wait_stored(page: Page, server: FakeServer, count: int) -> None:
    """Until the house has this many answers; fails after eight seconds."""
    for _ in range(80):
        if len(server.house.stored) >= count:
            return
        page.wait_for_timeout(100)
    raise AssertionError(f"{len(server.house.stored)} answers stored, not {count}")
