"""The demo study from its link to its code in a real Chromium, on a network that fails."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import PHONE
from tests.browser.demo_rater import STORED, all_answers_of, answer, arrive, go_through
from tests.browser.driver import go_on
from tests.demo_house import DemoHouse

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("house")]


def test_a_phone_takes_the_demo_from_link_to_code(
    demo_house: DemoHouse, new_page: Callable[..., Page]
) -> None:
    page = new_page(**PHONE)
    code = arrive(page, demo_house, "5f1e2d3c4ba1b2c3d4e5f6a7")
    go_through(page)
    (completion,) = demo_house.column(
        "SELECT completion_codes ->> 'complete' FROM listening_study WHERE key = 'demo'"
    )
    link = page.get_by_role("link", name="Go back and finish there")
    expect(link).to_have_attribute("href", re.compile(rf"cc={completion}$"))
    trials = all_answers_of(demo_house, code)
    assert [trial["playback"]["reloads"] for trial in trials][:3] == [0, 1, 0]


def test_another_device_goes_on_where_the_first_one_is(
    demo_house: DemoHouse, new_page: Callable[..., Page]
) -> None:
    phone = new_page(**PHONE)
    code = arrive(phone, demo_house, "5f1e2d3c4ca1b2c3d4e5f6a7")
    phone.get_by_role("button", name="Begin").tap()
    answer(phone, 1)
    go_on(phone)
    expect(phone.locator("#saved")).to_have_text("All answers saved")
    laptop = new_page(has_touch=True)
    laptop.goto(f"{demo_house.url}/s/{code}/")
    laptop.get_by_role("button", name="Begin").click()
    answer(laptop, 2)
    go_on(laptop)
    expect(laptop.locator("#saved")).to_have_text("All answers saved")
    phone.bring_to_front()
    answer(phone, 2)
    go_on(phone)
    expect(phone.locator("#count")).to_contain_text("3 of ")
    expect(phone.locator("#saved")).to_have_text("All answers saved")
    stored = demo_house.rows(STORED, code)
    assert [trial["ratings"] for trial in stored][:3] == [1, 1, 0]
