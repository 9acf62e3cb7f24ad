"""What a trial page makes a rater's browser fetch: little, only from us, and each file once."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest
from django.test import Client
from playwright.sync_api import Browser, Page, Response

from tests.factories import make_user
from tests.listening.web import WebProcess
from tests.migrated_house import collect

LIMIT_BYTES = 68_000  # scripts and styles of a trial of a study with every method, as they are sent
A_YEAR_S = 365 * 24 * 3600
HASHED = re.compile(r"/static/[\w/-]+\.[0-9a-f]{12}\.\w+$")


@pytest.fixture(scope="module")
def web(django_db_setup: None) -> Iterator[WebProcess]:
    """Serves what raters get: collected, compressed, under hashed names."""
    collect()
    with WebProcess(EARNEST_DEBUG="0") as running:
        yield running


@pytest.fixture
def trial(
    web: WebProcess, transactional_db: None, browser: Browser, new_page: Callable[..., Page]
) -> Callable[[str], list[Response]]:
    """All answers that a browser gets which has never been here, until a trial can be played."""
    client = Client()
    client.force_login(make_user("ada"))
    cookie = {"name": "sessionid", "value": client.cookies["sessionid"].value, "url": web.url}

    def opened(method: str) -> list[Response]:
        context = browser.new_context()
        context.add_cookies([cookie])  # type: ignore[list-item]
        page = new_page(context)
        answers: list[Response] = []
        page.on("response", lambda response: answers.append(response))
        page.goto(f"{web.url}/preview/examples/gallery/?task={method}")
        page.get_by_role("button", name="Begin").click()
        page.locator(".trial :is(.player, .deck)[data-state=ready]").wait_for()
        page.wait_for_load_state("networkidle")
        return answers

    return opened


def code_of(answers: list[Response]) -> list[Response]:
    """Scripts and styles; the stand-in for the server that only previews have is not a rater's."""
    found = [each for each in answers if each.url.endswith((".js", ".css"))]
    return [each for each in found if "/js/rater/preview." not in each.url]


# One of each kind of screen: clips in a row and side by side.
@pytest.mark.parametrize("method", ["mos", "mushra"])
def test_a_trial_is_light_and_comes_from_us_alone(
    trial: Callable[[str], list[Response]], web: WebProcess, method: str
) -> None:
    answers = trial(method)
    code = code_of(answers)
    assert len(code) > 20
    weights = {each.url: each.request.sizes()["responseBodySize"] for each in code}
    assert all(weights.values())
    assert sum(weights.values()) <= LIMIT_BYTES, weights
    assert len(weights) == len(code), "a file came twice"
    ours = (f"{web.url}/", f"blob:{web.url}/", "data:")
    assert [each.url for each in answers if not each.url.startswith(ours)] == []
    (document,) = [each for each in answers if each.request.is_navigation_request()]
    assert document.headers["content-encoding"] == "gzip"
    check_kept([each for each in answers if "/static/" in each.url])


def check_kept(files: list[Response]) -> None:
    """Names change with what is in the files, so that browsers may keep them."""
    for each in files:
        assert each.status == 200, each.url
        assert HASHED.search(each.url), each.url
        rule = each.headers["cache-control"]
        age = re.search(r"max-age=(\d+)", rule)
        assert age is not None, each.url
        assert int(age[1]) >= A_YEAR_S, each.url
        assert "immutable" in rule, each.url


def test_a_second_page_fetches_no_code_again(
    web: WebProcess, transactional_db: None, new_page: Callable[..., Page]
) -> None:
    page = new_page()
    page.goto(f"{web.url}/login/")
    page.goto("about:blank")
    page.goto(f"{web.url}/login/")
    fetched = page.evaluate(
        "performance.getEntriesByType('resource').map((e) => [e.name, e.transferSize])"
    )
    code = [size for name, size in fetched if name.endswith((".js", ".css"))]
    assert code
    assert sum(code) == 0
