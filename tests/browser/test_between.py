"""Questionnaires between blocks and tasks in Chromium: at their moment, once, on any device."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.test import Client
from playwright.sync_api import Locator, Page, expect

from listening.models import Session, Study
from listening.studies import create_study, open_study
from tests.browser.conftest import PHONE
from tests.config.helpers import wait_for
from tests.factories import make_user
from tests.listening.folders import CONDITIONS, make_folder
from tests.listening.web import WebProcess

pytestmark = pytest.mark.slow

NewPage = Callable[..., Page]
TOML = """
[study]
key = "small"
title = "A small study"
language = "en"
break_every = 4

[study.translations.zh-Hans]
title = "一项小研究"

[study.translations.zh-Hans.questionnaires.effort]
title = "听这一部分费力吗？"
"""
TASKS = """
[[tasks]]
key = "naturalness"
title = "Naturalness"
method = "mos"
block_size = 2
blocks_per_session = 2
ratings_per_stimulus = 1
repeat_items = true

[[tasks]]
key = "liking"
title = "Liking"
method = "mos"
block_size = 2
ratings_per_stimulus = 2
"""
FORMS = """
[[questionnaires]]
key = "pause"
when = "between_blocks"
title = "Are you still awake?"

[[questionnaires.questions]]
key = "awake"
question = "How awake are you?"
kind = "scale"
low = 1
high = 5

[[questionnaires]]
key = "effort"
when = "after_task"
title = "How was this part?"

[[questionnaires.questions]]
key = "effort"
question = "How much effort did it take to listen?"
kind = "scale"
low = 1
high = 7
options = [{ value = 1, text = "none" }, { value = 7, text = "very much" }]

[[questionnaires.questions]]
key = "why"
question = "What made it hard?"
kind = "text"
required = false
show_if = { question = "effort", answers = ["6", "7"] }
"""


@pytest.fixture
def study(transactional_db: None, tmp_path: Path) -> Study:
    """Two blocks of two clips, then one block of a second task; a break after four clips."""
    folder = make_folder(tmp_path / "small", TOML + CONDITIONS + TASKS + FORMS)
    made = create_study(folder, make_user())
    open_study(made, anyway=True)
    return made


def arrive(page: Page, web: WebProcess, study: Study) -> str:
    page.goto(f"{web.url}/r/{study.link}/")
    page.get_by_role("checkbox").check()
    page.locator("#consent-form button.button-primary").click()
    page.wait_for_url("**/s/*/")
    return page.url.strip("/").rpartition("/")[2]


def rate(page: Page, place: int) -> None:
    expect(page.locator("#count")).to_have_text(f"{place} of 6")
    play_and_choose(page)


def play_and_choose(page: Page) -> None:
    page.locator(".player-button").click()
    expect(page.locator(".player")).to_have_attribute("data-state", "heard")
    page.locator('fieldset label:has(input[value="4"])').click()
    page.locator("[data-part=next]").click()


def begin(page: Page) -> None:
    page.locator(".view-intro [data-part=start]").click()


def form(page: Page, title: str) -> Locator:
    found = page.locator(".view-questionnaire")
    expect(found.get_by_role("heading", level=1)).to_have_text(title)
    return found


def choose(page: Page, value: int) -> None:
    page.locator(f'.view-questionnaire label:has(input[value="{value}"])').click()


def answers_of(code: str) -> dict[str, dict[str, object]]:
    kept = Session.objects.get(code=code).questionnaires
    return {key: each["answers"] for key, each in kept.items()}


def test_questions_come_after_blocks_and_tasks_on_any_device(
    web: WebProcess, study: Study, new_page: NewPage
) -> None:
    page = new_page()
    fetched: set[str] = set()
    page.on("request", lambda request: fetched.add(urlsplit(request.url).path))
    code = arrive(page, web, study)
    begin(page)
    rate(page, 1)
    rate(page, 2)
    asked = form(page, "Are you still awake?")
    expect(page.locator("#count")).to_have_text("Questions · 2 of 6 done")
    expect(asked.get_by_role("heading")).to_be_focused()
    for key in ("Tab", "Space", "Tab", "Enter"):  # by keyboard alone: 1, go on
        page.keyboard.press(key)
    rate(page, 3)

    page.context.set_offline(True)
    rate(page, 4)
    expect(page.locator(".view-wait")).to_be_visible()  # and nothing of the next task
    page.context.set_offline(False)
    form(page, "How was this part?")
    ahead = page.request.get(f"{web.url}/api/s/{code}/").json()["trials"]
    assert {trial["task"] for trial in ahead} == {1}
    clips = {urlsplit(clip).path for trial in ahead for clip in trial["clips"]}
    assert len(clips) == 2
    wait_for(lambda: clips <= fetched)

    other = new_page(**PHONE)
    other.goto(f"{web.url}/s/{code}/")
    form(other, "How was this part?")
    choose(other, 7)
    other.get_by_label("What made it hard?").fill("So fast.")
    other.get_by_role("button", name="Go on").click()
    expect(other.locator(".view-break")).to_be_visible()

    page.reload()
    expect(page.locator(".view-break")).to_be_visible()  # the form first, then the rest
    page.locator(".view-break [data-part=next]").click()
    begin(page)
    rate(page, 5)
    rate(page, 6)
    form(page, "How was this part?")
    expect(page.locator(".view-questionnaire input:checked")).to_have_count(0)
    choose(page, 2)
    page.reload()
    expect(page.locator('.view-questionnaire input[value="2"]')).to_be_checked()
    page.get_by_role("button", name="Go on").click()
    expect(page.locator(".view-end")).to_be_visible()
    assert answers_of(code) == {
        "pause@1.1": {"awake": 1},
        "effort@1": {"effort": 7, "why": "So fast."},
        "effort@2": {"effort": 2},
    }


def test_a_preview_asks_at_the_same_moments_on_a_chinese_phone(
    web: WebProcess, study: Study, new_page: NewPage
) -> None:
    client = Client()
    client.force_login(study.owner)
    cookie = {"name": "sessionid", "value": client.cookies["sessionid"].value, "url": web.url}
    page = new_page(**PHONE)
    page.context.add_cookies([cookie])  # type: ignore[list-item]
    page.goto(f"{web.url}/studies/{study.key}/preview/?consent=yes&lang=zh-Hans")
    for task, titles in enumerate(
        (["Are you still awake?", "听这一部分费力吗？"], ["听这一部分费力吗？"])
    ):
        begin(page)
        for _ in range(2):
            play_and_choose(page)
        for title in titles:
            form(page, title)
            expect(page.locator("#count")).to_have_text(f"问卷 · 已完成 {2 * task + 2}/4")
            choose(page, 2)
            page.locator("[data-part=send]").click()
    expect(page.locator(".view-end")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") == 390
