"""WebKitGTK takes a study, in place of the Safari that tests cannot have."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from selenium.webdriver import WebKitGTK
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement

from listening.models import Session, Study
from tests.browser.fake import FakeServer
from tests.browser.loudspeaker import loudspeaker
from tests.browser.story import Story, short_story
from tests.browser.webkit import webkit
from tests.config.helpers import wait_for
from tests.factories import make_study
from tests.listening.sounds import give_sound
from tests.listening.web import WebProcess

pytestmark = pytest.mark.slow


class Rater:
    """What a rater does with a mouse and keys."""

    def __init__(self, driver: WebKitGTK) -> None:
        self.driver = driver

    def there(self, css: str) -> list[WebElement]:
        return self.driver.find_elements(By.CSS_SELECTOR, css)

    def wait(self, css: str) -> WebElement:
        """The first of these that is seen."""
        return wait_for(lambda: next((e for e in self.there(css) if e.is_displayed()), None))

    def press(self, css: str) -> None:
        self.wait(css).click()

    def hear(self) -> None:
        self.press(".player[data-state=ready] .player-button")
        self.wait(".player[data-state=heard]")

    def answer(self, place: int) -> None:
        """Hears the trial and answers it."""
        wait_for(lambda: f"{place} of " in self.wait("#count").text)
        self.hear()
        options = self.there("label:is(.option, .step)")
        options[place % len(options)].click()


@pytest.fixture
def rater() -> Iterator[Rater]:
    with webkit(os.environ | {"PULSE_SERVER": "unix:/nobody/listens"}) as running:
        yield Rater(running)


@pytest.fixture
def study(transactional_db: None) -> Study:
    codes = {"complete": "DONE1234", "partial": "PART1234"}
    made = make_study(items=3, completion_codes=codes, task={"block_size": 3})
    give_sound(made)
    return made


def test_a_study_is_taken_from_link_to_code(web: WebProcess, study: Study, rater: Rater) -> None:
    rater.driver.get(f"{web.url}/r/{study.link}/")
    rater.press("[type=checkbox]")
    rater.press("#consent-form .button-primary")
    rater.press("[data-part=start]")
    for place in (1, 2, 3):
        rater.answer(place)
        if place == 2:
            rater.driver.refresh()
        rater.press("[data-part=next][aria-disabled=false]")
    rater.wait(".view-end")
    wait_for(lambda: rater.wait("#saved").text == "All answers saved")
    session = Session.objects.get()
    assert rater.wait("[data-part=code]").text == "DONE1234"
    assert session.status == Session.Status.FINISHED
    trials = session.trials.order_by("position")
    assert [trial.ratings.count() for trial in trials] == [1, 1, 1]
    assert [trial.playback["reloads"] for trial in trials] == [0, 1, 0]


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
