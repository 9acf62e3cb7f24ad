"""The demo study from its link to its code in a real Chromium, on a network that fails."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import count

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import PHONE
from tests.browser.driver import arrived, go_on
from tests.demo_house import DemoHouse

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("house")]

REASON = "The pause in the middle sounds like this."
STORED = """
SELECT t.position, t.plays, t.heard_fraction, t.latency_ms, t.playback, j.text, j.keystrokes,
       k.method, (SELECT count(*) FROM listening_rating r WHERE r.trial_id = t.id) AS ratings
FROM listening_trial t JOIN listening_session s ON s.id = t.session_id
JOIN listening_task k ON k.id = t.task_id LEFT JOIN listening_justification j ON j.trial_id = t.id
WHERE s.code = %s ORDER BY t.position
"""


def arrive(page: Page, house: DemoHouse, person: str) -> str:
    """Through consent and volume page to the first trial; returns the session's code."""
    (link,) = house.column("SELECT link FROM listening_study WHERE key = 'demo'")
    page.goto(f"{house.url}/r/{link}/?PROLIFIC_PID={person}&STUDY_ID=64aa&SESSION_ID=64bb")
    page.get_by_role("checkbox").check()
    page.get_by_role("button", name="Start").click()
    page.locator(".player-button").tap()
    page.locator("[data-part=confirm][aria-disabled=false]").tap()
    found = re.search(r"/s/(\w+)/", page.url)
    assert found is not None
    return found[1]


def answer(page: Page, place: int) -> None:
    """Hears the trial, answers it and writes the reason where one is asked for."""
    expect(page.locator("#count")).to_contain_text(f"{place} of ")
    page.locator(".player-button").tap()
    heard = page.locator(".player[data-state=heard]")
    expect(heard).to_be_visible()
    options = page.locator("label:is(.option, .step)")
    options.nth(place % options.count()).tap()
    if page.locator("textarea").count():
        page.locator("textarea").tap()
        page.keyboard.type(f"{REASON} {place}")


def clips_are_there(page: Page, position: int) -> None:
    """The clips of the trial at this place have come, as the rater's network would let them."""
    state = page.request.get(page.url.replace("/s/", "/api/s/")).json()
    for trial in state["trials"]:
        for path in trial["clips"] if trial["position"] == position else ():
            arrived(page, path)


def go_through(page: Page) -> None:
    """All trials; with a reload and an absent network on the way."""
    for place in count(1):
        page.locator(".view-intro, .trial, .view-end").wait_for()
        if page.locator(".view-intro").count():
            page.get_by_role("button", name="Begin").tap()
        if page.locator(".view-end").count():
            return
        answer(page, place)
        if place == 2:
            page.reload()
        if place == 4:
            clips_are_there(page, 5)
            page.context.set_offline(True)
        go_on(page)
        if place == 5:
            expect(page.locator("#saved")).to_contain_text("will be sent: 2")
            page.context.set_offline(False)
            expect(page.locator("#saved")).to_have_text("All answers saved")


def test_a_phone_takes_the_demo_from_link_to_code(
    demo_house: DemoHouse, new_page: Callable[..., Page]
) -> None:
    page = new_page(**PHONE)
    code = arrive(page, demo_house, "5f1e2d3c4b")
    go_through(page)
    (completion,) = demo_house.column(
        "SELECT completion_codes ->> 'complete' FROM listening_study WHERE key = 'demo'"
    )
    link = page.get_by_role("link", name="Go back and finish there")
    expect(link).to_have_attribute("href", re.compile(rf"cc={completion}$"))
    assert demo_house.column("SELECT status FROM listening_session WHERE code = %s", code) == [
        "finished"
    ]
    trials = demo_house.rows(STORED, code)
    assert len(trials) == 15
    for trial in trials:
        assert trial["ratings"] == 1
        assert trial["plays"] >= 1
        assert trial["heard_fraction"] == 1
        assert trial["latency_ms"] > 1_000 * trial["playback"]["duration_s"][0]
        assert (trial["text"] or "").startswith(REASON) == (trial["method"] == "att")
    assert [trial["playback"]["reloads"] for trial in trials][:3] == [0, 1, 0]


def test_another_device_goes_on_where_the_first_one_is(
    demo_house: DemoHouse, new_page: Callable[..., Page]
) -> None:
    phone = new_page(**PHONE)
    code = arrive(phone, demo_house, "5f1e2d3c4c")
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
