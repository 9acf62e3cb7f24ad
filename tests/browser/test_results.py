"""The results page in a real browser: contents, progress in place, cancelling, no scripts, axe."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from analysis.models import AnalysisRun
from analysis.statistics.options import Options
from analysis.web.cache import marks
from analysis.web.jobs import run_analysis
from listening.models import Condition, Study
from tests.analysis.rated_study import rated_study
from tests.browser.axe import Report
from tests.browser.conftest import PHONE
from tests.browser.researcher import hashed, log_in
from tests.listening.web import WebProcess

QUICK = Options(replicates=200).parameters()


@pytest.fixture
def study(transactional_db: None) -> Study:
    made = rated_study(raters=6)
    Condition.objects.filter(study=made, key="cond-1").update(label="A voice with a long name")
    made.owner.password = hashed()
    made.owner.save()
    return made


MADE: dict[str, Any] = {}  # every study of this file has the same ratings


def analysed(study: Study) -> AnalysisRun:
    run = AnalysisRun.objects.create(study=study, estimator="mean_score", parameters=QUICK)
    if MADE:
        AnalysisRun.objects.filter(pk=run.pk).update(**MADE, **marks(study.key))
    else:
        run_analysis(run.pk)
    run.refresh_from_db()
    assert run.error == ""
    MADE.update({name: getattr(run, name) for name in ("result", "brief", "ratings", "state")})
    MADE["finished_at"] = run.finished_at
    return run


def opened(page: Page, web: WebProcess, study: Study) -> Page:
    log_in(page, f"{web.url}/studies/{study.key}/results/", study.owner.username)
    expect(page).to_have_url(f"{web.url}/studies/{study.key}/results/")
    return page


def is_too_wide(page: Page) -> bool:
    found: bool = page.evaluate(
        "() => document.documentElement.scrollWidth > document.documentElement.clientWidth"
    )
    return found


def look_at_a_link(maker: Page, readers: list[Page], report: Report) -> None:
    """Makes a read-only link on the page, and opens it in each of the others."""
    maker.locator("#sharing summary").press("Enter")
    maker.get_by_label("Clips may be heard").check()
    maker.get_by_role("button", name="Make a link").click()
    expect(maker.get_by_role("button", name="Copy")).to_be_visible()
    report.look(maker, "link made")
    address = maker.get_by_label("Link", exact=True).input_value()
    for n, each in enumerate(readers):
        each.goto(address)
        each.evaluate("() => document.querySelectorAll('details').forEach((d) => { d.open = 1 })")
        expect(each.locator("audio").first).to_be_visible()
        report.look(each, f"shared results {n}")
        assert not is_too_wide(each)
    maker.goto(f"{address[:-9]}/")
    report.look(maker, "no such link")


def test_every_state_is_accessible(
    web: WebProcess, study: Study, new_page: Callable[..., Page]
) -> None:
    report = Report()
    page = opened(new_page(color_scheme="dark", reduced_motion="reduce"), web, study)
    report.look(page, "before the first analysis")
    run = analysed(study)
    pages = [page]
    pages.append(opened(new_page(color_scheme="light", **PHONE), web, study))
    for each in pages:
        each.goto(f"{web.url}/studies/{study.key}/results/")
        assert not is_too_wide(each)
    report.look(page, "results")
    each.evaluate("() => document.querySelectorAll('details').forEach((d) => { d.open = 1 })")
    each.evaluate("() => new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn)))")
    report.look(each, "all open")
    assert not is_too_wide(each)
    look_at_a_link(page, pages, report)
    page.goto(f"{web.url}/studies/{study.key}/results/")
    states = {
        "running": {"state": "running", "share": 0.4, "doing": "Agreement between raters"},
        "failed": {"state": "failed", "error": "no ink"},
        "cancelled": {"state": "cancelled"},
    }
    AnalysisRun.objects.filter(pk=run.pk).update(ratings_mark="before", ratings=1)
    page.reload()
    report.look(page, "stale", "#state")
    for name, fields in states.items():
        newest = AnalysisRun.objects.create(
            study=study, estimator="mean_score", parameters=QUICK, **fields
        )
        page.reload()
        report.look(page, name, "#state")
        newest.delete()
    assert report.grave == []
    assert report.moderate == {}


def the_table_is_copied_as_cells(page: Page) -> None:
    """Out of a fold that is still closed: a line for each row, a tab between cells."""
    expect(page.locator("#in-full-1 table").first).to_be_hidden()
    page.get_by_role("button", name="Copy table").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    copied = page.evaluate("navigator.clipboard.readText()").splitlines()
    assert copied[0].split("\t")[:2] == ["Condition", "Mean"]
    assert len(copied) == 1 + 3
    assert {line.count("\t") for line in copied} == {copied[0].count("\t")}
    assert all("[" in line.split("\t")[2] for line in copied[1:])


def test_contents_lead_to_their_parts_with_the_keyboard(
    web: WebProcess, study: Study, new_page: Callable[..., Page]
) -> None:
    analysed(study)
    wide = {"width": 1280, "height": 800}
    allowed = ["clipboard-read", "clipboard-write"]
    page = opened(new_page(viewport=wide, permissions=allowed), web, study)
    the_table_is_copied_as_cells(page)
    link = page.locator(".contents-beside a", has_text="Agreement and raters")
    link.focus()
    page.keyboard.press("Enter")
    heading = page.get_by_role("heading", name="Agreement and raters", exact=True)
    expect(heading).to_be_in_viewport()
    expect(page.locator("#section-agreement")).to_have_attribute("open", "")
    expect(link).to_be_in_viewport()  # it stays beside what is read
    expect(page.locator(".contents-beside a[aria-current]")).to_have_count(1)
    page.goto(f"{page.url.split('#')[0]}#methods")
    expect(page.locator("#methods-text")).to_be_visible()
    page.set_viewport_size({"width": 390, "height": 800})
    expect(page.locator(".contents-beside")).to_be_hidden()
    page.locator(".contents-above > summary").press("Enter")
    page.locator(".contents-above a", has_text="Data and methods").press("Enter")
    expect(page.get_by_role("heading", name="Data and methods")).to_be_in_viewport()


def test_a_running_analysis_is_followed_in_place_and_cancelled(
    web: WebProcess, study: Study, new_page: Callable[..., Page]
) -> None:
    analysed(study)
    run = AnalysisRun.objects.create(
        study=study, estimator="mean_score", parameters=QUICK, state="running", doing="Means"
    )
    page = opened(new_page(), web, study)
    page.evaluate("window.stillHere = true")
    button = page.get_by_role("button", name="Cancel the analysis")
    button.focus()
    AnalysisRun.objects.filter(pk=run.pk).update(share=0.55, doing="Agreement between raters")
    expect(page.locator("#state")).to_contain_text("Agreement between raters")
    assert page.locator("#state progress").evaluate("bar => bar.value") == 55
    expect(button).to_be_focused()
    assert page.evaluate("window.stillHere") is True
    page.keyboard.press("Enter")
    expect(page.get_by_text("The last analysis was cancelled")).to_be_visible()
    assert AnalysisRun.objects.get(pk=run.pk).state == "cancelled"


def test_who_fills_in_the_form_is_not_interrupted_when_an_analysis_ends(
    web: WebProcess, study: Study, new_page: Callable[..., Page]
) -> None:
    analysed(study)
    run = AnalysisRun.objects.create(
        study=study, estimator="mean_score", parameters=QUICK, state="running"
    )
    page = opened(new_page(), web, study)
    page.locator("#options > summary").click()
    page.get_by_label("Dimension").check()
    run_analysis(run.pk)
    link = page.get_by_role("link", name="Show the results")
    expect(link).to_be_visible()
    expect(page.get_by_label("Dimension")).to_be_checked()
    link.click()
    expect(page.locator("h2.headline")).to_be_visible()


def test_without_scripts_the_page_is_narrowed_and_its_folds_open(
    web: WebProcess, study: Study, browser: Browser
) -> None:
    analysed(study)
    context = browser.new_context(java_script_enabled=False)
    page = opened(context.new_page(), web, study)
    expect(page.locator("h2.headline")).to_be_visible()
    page.get_by_label("Ratings", exact=True).select_option(label="poetry")
    page.get_by_role("button", name="Show", exact=True).click()
    expect(page.get_by_text("This is about dimension: poetry only")).to_be_visible()
    page.get_by_role("heading", name="Data and methods").click()
    page.get_by_text("Made with", exact=True).click()
    expect(page.get_by_text("Table hash")).to_be_visible()
    context.close()


def test_a_first_screen_answers_to_pointer_and_keys_and_clips_are_heard(
    web: WebProcess, study: Study, new_page: Callable[..., Page]
) -> None:
    analysed(study)
    page = opened(new_page(viewport={"width": 1280, "height": 800}), web, study)
    for shown in ("h2.headline", ".first-grid .on-wide svg", ".caveats", ".first-grid .actions"):
        box = page.locator(shown).bounding_box()
        assert box is not None
        assert box["y"] + box["height"] <= 800, shown
    lines = page.locator(".on-wide .plot-line")
    lines.first.focus()
    readout = page.locator(".first-grid .readout")
    first = readout.inner_text()
    assert "ratings" in first
    page.keyboard.press("ArrowDown")
    expect(readout).not_to_have_text(first)
    lines.last.hover()
    expect(readout).to_contain_text(lines.last.get_attribute("aria-label") or "nothing")
    readout.get_by_role("link", name="Listen to its clips").click()
    expect(page.get_by_role("heading", name="Clips", exact=True)).to_be_visible()
    assert "condition=" in page.url
    expect(page.locator(".clip-row audio").first).to_be_visible()
    expect(page.locator(".clip-row .histogram").first).to_contain_text("%")
    report = Report()
    report.look(page, "clips")
    assert report.grave == []
    page.set_viewport_size({"width": 390, "height": 844})
    assert not is_too_wide(page)
