"""A researcher who logs in by the form, as in production."""

from __future__ import annotations

from django.contrib.auth.hashers import make_password
from playwright.sync_api import Page, expect

PASSWORD = "lovelace-1843"


def hashed() -> str:
    """The password as the database of the tests' web process keeps it."""
    return make_password(PASSWORD)


def log_in(page: Page, url: str, username: str) -> None:
    """Opens a researcher's page, which asks for the log-in first."""
    page.goto(url)
    page.get_by_label("User name").fill(username)
    page.get_by_label("Password").fill(PASSWORD)
    with page.expect_navigation():  # until its styles are there, which boxes are measured with
        page.get_by_role("button", name="Log in", exact=True).click()


def with_script(page: Page) -> None:
    """Waits until a page of a draft can be typed into; before, it takes no input."""
    expect(page.locator("#draft")).not_to_have_attribute("inert", "")
