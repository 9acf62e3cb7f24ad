"""Mechanical Turk's frame in Chromium: a window with the study, and the form at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, Request, Route, expect

from listening.models import Rater, Session, Study
from tests.browser.axe import Report
from tests.factories import answer_all, make_study
from tests.listening.provider_doubles import MechanicalTurk
from tests.listening.web import WebProcess

pytestmark = pytest.mark.slow

TASK = """<!doctype html><html lang="en"><title>A task</title><h1>A task</h1>
<iframe title="The task" src="{url}" width="100%" height="500"></iframe></html>"""


@pytest.fixture(scope="module")
def web(django_db_setup: None) -> Iterator[WebProcess]:
    with WebProcess() as running:
        yield running


@pytest.fixture
def study(transactional_db: None) -> Study:
    return make_study(
        key="framed",
        items=2,
        task={"block_size": 2},
        sources=[{"key": "mturk", "kind": "mturk"}],
        completion_codes={"complete": "OWN"},
    )


def test_a_worker_takes_part_in_a_window_and_submits_in_the_frame(
    web: WebProcess, study: Study, new_page: Callable[..., Page]
) -> None:
    turk, sent, looked = MechanicalTurk(), [], Report()
    framed = turk.frame(f"{web.url}/r/{study.link}/?source=mturk", "W1", "A1")
    page = new_page()

    def provider(route: Route, request: Request) -> None:
        if request.method == "POST":
            sent.append((request.url, request.post_data))
        body = "Thank you" if request.method == "POST" else TASK.format(url=framed)
        route.fulfill(content_type="text/html", body=body)

    page.context.grant_permissions(["local-network-access"])  # the server of a test is on this host
    page.context.route("https://*.mturk.com/**", provider)
    page.goto(framed)
    looked.look_in_both_schemes(page, "the frame's page")
    page.goto("https://worker.mturk.com/projects/1/tasks")
    frame = page.frame_locator("iframe")
    with page.expect_popup() as opened:
        frame.get_by_role("link", name="Open the study").press("Enter")
    window = opened.value
    window.get_by_role("checkbox").check()
    window.get_by_role("button", name="Start").click()
    window.wait_for_url("**/s/**")
    frame.get_by_role("link", name="I have finished").click()
    expect(frame.get_by_text("The study is not finished yet.")).to_be_visible()
    session = Session.objects.get()
    Rater.objects.update(simulated=True)
    answer_all(session)
    window.reload()
    expect(window.get_by_text("Go back to Mechanical Turk and finish there.")).to_be_visible()
    window.close()
    frame.get_by_role("link", name="I have finished").click()
    frame.get_by_role("button", name="Go back and finish there").press("Enter")
    expect(frame.get_by_text("Thank you")).to_be_visible()
    ((url, body),) = sent
    assert url == "https://www.mturk.com/mturk/externalSubmit"
    assert "assignmentId=A1&code=" in body
    assert not looked.grave
