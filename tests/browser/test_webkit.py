"""WebKitGTK takes the demo study, in place of the Safari that tests cannot have."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from itertools import count

import numpy as np
import pytest
from selenium.webdriver import ActionChains, WebKitGTK
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement

from tests.browser.demo_rater import REASON, all_answers_of, door_of
from tests.browser.fake import FakeServer
from tests.browser.loudspeaker import loudspeaker
from tests.browser.story import Story, short_story
from tests.browser.webkit import webkit
from tests.config.helpers import wait_for
from tests.demo_house import DemoHouse

pytestmark = pytest.mark.slow


class Rater:
    """What a rater does with a mouse and keys."""

    def __init__(self, driver: WebKitGTK) -> None:
        self.driver = driver

    def there(self, css: str) -> list[WebElement]:
        return self.driver.find_elements(By.CSS_SELECTOR, css)

    def wait(self, css: str) -> WebElement:
        """The first of these that is seen; each look costs the browser 20 ms."""
        return wait_for(lambda: next((e for e in self.there(css) if e.is_displayed()), None), 0.25)

    def press(self, css: str) -> None:
        self.wait(css).click()

    def hear(self) -> None:
        self.press(".player[data-state=ready] .player-button")
        self.wait(".player[data-state=heard]")

    def answer(self, place: int) -> None:
        """Hears the trial, answers it and writes the reason where one is asked for."""
        wait_for(lambda: f"{place} of " in self.wait("#count").text)
        self.hear()
        options = self.there("label:is(.option, .step)")
        options[place % len(options)].click()
        for box in self.there("textarea"):
            box.click()
            ActionChains(self.driver).send_keys(f"{REASON} {place}").perform()


@pytest.fixture
def rater() -> Iterator[Rater]:
    with webkit(os.environ | {"PULSE_SERVER": "unix:/nobody/listens"}) as running:
        yield Rater(running)


def test_the_demo_is_taken_from_link_to_code(demo_house: DemoHouse, rater: Rater) -> None:
    rater.driver.get(door_of(demo_house, "5f1e2d3c4fa1b2c3d4e5f6a7"))
    rater.press("[type=checkbox]")
    rater.press("#consent-form .button-primary")
    rater.press(".player[data-state=ready] .player-button")
    rater.press("[data-part=confirm][aria-disabled=false]")
    code = rater.driver.current_url.rstrip("/").rpartition("/")[2]
    for place in count(1):
        rater.wait(".view-intro, .trial, .view-end")
        if rater.there(".view-intro"):
            rater.press("[data-part=start]")
        if rater.there(".view-end"):
            break
        rater.answer(place)
        if place == 2:
            rater.driver.refresh()
        rater.press("[data-part=next][aria-disabled=false]")
    wait_for(lambda: rater.wait("#saved").text == "All answers saved")
    trials = all_answers_of(demo_house, code)
    assert [trial["playback"]["reloads"] for trial in trials][:3] == [0, 1, 0]


def test_what_comes_out_is_the_clip_at_its_own_level(
    serve: Callable[[Story], FakeServer],
) -> None:
    server = serve(short_story(1))
    with loudspeaker() as speaker, webkit(speaker.environment) as running:
        rater = Rater(running)
        running.get(f"{server.url}/s/demo/")
        rater.press("[data-part=start]")
        with speaker.recorded() as waves:
            rater.hear()
    assert np.abs(waves[0]).max() == pytest.approx(0.3, abs=0.01)
