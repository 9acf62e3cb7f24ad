"""Pages of raters in every language: nothing is too wide on a small phone, and values stay."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from playwright.sync_api import Page, expect

from listening.common.interface_languages import INTERFACE_LANGUAGES
from tests.browser.conftest import PHONE
from tests.browser.driver import choose, enter, go_on, hear, hear_together, wait_stored
from tests.browser.fake import FakeServer
from tests.browser.parallel_story import mushra_story
from tests.browser.story import MOS, Story
from tests.browser.test_rater_looks import TOO_WIDE
from tests.factories import make_user
from tests.listening.web import WebProcess

SMALL_PHONE = {**PHONE, "viewport": {"width": 360, "height": 740}}
TAGS = [each.tag for each in INTERFACE_LANGUAGES]
EXAMPLES = "preview/examples/gallery/"
EVERY_SCREEN = (  # one of each widget, a check and a questionnaire
    *("?task=mos", "?task=p835", "?task=cmos", "?task=mushra", "?task=best_worst", "?task=rank"),
    *("?task=transcription", "?task=marking", "?task=speaker_similarity", "?check=stereo"),
    "?questionnaire=hearing",
)
OVERLAPPING = """() => {
    const boxes = [...document.querySelectorAll(".slider-words span")]
        .filter((each) => each.checkVisibility()).map((each) => each.getBoundingClientRect());
    return boxes.some((a, k) => boxes.slice(k + 1).some((b) =>
        Math.min(a.right, b.right) - Math.max(a.left, b.left) > 1 &&
        Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top) > 1));
}"""
FEW_SCREENS = ("?task=mos", "?task=mushra")


@pytest.fixture
def small_phone(web: WebProcess, transactional_db: None, new_page: Callable[..., Page]) -> Page:
    client = Client()
    client.force_login(make_user("ada"))
    page = new_page(**SMALL_PHONE)
    cookie = {"name": "sessionid", "value": client.cookies["sessionid"].value, "url": web.url}
    page.context.add_cookies([cookie])  # type: ignore[list-item]
    return page


def look(page: Page, address: str, screens: tuple[str, ...], tag: str) -> None:
    """Instructions and the first screen of each, as wide as the phone and in their language."""
    page.goto(f"{address}{EXAMPLES}?lang={tag}")
    assert page.evaluate(TOO_WIDE) <= 0, (tag, "first page")
    for screen in screens:
        page.goto(f"{address}{EXAMPLES}{screen}&lang={tag}")
        expect(page.locator("html")).to_have_attribute("lang", tag.lower())
        begin = page.locator("#stage [data-part=start]")
        page.locator("#stage .loading").wait_for(state="detached")
        assert page.evaluate(TOO_WIDE) <= 0, (tag, screen, "instructions")
        if screen.startswith("?task"):
            begin.click()
            page.locator(".trial").wait_for()
            assert page.evaluate(TOO_WIDE) <= 0, (tag, screen)
            assert not page.evaluate(OVERLAPPING), (tag, screen)


@pytest.mark.slow
@pytest.mark.parametrize("tag", ["ar", "de", "hi", "ru"])
def test_few_screens_fit_a_small_phone(web: WebProcess, small_phone: Page, tag: str) -> None:
    look(small_phone, f"{web.url}/", FEW_SCREENS, tag)


@pytest.mark.soak  # every language and widget; a normal run looks at four languages
@pytest.mark.parametrize("tag", TAGS)
def test_every_language_fits_a_small_phone(web: WebProcess, small_phone: Page, tag: str) -> None:
    look(small_phone, f"{web.url}/", EVERY_SCREEN, tag)


# --- From right to left --------------------------------------------------------------------------


def arabic(serve: Callable[[Story], FakeServer], story: Story, page: Page) -> FakeServer:
    server = serve(story)
    server.house.language = "ar"
    enter(page, server, "البدء")
    return server


def middle_x(box: Any) -> float:
    assert box
    return box["x"] + box["width"] / 2


def test_a_scale_runs_from_right_to_left_with_its_words(
    serve: Callable[[Story], FakeServer], new_page: Callable[..., Page]
) -> None:
    """What lies under a word is stored, and arrows go where they point."""
    page = new_page(viewport={"width": 1000, "height": 800})
    server = arabic(serve, Story([MOS], [(0, [0.3], None)] * 2), page)
    for place, (label, arrow) in enumerate([("5", ""), ("3.5", "ArrowLeft")]):
        hear(page)
        steps = {key: page.locator(f'label:has(input[value="{key}"])') for key in "12345"}
        across = [middle_x(steps[key].bounding_box()) for key in "12345"]
        assert across == sorted(across, reverse=True)
        if arrow:
            choose(page, "3")
            page.locator("body").press(arrow)
        else:
            word = steps["5"].locator(".step-text").bounding_box()
            page.mouse.click(middle_x(word), word["y"] + word["height"] / 2 if word else 0)
        assert page.locator('label:has(input[value="3.5"])').inner_text() == "3,5"
        go_on(page)
        wait_stored(page, server, place + 1)
        assert server.house.posts[-1]["answers"] == {"0": label}


def test_sliders_are_mirrored_with_their_words_and_time_is_not(
    serve: Callable[[Story], FakeServer], new_page: Callable[..., Page]
) -> None:
    page = new_page(viewport={"width": 1000, "height": 900})
    server = arabic(serve, mushra_story(0.3), page)
    hear_together(page)
    words = page.locator(".board-head .slider-words span")
    told = {each.get_attribute("data-label"): middle_x(each.bounding_box()) for each in words.all()}
    assert len(told) >= 2
    across = [told[label] for label in sorted(told, key=lambda label: float(label or 0))]
    assert across == sorted(across, reverse=True)
    sliders = page.locator(".rate-row input")
    goals = [label for label in told if label not in ("0", "100")]
    wanted = []
    for place in range(sliders.count()):
        label = goals[place % len(goals)]
        box = sliders.nth(place).bounding_box()
        assert box
        page.mouse.click(told[label], box["y"] + box["height"] / 2)
        assert abs(float(sliders.nth(place).input_value()) - float(label or 0)) <= 2
        sliders.nth(place).press("ArrowLeft")  # leads up where a scale runs to the left
        wanted.append(sliders.nth(place).input_value())
    go_on(page)
    wait_stored(page, server, 1)
    (answers,) = [post["answers"] for post in server.house.posts]
    assert [*answers.values()] == wanted
    assert page.evaluate("getComputedStyle(document.body).direction") == "rtl"


@pytest.mark.parametrize("view", [".player-bar", ".deck-line", ".span-wave"])
def test_time_runs_from_left_to_right_in_arabic(
    serve: Callable[[Story], FakeServer], new_page: Callable[..., Page], view: str
) -> None:
    page = new_page()
    server = serve(Story([MOS], [(0, [0.3], None)]))
    server.house.language = "ar"
    page.goto(f"{server.url}/s/demo/")
    direction = page.evaluate(
        """view => {
            const line = document.createElement("div");
            line.className = view.slice(1);
            document.querySelector("main").append(line);
            return getComputedStyle(line).direction;
        }""",
        view,
    )
    assert direction == "ltr"
