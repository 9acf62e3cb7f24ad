"""What a tired rater meets when something fails is a sentence that says what to do, twice over."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.utils import timezone, translation
from playwright.sync_api import Page, Route, expect

from listening.common.languages import interface_language
from listening.models import Block, Rating, Session, Study
from listening.sessions import leases, lifecycle
from tests.browser.driver import (
    at_trial,
    begin,
    choose,
    enter,
    go_on,
    hear,
    rate,
    wait_stored,
    wait_until,
)
from tests.browser.fake import FakeServer
from tests.browser.parallel_story import MUSHRA, mushra_story
from tests.browser.story import Story, short_story
from tests.factories import make_study
from tests.listening.sounds import give_sound
from tests.listening.web import WebProcess

Serve = Callable[[Story], FakeServer]
NewPage = Callable[..., Page]
# One test of each kind; that each sentence has its translation is tested in test_languages.py.
LANGUAGES = pytest.mark.parametrize("language", ["zh-Hans"])
COOKIES_OFF = (
    "Your browser refuses cookies from this page, so sounds and answers do not come through. "
    "Please allow cookies for this site (or leave private mode), then load the page again."
)
PART_MISSING = (
    "A part of the page did not arrive. Check your network, switch off ad blockers for this site, "
    "then try again."
)
CLIP_LOST = (
    "The clip does not arrive, even after several tries. Check your network, switch off ad "
    "blockers for this site and try again, or go on without it."
)
NO_SCRIPTS = (
    "This study plays sound and needs JavaScript. Please switch it on, or open this link in "
    "another browser, and load the page again."
)
SCRIPT_MISSING = (
    "The page does not come up? It needs JavaScript and an up-to-date browser. Switch off ad "
    "blockers for this site and load the page again, or open this link in another browser."
)


def said(sentence: str, language: str) -> str:
    with translation.override(interface_language(language)):
        return translation.gettext(sentence)


def speaking_house(serve: Serve, story: Story, language: str) -> FakeServer:
    server = serve(story)
    server.house.language = language
    return server


# --- The browser ---------------------------------------------------------------------------------


NO_STORE = """for (const store of ["localStorage", "sessionStorage"]) {
    Object.defineProperty(window, store, {
        get() { throw new DOMException("Access is denied for this document.", "SecurityError"); },
    });
}"""


@pytest.fixture
def page_without_cookies(new_page: NewPage) -> Page:
    """What pages meet where the user blocks cookies: none are kept, and stores are denied."""
    page = new_page()
    session = page.context.new_cdp_session(page)
    session.send("Emulation.setDocumentCookieDisabled", {"disabled": True})
    page.add_init_script(NO_STORE)
    return page


@LANGUAGES
def test_with_cookies_off_the_door_and_the_session_say_so(
    serve: Serve, page_without_cookies: Page, language: str
) -> None:
    no_cookies = page_without_cookies
    server = speaking_house(serve, short_story(1), language)
    no_cookies.goto(f"{server.url}/r/x/")
    start = "Your browser refuses cookies from this page, so the study cannot start. "
    more = "Please allow cookies for this site (or leave private mode) and load the page again."
    expect(no_cookies.get_by_text(said(start + more, language))).to_be_visible()
    no_cookies.goto(f"{server.url}/s/demo/")
    expect(no_cookies.get_by_text(said(COOKIES_OFF, language))).to_be_visible()
    expect(no_cookies.get_by_role("button", name=said("Try again", language))).to_be_visible()
    assert server.house.clip_requests == []


def test_cookies_that_are_refused_later_are_named_and_the_answer_is_kept(
    serve: Serve, new_page: NewPage
) -> None:
    page = new_page()
    server = serve(short_story(2))
    page.goto(f"{server.url}/s/demo/")
    page.locator("[data-part=start]").click()
    hear(page)
    choose(page, "4")
    server.house.fail("/answers/", "csrf", times=2)
    page.locator("[data-part=next]").click()
    expect(page.locator("#notice")).to_have_text(re.compile(re.escape(COOKIES_OFF)))
    wait_stored(page, server, 1)


@pytest.mark.parametrize(("path", "language"), [("/r/x/", "en"), ("/s/demo/", "zh-Hans")])
def test_with_javascript_off_the_page_says_so(
    serve: Serve, new_page: NewPage, language: str, path: str
) -> None:
    page = new_page(java_script_enabled=False)
    page.goto(speaking_house(serve, short_story(1), language).url + path)
    expect(page.locator("noscript p")).to_be_visible()  # Playwright finds no text in there
    assert page.locator("noscript p").inner_text() == said(NO_SCRIPTS, language)


# --- Ad blockers ---------------------------------------------------------------------------------


@pytest.mark.parametrize("module", ["trial.js"])
def test_a_script_that_an_ad_blocker_holds_back_is_missed_in_words(
    serve: Serve, new_page: NewPage, module: str
) -> None:
    page = new_page()
    server = serve(short_story(1))
    page.route(f"**/{module}", lambda route: route.abort("blockedbyclient"))
    page.goto(f"{server.url}/s/demo/")
    expect(page.get_by_text(SCRIPT_MISSING)).to_be_visible()


@LANGUAGES
def test_a_script_of_a_later_stage_that_is_held_back_is_missed_in_words(
    serve: Serve, new_page: NewPage, language: str
) -> None:
    page = new_page()
    server = speaking_house(serve, mushra_story(0.6, MUSHRA), language)
    page.route("**/board.js", lambda route: route.abort("blockedbyclient"))
    page.goto(f"{server.url}/s/demo/")
    page.locator("[data-part=start]").click()
    expect(page.get_by_text(said(PART_MISSING, language))).to_be_visible()
    page.unroute("**/board.js")
    page.get_by_role("button", name=said("Try again", language)).click()
    expect(page.locator(".clip-button").first).to_be_visible()


AWAY: dict[str, Callable[[Route], None]] = {
    "404": lambda route: route.fulfill(status=404),
    "blocked": lambda route: route.abort("blockedbyclient"),
    "portal": lambda route: route.fulfill(body="<h1>Log in</h1>", content_type="text/html"),
}


@pytest.mark.parametrize("how", ["404", "portal"])  # blocked: in Firefox
def test_a_clip_that_is_held_back_or_gone_can_be_left_out(
    serve: Serve, new_page: NewPage, how: str
) -> None:
    page = new_page()
    server = serve(short_story(2))
    page.route("**/c/0x0", AWAY[how])
    page.clock.install()
    page.goto(f"{server.url}/s/demo/")
    page.locator("[data-part=start]").click()
    skip = page.get_by_role("button", name="Go on without this clip")
    wait_until(page, lambda: page.clock.run_for(2_000) or skip.is_visible())
    expect(page.get_by_text(CLIP_LOST)).to_be_visible()
    skip.click()
    expect(page.locator("#count")).to_contain_text("2")


def test_blocked_requests_to_the_server_keep_the_answers_on_the_device(
    serve: Serve, new_page: NewPage
) -> None:
    page = new_page()
    server = serve(short_story(2))
    enter(page, server)
    page.route("**/api/**", lambda route: route.abort("blockedbyclient"))
    rate(page)
    expect(page.locator("#saved")).to_contain_text("Saved on this device, will be sent: 1")
    page.unroute("**/api/**")
    wait_stored(page, server, 1)


# --- The line ------------------------------------------------------------------------------------


def test_a_slow_line_shows_how_far_the_clip_is(serve: Serve, new_page: NewPage) -> None:
    page = new_page()
    server = serve(short_story(1))
    rest = server.house.hold("/c/0x0")
    page.goto(f"{server.url}/s/demo/")
    page.locator("[data-part=start]").click()
    percent = re.escape("Loading {percent} %")
    percent = percent.replace(re.escape("{percent}"), r"[1-9]\d?")
    expect(page.locator(".player-status")).to_have_text(re.compile(percent))
    rest.set()
    hear(page)


STALLS = {
    "one clip": (short_story(1), "/c/0x0", "Go on without this clip"),
    "clips that play together": (mushra_story(0.3), "/c/0x1", "Go on without it"),
    "a check": (short_story(1, check=True), "/checks/volume.wav", "Try again now"),
}


@pytest.mark.parametrize("what", STALLS)
def test_a_transfer_that_stalls_offers_a_way_out_within_20_seconds(
    serve: Serve, new_page: NewPage, what: str
) -> None:
    """Of the page's own clock: nobody waits here."""
    page = new_page()
    story, path, words = STALLS[what]
    asked: list[Route] = []
    page.route(f"**{path}", lambda route: asked.append(route))  # and never answered
    page.clock.install()
    page.goto(f"{serve(story).url}/s/demo/")
    if not story.check:
        page.locator("[data-part=start]").click()
    way_out = page.get_by_role("button", name=words)
    expect(page.locator("[data-part=next], [data-part=confirm]")).to_be_visible()
    wait_until(page, lambda: len(asked) > 0)
    page.clock.run_for(19_000)
    expect(way_out).to_be_visible()
    page.clock.run_for(5_000)  # it is tried again meanwhile, and the way out stays
    expect(way_out).to_be_visible()


