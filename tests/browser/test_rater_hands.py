"""What hands and ears run into: answers that stay in place, keys too early, reasons, no sound."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import PHONE
from tests.browser.driver import choose, enter, go_on, hear, heard_out, wait_stored
from tests.browser.fake import FakeServer
from tests.browser.story import ATT, MOS, Story

Serve = Callable[[Story], FakeServer]
NewPage = Callable[..., Page]
REASON = "The pause before the verb is too short."


def att(trials: int) -> Story:
    return Story([ATT], [(0, [0.3], None)] * trials)


def test_a_key_pressed_too_early_flashes_the_line_that_says_why(serve: Serve, new_page) -> None:
    page = new_page()
    enter(page, serve(att(1)))
    line = page.locator(".lock-line")
    page.keyboard.press("9")  # no answer of this scale
    page.keyboard.press("ArrowUp")
    expect(line).not_to_have_class("lock-line nudge")
    page.keyboard.press("2")
    expect(line).to_have_class("lock-line nudge")
    assert page.locator("#stage input:checked").count() == 0
    hear(page)
    page.keyboard.press("2")
    expect(page.get_by_label("Unclear")).to_be_checked()


def test_examples_of_reasons_fold_after_the_first_trial(serve: Serve, new_page) -> None:
    page = new_page()
    enter(page, serve(att(2)))
    expect(page.get_by_text("Just a feeling.")).to_be_visible()
    answer(page, REASON)
    go_on(page)
    expect(page.get_by_text("Just a feeling.")).to_be_hidden()
    page.get_by_text("Examples of reasons").click()
    expect(page.get_by_text("Just a feeling.")).to_be_visible()


def answer(page: Page, reason: str) -> None:
    hear(page)
    choose(page, "Human")
    page.locator("textarea").fill(reason)


def test_a_reason_that_is_too_long_says_so_and_does_not_grow_past_the_screen(
    serve: Serve, new_page
) -> None:
    page = new_page(viewport={"width": 390, "height": 664})
    enter(page, serve(att(1)))
    hear(page)
    page.locator("textarea").fill("a word " * 270)
    expect(page.locator(".count-line")).to_have_text("Long enough, thank you.")
    page.locator("textarea").focus()
    page.keyboard.press("End")
    page.keyboard.insert_text(" more" * 600)
    expect(page.locator(".count-line")).to_contain_text("The limit of 2000 characters is reached")
    box = page.locator("textarea").bounding_box()
    assert box["height"] <= 0.41 * 664


@pytest.mark.parametrize(
    ("reasons", "asked"),
    [
        (["robot robot Robot, robot!"], "repeats one word"),
        (["嗯嗯嗯嗯嗯嗯嗯嗯嗯嗯嗯"], "repeats one word"),
        ([REASON, f"  {REASON.upper()} "], "have given this reason before"),
    ],
)
def test_a_reason_that_says_nothing_is_asked_for_again_once(
    serve: Serve, new_page, reasons, asked
) -> None:
    page = new_page()
    server = serve(att(len(reasons)))
    enter(page, server)
    for place, reason in enumerate(reasons, start=1):
        answer(page, reason)
        page.get_by_role("button", name="Next").click()
        if place < len(reasons):
            wait_stored(page, server, place)
    expect(page.locator(".missing")).to_contain_text(asked)
    expect(page.locator("textarea")).to_be_focused()
    assert len(server.house.posts) == len(reasons) - 1
    page.get_by_role("button", name="Next").click()  # who insists is believed
    wait_stored(page, server, len(reasons))


def test_another_reason_goes_at_once(serve: Serve, new_page) -> None:
    page = new_page()
    server = serve(att(1))
    enter(page, server)
    answer(page, "no no it is not human at all")
    page.get_by_role("button", name="Next").click()
    wait_stored(page, server, 1)


STUCK = """() => {
  const real = HTMLMediaElement.prototype.play;
  Object.defineProperty(HTMLMediaElement.prototype, "paused", {
    get() { return !this.dataset.stuck; }, configurable: true });
  HTMLMediaElement.prototype.play = function () {
    this.dataset.stuck = "yes";
    return new Promise(() => undefined);
  };
  window.mend = () => { HTMLMediaElement.prototype.play = real;
    delete HTMLMediaElement.prototype.paused; };
}"""


def test_a_device_without_output_is_named_after_three_seconds(serve: Serve, new_page) -> None:
    page = new_page()
    page.clock.install(time=0)
    server = serve(Story([MOS], [(0, [0.3], None)]))
    page.add_init_script(f"({STUCK})()")
    enter(page, server)
    page.clock.pause_at(3_600_000)  # else time goes on between two commands
    page.locator(".player-button").click()
    page.clock.run_for(2_900)
    expect(page.locator(".player-problem")).to_be_hidden()
    page.clock.run_for(200)
    expect(page.locator(".player-problem")).to_contain_text("No sound comes out")
    expect(page.locator(".player-problem")).to_contain_text("Connect headphones")


def test_a_player_that_was_muted_is_loud_again(serve: Serve, new_page) -> None:
    page = new_page()
    server = serve(Story([MOS], [(0, [0.5], None)]))
    enter(page, server)
    page.evaluate("document.querySelector('.player audio').muted = true")
    page.evaluate("document.querySelector('.player audio').volume = 0.1")
    hear(page)
    audio = page.evaluate("(a => [a.muted, a.volume])(document.querySelector('.player audio'))")
    assert audio == [False, 1]
    choose(page, "3")
    go_on(page)
    wait_stored(page, server, 1)
    assert server.house.posts[0]["playback"]["silent"] == 0


def test_a_changed_output_is_told_while_clips_are_heard(serve: Serve, new_page) -> None:
    page = new_page()
    page.add_init_script(
        "Object.defineProperty(navigator, 'mediaDevices', {value: new EventTarget()})"
    )
    enter(page, serve(Story([MOS], [(0, [0.3], None)])))
    expect(page.locator("#notice")).to_be_hidden()
    page.evaluate("navigator.mediaDevices.dispatchEvent(new Event('devicechange'))")
    expect(page.locator("#notice")).to_contain_text("The sound output has changed")


def test_the_way_on_is_lifted_above_a_keyboard_that_covers_the_page(serve: Serve, new_page) -> None:
    page = new_page(viewport={"width": 390, "height": 664})
    enter(page, serve(att(1)))
    answer(page, REASON)
    low = page.locator(".trial-next").bounding_box()
    assert low["y"] + low["height"] == pytest.approx(664, abs=1)
    page.evaluate(
        """() => {
          Object.defineProperty(visualViewport, "height", {value: 364});
          Object.defineProperty(visualViewport, "offsetTop", {value: 0});
          visualViewport.dispatchEvent(new Event("resize"));
        }"""
    )
    high = page.locator(".trial-next").bounding_box()
    assert high["y"] + high["height"] <= 365
    expect(page.locator(".count-line")).to_be_visible()


# --- Fewer actions -------------------------------------------------------------------------------


def at(page: Page, place: int) -> None:
    expect(page.locator("#count")).to_contain_text(f"{place} of ")


def test_the_second_clip_plays_by_itself_where_the_study_says_so(
    serve: Serve, new_page: NewPage
) -> None:
    page = new_page()
    enter(page, serve(Story([MOS | {"autoplay": True}], [(0, [0.3], None)] * 3)))
    expect(page.locator(".player")).to_have_attribute("data-state", "ready")
    hear(page)  # the first waits for its rater
    for place in (2, 3):
        page.keyboard.press("4")
        page.keyboard.press("Enter")
        at(page, place)
        heard_out(page)
    page.reload()  # a page that was loaded anew waits again: the browser wants a press
    page.get_by_role("button", name="Begin").or_(page.locator(".player-button")).first.wait_for()
    expect(page.locator(".player")).not_to_have_attribute("data-state", "playing")


def test_nothing_plays_by_itself_otherwise(serve: Serve, new_page: NewPage) -> None:
    page = new_page()
    enter(page, serve(Story([MOS], [(0, [0.3], None)] * 2)))
    hear(page)
    page.keyboard.press("4")
    page.keyboard.press("Enter")
    at(page, 2)
    expect(page.locator(".player")).to_have_attribute("data-state", "ready")


def test_a_session_at_the_keyboard_costs_two_keys_a_clip(serve: Serve, new_page: NewPage) -> None:
    page = new_page()
    server = serve(Story([MOS | {"autoplay": True}], [(0, [0.2], None)] * 20))
    enter(page, server)
    page.keyboard.press("Space")
    keys = 1
    for place in range(1, 21):
        at(page, place)
        heard_out(page)
        page.keyboard.press("3")
        page.keyboard.press("Enter")
        keys += 2
    expect(page.locator(".view-end")).to_be_visible()
    wait_stored(page, server, 20)
    assert keys == 41


def test_a_mouse_that_jumps_and_clicks_that_no_hand_made_are_counted(
    serve: Serve, new_page
) -> None:
    page = new_page()
    server = serve(Story([MOS], [(0, [0.3], None)] * 3))
    enter(page, server)
    for place in range(3):
        hear(page)
        if place == 2:
            page.evaluate("document.querySelectorAll('fieldset.criterion label input')[1].click()")
        else:
            choose(page, "4")
        if place == 1:  # pressed far from where the mouse last was, with no way between
            mouse = page.context.new_cdp_session(page)
            for kind in ("mousePressed", "mouseReleased"):
                press = {"type": kind, "x": 3, "y": 3, "button": "left", "clickCount": 1}
                mouse.send("Input.dispatchMouseEvent", press)
        go_on(page)
    wait_stored(page, server, 3)
    facts = [post["playback"] for post in server.house.posts]
    assert [fact["pointer_jumps"] for fact in facts] == [0, 1, 0]
    assert [fact["scripted_events"] > 0 for fact in facts] == [False, False, True]


def test_a_finger_comes_down_anywhere(serve: Serve, new_page) -> None:
    page = new_page(**PHONE)
    server = serve(Story([MOS], [(0, [0.3], None)]))
    page.goto(f"{server.url}/s/demo/")
    page.get_by_role("button", name="Begin").tap()
    page.locator(".player-button").tap()
    heard_out(page)
    page.locator("fieldset.criterion label").nth(1).tap()
    page.locator("[data-part=next][aria-disabled=false]").tap()
    wait_stored(page, server, 1)
    facts = server.house.posts[0]["playback"]
    assert (facts["pointer_jumps"], facts["scripted_events"]) == (0, 0)
