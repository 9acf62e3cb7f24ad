"""Questionnaires and checks have contrast, room for fingers, and fit on narrow screens."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import PHONE
from tests.browser.form_driver import NewPage, Serve, fill_in, listen, open_session, send, tick
from tests.browser.forms import ABOUT, DIGITS, HUGGINS, Requirements
from tests.browser.test_rater_looks import SMALL_TARGETS, TOO_WIDE, can_be_seen_and_reached

TARGETS = SMALL_TARGETS.replace("label.option", "label.option, label.field-check")


def stages(page: Page, serve: Serve) -> Iterator[str]:
    """Each stage as it stands, with mistakes shown, and answered."""
    page.emulate_media(reduced_motion="reduce")
    open_session(page, serve(ABOUT))
    expect(page.locator(".view-questionnaire")).to_have_css("opacity", "1")
    yield "questionnaire"
    tick(page, "first language?", "No")
    send(page)
    yield "questionnaire with mistakes"
    fill_in(page)
    tick(page, "How tired are you now?", "3")
    tick(page, "For how many years", "I prefer not to say")
    yield "questionnaire answered"
    for check, right in ((HUGGINS, ("1", "2")), (DIGITS, ("123", "456"))):
        open_session(page, serve("", Requirements(check, right)))
        expect(page.locator(".player")).to_have_attribute("data-state", "ready")
        expect(page.locator(".view-check-trials")).to_have_css("opacity", "1")
        yield "locked check"
        listen(page)
        if check is DIGITS:
            page.keyboard.type("456")
        else:
            page.locator("label.option").first.click()
        yield "answered check"
        page.locator("[data-part=next]").click()
        yield "second sound"


def test_forms_have_contrast_room_for_fingers_and_fit_every_width(
    serve_forms: Serve, new_page: NewPage
) -> None:
    page = new_page(**PHONE, color_scheme="light")
    for stage in stages(page, serve_forms):
        can_be_seen_and_reached(page, stage, TARGETS)
        for width in (1280, 640, 320):
            page.set_viewport_size({"width": width, "height": 700})
            assert page.evaluate(TOO_WIDE) <= 0, f"{stage}, {width} wide"
        page.set_viewport_size({"width": 390, "height": 844})


def test_a_page_without_its_extra_looks_is_still_shown(
    serve_forms: Serve, new_page: NewPage
) -> None:
    page, server = new_page(), serve_forms(ABOUT)
    page.route("**/questionnaire.css", lambda route: route.abort())
    open_session(page, server)
    expect(page.locator(".view-questionnaire")).to_have_css("opacity", "1")


@pytest.mark.parametrize("sheet", ["questionnaire.css", "no-such.css"])
def test_a_stage_that_comes_later_is_seen_when_its_looks_are_there(
    serve_forms: Serve, new_page: NewPage, sheet: str
) -> None:
    page = new_page()
    page.goto(f"{serve_forms().url}/lost/")
    script = """async (sheet) => {
        const { dress } = await import("/static/js/rater/stylesheet.js");
        const template = document.createElement("template");
        template.id = "later";
        template.dataset.sheet = `/static/css/${sheet}`;
        const root = document.createElement("form");
        root.id = "stage-now";
        document.body.append(template, root);
        dress("later", root);
        return root.style.opacity;
    }"""
    assert page.evaluate(script, sheet) == "0"
    expect(page.locator("#stage-now")).to_have_css("opacity", "1")