def test_a_part_of_the_page_that_stalls_is_missed_in_words(serve: Serve, new_page: NewPage) -> None:
    page = new_page()
    asked: list[Route] = []
    page.route("**/board.js", lambda route: asked.append(route))
    page.clock.install()
    page.goto(f"{serve(mushra_story(0.3)).url}/s/demo/")
    page.locator("[data-part=start]").click()
    wait_until(page, lambda: len(asked) > 0)
    page.clock.run_for(19_000)
    expect(page.get_by_text(PART_MISSING)).to_be_visible()


# --- Browser extensions and translation ----------------------------------------------------------

FORCE = """() => {
    const audio = document.querySelector("audio");
    window.events = 0;
    window.force = () => {
        window.events += 1;
        if (!window.off && audio.playbackRate !== 2) audio.playbackRate = 2;
    };
    audio.addEventListener("ratechange", window.force);
    audio.playbackRate = 2;
}"""


def test_a_speed_that_is_forced_is_put_right_a_few_times_then_named_and_stored(
    serve: Serve, new_page: NewPage
) -> None:
    page = new_page()
    server = serve(short_story(1))
    enter(page, server)
    page.evaluate(FORCE)
    problem = page.locator(".player-problem")
    expect(problem).to_contain_text("plays this clip at 2 times its speed, mostly a browser")
    page.locator(".player-button").click()
    page.wait_for_function("() => document.querySelector('audio').ended")
    assert page.evaluate("window.events") < 20
    expect(page.locator(".player")).not_to_have_attribute("data-state", "heard")
    page.evaluate("() => { window.off = true; }")
    hear(page)
    expect(problem).to_be_hidden()
    choose(page, "4")
    go_on(page)
    wait_stored(page, server, 1)
    assert server.house.stored["t0"]["playback"]["rate"] == 2


