"""The rater's pages adapt: system colours, large text, no single-key shortcuts."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Locator, Page, expect

from tests.browser.driver import begin, enter, hear, hear_together
from tests.browser.fake import FakeServer
from tests.browser.parallel_story import (
    BEST_WORST,
    MUSHRA,
    RANKING,
    SCALES,
    marks_story,
    mushra_story,
    spans_story,
)
from tests.browser.story import ATT, CMOS, MOS, SEVERAL, Story, short_story

Serve = Callable[[Story], FakeServer]
NewPage = Callable[..., Page]

# Words that take two lines: broken, since nothing in them may be.
BROKEN = """() => {
    const broken = [];
    const walk = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
    for (let node = walk.nextNode(); node; node = walk.nextNode()) {
        const element = node.parentElement;
        if (!element.checkVisibility() || element.closest(".visually-hidden, [hidden]")) continue;
        for (const { 0: word, index } of node.data.matchAll(/[\\p{L}\\p{N}]+/gu)) {
            const range = document.createRange();
            range.setStart(node, index);
            range.setEnd(node, index + word.length);
            const tops = new Set([...range.getClientRects()].map(({ top }) => Math.round(top)));
            if (tops.size > 1) broken.push(word);
        }
    }
    return broken;
}"""
TOO_WIDE = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"

SHORT_LINES = """() => [...document.querySelectorAll("input[type=range], .player-bar")]
    .filter((each) => each.checkVisibility() && each.clientWidth < innerWidth / 2)
    .map((each) => each.className)"""


def lines_of(place: Locator) -> tuple[int, int]:
    """How many rows and columns of an element's picture hold more than one colour."""
    picture = np.asarray(Image.open(io.BytesIO(place.screenshot())).convert("RGB")).astype(int)
    rows = np.abs(np.diff(picture, axis=1)).sum(axis=(1, 2)) > 0
    columns = np.abs(np.diff(picture, axis=0)).sum(axis=(0, 2)) > 0
    return int(rows.sum()), int(columns.sum())


def frame_of(place: Locator) -> str:
    """The frame and the ink of an element, without its background."""
    style: str = place.evaluate(
        "(each) => { const s = getComputedStyle(each); return `${s.border} ${s.color}`; }"
    )
    return style


def test_in_system_colours_every_control_keeps_its_shape(serve: Serve, new_page: NewPage) -> None:
    page = new_page(viewport={"width": 1280, "height": 900})
    page.emulate_media(forced_colors="active", reduced_motion="reduce")
    enter(page, serve(mushra_story(0.3)))
    locked = frame_of(page.locator("[data-part=next]"))
    hear_together(page)
    page.locator(".player-button").click()
    line = page.locator(".rate-row .slider-line").first
    width = line.bounding_box()["width"]  # type: ignore[index]
    assert lines_of(line)[1] > 0.9 * width, "no track of a slider"
    ticks = page.locator(".board[data-bands] .slider-line").nth(1)
    assert lines_of(ticks)[0] > 15, "no ticks between the bands"
    for name in (".deck-line", ".deck-loop"):
        assert lines_of(page.locator(name))[0] > 10, f"no handle on {name}"
    for slider in page.locator(".rate-row input").all():
        slider.evaluate("each => { each.value = 60; each.dispatchEvent(new Event('input')); }")
    expect(page.locator("[data-part=next]")).to_have_attribute("aria-disabled", "false")
    assert frame_of(page.locator("[data-part=next]")) != locked


def test_in_system_colours_the_playback_bar_shows_how_far_it_is(
    serve: Serve, new_page: NewPage
) -> None:
    page = new_page()
    page.emulate_media(forced_colors="active", reduced_motion="reduce")
    enter(page, serve(short_story(1)))
    bar = page.locator(".player-bar")
    expect(page.locator(".player")).to_have_attribute("data-state", "ready")
    empty = bar.screenshot()
    hear(page)
    assert bar.screenshot() != empty
    assert lines_of(bar)[1] > 100


