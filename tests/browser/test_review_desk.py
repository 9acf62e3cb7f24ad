"""A reviewer at the desk, by keyboard alone: verdicts survive a lost network and a reload."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, Request, expect

from listening import review
from listening.models import Verdict
from listening.review import Plan
from tests.browser.axe import Report
from tests.browser.driver import wait_until
from tests.factories import answer_all, arrive, make_study
from tests.listening.web import WebProcess


@pytest.fixture
def desk(transactional_db: None, web: WebProcess) -> str:
    study = make_study(
        items=6, conditions=1, task={"justification": {"required": True}, "block_size": 6}
    )
    answer_all(arrive(study))
    job = review.make_job(study, Plan("reasons", "Do they fit?", repeated=0), by="ada")
    review.set_state(job, "open", by="ada")
    return (
        f"{web.url}/review/"
        + review.invite(job, 7, by=job.study.owner.username).split("/review/")[1]
    )


def verdicts_in(request: Request) -> int:
    return len(request.post_data_json["verdicts"]) if "/verdicts/" in request.url else 0


def test_verdicts_by_keyboard_survive_a_lost_network_and_a_closed_page(
    desk: str, new_page: Callable[..., Page]
) -> None:
    page = new_page()
    page.goto(desk)
    item, saved, done = (page.locator(each) for each in ("#item", "#saved", "#done"))
    expect(item).to_be_visible()
    report = Report()
    report.look_in_both_schemes(page, "desk")
    assert report.grave == []
    page.keyboard.press("n")
    page.keyboard.type("says little 1")  # no verdict: it is typed
    page.keyboard.press("Enter")
    page.keyboard.press("2")
    expect(done).to_have_text("1 judged by you")
    page.keyboard.press("u")
    expect(page.locator("#note")).to_have_value("says little 1")
    expect(page.locator('[data-value="unfit"]')).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("3")
    expect(saved).to_have_text("All saved")
    # Aborted by us, so that none of these requests can still arrive once the network is back.
    page.route("**/verdicts/", lambda route: route.abort())
    for _ in range(3):
        page.keyboard.press("1")
    expect(saved).to_contain_text("3 saved in this browser")
    page.goto("about:blank")  # so that this page does not try again between both
    page.unroute("**/verdicts/")
    sent: list[int] = []
    page.on("request", lambda each: sent.append(verdicts_in(each)))
    foreign = {"status": 200, "content_type": "application/json", "body": "{}"}
    page.route("**/verdicts/", lambda route: route.fulfill(**foreign), times=1)  # of a proxy
    page.goto(desk)
    expect(saved).to_have_text("All saved")
    wait_until(page, lambda: Verdict.objects.count() == 5)
    assert [each for each in sent if each] == [3, 3]  # all that waited, in one request
    expect(item).to_be_visible()
    for _ in range(2):
        page.keyboard.press("1")
    expect(page.locator("#nothing-title")).to_have_text("No more items for now")
    wait_until(page, lambda: Verdict.objects.count() == 7)
    first, again, *others = Verdict.objects.order_by("pk")
    assert (first.category, again.category) == ("unfit", "unsure")
    assert first.assignment_id == again.assignment_id
    assert {each.category for each in others} == {"fit"}
    assert len({each.assignment_id for each in others} | {first.assignment_id}) == 6
