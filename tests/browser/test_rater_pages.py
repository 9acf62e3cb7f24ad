"""The rater's pages in a real Chromium: what is heard, what unlocks, what the hands can do."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import PHONE
from tests.browser.driver import (
    begin,
    choose,
    enter,
    go_on,
    hear,
    heard_out,
    rate,
    wait_stored,
)
from tests.browser.fake import FakeServer
from tests.browser.moments import hidden, note_unlocking, press_at, unlocking
from tests.browser.story import ATT, CMOS, MOS, Story, short_story

Serve = Callable[[Story], FakeServer]
NewPage = Callable[..., Page]


def locked(page: Page) -> bool:
    return bool(page.locator("fieldset.criterion").evaluate("fieldset => fieldset.disabled"))


def test_the_answer_unlocks_when_the_clip_was_heard_to_its_end(
    serve: Serve, new_page: NewPage
) -> None:
    page = new_page()
    server = serve(short_story())
    began_s = time.monotonic()
    enter(page, server)
    assert locked(page)
    note_unlocking(page)
    page.locator(".player-button").click()
    assert unlocking(page)["placeS"] >= 0.6
    expect(page.locator(".player")).to_have_attribute("data-state", "heard")
    assert not locked(page)
    choose(page, "3.5")
    go_on(page)
    wait_stored(page, server, 1)
    (answer,) = server.house.posts
    assert answer["answers"] == {"0": "3.5"}
    assert answer["heard_fraction"] == 1
    assert answer["plays"] == 1
    assert answer["justification"] is None
    assert 600 < answer["latency_ms"] < 1_000 * (time.monotonic() - began_s)
    assert answer["playback"]["sample_rate_hz"] >= 8_000
    assert answer["playback"]["duration_s"] == [pytest.approx(0.7, abs=0.01)]
    assert answer["playback"]["heard_s"] == [pytest.approx(0.7, abs=0.06)]


def test_pausing_and_going_on_is_fine_and_replay_counts_as_a_play(
    serve: Serve, new_page: NewPage
) -> None:
    page = new_page()
    server = serve(Story([MOS], [(0, [1.5], None)]))
    enter(page, server)
    button = page.locator(".player-button")
    press_at(page, "p", 0.25)
    button.click()
    expect(page.locator(".player")).to_have_attribute("data-state", "paused")
    button.click()
    expect(page.locator(".player")).to_have_attribute("data-state", "heard")
    hear(page)
    choose(page, "2")
    go_on(page)
    wait_stored(page, server, 1)
    assert server.house.posts[0]["plays"] == 2


def test_a_trial_can_be_done_with_the_keyboard_alone(serve: Serve, new_page: NewPage) -> None:
    page = new_page()
    server = serve(Story([ATT, MOS], [(0, [0.7], None), (1, [0.7], None)]))
    page.goto(f"{server.url}/s/demo/")
    expect(page.locator(".view-intro")).to_be_visible()
    keys = page.keyboard
    keys.press("Enter")
    expect(page.locator(".trial")).to_be_visible()
    keys.press("Space")
    expect(page.locator(".player")).to_have_attribute("data-state", "heard")
    keys.press("3")
    keys.press("w")
    keys.type("flat, even 1 pitch")
    keys.press("Enter")
    expect(page.locator(".view-intro")).to_be_visible()
    keys.press("Enter")
    expect(page.locator(".trial")).to_be_visible()
    keys.press("p")
    expect(page.locator(".player")).to_have_attribute("data-state", "heard")
    keys.press("4")
    keys.press("ArrowRight")
    keys.press("Enter")
    expect(page.locator(".view-end")).to_be_visible()
    first, second = server.house.posts
    assert first["answers"] == {"0": "Machine"}
    assert first["justification"]["text"] == "flat, even 1 pitch"
    assert first["justification"]["keystrokes"] == len("flat, even 1 pitch")
    assert first["justification"]["pasted_chars"] == 0
    assert first["justification"]["typing_ms"] > 0
    assert second["answers"] == {"0": "4.5"}


def test_enter_says_what_is_missing(serve: Serve, new_page: NewPage) -> None:
    page = new_page()
    server = serve(short_story(1, task=ATT))
    enter(page, server)
    missing = page.locator("[data-part=missing]")
    page.keyboard.press("Enter")
    expect(missing).to_have_text("Listen to the end first.")
    hear(page)
    expect(missing).to_have_text("Choose an answer.")
    choose(page, "Human")
    expect(missing).to_have_text("Give your reason.")
    page.locator("textarea").fill("a  breath")
    expect(missing).to_have_text("Your reason is still too short.")
    page.keyboard.press("Enter")
    assert server.house.posts == []
    page.locator("textarea").fill("a breath before it")
    expect(missing).to_have_text("All set.")


def test_pasted_text_is_counted_as_pasted(serve: Serve, new_page: NewPage) -> None:
    page = new_page()
    server = serve(short_story(1, task=ATT))
    enter(page, server)
    hear(page)
    choose(page, "Human")
    page.locator("textarea").focus()
    page.keyboard.type("I hear ")
    page.evaluate(
        """() => {
            const area = document.querySelector("textarea");
            const data = new DataTransfer();
            data.setData("text/plain", "a natural breath");
            area.dispatchEvent(new InputEvent("beforeinput",
                { inputType: "insertFromPaste", dataTransfer: data, bubbles: true }));
            area.setRangeText("a natural breath", 7, 7, "end");
            area.dispatchEvent(new InputEvent("input", { bubbles: true }));
        }"""
    )
    go_on(page)
    wait_stored(page, server, 1)
    reason = server.house.posts[0]["justification"]
    assert reason["text"] == "I hear a natural breath"
    assert (reason["keystrokes"], reason["pasted_chars"]) == (7, 16)


def test_a_phone_takes_the_whole_session_by_taps(serve: Serve, new_page: NewPage) -> None:
    page = new_page(**PHONE)
    server = serve(Story([MOS, CMOS], [(0, [0.7], None), (1, [0.7, 0.7], None)], check=True))
    page.goto(f"{server.url}/s/demo/")
    page.locator(".player-button").tap()
    confirm = page.get_by_role("button", name="The volume is right")
    expect(confirm).to_have_attribute("aria-disabled", "false")
    confirm.tap()
    for label in ("2.5", "3"):
        page.get_by_role("button", name="Begin").tap()
        page.locator(".player-button").tap()
        heard_out(page)
        page.locator(f'label:has(input[value="{label}"])').tap()
        page.locator("[data-part=next]").tap()
    expect(page.locator(".view-end")).to_be_visible()
    assert server.house.checked["volume"]["comfortable"] is True
    assert server.house.checked["volume"]["played_s"] >= 2.5
    assert [post["answers"]["0"] for post in server.house.posts] == ["2.5", "3"]


def test_half_done_work_is_there_after_a_reload(serve: Serve, new_page: NewPage) -> None:
    page = new_page()
    server = serve(short_story(2, task=ATT))
    enter(page, server)
    hear(page)
    choose(page, "Unclear")
    page.locator("textarea").fill("the pause is odd")
    page.reload()
    expect(page.locator("textarea")).to_have_value("the pause is odd")
    expect(page.locator(".player")).to_have_attribute("data-state", "heard")
    go_on(page)
    wait_stored(page, server, 1)
    assert server.house.posts[0]["answers"] == {"0": "Unclear"}
    assert server.house.posts[0]["plays"] == 1
    assert server.house.posts[0]["playback"]["reloads"] == 1


def test_the_end_shows_a_code_that_can_be_copied(serve: Serve, new_page: NewPage) -> None:
    page = new_page(permissions=["clipboard-read", "clipboard-write"])
    server = serve(short_story(1))
    enter(page, server)
    rate(page)
    expect(page.locator(".code")).to_have_text("KTRM7QXW")
    page.get_by_role("button", name="Copy the code").click()
    expect(page.locator("[data-part=copied]")).to_have_text("Copied.")
    assert page.evaluate("navigator.clipboard.readText()") == "KTRM7QXW"
    page.get_by_role("button", name="Withdraw").click()  # the way out stays open after the end
    expect(page.get_by_text("the same link takes you back")).to_be_hidden()
    page.get_by_role("button", name="Withdraw and delete my answers").click()
    expect(page.get_by_role("heading", name="You have withdrawn")).to_be_visible()
    expect(page.locator("#withdraw")).to_be_hidden()


def test_who_came_from_prolific_gets_the_way_back(serve: Serve, new_page: NewPage) -> None:
    page = new_page()
    enter(page, serve(short_story(1, prolific=True)))
    rate(page)
    link = page.get_by_role("link", name="Go back and finish there")
    expect(link).to_be_focused()
    href = "https://app.prolific.com/submissions/complete?cc=KTRM7QXW"
    expect(link).to_have_attribute("href", href)


def test_withdrawing_asks_first_and_then_ends_the_session(serve: Serve, new_page: NewPage) -> None:
    page = new_page()
    server = serve(short_story(3))
    enter(page, server)
    rate(page)
    wait_stored(page, server, 1)
    page.get_by_role("button", name="Withdraw").click()
    expect(page.get_by_role("dialog")).to_contain_text("All your answers will be deleted")
    page.get_by_role("button", name="Stay").click()
    assert not server.house.withdrawn
    page.get_by_role("button", name="Withdraw").click()
    page.get_by_role("button", name="Withdraw and delete my answers").click()
    expect(page.get_by_role("heading", name="You have withdrawn")).to_be_visible()
    assert server.house.withdrawn


def test_a_task_shows_its_instructions_once_and_then_on_demand(
    serve: Serve, new_page: NewPage
) -> None:
    page = new_page()
    server = serve(short_story(2))
    page.goto(f"{server.url}/s/demo/")
    expect(page.locator(".view-intro")).to_contain_text("Rate how natural the speech sounds")
    begin(page)
    page.reload()
    expect(page.locator(".trial")).to_be_visible()
    page.get_by_text("Instructions and keys").click()
    expect(page.locator(".trial .prose")).to_contain_text("Rate how natural")


def test_time_with_the_page_hidden_is_told(serve: Serve, new_page: NewPage) -> None:
    page = new_page()
    server = serve(short_story(1))
    enter(page, server)
    with hidden(page) as bounds_ms:
        page.wait_for_timeout(100)
    rate(page)
    wait_stored(page, server, 1)
    least_ms, most_ms = bounds_ms
    assert least_ms - 1 <= server.house.posts[0]["playback"]["hidden_ms"] <= most_ms + 1
