"""Clips on one screen: a laptop needs no scrolling, on a phone the way on stays in sight."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.browser.driver import enter
from tests.browser.fake import FakeServer
from tests.browser.parallel_story import mushra_story
from tests.browser.story import Story

Serve = Callable[[Story], FakeServer]
LAPTOP = {"width": 1280, "height": 800}
PHONE_SIZE = {"width": 390, "height": 844}
LAST_ROW = "() => [...document.querySelectorAll('.rate-row')].at(-1).getBoundingClientRect().bottom"
NEXT_TOP = "() => document.querySelector('.trial-next').getBoundingClientRect().top"
NEXT_END = "() => document.querySelector('[data-part=next]').getBoundingClientRect().bottom"
SORT_OVER = """() => {
    const sort = document.querySelector("[data-part=sort]").getBoundingClientRect();
    return [...document.querySelectorAll(".slider-words span, legend")].some((each) => {
        const range = document.createRange();
        range.selectNodeContents(each);
        const box = range.getBoundingClientRect();
        return box.right > sort.left && box.left < sort.right
            && box.bottom > sort.top && box.top < sort.bottom;
    });
}"""


def opened(serve: Serve, page: Page, clips: int = 9) -> None:
    """As many as one screen may hold."""
    names = ["Reference", *"ABCDEFGHI"[:clips]]
    roles = ["reference", *["rated"] * clips]
    enter(page, serve(mushra_story(0.3, {"clip_names": names, "roles": roles})))
    expect(page.locator(".rate-row")).to_have_count(clips)


def test_all_clips_and_the_way_on_fit_a_laptops_screen(serve: Serve, new_page) -> None:
    page = new_page(viewport=LAPTOP)
    opened(serve, page)
    assert page.evaluate("scrollY") == 0
    assert page.evaluate(LAST_ROW) <= page.evaluate(NEXT_TOP)
    assert page.evaluate(NEXT_END) <= LAPTOP["height"]
    assert not page.evaluate(SORT_OVER)


def test_a_phone_scrolls_rows_only_and_the_way_on_stays(serve: Serve, new_page) -> None:
    page = new_page(viewport=PHONE_SIZE, has_touch=True)
    opened(serve, page)
    assert page.evaluate("document.documentElement.scrollWidth") == PHONE_SIZE["width"]
    assert page.evaluate(NEXT_END) <= PHONE_SIZE["height"]
    page.locator(".rate-row").last.scroll_into_view_if_needed()
    page.mouse.wheel(0, 2000)
    expect(page.locator(".deck")).to_be_in_viewport()
    expect(page.locator("[data-part=next]")).to_be_in_viewport()