def test_what_is_compared_is_not_translated_and_a_translated_page_is_stored(
    serve: Serve, new_page: NewPage
) -> None:
    page = new_page()
    story = short_story(1)
    story.trials = [(0, [0.4], "The harbour lay quiet.")]
    server = serve(story)
    enter(page, server)
    kept = page.locator(".trial-text:visible, .step-text, .player-line strong")
    assert set(kept.evaluate_all("all => all.map((each) => each.translate)")) == {False}
    assert page.locator("legend").first.evaluate("each => each.translate")
    page.evaluate("() => document.documentElement.classList.add('translated-ltr')")
    rate(page)
    wait_stored(page, server, 1)
    facts = server.house.stored["t0"]["playback"]
    assert (facts["translated"], facts["rate"]) == (True, 1)


# --- The house -----------------------------------------------------------------------------------


@pytest.fixture
def study(transactional_db: None) -> Study:
    made = make_study(items=6, task={"block_size": 6, "ratings_per_stimulus": 3})
    give_sound(made)
    return made


def arrive(page: Page, web: WebProcess, study: Study) -> Session:
    """Through the door of the real house to the first trial."""
    page.goto(f"{web.url}/r/{study.link}/")
    page.get_by_role("checkbox").check()
    page.get_by_role("button", name="Start").click()
    begin(page)
    return Session.objects.get(code=page.url.rstrip("/").rpartition("/")[2])


def answer(page: Page, label: str = "4") -> None:
    hear(page)
    choose(page, label)
    go_on(page)


def saved(page: Page, count: int) -> None:
    wait_until(page, lambda: Rating.objects.count() == count)
    expect(page.locator("#saved")).to_have_text("All answers saved")
    assert Rating.objects.count() == count


@pytest.mark.soak  # killed, and with many raters: tests/test_nothing_is_lost.py
def test_a_restart_of_the_server_loses_nothing(
    web: WebProcess, study: Study, new_page: NewPage
) -> None:
    page = new_page()
    arrive(page, web, study)
    answer(page)
    at_trial(page, 2)
    saved(page, 1)
    hear(page)
    choose(page, "3")
    web.stop()
    go_on(page)
    at_trial(page, 3)
    expect(page.locator("#saved")).to_contain_text("Saved on this device, will be sent: 1")
    web.start()
    saved(page, 2)


def test_who_was_away_too_long_is_told_that_the_places_went_to_others(
    web: WebProcess, study: Study, new_page: NewPage
) -> None:
    page = new_page()
    session = arrive(page, web, study)
    answer(page)
    saved(page, 1)
    Block.objects.filter(session=session).update(lease_until=timezone.now() - timedelta(hours=1))
    leases.return_expired_leases()
    take_every_place(study)
    answer(page)
    expect(page.locator("#notice")).to_contain_text("so the answer was not stored")
    expect(page.locator(".view-end")).to_contain_text(
        "You were away for a while and the remaining clips went to other people. "
        "What you answered is stored. Thank you."
    )


def take_every_place(study: Study) -> None:
    """Somebody else takes every free place."""
    with contextlib.suppress(lifecycle.NoRoom):
        while True:
            lifecycle.start(study, lifecycle.Arrival(simulated=True))


def test_the_back_button_leads_back_into_the_session(
    web: WebProcess, study: Study, new_page: NewPage
) -> None:
    page = new_page()
    session = arrive(page, web, study)
    answer(page)
    at_trial(page, 2)
    saved(page, 1)
    page.go_back()
    expect(page.locator("#count")).to_contain_text("2 of ")
    assert page.url.rstrip("/").endswith(session.code)
    answer(page)
    saved(page, 2)
    page.goto("about:blank")
    page.go_back()
    at_trial(page, 3)
    assert Session.objects.count() == 1


def test_a_house_that_is_away_between_stages_is_named(serve: Serve, new_page: NewPage) -> None:
    page = new_page()
    server = serve(short_story(2, check=True))
    page.goto(f"{server.url}/s/demo/")
    page.locator(".player-button").click()
    page.locator("[data-part=confirm][aria-disabled=false]").wait_for()
    page.route("**/api/**", lambda route: route.abort("connectionrefused"))
    page.locator("[data-part=confirm]").click()
    expect(page.locator("#notice")).to_contain_text("cannot be reached just now")
    page.unroute("**/api/**")
    begin(page)
