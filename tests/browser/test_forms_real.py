"""Questionnaires and checks of a real study in Chromium: asked, judged and kept by the house."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from listening.checks import check_named
from listening.models import Session, Study
from listening.sessions.stages import check_and_settings, check_seed
from listening.studies import create_study, open_study
from tests.browser.conftest import PHONE
from tests.factories import make_user
from tests.listening.folders import TOML, make_folder
from tests.listening.web import WebProcess

pytestmark = pytest.mark.slow

NewPage = Callable[..., Page]
HUGGINS = """
[[study.checks]]
key = "huggins"
trials = 2
pass_at_least = 2
attempts = 2
"""
DIGITS = """
[[study.checks]]
key = "digits_in_noise"
trials = 2
pass_at_least = 1
"""
GOOD = ("Headphones, on or over the ear", "Yes, as far as I know", "Quiet")
QUESTIONS = """
[[questionnaires]]
key = "ears"
use = ["hearing", "device"]

[[questionnaires.questions]]
key = "listening_device"
screen_out = ["loudspeaker"]

[[questionnaires]]
key = "afterwards"
when = "after"
title = "One last question"

[[questionnaires.questions]]
key = "years"
question = "For how many years have you worked with speech?"
kind = "number"
low = 0
high = 80
"""


@pytest.fixture
def study(transactional_db: None, tmp_path: Path) -> Study:
    """Two clips a rater; a questionnaire before, two checks, a questionnaire after."""
    language = 'key = "small"\nlanguage = "en"'
    toml = TOML.replace('key = "small"', language).replace(
        "\n[[conditions]]", f"{HUGGINS}{DIGITS}\n[[conditions]]", 1
    )
    made = create_study(make_folder(tmp_path / "small", toml + QUESTIONS), make_user())
    open_study(made, anyway=True)
    return made


def arrive(page: Page, web: WebProcess, study: Study) -> str:
    page.goto(f"{web.url}/r/{study.link}/")
    page.get_by_role("checkbox").check()
    page.get_by_role("button", name="Start").click()
    page.wait_for_url("**/s/*/")
    found = re.search(r"/s/(\w+)/", page.url)
    assert found
    return found[1]


def answer_questions(page: Page, device: str, *rest: str) -> None:
    """The question that screens out has a page of its own, before the others."""
    for answers in filter(None, [(device,), rest]):
        for words in answers:
            page.locator("label", has=page.get_by_text(words, exact=True)).click()
        page.get_by_role("button", name="Go on").click()


def truths(study: Study, code: str, key: str, attempt: int = 1) -> list[str]:
    check, asked = check_and_settings(study.checks, key, study.language)
    return [trial.truth for trial in check.plan(asked, check_seed(code, key, attempt))]


def mistakes(study: Study, code: str, key: str, attempt: int = 1) -> list[str]:
    values = check_named(key).truths
    return [next(v for v in values if v != t) for t in truths(study, code, key, attempt)]


def hear(page: Page, place: int) -> None:
    expect(page.locator(".player")).to_have_attribute("aria-label", re.compile(f"^Sound {place} "))
    page.locator(".player-button").click()
    expect(page.locator(".player")).to_have_attribute("data-state", "heard")


def answer_check(page: Page, values: list[str]) -> None:
    for place, value in enumerate(values, start=1):
        hear(page, place)
        field = page.locator("input.digits")
        if field.count():
            field.fill(value)
        else:
            page.locator(f'label:has(input[value="{value}"])').click()
        page.locator("[data-part=next]").click()


def rate_all(page: Page) -> None:
    page.get_by_role("button", name="Begin").click()
    for place in (1, 2):
        expect(page.locator("#count")).to_contain_text(f"{place} of ")
        page.locator(".player-button").click()
        expect(page.locator(".player")).to_have_attribute("data-state", "heard")
        page.locator('fieldset label:has(input[value="4"])').click()
        page.locator("[data-part=next]").click()


def test_a_rater_goes_from_questions_over_checks_and_clips_to_the_last_question(
    web: WebProcess, study: Study, new_page: NewPage
) -> None:
    page = new_page()
    code = arrive(page, web, study)
    answer_questions(page, *GOOD)
    answer_check(page, mistakes(study, code, "huggins"))
    expect(page.get_by_text("Attempt 2 of 2")).to_be_visible()
    answer_check(page, truths(study, code, "huggins", attempt=2))
    expect(page.get_by_role("heading", level=1)).to_have_text(check_named("digits_in_noise").title)
    answer_check(page, truths(study, code, "digits_in_noise"))
    rate_all(page)
    expect(page.get_by_role("heading", level=1)).to_have_text("One last question")
    page.get_by_label("For how many years").fill("90")
    page.get_by_role("button", name="Go on").click()
    expect(page.get_by_text("Please write a number from 0 to 80.")).to_be_visible()
    page.get_by_label("For how many years").fill("9")
    page.get_by_role("button", name="Go on").click()
    expect(page.locator(".view-end")).to_be_visible()
    session = Session.objects.get(code=code)
    kept = {key: each["answers"] for key, each in session.questionnaires.items()}
    assert kept == {
        "ears": {"hearing": "normal", "listening_device": "over_ear", "place": "quiet"},
        "afterwards": {"years": 9},
    }
    assert session.checks["huggins"]["passed"]
    assert session.checks["huggins"]["attempts"] == 2
    assert session.checks["digits_in_noise"]["right"] == 2


def test_an_answer_screens_out_on_a_phone_and_the_place_is_given_back(
    web: WebProcess, study: Study, new_page: NewPage
) -> None:
    page = new_page(**PHONE)
    code = arrive(page, web, study)
    answer_questions(page, "Loudspeakers")
    expect(page.get_by_role("heading", name="this study is not a match")).to_be_visible()
    session = Session.objects.get(code=code)
    assert session.status == "screened"
    assert session.questionnaires["ears"]["answers"]["listening_device"] == "loudspeaker"
    assert not session.blocks.exists()
