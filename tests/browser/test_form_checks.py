"""Checks of several sounds as raters meet them: in order, by keys, once more, over a reload."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.driver import wait_until
from tests.browser.form_driver import NewPage, Serve, house_of, listen, open_session, pick
from tests.browser.forms import DIGITS, HUGGINS, Requirements


def test_sounds_are_answered_one_after_the_other_and_sent_together(
    serve_forms: Serve, new_page: NewPage
) -> None:
    page, server = new_page(), serve_forms("", Requirements(HUGGINS, ("2", "1", "3")))
    open_session(page, server)
    assert "right" not in page.locator("#state").inner_html()
    expect(page.locator("fieldset.criterion")).to_have_js_property("disabled", True)
    expect(page.locator(".player")).to_have_attribute("aria-label", "Sound 1 of 3")
    pick(page, "Second")
    expect(page.locator(".player")).to_have_attribute("aria-label", "Sound 2 of 3")
    expect(page.locator("fieldset.criterion")).to_have_js_property("disabled", True)
    expect(page.get_by_role("region", name="Sound 2 of 3")).to_be_focused()
    pick(page, "First")
    assert house_of(server).tries == {}
    pick(page, "Third")
    expect(page.get_by_role("button", name="Begin")).to_be_visible()
    assert house_of(server).tries == {"huggins": [["2", "1", "3"]]}


def test_all_sounds_are_fetched_ahead(serve_forms: Serve, new_page: NewPage) -> None:
    page, server = new_page(), serve_forms("", Requirements(HUGGINS, ("2", "1", "3")))
    open_session(page, server)
    expect(page.locator(".player")).to_have_attribute("data-state", "ready")
    requests = server.house.clip_requests
    wait_until(page, lambda: len(requests) >= 3)
    pick(page, "First")
    expect(page.locator(".player")).to_have_attribute("data-state", "ready")
    assert sorted(requests) == ["/c/k0", "/c/k1", "/c/k2"]


def test_a_check_is_taken_with_the_keys(serve_forms: Serve, new_page: NewPage) -> None:
    page, server = new_page(), serve_forms("", Requirements(HUGGINS, ("3", "1")))
    open_session(page, server)
    for key in ("3", "1"):
        page.keyboard.press(key)  # locked still
        page.keyboard.press("p")
        expect(page.locator(".player")).to_have_attribute("data-state", "heard")
        expect(page.locator("#stage input:checked")).to_have_count(0)
        page.keyboard.press(key)
        page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Begin")).to_be_visible()


def test_next_before_the_end_of_the_sound_says_what_is_missing(
    serve_forms: Serve, new_page: NewPage
) -> None:
    page, server = new_page(), serve_forms("", Requirements(HUGGINS, ("3", "1")))
    open_session(page, server)
    missing = page.locator("[data-part=missing]")
    expect(missing).to_have_text("Listen to the end first.")
    page.locator("[data-part=next]").click(force=True)
    expect(page.locator(".player-button")).to_be_focused()
    listen(page)
    expect(missing).to_have_text("Choose an answer.")
    page.locator("[data-part=next]").click(force=True)
    expect(page.locator("input[type=radio]").first).to_be_focused()


def test_a_failed_attempt_is_told_and_the_second_failure_ends_the_study(
    serve_forms: Serve, new_page: NewPage
) -> None:
    page, server = new_page(), serve_forms("", Requirements(HUGGINS, ("2", "2")))
    open_session(page, server)
    expect(page.get_by_text("Attempt")).to_be_hidden()
    pick(page, "Second")
    pick(page, "First")
    expect(page.get_by_text("Attempt 2 of 2")).to_be_visible()
    expect(page.get_by_text("1 of 2 were right. Try again.")).to_be_visible()
    expect(page.get_by_role("heading", level=1)).to_be_focused()
    pick(page, "First")
    pick(page, "First")
    expect(page.get_by_role("heading", name="this study is not a match")).to_be_visible()


def test_a_reload_in_the_middle_of_a_check_goes_on_there(
    serve_forms: Serve, new_page: NewPage
) -> None:
    page, server = new_page(), serve_forms("", Requirements(HUGGINS, ("2", "1", "3")))
    open_session(page, server)
    pick(page, "Second")
    pick(page, "First")
    page.reload()
    expect(page.locator(".player")).to_have_attribute("aria-label", "Sound 3 of 3")
    pick(page, "Second")
    expect(page.get_by_text("Attempt 2 of 2")).to_be_visible()
    expect(page.locator(".player")).to_have_attribute("aria-label", "Sound 1 of 3")
    assert house_of(server).tries == {"huggins": [["2", "1", "2"]]}


def test_digits_are_typed(serve_forms: Serve, new_page: NewPage) -> None:
    page, server = new_page(), serve_forms("", Requirements(DIGITS, ("357", "129")))
    open_session(page, server)
    field = page.get_by_role("textbox", name="The three digits")
    expect(field).to_be_disabled()
    assert field.get_attribute("inputmode") == "numeric"
    listen(page)
    expect(field).to_be_focused()
    page.keyboard.type("3a 5")
    expect(field).to_have_value("35")
    page.keyboard.press("Enter")
    expect(page.locator("[data-part=missing]")).to_have_text(
        "Type the three digits that you heard."
    )
    page.keyboard.type("78")
    expect(field).to_have_value("357")
    page.keyboard.press("Enter")
    expect(page.locator(".player")).to_have_attribute("aria-label", "Sound 2 of 2")
    listen(page)
    page.keyboard.insert_text("３五〇")
    expect(field).to_have_value("350")
    field.clear()
    page.locator("h1").click()
    page.keyboard.type("129")
    page.locator("[data-part=next]").click()
    expect(page.get_by_role("button", name="Begin")).to_be_visible()
    assert house_of(server).tries == {"digits": [["357", "129"]]}


def test_a_check_waits_for_the_network(serve_forms: Serve, new_page: NewPage) -> None:
    page, server = new_page(), serve_forms("", Requirements(HUGGINS, ("2",)))
    open_session(page, server)
    server.house.fail("/checks/", 503, times=99)
    pick(page, "Second")
    expect(page.locator("[data-part=missing]")).to_have_text("Saving…")
    expect(page.locator("fieldset.criterion")).to_have_js_property("disabled", True)
    server.house.faults.clear()
    expect(page.get_by_role("button", name="Begin")).to_be_visible()
    assert house_of(server).tries == {"huggins": [["2"]]}


def test_a_reply_that_gets_lost_uses_up_no_attempt(serve_forms: Serve, new_page: NewPage) -> None:
    page, server = new_page(), serve_forms("", Requirements(HUGGINS, ("2",)))
    open_session(page, server)
    server.house.fail("/checks/", "lose", times=2)
    pick(page, "First")
    expect(page.get_by_text("Attempt 2 of 2")).to_be_visible()
    assert len(server.house.posts) > 1
    assert house_of(server).tries == {"huggins": [["1"]]}
