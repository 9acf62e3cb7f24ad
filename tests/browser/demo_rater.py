"""A rater who takes the demo study in a browser, by touch or with a mouse, on a failing network."""

from __future__ import annotations

import re
from itertools import count
from typing import Any

from playwright.sync_api import Locator, Page, expect

from tests.browser.driver import arrived, go_on
from tests.demo_house import DemoHouse

REASON = "The pause in the middle sounds like this."
STORED = """
SELECT t.position, t.plays, t.heard_fraction, t.latency_ms, t.playback, j.text, j.keystrokes,
       k.method, (SELECT count(*) FROM listening_rating r WHERE r.trial_id = t.id) AS ratings
FROM listening_trial t JOIN listening_session s ON s.id = t.session_id
JOIN listening_task k ON k.id = t.task_id LEFT JOIN listening_justification j ON j.trial_id = t.id
WHERE s.code = %s ORDER BY t.position
"""


def press(place: Locator) -> None:
    """As the device has it: by touch, or with a mouse."""
    if place.page.evaluate("navigator.maxTouchPoints"):
        place.tap()
    else:
        place.click()


def door_of(house: DemoHouse, person: str) -> str:
    """The address by which somebody comes from Prolific."""
    (link,) = house.column("SELECT link FROM listening_study WHERE key = 'demo'")
    return (
        f"{house.url}/r/{link}/?PROLIFIC_PID={person}&STUDY_ID={'64' * 12}&SESSION_ID={'65' * 12}"
    )


def arrive(page: Page, house: DemoHouse, person: str) -> str:
    """Through consent and volume page to the first trial; returns the session's code."""
    page.goto(door_of(house, person))
    page.get_by_role("checkbox").check()
    page.get_by_role("button", name="Start").click()
    press(page.locator(".player-button"))
    press(page.locator("[data-part=confirm][aria-disabled=false]"))
    found = re.search(r"/s/(\w+)/", page.url)
    assert found is not None
    return found[1]


def answer(page: Page, place: int) -> None:
    """Hears the trial, answers it and writes the reason where one is asked for."""
    expect(page.locator("#count")).to_contain_text(f"{place} of ")
    press(page.locator(".player-button"))
    heard = page.locator(".player[data-state=heard]")
    expect(heard).to_be_visible()
    options = page.locator("label:is(.option, .step)")
    press(options.nth(place % options.count()))
    if page.locator("textarea").count():
        press(page.locator("textarea"))
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
            press(page.get_by_role("button", name="Begin"))
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


def all_answers_of(house: DemoHouse, code: str) -> list[dict[str, Any]]:
    """What is stored of a finished session, each trial heard to its end and answered once."""
    status = house.column("SELECT status FROM listening_session WHERE code = %s", code)
    assert status == ["finished"]
    trials = house.rows(STORED, code)
    assert len(trials) == 15
    for trial in trials:
        assert trial["ratings"] == 1
        assert trial["plays"] >= 1
        assert trial["heard_fraction"] == 1
        assert trial["latency_ms"] > 1_000 * trial["playback"]["duration_s"][0]
        assert (trial["text"] or "").startswith(REASON) == (trial["method"] == "att")
    return trials
