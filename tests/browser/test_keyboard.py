"""Every kind of trial and page goes by Tab, arrows, Space and Enter alone, and shows its focus."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.driver import heard_out, wait_stored
from tests.browser.fake import FakeServer
from tests.browser.form_driver import open_session
from tests.browser.forms import HUGGINS, Requirements
from tests.browser.parallel_story import MUSHRA, RANKING, SCALES, mushra_story
from tests.browser.story import ATT, CMOS, MOS, Story, short_story

Serve = Callable[[Story], FakeServer]
NewPage = Callable[..., Page]
SHOWN = """() => {
    const chosen = document.activeElement;
    const ring = (each) => {
        const { outlineStyle, outlineWidth, boxShadow } = getComputedStyle(each);
        return (outlineStyle !== "none" && parseFloat(outlineWidth) > 0) || boxShadow !== "none";
    };
    const label = chosen.closest("label");
    const frames = [chosen, chosen.nextElementSibling, label, chosen.parentElement];
    const box = (label ?? chosen).getBoundingClientRect();
    return { name: chosen.outerHTML.slice(0, 90), seen: box.bottom > 0 && box.top < innerHeight,
        ring: chosen === document.body || frames.some((each) => each && ring(each)) };
}"""
FORM = """
[[questionnaires]]
key = "short"
use = ["hearing"]
"""


def tab_to(page: Page, selector: str) -> None:
    """Presses Tab until the focus is there; wherever it stops, it can be seen."""
    for _ in range(60):
        page.keyboard.press("Tab")
        shown = page.evaluate(SHOWN)
        assert shown["ring"], f"no focus is shown on {shown['name']}"
        assert shown["seen"], f"the focus left the screen: {shown['name']}"
        if page.evaluate("(wanted) => document.activeElement.matches(wanted)", selector):
            return
    raise AssertionError(f"Tab never comes to {selector}")


def start(page: Page, server: FakeServer) -> None:
    page.goto(f"{server.url}/s/demo/")
    expect(page.get_by_role("button", name="Begin")).to_be_visible()
    tab_to(page, "[data-part=start]")
    page.keyboard.press("Enter")
    expect(page.locator(".trial")).to_be_visible()


def hear(page: Page) -> None:
    page.locator("body").focus()
    tab_to(page, ".player-button")
    page.keyboard.press("Enter")
    heard_out(page)


def hear_next(page: Page) -> None:
    """The next of clips that play together."""
    tab_to(page, ".clip-button:not([data-walked])")
    page.evaluate("document.activeElement.dataset.walked = 'yes'")
    page.keyboard.press("Enter")
    page.wait_for_function("() => document.activeElement.classList.contains('heard')")


def go_on(page: Page) -> None:
    tab_to(page, "[data-part=next]")
    page.keyboard.press("Enter")


def test_the_door_opens_by_keys(serve: Serve, new_page: NewPage) -> None:
    page = new_page()
    page.goto(f"{serve(short_story(1)).url}/r/x/")
    tab_to(page, "#consent")
    page.keyboard.press("Space")
    tab_to(page, "button[type=submit]")
    page.keyboard.press("Enter")
    page.wait_for_url("**/s/demo/")


@pytest.mark.parametrize("task", [ATT, MOS, CMOS], ids=["choice", "steps", "pair"])
def test_a_sequence_trial_goes_by_keys(
    serve: Serve, new_page: NewPage, task: dict[str, Any]
) -> None:
    page = new_page()
    server = serve(Story([task], [(0, [0.4] * len(task["clip_names"]), None)]))
    start(page, server)
    hear(page)
    tab_to(page, "fieldset.criterion input")
    page.keyboard.press("Space")
    page.keyboard.press("ArrowRight")
    if task["justification"]:
        tab_to(page, "textarea")
        page.keyboard.type("a breath before the word")
    go_on(page)
    wait_stored(page, server, 1)
    second = task["criteria"][0]["scale"]["steps"][1]["label"]
    assert server.house.posts[0]["answers"] == {"0": second}


def test_every_kind_of_scale_goes_by_keys(serve: Serve, new_page: NewPage) -> None:
    page = new_page()
    server = serve(short_story(1, task=SCALES))
    start(page, server)
    hear(page)
    tab_to(page, "[data-widget=steps] input")
    page.keyboard.press("Space")
    tab_to(page, "[data-widget=slider] input")
    page.keyboard.press("ArrowRight")
    tab_to(page, "[data-widget=many] input[value=cough]")
    page.keyboard.press("Space")
    tab_to(page, "[data-widget=text] textarea")
    page.keyboard.type("nothing")
    go_on(page)
    wait_stored(page, server, 1)
    given = server.house.posts[0]["answers"]
    assert (given["2"], given["3"]) == ("cough", "nothing")
    assert int(given["1"]) in (1, 51)


def test_clips_that_play_together_are_scored_by_keys(serve: Serve, new_page: NewPage) -> None:
    page = new_page()
    server = serve(mushra_story(0.6, MUSHRA))
    start(page, server)
    for _clip in range(5):
        hear_next(page)
    page.locator("body").focus()
    for _clip in range(4):
        tab_to(page, ".rate-row input:not([data-walked])")
        page.evaluate("document.activeElement.dataset.walked = 'yes'")
        page.keyboard.press("ArrowRight")
    go_on(page)
    wait_stored(page, server, 1)
    assert len(server.house.posts[0]["answers"]) == 4


def test_clips_are_put_in_order_by_keys(serve: Serve, new_page: NewPage) -> None:
    page = new_page()
    server = serve(mushra_story(0.6, RANKING))
    start(page, server)
    for _clip in range(3):
        hear_next(page)
    for _clip in range(3):
        page.locator("body").focus()
        tab_to(page, "[data-part=pool] [data-part=up]:not(:disabled)")
        page.keyboard.press("Enter")
    go_on(page)
    wait_stored(page, server, 1)
    assert sorted(server.house.posts[0]["answers"].values()) == ["1", "2", "3"]


def test_questions_and_sounds_before_the_trials_go_by_keys(
    serve_forms: Callable[..., FakeServer], new_page: NewPage
) -> None:
    page, server = new_page(), serve_forms(FORM, Requirements(HUGGINS, ("1",)))
    open_session(page, server)
    tab_to(page, "fieldset.question input")
    page.keyboard.press("Space")
    tab_to(page, "[data-part=send]")
    page.keyboard.press("Enter")
    expect(page.locator(".view-check-trials")).to_be_visible()
    hear(page)
    tab_to(page, ".criterion input")
    page.keyboard.press("Space")
    go_on(page)
    expect(page.get_by_role("button", name="Begin")).to_be_visible()


def test_withdrawing_goes_by_keys_and_the_dialog_keeps_the_focus(
    serve: Serve, new_page: NewPage
) -> None:
    page = new_page()
    start(page, serve(short_story(2)))
    tab_to(page, "#withdraw")
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Stay")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.locator("#withdraw")).to_be_focused()
    page.keyboard.press("Enter")
    tab_to(page, "#withdraw-confirm")
    page.keyboard.press("Enter")
    expect(page.locator(".view-end h1")).to_be_focused()


def test_nothing_moves_for_who_asked_for_less_motion(serve: Serve, new_page: NewPage) -> None:
    page = new_page(reduced_motion="reduce")
    start(page, serve(short_story(2, task=CMOS)))
    page.locator(".player-button").click()
    moving = """() => document.getAnimations()
        .filter((each) => each.effect.getComputedTiming().duration > 1)
        .filter((each) => each.playState === "running")
        .map((each) => each.animationName ?? each.transitionProperty)"""
    for _ in range(5):
        assert page.evaluate(moving) == []
        page.wait_for_timeout(100)