def large(serve: Serve) -> Iterator[Story]:
    yield Story([ATT, MOS], [(0, [0.3], "The harbour lay quiet."), (1, [0.3], None)])
    yield Story([CMOS, SEVERAL], [(0, [0.3, 0.3], None), (1, [0.3], None)])
    yield short_story(1, task=SCALES)
    yield mushra_story(0.3, MUSHRA)
    yield mushra_story(0.3, RANKING)
    yield mushra_story(0.3, BEST_WORST)
    yield marks_story()
    yield spans_story()


@pytest.mark.slow
def test_text_twice_as_large_on_a_phone_breaks_no_word(serve: Serve, new_page: NewPage) -> None:
    """What 390 pixels hold at 200 % zoom."""
    page = new_page(viewport={"width": 195, "height": 422}, has_touch=True, is_mobile=True)
    page.emulate_media(reduced_motion="reduce")
    found = {}
    for number, story in enumerate(large(serve)):
        server = serve(story)
        if not number:
            page.goto(f"{server.url}/r/x/")
            found["landing"] = page.evaluate(BROKEN), page.evaluate(TOO_WIDE)
        page.goto(f"{server.url}/s/demo/")
        expect(page.get_by_role("button", name="Begin")).to_be_visible()
        found[f"{number} introduction"] = page.evaluate(BROKEN), page.evaluate(TOO_WIDE)
        begin(page)
        found[f"{number} trial"] = page.evaluate(BROKEN), page.evaluate(TOO_WIDE)
        assert page.evaluate(SHORT_LINES) == [], number
        page.evaluate("() => localStorage.clear()")
    assert {name: each for name, each in found.items() if each != ([], 0)} == {}


WORDS = """() => [...document.querySelectorAll(".slider-words:not([hidden]) span, .step-text")]
    .map((word) => [word.textContent, parseFloat(getComputedStyle(word).fontSize)])"""
OVERLAPS = """() => {
    const boxes = [...document.querySelectorAll(".slider-words:not([hidden]) span")]
        .map((word) => word.getBoundingClientRect());
    const meets = (a, b) => a.left < b.right && b.left < a.right
        && a.top < b.bottom && b.top < a.bottom;
    return boxes.some((a, k) => boxes.slice(k + 1).some((b) => meets(a, b)));
}"""


@pytest.mark.medium
def test_the_words_of_scales_grow_with_the_text(serve: Serve, new_page: NewPage) -> None:
    page = new_page(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    for story in (mushra_story(0.3, MUSHRA), short_story(1, task=SCALES), short_story(1)):
        enter(page, serve(story))
        plain = page.evaluate(WORDS)
        page.evaluate("() => { document.documentElement.style.fontSize = '200%'; }")
        large = page.evaluate(WORDS)
        assert plain
        for (word, before_px), (same, after_px) in zip(plain, large, strict=True):
            assert same == word
            assert after_px >= 1.9 * before_px, word
        assert (page.evaluate(BROKEN), page.evaluate(TOO_WIDE)) == ([], 0)
        assert not page.evaluate(OVERLAPS)
        page.evaluate("() => localStorage.clear()")


def test_single_keys_can_be_switched_off(serve: Serve, new_page: NewPage) -> None:
    page = new_page()
    enter(page, serve(short_story(1)))
    page.get_by_label("Letters and digits are shortcuts").uncheck()
    page.locator("h1").focus()
    page.keyboard.press("p")
    expect(page.locator(".player")).to_have_attribute("data-state", "ready")
    hear(page)
    page.locator("h1").focus()
    page.keyboard.press("3")
    assert page.locator("input[type=radio]:checked").count() == 0
    page.reload()
    switch = page.get_by_label("Letters and digits are shortcuts")
    expect(switch).not_to_be_checked()
    switch.check()
    page.locator("h1").focus()
    expect(page.locator("fieldset.criterion")).to_be_enabled()
    page.keyboard.press("3")
    assert page.locator("input[type=radio]:checked").get_attribute("value") == "3"
