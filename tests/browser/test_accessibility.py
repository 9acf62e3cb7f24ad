"""axe-core looks at every page and stage of raters and researchers, in light and dark."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from analysis.corpus.study_corpus import stored_mark
from analysis.web.corpus_jobs import check_stored_corpus
from listening.models import Study
from tests.browser import test_form_looks, test_rater_looks
from tests.browser.axe import Report
from tests.browser.conftest import PHONE
from tests.browser.driver import begin, choose, enter, hear, hear_together, rate
from tests.browser.fake import FakeServer
from tests.browser.form_driver import open_session
from tests.browser.forms import HUGGINS, Requirements
from tests.browser.parallel_story import (
    BEST_WORST,
    MUSHRA,
    RANKING,
    SCALES,
    marks_story,
    mushra_story,
    spans_story,
)
from tests.browser.researcher import PASSWORD, hashed
from tests.browser.story import CMOS, Story, short_story
from tests.factories import answer_all, arrive, make_study
from tests.listening.sounds import give_sound
from tests.listening.web import WebProcess

Serve = Callable[[Story], FakeServer]
NewPage = Callable[..., Page]
TROUBLE = ("problem", "lost", "404", "500", "403_csrf")


@pytest.fixture
def report() -> Iterator[Report]:
    """What axe-core finds: nothing grave, and nothing moderate that is not listed here."""
    found = Report()
    yield found
    assert found.stages
    assert found.grave == []
    assert {rule: sorted(stages) for rule, stages in found.moderate.items()} == {}


def test_a_fault_would_be_found(serve: Serve, new_page: NewPage) -> None:
    page, found = new_page(), Report()
    page.goto(f"{serve(short_story(1)).url}/r/x/")
    page.evaluate("""() => document.querySelector("main").insertAdjacentHTML("beforeend",
        "<button></button><img src=data:,><p id=faint>faint</p>")""")
    page.locator("#faint").evaluate("each => { each.style.color = '#ccc' }")
    found.look(page, "planted")
    rules = {line.split(": ")[1] for line in found.grave}
    assert {"button-name", "image-alt", "color-contrast", "a button has no name"} <= rules


def test_a_fault_of_dark_pages_alone_would_be_found(serve: Serve, new_page: NewPage) -> None:
    page, found = new_page(color_scheme="light"), Report()
    page.goto(f"{serve(short_story(1)).url}/r/x/")
    page.evaluate("""() => {
        document.querySelector("main").insertAdjacentHTML("beforeend", "<p id=faint>faint</p>");
        const dark = new CSSStyleSheet();
        dark.replaceSync("@media (prefers-color-scheme: dark) { #faint { color: #333 } }");
        document.adoptedStyleSheets = [dark];
    }""")
    found.look_in_both_schemes(page, "planted")
    assert [line.split(": ")[:2] for line in found.grave] == [["planted, dark", "color-contrast"]]
    found.look_in_both_schemes(page, "again")  # the page is light again
    assert [line.split(": ")[0] for line in found.grave] == ["planted, dark", "again, dark"]


# --- Raters --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("scheme", "language"),
    [("light", "en"), ("dark", "ar")],
)
def test_from_the_door_to_the_end(
    serve: Serve, new_page: NewPage, report: Report, scheme: str, language: str
) -> None:
    page = new_page(color_scheme=scheme, **(PHONE if scheme == "dark" else {}))
    server = serve(test_rater_looks.whole_story())
    server.house.language = language
    for stage in test_rater_looks.stages(page, server):
        report.look(page, stage)
        direction = page.evaluate("getComputedStyle(document.body).direction")
        assert direction == ("rtl" if language == "ar" else "ltr")
        assert page.evaluate(test_rater_looks.TOO_WIDE) <= 0, stage


def test_questionnaires_and_checks(
    serve_forms: Callable[..., FakeServer], new_page: NewPage, report: Report
) -> None:
    page = new_page(color_scheme="light")
    for stage in test_form_looks.stages(page, serve_forms):
        report.look_in_both_schemes(page, stage)
    open_session(page, serve_forms("", Requirements(HUGGINS, ("3",))))
    for stage in ("check to repeat", "screened out"):
        hear(page)
        page.locator("label.option").first.click()
        page.locator("[data-part=next]").click()
        expect(page.locator(".view-end, .notice-warn >> visible=true")).to_be_visible()
        report.look_in_both_schemes(page, stage)


CHOSEN = {"playback": {"waveform": True, "reference_first": True}}


@pytest.mark.parametrize(
    "task", [MUSHRA | CHOSEN, RANKING, BEST_WORST], ids=["mushra", "ranking", "best-worst"]
)
def test_clips_that_play_together(
    serve: Serve, new_page: NewPage, report: Report, task: dict[str, object]
) -> None:
    page = new_page(color_scheme="light", reduced_motion="reduce")
    page.goto(f"{serve(mushra_story(0.6, task)).url}/s/demo/")
    expect(page.get_by_role("button", name="Begin")).to_be_visible()
    report.look_in_both_schemes(page, "introduction")
    begin(page)
    page.get_by_text("Instructions and keys").click()
    report.look_in_both_schemes(page, "locked")
    hear_together(page)
    report.look_in_both_schemes(page, "open")


def test_every_kind_of_scale(serve: Serve, new_page: NewPage, report: Report) -> None:
    page = new_page(color_scheme="light", reduced_motion="reduce")
    enter(page, serve(short_story(1, task=SCALES)))
    report.look_in_both_schemes(page, "locked")
    hear(page)
    report.look_in_both_schemes(page, "open")
    page.get_by_role("slider", name="How natural is it?").fill("80")
    page.get_by_role("checkbox", name="A cough").check()
    page.locator("[data-part=next]").click(force=True)  # aria-disabled: it says what is missing
    report.look_in_both_schemes(page, "with what is missing")


def test_words_that_are_marked(serve: Serve, new_page: NewPage, report: Report) -> None:
    page = new_page(color_scheme="light", reduced_motion="reduce")
    enter(page, serve(marks_story()))
    report.look_in_both_schemes(page, "locked")
    hear(page)
    page.locator(".mark-word").first.click()
    report.look_in_both_schemes(page, "a word chosen")
    page.get_by_role("button", name="Glitch").click()
    report.look_in_both_schemes(page, "a word marked")


def test_spans_that_are_marked(serve: Serve, new_page: NewPage, report: Report) -> None:
    page = new_page(color_scheme="light", reduced_motion="reduce")
    enter(page, serve(spans_story()))
    report.look_in_both_schemes(page, "locked")
    hear(page)
    page.get_by_role("button", name="Start here").click()
    report.look_in_both_schemes(page, "a span chosen")
    page.get_by_role("button", name="Glitch").click()
    report.look_in_both_schemes(page, "a span marked")


def test_between_trials(serve: Serve, new_page: NewPage, report: Report) -> None:
    page = new_page(color_scheme="light", reduced_motion="reduce")
    told = {0: {"right": False, "text": "A machine speaks: the pitch stays flat."}}
    more = {"extras": {0: {"training": {"n": 1, "total": 1}}}, "feedback": told}
    server = serve(short_story(4, break_every=2, **more))
    enter(page, server)
    rate(page)
    report.look_in_both_schemes(page, "feedback")
    page.get_by_role("button", name="Next").click()
    rate(page)
    expect(page.locator(".view-break")).to_be_visible()
    report.look_in_both_schemes(page, "break")
    page.get_by_role("button", name="Continue").click()
    page.get_by_role("button", name="Withdraw").click()
    report.look_in_both_schemes(page, "withdraw?")
    page.get_by_role("button", name="Withdraw and delete my answers").click()
    expect(page.locator(".view-end")).to_be_visible()
    report.look_in_both_schemes(page, "withdrawn")


def test_when_something_fails(serve: Serve, new_page: NewPage, report: Report) -> None:
    page = new_page(color_scheme="light", reduced_motion="reduce")
    story = Story([CMOS], [(0, [0.4, 0.4], None)] * 3)
    story.clips.pop("0x1")
    server = serve(story)
    enter(page, server)
    expect(page.get_by_role("button", name="Go on without this clip")).to_be_visible()
    report.look_in_both_schemes(page, "clip lost")
    page.get_by_role("button", name="Go on without this clip").click()
    hear(page)
    server.house.fail("/answers/", "drop", 99)
    choose(page, "1")
    page.locator("[data-part=next]").click()
    hear(page)
    choose(page, "1")
    page.locator("[data-part=next]").click()
    expect(page.locator(".view-wait")).to_be_visible()
    report.look_in_both_schemes(page, "waiting for the network")
    other = new_page(page.context)
    other.goto(f"{server.url}/s/demo/")
    expect(page.get_by_role("dialog")).to_be_visible()
    report.look_in_both_schemes(page, "open in another tab")


def test_pages_of_trouble(serve: Serve, new_page: NewPage, report: Report) -> None:
    page = new_page(color_scheme="light")
    server = serve(short_story(1))
    for name in TROUBLE:
        page.goto(f"{server.url}/{name}/")
        report.look_in_both_schemes(page, name)
    for problem in ("closed", "paused", "full", "not_open"):
        server.house.landing = {"problem": problem}
        page.goto(f"{server.url}/r/x/")
        report.look_in_both_schemes(page, problem)
    names = {"en": "English", "zh-Hans": "简体中文"}
    offered = [
        {"tag": t, "name": n, "query": "lang=en", "chosen": t == "en"} for t, n in names.items()
    ]
    server.house.landing = {"languages": offered}
    page.goto(f"{server.url}/r/x/")
    report.look_in_both_schemes(page, "offered in two languages")


# --- Researchers ---------------------------------------------------------------------------------


@pytest.fixture
def study(transactional_db: None) -> Study:
    made = make_study(key="voices")
    give_sound(made)
    answer_all(arrive(made))
    made.owner.password = hashed()
    made.owner.save()
    return made


# Bars, notices, tables and forms: what else is coloured is on one of these pages, too.
COLOURED = {
    "studies/voices/",
    "studies/voices/results/",
    "studies/voices/planning/?size=0.3&items=60",
}


def test_pages_for_researchers(
    web: WebProcess, study: Study, new_page: NewPage, report: Report, tmp_path: Path
) -> None:
    page = new_page(color_scheme="light")
    page.goto(f"{web.url}/studies/voices/")
    report.look_in_both_schemes(page, "log-in")
    page.get_by_label("User name").fill(study.owner.username)
    page.get_by_label("Password").fill("wrong")
    page.get_by_role("button", name="Log in", exact=True).click()
    expect(page.get_by_text("Wrong user name or password.")).to_be_visible()
    report.look(page, "log-in refused")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Log in", exact=True).click()
    expect(page.get_by_role("heading", level=1)).to_have_text("A study")
    wide = page.viewport_size
    assert wide is not None
    page.set_viewport_size({"width": 390, "height": 844})
    way_home = page.locator(".brand").bounding_box()
    assert way_home is not None
    assert way_home["width"] >= 24  # the links beside it scroll instead
    page.set_viewport_size(wide)
    check_stored_corpus(study.key, stored_mark(study.key))
    for path in ("studies/voices/", "studies/", "studies/voices/results/", "studies/voices/so-far/",
                 "studies/voices/planning/?size=0.3&items=60",
                 "studies/voices/corpus/", "studies/voices/metrics/", "gallery/",
                 "studies/voices/preview/", "password/"):  # fmt: skip
        page.goto(f"{web.url}/{path}")
        if path in COLOURED:
            report.look_in_both_schemes(page, path)
        else:
            report.look(page, path)
