"""The page of metrics in a real browser: every condition in sight on a phone, axe, widths."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from django.utils import timezone
from playwright.sync_api import Page, expect

from listening.models import Condition, Study
from metrics.core.metric import make_metric
from metrics.models import MetricScore
from tests.browser.axe import Report
from tests.browser.conftest import PHONE
from tests.browser.researcher import hashed, log_in
from tests.factories import make_study
from tests.listening.web import WebProcess

LONG = "A voice with a long name that wraps"
TOO_WIDE = "() => document.documentElement.scrollWidth > document.documentElement.clientWidth"


@pytest.fixture
def study(transactional_db: None) -> Study:
    """A study of five conditions whose clips have an SRMR each."""
    made = make_study(conditions=5, items=2, task={"block_size": 2})
    Condition.objects.filter(study=made, key="cond-1").update(label=LONG)
    metric = make_metric("srmr")
    for place, stimulus in enumerate(made.stimuli.order_by("key")):
        MetricScore.objects.create(
            sha256=stimulus.sha256,
            metric="srmr",
            version=metric.version,
            parameters=metric.parameters_dict(),
            value=2.0 + place,
            computed_at=timezone.now(),
        )
    made.owner.password = hashed()
    made.owner.save()
    return made


def opened(page: Page, web: WebProcess, study: Study) -> Page:
    log_in(page, f"{web.url}/studies/{study.key}/metrics/", study.owner.username)
    expect(page.get_by_role("heading", name="Scores by condition")).to_be_visible()
    return page


def test_every_condition_is_in_sight_on_a_phone_and_beside_its_metric_on_a_desk(
    web: WebProcess, study: Study, new_page: Callable[..., Page]
) -> None:
    report = Report()
    page = opened(new_page(color_scheme="light", **PHONE), web, study)
    cells = page.locator(".metric-table td")
    expect(cells).to_have_count(5)
    for cell in cells.all():
        box = cell.bounding_box()
        assert box is not None
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390
    told = "getComputedStyle(document.querySelectorAll('.metric-table td')[1], '::before').content"
    assert page.evaluate(told) == f'"{LONG}"'
    assert not page.evaluate(TOO_WIDE)
    report.look_in_both_schemes(page, "metrics on a phone")
    page.set_viewport_size({"width": 1280, "height": 800})
    first, second = (cells.nth(place).bounding_box() for place in (0, 1))
    assert first is not None
    assert second is not None
    assert first["y"] == second["y"]
    assert page.evaluate(told) in ("none", "normal")
    report.look_in_both_schemes(page, "metrics on a desk")
    page.get_by_role("link", name="SRMR").first.click()
    expect(page.locator(".apart audio")).to_have_count(16)  # eight at either end
    page.set_viewport_size({"width": 390, "height": 844})
    assert not page.evaluate(TOO_WIDE)
    report.look_in_both_schemes(page, "a metric on a phone")
    assert (report.grave, report.moderate) == ([], {})
