"""A trial's clip in a real Chromium: how it sounds, comes in time, and what if it does not."""

from __future__ import annotations

import math
import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.driver import (
    at_trial,
    choose,
    enter,
    go_on,
    hear,
    rate,
    wait_stored,
    wait_until,
)
from tests.browser.fake import FakeServer
from tests.browser.moments import note_unlocking, press_at, unlocking
from tests.browser.recorder import PEAKS
from tests.browser.story import MOS, Story, short_story

Serve = Callable[[Story], FakeServer]
NewPage = Callable[..., Page]

SKIP = """() => document.querySelector("audio").addEventListener("timeupdate", ({ target }) => {
    const landed = () => { window.landedS = target.currentTime; };
    target.addEventListener("seeked", landed, { once: true });
    target.currentTime = 1.7;
}, { once: true })"""
# The page redraws what plays; 20 stalls begin it again 20 times. Most redraws in one of 12 frames.
REDRAWS = """async () => {
    const audio = document.querySelector("audio");
    const frame = window.requestAnimationFrame.bind(window);
    let asked = 0;
    window.requestAnimationFrame = (work) => {
        asked += 1;
        return frame(work);
    };
    for (let stall = 0; stall < 20; stall += 1) audio.dispatchEvent(new Event("playing"));
    let most = 0;
    for (let k = 0; k < 12; k += 1) {
        asked = 0;
        await new Promise(frame);
        most = Math.max(most, asked);
    }
    return most;
}"""
# What a slow page let pass too fast is played once more, as the rater would be asked to do.
HURRY = """() => {
    const audio = document.querySelector("audio");
    audio.addEventListener("playing", () => { audio.playbackRate = 8; }, { once: true });
    audio.addEventListener("ended", () => {
        const { disabled } = document.querySelector("fieldset.criterion");
        if (disabled) document.querySelector(".player-button").click();
    });
}"""


@pytest.mark.usefixtures("recorder")
def test_a_tap_on_play_makes_a_sound_that_can_be_heard(serve: Serve, new_page: NewPage) -> None:
    page = new_page()
    enter(page, serve(short_story(1)))
    page.evaluate(PEAKS)
    assert page.evaluate("window.peaks") == [0]
    page.locator(".player-button").click()
    page.wait_for_function("() => window.peaks[0] > 0.1")


def test_stalls_add_no_redraws(serve: Serve, new_page: NewPage) -> None:
    page = new_page()
    enter(page, serve(Story([MOS], [(0, [30.0], None)])))
    page.locator(".player-button").click()
    expect(page.locator(".player")).to_have_attribute("data-state", "playing")
    assert page.evaluate(REDRAWS) == 1


def test_nothing_plays_before_the_rater_asks_for_it(serve: Serve, new_page: NewPage) -> None:
    page = new_page()
    enter(page, serve(short_story()))
    expect(page.locator(".player")).to_have_attribute("data-state", "ready")
    page.wait_for_timeout(400)  # however slow: nothing may have begun, sooner or later
    assert page.evaluate("document.querySelector('audio').paused")
    assert page.evaluate("document.querySelector('audio').currentTime") == 0


def test_skipping_forward_does_not_unlock(serve: Serve, new_page: NewPage) -> None:
    page = new_page()
    enter(page, serve(Story([MOS], [(0, [2.0], None)])))
    note_unlocking(page)
    page.evaluate(SKIP)
    page.locator(".player-button").click()
    page.wait_for_function("() => window.landedS")
    assert page.evaluate("window.landedS") < 1.5  # it was taken back to where it had come
    assert unlocking(page)["afterS"] >= 1.8


def test_faster_playing_does_not_unlock_sooner(serve: Serve, new_page: NewPage) -> None:
    page = new_page()
    enter(page, serve(Story([MOS], [(0, [2.0], None)])))
    note_unlocking(page)
    page.evaluate(HURRY)
    page.locator(".player-button").click()
    assert unlocking(page)["afterS"] >= 1.8


def test_the_next_clips_are_there_before_they_are_needed(serve: Serve, new_page: NewPage) -> None:
    page = new_page()
    server = serve(short_story(5))
    enter(page, server)
    requests = server.house.clip_requests
    wait_until(page, lambda: len(requests) >= 3)
    hear(page)
    choose(page, "4")
    assert requests == ["/c/0x0", "/c/1x0", "/c/2x0"]
    go_on(page)
    at_trial(page, 2)
    wait_until(page, lambda: len(requests) >= 4)
    hear(page)
    assert requests == ["/c/0x0", "/c/1x0", "/c/2x0", "/c/3x0"]


