"""The rater's pages in a real Chromium: what is heard, what unlocks, what the hands can do."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import PHONE
from tests.browser.driver import (
    at_trial,
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
from tests.browser.story import ATT, CMOS, MOS, Story, short_story

Serve = Callable[[Story], FakeServer]
NewPage = Callable[..., Page]

PEAK = """async () => {
    const context = new AudioContext();
    await context.resume();
    const audio = document.querySelector("audio");
    const analyser = context.createAnalyser();
    context.createMediaElementSource(audio).connect(analyser);
    analyser.connect(context.destination);
    const samples = new Float32Array(analyser.fftSize);
    let peak = 0;
    for (let k = 0; k < 20; k += 1) {
        await new Promise((resolve) => setTimeout(resolve, 30));
        analyser.getFloatTimeDomainData(samples);
        peak = Math.max(peak, ...samples.map(Math.abs));
    }
    return peak;
}"""


def locked(page: Page) -> bool:
    return bool(page.locator("fieldset.criterion").evaluate("fieldset => fieldset.disabled"))


def test_a_tap_on_play_makes_a_sound_that_can_be_heard(serve: Serve, new_page: NewPage) -> None:
    page = new_page()
    enter(page, serve(Story([MOS], [(0, [2.0], None)])))
    page.locator(".player-button").click()
    page.wait_for_function("() => document.querySelector('audio').currentTime > 0.2")
    assert page.evaluate(PEAK) > 0.1


def test_nothing_plays_before_the_rater_asks_for_it(serve: Serve, new_page: NewPage) -> None:
    page = new_page()
    enter(page, serve(short_story()))
    expect(page.locator(".player")).to_have_attribute("data-state", "ready")
    page.wait_for_timeout(400)
    assert page.evaluate("document.querySelector('audio').paused")
    assert page.evaluate("document.querySelector('audio').currentTime") == 0


def test_the_answer_unlocks_when_the_clip_was_heard_to_its_end(
    serve: Serve, new_page: NewPage
) -> None:
    page = new_page()
    server = serve(short_story())
    enter(page, server)
    assert locked(page)
    page.locator(".player-button").click()
    page.wait_for_function("() => document.querySelector('audio').currentTime > 0.3")
    assert locked(page)
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
    assert 600 < answer["latency_ms"] < 15_000
    assert answer["playback"]["sample_rate_hz"] >= 8_000
    assert answer["playback"]["duration_s"] == [pytest.approx(0.7, abs=0.01)]
    assert answer["playback"]["heard_s"] == [pytest.approx(0.7, abs=0.06)]


def test_skipping_forward_does_not_unlock(serve: Serve, new_page: NewPage) -> None:
    page = new_page()
    enter(page, serve(Story([MOS], [(0, [4.0], None)])))
    page.locator(".player-button").click()
    page.wait_for_function("() => document.querySelector('audio').currentTime > 0.2")
    page.evaluate("document.querySelector('audio').currentTime = 3.7")
    page.wait_for_timeout(900)
    assert page.evaluate("document.querySelector('audio').currentTime") < 2.5
    assert locked(page)


def test_faster_playing_does_not_unlock_sooner(serve: Serve, new_page: NewPage) -> None:
    page = new_page()
    enter(page, serve(Story([MOS], [(0, [3.0], None)])))
    page.locator(".player-button").click()
    page.evaluate("document.querySelector('audio').playbackRate = 8")
    page.wait_for_timeout(1_200)
    assert locked(page)


def test_pausing_and_going_on_is_fine_and_replay_counts_as_a_play(
    serve: Serve, new_page: NewPage
) -> None:
    page = new_page()
    server = serve(short_story(1))
    enter(page, server)
    button = page.locator(".player-button")
    button.click()
    page.wait_for_function("() => document.querySelector('audio').currentTime > 0.25")
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


def test_the_next_clips_are_there_before_they_are_needed(serve: Serve, new_page: NewPage) -> None:
    page = new_page()
    server = serve(short_story(5))
    enter(page, server)
    expect(page.locator(".player")).to_have_attribute("data-state", "ready")
    page.wait_for_timeout(500)
    assert server.house.clip_requests == ["/c/0x0", "/c/1x0", "/c/2x0"]
    rate(page)
    at_trial(page, 2)
    expect(page.locator(".player")).to_have_attribute("data-state", "ready")
    wait_stored(page, server, 1)
    page.wait_for_timeout(300)
    assert server.house.clip_requests == ["/c/0x0", "/c/1x0", "/c/2x0", "/c/3x0"]


def test_a_slow_clip_shows_how_far_it_is_and_plays_when_asked_early(
    serve: Serve, new_page: NewPage
) -> None:
    page = new_page()
    server = serve(short_story(1))
    server.house.slow_s = 2.5
    enter(page, server)
    expect(page.locator(".player-status")).to_have_text(re.compile(r"Loading [1-9]\d? %"))
    page.locator(".player-button").click()
    expect(page.locator(".player")).to_have_attribute("data-state", "heard")


def test_a_clip_that_does_not_arrive_is_shown_and_tried_again(
    serve: Serve, new_page: NewPage
) -> None:
    page = new_page()
    server = serve(short_story(1))
    server.house.fail("/c/", 503, times=2)
    enter(page, server)
    expect(page.locator(".player-problem")).to_contain_text("did not arrive")
    page.get_by_role("button", name="Try again now").click()
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
    expect(page.get_by_role("dialog")).to_contain_text("All your answers are deleted")
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


def test_a_long_clip_is_played_while_it_loads(serve: Serve, new_page: NewPage) -> None:
    page = new_page()
    enter(page, serve(Story([MOS], [(0, [300.0], None)])))  # 13 MB
    page.locator(".player-button").click()
    page.wait_for_function("() => document.querySelector('audio').currentTime > 0.2")
    assert page.evaluate("() => document.querySelector('audio').src").endswith("/c/0x0")
    expect(page.locator(".player-time")).to_have_text("5:00 left")


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
        "The browser held the sound back. Tap play once more.", use_inner_text=True
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
    expect(page.locator(".player")).to_have_attribute("data-state", "ready", timeout=15_000)
    rate(page)
    wait_stored(page, server, 1)


def test_time_with_the_page_hidden_is_told(serve: Serve, new_page: NewPage) -> None:
    page = new_page()
    server = serve(short_story(1))
    enter(page, server)
    hide = """hidden => {
        Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
        document.dispatchEvent(new Event("visibilitychange"));
    }"""
    page.evaluate(hide, True)
    page.wait_for_timeout(400)
    page.evaluate(hide, False)
    rate(page)
    wait_stored(page, server, 1)
    assert 380 <= server.house.posts[0]["playback"]["hidden_ms"] < 2_000


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
