"""Researchers' pages that look again while work goes on: pieces follow, what was chosen stays."""

from __future__ import annotations

import json
import mimetypes
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect

ROOT = Path(__file__).resolve().parents[2]
HOUSE = "http://researchers.test"
NewPage = Callable[..., Page]
Served = dict[str, str]

PLANNING = """<!doctype html><form><select data-piece id="source">{options}</select></form>
<section data-piece id="plan">{plan}</section><section data-piece id="pilot">{pilot}</section>
<script type="module" src="/static/js/researcher/waiting.js"></script>"""
WAITS = "<p data-waits>Simulating</p>"
METRICS = """<!doctype html><section id="run" data-url="/run/" data-every="5" data-run="7">
<p><span data-told="done">0</span> of <span data-told="total">40</span>
<span data-told="failed_told"></span></p>
<p data-told="doing_told"></p><p data-told="stuck_told"></p>
<progress max="100" value="0"></progress></section>
<script type="module" src="/static/js/researcher/metrics.js"></script>"""
RUN = {"run": 7, "state": "working", "works": True, "total": 40, "done": 10, "failed": 1}
RUN |= {"percent": 25, "shards": 4, "workers": 1, "stuck": 2, "doing": "srmr"}


def options(*names: str) -> str:
    return "".join(f'<option value="{name}">{name}</option>' for name in names)


@pytest.fixture
def served() -> Served:
    """What the server has at each path; a test changes it while its page is open."""
    return {}


@pytest.fixture
def page(new_page: NewPage, served: Served) -> Page:
    page = new_page()
    page.clock.install()

    def answer(route: Route) -> None:
        path = route.request.url.removeprefix(HOUSE)
        if path.startswith("/static/"):
            kind = mimetypes.guess_type(path)[0]
            route.fulfill(body=(ROOT / path[1:]).read_bytes(), content_type=kind)
        elif path in served:
            kind = "application/json" if served[path].startswith("{") else "text/html"
            route.fulfill(body=served[path], content_type=f"{kind}; charset=utf-8")
        else:
            route.fulfill(status=404)

    page.route(f"{HOUSE}/**", answer)
    return page


def test_the_planning_page_takes_new_pieces_and_keeps_the_choice(
    page: Page, served: Served
) -> None:
    old = PLANNING.format(options=options("pilot", "demo"), plan=WAITS, pilot="")
    served["/planning/"] = old
    page.goto(f"{HOUSE}/planning/")
    page.locator("#source").select_option("demo")
    sources = options("new", "pilot", "demo")
    served["/planning/"] = PLANNING.format(options=sources, plan="24 raters", pilot="done")
    page.clock.run_for(3_000)
    expect(page.locator("#plan")).to_have_text("24 raters")
    expect(page.locator("#pilot")).to_have_text("done")
    expect(page.locator("#source option")).to_have_text(["new", "pilot", "demo"])
    expect(page.locator("#source")).to_have_value("demo")


def test_a_planning_page_without_its_pieces_is_not_taken_over(page: Page, served: Served) -> None:
    served["/planning/"] = PLANNING.format(options=options("demo"), plan=WAITS, pilot="")
    page.goto(f"{HOUSE}/planning/")
    served["/planning/"] = "<!doctype html><h1>Log in</h1>"
    with page.expect_response(f"{HOUSE}/planning/"):
        page.clock.run_for(3_000)
    served["/planning/"] = PLANNING.format(options=options("demo"), plan="12 raters", pilot="")
    page.clock.run_for(3_000)
    expect(page.locator("#plan")).to_have_text("12 raters")


def test_the_metrics_page_follows_a_run_and_is_loaded_anew_at_its_end(
    page: Page, served: Served
) -> None:
    served |= {"/metrics/": METRICS, "/run/": json.dumps(RUN)}
    page.goto(f"{HOUSE}/metrics/")
    page.clock.run_for(5_000)
    expect(page.locator("[data-told=done]")).to_have_text("10")
    expect(page.locator("[data-told=failed_told]")).to_have_text(", 1 failed")
    expect(page.locator("[data-told=doing_told]")).to_have_text("1 worker: srmr")
    expect(page.locator("[data-told=stuck_told]")).to_contain_text("2 of 4 parts")
    expect(page.locator("progress")).to_have_js_property("value", 25)
    served |= {"/metrics/": "<!doctype html><h1>Scores</h1>"}
    served |= {"/run/": json.dumps({**RUN, "works": False})}
    page.clock.run_for(5_000)
    expect(page.get_by_role("heading")).to_have_text("Scores")
