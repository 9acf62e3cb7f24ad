"""Around the trials: examples, practice, breaks, lost clips, the last page, previews."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from playwright.sync_api import Page, expect

from tests.browser.driver import (
    at_trial,
    begin,
    choose,
    enter,
    hear,
    rate,
    wait_stored,
    wait_until,
)
from tests.browser.fake import FakeServer
from tests.browser.story import CMOS, MOS, Story, short_story

Serve = Callable[[Story], FakeServer]
NewPage = Callable[..., Page]

EXAMPLES = [
    {"clip": "/checks/good.wav", "name": "Natural", "caption": "A person: this is a 5."},
    {"clip": "/checks/poor.wav", "name": "Robotic", "caption": "Flat and clipped: this is a 1."},
]


def practice_story(**more: Any) -> Story:
    """Two practice trials, then two that count."""
    trained = {k: {"training": {"n": k + 1, "total": 2}} for k in (0, 1)}
    told = {
        0: {"right": True, "text": "A person speaks: you hear the breath."},
        1: {"right": False, "text": "A machine speaks: the pitch stays flat."},
    }
    return short_story(4, extras=trained, feedback=told, **more)


def test_the_instructions_play_their_examples(serve: Serve, new_page: NewPage) -> None:
    page = new_page()
    server = serve(short_story(1, task={**MOS, "examples": EXAMPLES}))
    page.goto(f"{server.url}/s/demo/")
    expect(page.get_by_text("Flat and clipped: this is a 1.")).to_be_visible()
    natural = page.get_by_role("region", name="Natural").get_by_role("button").first
    natural.click()
    page.wait_for_function("() => document.querySelectorAll('audio')[0].currentTime > 0.2")
    page.get_by_role("region", name="Robotic").get_by_role("button").first.click()
    page.wait_for_function("() => document.querySelectorAll('audio')[1].currentTime > 0.2")
    assert page.evaluate("document.querySelectorAll('audio')[0].paused")
    begin(page)
    assert page.locator("audio").count() == 1
    rate(page)
    wait_stored(page, server, 1)


def test_practice_is_named_and_its_answer_is_explained(serve: Serve, new_page: NewPage) -> None:
    page = new_page()
    server = serve(practice_story())
    enter(page, server)
    expect(page.get_by_role("heading", level=1)).to_have_text("Practice 1 of 2")
    expect(page.locator("#count")).to_have_text("Practice 1 of 2")
    rate(page)
    heading = page.get_by_role("heading", name="That is right")
    expect(heading).to_be_focused()
    expect(page.get_by_role("status").filter(has_text="you hear the breath")).to_be_visible()
    page.locator(".player-button").click()
    page.wait_for_function("() => document.querySelector('audio').currentTime > 0.2")
    page.get_by_role("button", name="Next").click()
    rate(page, "1")
    expect(page.get_by_role("heading", name="Not quite")).to_be_visible()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_have_text("Clip 3 of 4")
    rate(page)
    at_trial(page, 4)
    assert len(server.house.posts) == 3


def test_practice_without_a_right_answer_is_not_called_wrong(
    serve: Serve, new_page: NewPage
) -> None:
    page = new_page()
    story = practice_story()
    story.feedback[0] = {"right": None, "text": "We want your own opinion.", "expected": []}
    story.feedback[1] = {"right": False, "text": "", "expected": ["Good", "Excellent"]}
    enter(page, serve(story))
    rate(page)
    expect(page.get_by_text("We want your own opinion.")).to_be_visible()
    expect(page.get_by_role("heading", level=1)).to_have_text("Practice 1 of 2")
    expect(page.get_by_text("Not quite")).to_have_count(0)
    page.keyboard.press("Enter")
    rate(page, "1")
    expect(page.get_by_role("heading", level=1)).to_have_text("Not quite")
    expect(page.locator("#feedback-text")).to_have_text("✓ Good · Excellent")


def test_practice_waits_for_the_network_and_then_goes_on(serve: Serve, new_page: NewPage) -> None:
    page = new_page()
    server = serve(practice_story())
    server.house.fail("/answers/", "drop")
    server.house.fail("/answers/", 503, times=99)
    enter(page, server)
    rate(page)
    expect(page.locator(".view-wait")).to_be_visible()
    server.house.faults.clear()
    expect(page.get_by_role("heading", name="That is right")).to_be_visible()
    assert list(server.house.stored) == ["t0"]


def test_practice_without_a_word_goes_straight_on(serve: Serve, new_page: NewPage) -> None:
    page = new_page()
    story = practice_story()
    story.feedback.clear()
    enter(page, serve(story))
    rate(page)
    expect(page.get_by_role("heading", level=1)).to_have_text("Practice 2 of 2")


def test_a_break_is_offered_once_and_not_at_the_end(serve: Serve, new_page: NewPage) -> None:
    page = new_page()
    server = serve(short_story(4, break_every=2))
    enter(page, server)
    rate(page)
    at_trial(page, 2)
    rate(page)
    heading = page.get_by_role("heading", name="Take a short break")
    expect(heading).to_be_focused()
    expect(page.locator(".view-break")).to_contain_text("2 of 4 done.")
    wait_stored(page, server, 2)
    page.get_by_role("button", name="Continue").click()
    at_trial(page, 3)
    expect(page.locator(".trial")).to_be_visible()
    page.reload()
    expect(page.locator(".trial")).to_be_visible()
    rate(page)
    at_trial(page, 4)
    rate(page)
    expect(page.locator(".view-end")).to_be_visible()


def test_a_clip_that_never_comes_can_be_left_out(serve: Serve, new_page: NewPage) -> None:
    page = new_page()
    story = short_story(2)
    story.clips.pop("0x0")
    server = serve(story)
    page.clock.install(time=0)
    page.clock.pause_at(1_000)  # it is tried once
    enter(page, server)
    skip = page.get_by_role("button", name="Go on without this clip")
    expect(page.locator(".player-problem")).to_be_visible()
    expect(skip).to_be_hidden()
    page.clock.resume()
    expect(skip).to_be_visible()
    expect(page.locator(".player-problem")).to_contain_text("You lose nothing by going on")
    server.house.fail("/skips/", 503)
    skip.click()
    at_trial(page, 2)
    rate(page)
    expect(page.locator(".view-end")).to_be_visible()
    (skipped,) = server.house.skips
    assert (skipped["trial"], skipped["reason"]) == ("t0", "load")
    assert skipped["playback"]["load_failures"] >= 3
    assert list(server.house.stored) == ["t1"]


def test_a_clip_that_this_browser_cannot_decode_can_be_left_out(
    serve: Serve, new_page: NewPage
) -> None:
    page = new_page()
    story = Story([CMOS], [(0, [0.6, 0.6], None), (0, [0.6, 0.6], None)])
    story.clips["0x1"] = b"this is no sound" * 50
    server = serve(story)
    enter(page, server)
    page.get_by_role("button", name="Go on without this clip").click()
    at_trial(page, 2)
    wait_until(page, lambda: len(server.house.skips) > 0)
    assert server.house.skips[0]["reason"] == "decode"
    assert server.house.skips[0]["playback"]["decode_errors"] >= 4


def test_a_clip_that_the_server_has_given_up_is_left_out_by_itself(
    serve: Serve, new_page: NewPage
) -> None:
    page = new_page()
    server = serve(short_story(2))
    server.house.fail("/c/0x0", 410, times=99)
    enter(page, server)
    at_trial(page, 2)
    rate(page)
    expect(page.locator(".view-end")).to_be_visible()
    assert [skip["trial"] for skip in server.house.skips] == ["t0"]


def test_the_last_page_tells_what_the_study_was_about_and_takes_a_comment(
    serve: Serve, new_page: NewPage
) -> None:
    page = new_page()
    end = {"debrief": "Half of the voices were synthetic.", "comment": True}
    server = serve(short_story(1, end=end))
    server.house.fail("/comments/", "drop")
    enter(page, server)
    rate(page)
    expect(page.get_by_text("Half of the voices were synthetic.")).to_be_visible()
    send = page.get_by_role("button", name="Send the comment")
    send.click()
    box = page.get_by_role("textbox", name="Anything you would like to tell the researchers?")
    expect(box).to_be_focused()
    box.fill("The second clip was very quiet.\nNice study!")
    send.click()
    expect(page.get_by_text("Thank you, your comment is stored.")).to_be_visible()
    expect(box).to_be_hidden()
    assert server.house.comments == ["The second clip was very quiet.\nNice study!"]


def test_a_preview_walks_to_its_end_and_leaves_no_trace(serve: Serve, new_page: NewPage) -> None:
    page = new_page()
    server = serve(practice_story())
    server.house.preview = True
    asked: list[str] = []
    page.on("request", lambda request: asked.append(f"{request.method} {request.url}"))
    enter(page, server)
    expect(page.get_by_text("Preview: nothing is stored")).to_be_visible()
    expect(page.locator("#withdraw")).to_be_hidden()
    for place in range(4):
        expect(page.locator("h1")).to_have_text(
            [f"Practice {place + 1} of 2"] if place < 2 else [f"Clip {place + 1} of 4"]
        )
        hear(page)
        choose(page, "3")
        page.locator("[data-part=next]").click()
    expect(page.get_by_text("This was a preview: nothing was stored.")).to_be_visible()
    assert not [request for request in asked if request.startswith("POST") or "/api/" in request]
    assert page.evaluate("localStorage.length") == 0
    assert server.house.posts == []
