"""Questions of a researcher's own, made by mouse and keyboard, answered, and read in the export."""

from __future__ import annotations

import csv
import io
import re
import shutil
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Page, expect

from listening.models import Study
from tests.browser.axe import Report
from tests.browser.conftest import PHONE
from tests.browser.researcher import hashed, log_in, with_script
from tests.browser.test_drop import drop
from tests.listening.web import WebProcess

pytestmark = pytest.mark.slow

DEMO = Path("demo/audio")


def add(page: Page, kind: str, words: str) -> str:
    """One more question at the end; its id."""
    page.get_by_label("Kind of the new question").select_option(kind)
    page.get_by_role("button", name="Add a question", exact=True).click()
    with_script(page)
    field = page.locator(".question-card input[id$=-question]").last
    expect(field).to_be_focused()
    page.keyboard.press("Control+A")
    page.keyboard.type(words)
    return str(field.get_attribute("id")).removesuffix("-question")


def saved(page: Page) -> None:
    expect(page.locator("#saved")).to_have_text("Saved")


def test_six_kinds_of_questions_from_the_editor_to_the_export(
    web: WebProcess, transactional_db: None, tmp_path: Path, new_page: Callable[..., Page]
) -> None:
    User.objects.create(username="ada", password=hashed())
    for system in ("flite-slt", "human"):
        (tmp_path / "set" / system).mkdir(parents=True)
        for line in ("s0870", "s0880"):
            target = tmp_path / "set" / system / f"{line}.flac"
            shutil.copy(DEMO / f"{system}_{line}.flac", target)
    page = new_page(viewport={"width": 1280, "height": 900})
    log_in(page, f"{web.url}/new/", "ada")
    page.get_by_role("button", name="Start: MOS", exact=True).click()
    drop(page, tmp_path / "set")
    expect(page.get_by_role("heading", name="2 systems, 2 sentences")).to_be_visible()
    page.get_by_role("link", name="3. Questionnaires").click()
    page.get_by_role("button", name="Remove this questionnaire").click()
    page.get_by_role("button", name="Remove", exact=True).click()
    page.get_by_role("button", name="Add a questionnaire").click()
    with_script(page)
    page.get_by_label("Title").fill("About your listening")
    page.locator("#q0-0-question").fill("Do you wear a hearing aid?")
    many = add(page, "many", "Which of these do you use?")
    page.locator(f"#{many}-options").fill("radio = A radio\nphone = A telephone")
    page.locator(f"#{many}-other").check()
    scale = add(page, "scale", "How tired are you?")
    page.locator(f"#{scale}-options").fill("1 = wide awake\n5 = very tired")
    slider = add(page, "slider", "How loud is it where you are?")
    page.locator(f"#{slider}-high").fill("1")
    add(page, "birth_date", "When were you born?")
    add(page, "short", "Which hearing aid?")
    saved(page)
    for place in range(5, 1, -1):  # up to the second place, by keyboard
        page.locator(f"#q0-{place}-up").focus()
        page.keyboard.press("Enter")
        expect(page.locator(f"#q0-{place - 1}-question")).to_have_value("Which hearing aid?")
        expect(page.locator(f"#q0-{place - 1}-up")).to_be_focused()
    with_script(page)
    page.locator(".question-card").nth(1).locator("summary").click()
    rule = page.locator("#q0-1-show_if")
    rule.get_by_label("Shown").select_option("question-1")
    rule.get_by_role("button", name="Set").click()
    with_script(page)
    rule.get_by_label("Yes").uncheck()
    expect(page.locator(".field-problem")).to_be_visible()
    rule.get_by_label("Yes").check()
    expect(page.locator(".field-problem")).to_have_count(0)
    page.locator("#q0-0-options").fill("Often\nNo")
    expect(rule.get_by_label("Often")).to_be_visible()  # offered without a reload
    expect(rule.get_by_label("Yes")).to_have_count(0)  # it was renamed
    page.locator("#q0-0-options").fill("Often\nYes\nNo")
    expect(rule.get_by_label("Yes")).not_to_be_checked()
    page.locator("#q0-0-options").fill("Yes\nNo")
    expect(rule.get_by_label("Often (no longer an answer)")).to_be_checked()
    rule.get_by_label("Yes").check()
    rule.get_by_label("Often").uncheck()
    saved(page)
    page.get_by_role("button", name="Remove question 2").click()
    expect(page.get_by_role("heading", name="Remove question 2?")).to_be_visible()
    page.keyboard.press("Escape")
    page.locator(".question-card").nth(3).locator("summary").click()
    page.locator("#q0-3-covariate").check()
    saved(page)
    preview = page.frame_locator("iframe.preview")
    expect(preview.get_by_text("How loud is it where you are?")).to_be_visible()
    expect(preview.get_by_text("Which hearing aid?")).to_be_hidden()
    looked = Report()
    looked.look_in_both_schemes(page, "questionnaires")
    assert looked.grave == []
    page.set_viewport_size({"width": 390, "height": 844})
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.set_viewport_size({"width": 1280, "height": 900})
    page.get_by_role("link", name="5. Review and open").click()
    page.get_by_role("button", name="Check every clip").click()
    page.get_by_role("button", name=re.compile("Open (the study|anyway)")).click()
    expect(page.get_by_text("The study is open")).to_be_visible()
    study = Study.objects.get()
    rater = new_page(**PHONE)
    rater.goto(f"{web.url}/r/{study.link}/")
    rater.get_by_role("checkbox").check()
    rater.get_by_role("button", name="Start").tap()
    answer_all(rater)
    expect(rater.locator(".view-questionnaire")).to_have_count(0)
    sent = page.request.get(f"{web.url}/studies/{study.key}/results/sessions.csv")
    (row,) = csv.DictReader(io.StringIO(sent.text().removeprefix("\ufeff")))
    prefix = "question_questionnaire-1_"
    answers = {k.removeprefix(prefix): row[k] for k in row if k.startswith(prefix)}
    year = datetime.now(UTC).year
    assert int(answers.pop("question-5")) in (year - 1991, year - 1990)
    assert answers == {
        "question-1": "Yes",
        "question-6": "In the left ear",
        "question-2": "phone; other",
        "question-2_other": "A loudspeaker",
        "question-3": "4",
        "question-4": "1",
    }


def answer_all(rater: Page) -> None:
    """Six questions of as many kinds; what is missing or wrong is said at its question."""
    form = rater.locator(".view-questionnaire")
    expect(form.get_by_text("Which hearing aid?")).to_be_hidden()
    form.get_by_text("Yes", exact=True).tap()
    form.get_by_label("Which hearing aid?").fill("In the left ear")
    form.get_by_text("A telephone").tap()
    form.get_by_text("Other", exact=True).tap()
    form.get_by_label("Please say which.").fill("A loudspeaker")
    form.locator("label:has(input[value='4'])").tap()
    form.get_by_role("button", name="Go on").tap()
    expect(form.locator(".field-error:visible")).to_have_count(2)
    loud = form.get_by_label("How loud is it where you are?")
    expect(loud).to_be_focused()
    rater.keyboard.press("ArrowRight")  # at the upper of two points, where it moves nothing
    form.get_by_label("When were you born?").fill("1990-06-15")
    form.get_by_role("button", name="Go on").tap()