def test_a_slow_clip_shows_how_far_it_is_and_plays_when_asked_early(
    serve: Serve, new_page: NewPage
) -> None:
    page = new_page()
    server = serve(short_story(1))
    rest = server.house.hold("/c/0x0")
    enter(page, server)
    expect(page.locator(".player-status")).to_have_text(re.compile(r"Loading [1-9]\d? %"))
    page.locator(".player-button").click()
    rest.set()
    expect(page.locator(".player")).to_have_attribute("data-state", "heard")


def test_a_clip_that_does_not_arrive_is_shown_and_tried_again(
    serve: Serve, new_page: NewPage
) -> None:
    page = new_page()
    server = serve(short_story(1))
    server.house.fail("/c/", 503, times=99)
    page.clock.install(time=0)
    page.clock.pause_at(1_000)  # it does not try again by itself
    enter(page, server)
    expect(page.locator(".player-problem")).to_contain_text("did not arrive")
    server.house.faults.clear()
    page.get_by_role("button", name="Try again now").click()
    expect(page.locator(".player")).to_have_attribute("data-state", "ready")
    page.clock.resume()
    rate(page)
    wait_stored(page, server, 1)
    assert server.house.posts[0]["playback"]["load_failures"] >= 1


def test_a_clip_that_cannot_be_played_says_so(serve: Serve, new_page: NewPage) -> None:
    story = short_story(1)
    story.clips["0x0"] = b"this is no sound" * 50
    page = new_page()
    enter(page, serve(story))
    expect(page.locator(".player-problem")).to_contain_text("cannot play the clip")
    expect(page.get_by_role("button", name="Try again now")).to_be_visible()


def test_a_long_clip_is_played_while_it_loads(serve: Serve, new_page: NewPage) -> None:
    page = new_page()
    enter(page, serve(Story([MOS], [(0, [300.0], None)])))  # 13 MB
    press_at(page, "p", 0.2)
    page.locator(".player-button").click()
    expect(page.locator(".player")).to_have_attribute("data-state", "paused")
    assert page.evaluate("() => document.querySelector('audio').src").endswith("/c/0x0")
    left_s = math.ceil(299.95 - page.evaluate("() => document.querySelector('audio').currentTime"))
    expect(page.locator(".player-time")).to_have_text(f"{left_s // 60}:{left_s % 60:02} left")


def test_a_sound_held_back_by_the_browser_is_explained(serve: Serve, new_page: NewPage) -> None:
    page = new_page()
    page.add_init_script(
        """const play = HTMLMediaElement.prototype.play;
        let held = 1;
        HTMLMediaElement.prototype.play = function () {
            if (held-- > 0) return Promise.reject(new DOMException("held", "NotAllowedError"));
            return play.call(this);
        };"""
    )
    server = serve(short_story(1))
    enter(page, server)
    page.locator(".player-button").click()
    expect(page.locator(".player-problem")).to_have_text(
        "The browser blocked the sound. Tap play again.", use_inner_text=True
    )
    rate(page)
    wait_stored(page, server, 1)
    assert server.house.posts[0]["playback"]["blocked"] == 1


def test_clips_behind_a_dead_address_come_with_the_next_state(
    serve: Serve, new_page: NewPage
) -> None:
    page = new_page()
    story = short_story(2)
    server = serve(story)
    sound = story.clips.pop("0x0")
    enter(page, server)
    expect(page.locator(".player-problem")).to_be_visible()
    story.address = "new-"
    story.clips["new-0x0"] = sound
    expect(page.locator(".player")).to_have_attribute("data-state", "ready")
    rate(page)
    wait_stored(page, server, 1)


def test_what_plays_before_a_busy_page_hears_of_it_counts_as_heard(
    serve: Serve, new_page: NewPage
) -> None:
    page = new_page()
    server = serve(short_story(1))
    enter(page, server)
    page.evaluate(
        """() => document.querySelector("audio").addEventListener("play", () => {
            const until = performance.now() + 350;
            while (performance.now() < until);  // the page is busy while the sound begins
        })"""
    )
    rate(page)
    wait_stored(page, server, 1)
    assert server.house.posts[0]["heard_fraction"] == 1
    assert server.house.posts[0]["plays"] == 1
