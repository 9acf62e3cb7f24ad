"""Firefox as its users have it: whole studies, and what it says when things fail."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

from listening.models import Study
from tests.browser import test_failures as failures
from tests.browser import test_parallel as parallel
from tests.browser.driver import enter, hear
from tests.browser.fake import FakeServer
from tests.browser.firefox import Firefoxes, firefoxes
from tests.browser.loudspeaker import Loudspeaker, loudspeaker
from tests.browser.parallel_story import MUSHRA, mushra_story
from tests.browser.story import Story, short_story
from tests.browser.taken import Take, everything_is_stored
from tests.browser.test_failures import study  # noqa: F401  (a fixture)
from tests.listening.web import WebProcess

pytestmark = pytest.mark.slow

Serve = Callable[[Story], FakeServer]
NewPage = Callable[..., Page]


@pytest.fixture(scope="module")
def speaker() -> Iterator[Loudspeaker]:
    with loudspeaker() as running:
        yield running


@pytest.fixture(scope="module")
def start() -> Iterator[Firefoxes]:
    with firefoxes() as starting:
        yield starting


@pytest.fixture
def browser(start: Firefoxes, speaker: Loudspeaker) -> Browser:
    """In place of Chromium, for all fixtures that open pages."""
    return start(speaker.environment)


# A question with a reason; sliders of clips that play together: below.
RARELY = [pytest.param(name, marks=pytest.mark.soak) for name in ("mushra", "gallery")]


@pytest.mark.parametrize("name", ["att", *RARELY])
def test_a_study_is_taken_and_stored(take: Take, name: str) -> None:
    walk, session = take(name)
    assert {t.method for t in session.study.tasks.all()} == {
        t.task.method for t in session.trials.select_related("task")
    }
    everything_is_stored(walk, session)


def test_what_comes_out_is_the_clip_at_its_own_level(
    serve: Serve, new_page: NewPage, speaker: Loudspeaker
) -> None:
    page = new_page()
    enter(page, serve(short_story(1)))
    with speaker.recorded() as waves:
        hear(page)
    assert np.abs(waves[0]).max() == pytest.approx(0.3, abs=0.01)


def test_sliders_of_clips_that_play_together_are_scored(serve: Serve, new_page: NewPage) -> None:
    parallel.test_the_answer_has_a_score_for_each_rated_clip_and_what_was_heard(serve, new_page)


# --- When things fail ----------------------------------------------------------------------------
# What Chromium is seen to say as well is asked of Firefox in `make soak`.

PAGES = (
    failures.test_cookies_that_are_refused_later_are_named_and_the_answer_is_kept,
    pytest.param(failures.test_a_slow_line_shows_how_far_the_clip_is, marks=pytest.mark.soak),
)


@pytest.mark.parametrize("failure", PAGES)
def test_a_page_that_fails_says_so(failure: Callable[..., None], serve: Serve, new_page) -> None:
    failure(serve, new_page)


@pytest.mark.soak
def test_a_clip_that_is_held_back_can_be_left_out(serve: Serve, new_page: NewPage) -> None:
    failures.test_a_clip_that_is_held_back_or_gone_can_be_left_out(serve, new_page, "blocked")


@pytest.mark.soak
def test_a_script_that_is_held_back_is_missed(serve: Serve, new_page: NewPage) -> None:
    failures.test_a_script_that_an_ad_blocker_holds_back_is_missed_in_words(
        serve, new_page, "session.js"
    )


@pytest.mark.soak
def test_a_script_of_a_later_stage_that_is_held_back_is_missed(
    serve: Serve, new_page: NewPage
) -> None:
    failures.test_a_script_of_a_later_stage_that_is_held_back_is_missed_in_words(
        serve, new_page, "zh-Hans"
    )


@pytest.mark.soak
def test_blocked_requests_keep_the_answers_on_the_device(serve: Serve, new_page: NewPage) -> None:
    failures.test_blocked_requests_to_the_server_keep_the_answers_on_the_device(serve, new_page)


@pytest.mark.soak
def test_the_back_button_leads_back_into_the_session(
    web: WebProcess,
    study: Study,  # noqa: F811
    new_page: NewPage,
) -> None:
    failures.test_the_back_button_leads_back_into_the_session(web, study, new_page)


# --- Set otherwise by its user -------------------------------------------------------------------


@pytest.mark.soak
def test_with_cookies_off_the_door_and_the_session_say_so(
    serve: Serve, start: Firefoxes, speaker: Loudspeaker
) -> None:
    server = serve(short_story(1))
    page = start(speaker.environment, network_cookie_cookieBehavior=2).new_page()
    page.goto(f"{server.url}/r/x/")
    expect(page.get_by_text("Your browser refuses cookies from this page")).to_be_visible()
    page.goto(f"{server.url}/s/demo/")
    expect(page.get_by_text(failures.COOKIES_OFF)).to_be_visible()


@pytest.fixture
def without_output(start: Firefoxes) -> Browser:
    return start(os.environ | {"PULSE_SERVER": "unix:/nobody/listens"})


def test_without_an_output_it_says_what_to_do(serve: Serve, without_output: Browser) -> None:
    """Firefox reports that as a clip that cannot be decoded, and it is not."""
    server = serve(short_story(1))
    page = without_output.new_page()
    enter(page, server)
    for _ in range(5):  # as often as it takes to give up a clip that cannot be decoded
        page.locator(".player-button").click()
        expect(page.locator(".player-problem")).to_contain_text("No sound comes out")
        expect(page.locator(".player")).to_have_attribute("data-state", "ready")
    assert server.house.clip_requests.count("/c/0x0") == 1


@pytest.mark.soak
def test_without_an_output_clips_that_are_compared_say_so_too(
    serve: Serve, without_output: Browser
) -> None:
    page = without_output.new_page()
    enter(page, serve(mushra_story(0.6, MUSHRA)))
    page.locator(".clip-button").first.click()
    expect(page.get_by_text("No sound comes out")).to_be_visible()
