"""A rater chooses the language at the door, and goes through the study in it."""

from __future__ import annotations

from collections.abc import Callable

from playwright.sync_api import Page, expect

from listening.models import Rating, Session
from tests.browser.conftest import PHONE
from tests.browser.driver import choose, go_on, hear
from tests.factories import make_study
from tests.listening.sounds import give_sound
from tests.listening.web import WebProcess


def test_the_language_chosen_at_the_door_stays_until_the_end(
    web: WebProcess, transactional_db: None, new_page: Callable[..., Page]
) -> None:
    study = make_study(
        items=2,
        conditions=1,
        task={"block_size": 2, "ratings_per_stimulus": 1},
        translations={"zh-Hans": {"title": "小研究", "texts": {"end": "都做完了。"}}},
    )
    words = {"zh-Hans": {"criteria": {"naturalness": {"question": "有多自然？"}}}}
    study.tasks.update(translations=words)
    give_sound(study)
    page = new_page(**PHONE)
    page.goto(f"{web.url}/r/{study.link}/?PROLIFIC_PID={'5f' * 12}")
    expect(page.get_by_role("heading", level=1)).to_have_text("A study")
    page.get_by_role("link", name="简体中文").tap()
    expect(page.get_by_role("heading", level=1)).to_have_text("小研究")
    page.get_by_role("checkbox", name="我已阅读以上内容，同意参加。").check()
    page.get_by_role("button", name="开始").tap()
    page.wait_for_url("**/s/*/")
    page.get_by_role("button", name="开始").tap()
    for _ in range(2):
        expect(page.get_by_role("group", name="有多自然？")).to_be_visible()
        hear(page)
        choose(page, "4")
        go_on(page)
    expect(page.get_by_text("都做完了。")).to_be_visible()
    expect(page.get_by_role("heading", name="已完成，谢谢！")).to_be_visible()
    session = Session.objects.select_related("rater").get()
    assert (session.language, session.rater.prolific_id) == ("zh-Hans", "5f" * 12)
    assert list(Rating.objects.values_list("label", flat=True)) == ["4", "4"]
    page.goto(f"{web.url}/r/{study.link}/?PROLIFIC_PID={'5f' * 12}")
    expect(page.get_by_role("heading", name="已完成，谢谢！")).to_be_visible()
