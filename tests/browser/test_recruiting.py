"""A paid study in Chromium: a researcher recruits forty people, decides and pays; one declines."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from listening.models import Recruitment, Study
from listening.recruitment import drafting
from listening.recruitment.plan import money
from tests.browser.axe import Report
from tests.browser.researcher import hashed, log_in
from tests.factories import make_study
from tests.listening import crowd
from tests.listening.recruited import CODES
from tests.listening.web import WebProcess
from tests.play_money import TOKEN, Double

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def double() -> Iterator[Double]:
    with Double.running(None, "--balance", "100000") as running:
        yield running


@pytest.fixture(scope="module")
def web(django_db_setup: None, double: Double) -> Iterator[WebProcess]:
    with WebProcess(EARNEST_PROLIFIC_API=double.url) as running:
        yield running


@pytest.fixture
def study(transactional_db: None, double: Double, settings: Any) -> Study:
    settings.EARNEST_PROLIFIC_API = double.url
    double.set(features={"fixed_screen_out": True, "secure_links": False})
    made = make_study(
        key="paid", items=40, completion_codes=CODES, task={"ratings_per_stimulus": 3}
    )
    made.owner.password = hashed()
    made.owner.save()
    return made


@pytest.fixture
def page(web: WebProcess, study: Study, new_page: Callable[..., Page]) -> Page:
    opened = new_page()
    log_in(opened, f"{web.url}/studies/paid/recruiting/", study.owner.username)
    return opened


def test_a_paid_study_from_the_token_to_the_last_bonus(
    web: WebProcess, double: Double, study: Study, page: Page, new_page: Callable[..., Page]
) -> None:
    looked = Report()
    page.get_by_role("link", name="Connect Prolific").click()
    page.get_by_label("API token").fill(TOKEN)
    page.get_by_role("button", name="Connect").click()
    expect(page.get_by_role("heading", name="Connected")).to_be_visible()
    looked.look(page, "connected")
    page.goto(f"{web.url}/studies/paid/recruiting/")
    page.get_by_label("Places", exact=True).fill("45")
    page.get_by_role("button", name="Save", exact=True).click()
    page.get_by_label("Add a Prolific filter").select_option(label="Age")
    page.get_by_role("button", name="Choose").click()
    page.get_by_label("From").fill("18")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_text("18 to any")).to_be_visible()
    looked.look(page, "plan")
    page.get_by_role("button", name="Save and create draft").click()
    expect(page.get_by_role("heading", name="Draft on Prolific")).to_be_visible()
    looked.look(page, "draft")
    page.get_by_role("checkbox", name="of our balance now").check()
    page.get_by_role("button", name="Publish for").click()
    double.settle()
    page.get_by_role("button", name="Check now").click()
    expect(page.get_by_role("heading", name="On Prolific: active")).to_be_visible()
    recruitment = Recruitment.objects.get()

    add_places(page, double, recruitment)
    decline(web, double, recruitment, new_page())
    decide_and_pay(page, double, recruitment, looked)
    assert looked.grave == []


def unfold_places(page: Page) -> None:
    page.locator("details:has(#places)").evaluate("fold => { fold.open = true }")


def add_places(page: Page, double: Double, recruitment: Recruitment) -> None:
    """The button names the sum of what is typed, and no other is spent."""
    study = recruitment.prolific_study
    typed = page.get_by_label("Total places")
    unfold_places(page)
    for places in (745, 46):
        typed.fill(str(places))
        cost = money(drafting.cost_of_raise(recruitment, places=places), "GBP")
        one = "place" if places == 46 else "places"
        button = page.get_by_role("button", name=f"Add {places - 45} {one} for {cost}", exact=True)
        expect(button).to_be_enabled()
    before = double.locked(study)
    button.click()
    expect(page.get_by_text("There are 46 places now.")).to_be_visible()
    assert money(double.locked(study) - before, "GBP") == cost
    page.get_by_label("Limit for this study").fill("1.00")
    with page.expect_navigation():
        page.get_by_role("button", name="Change limit").click()
    unfold_places(page)
    typed.fill("47")
    beyond = page.get_by_text("This exceeds the limit of £1.00.")
    expect(beyond.locator("visible=true")).to_have_count(1)
    expect(page.get_by_role("button", name="Add 1 place for")).to_be_disabled()
    page.get_by_label("Limit for this study").fill("")
    page.get_by_role("button", name="Change limit").click()


def decide_and_pay(page: Page, double: Double, recruitment: Recruitment, looked: Report) -> None:
    """Forty come; the plain ones are approved together, one gets a bonus."""
    came = crowd.send(double, recruitment)
    page.get_by_role("button", name="Check now").click()
    expect(page.get_by_role("button", name="Approve 2")).to_be_visible()
    looked.look_in_both_schemes(page, "desk")
    page.get_by_role("link", name="mismatches").click()
    expect(page.get_by_text("Finished here; at Prolific with “HELLO”.").first).to_be_visible()
    expect(page.get_by_text("Prolific does not have in this study")).to_be_visible()
    page.get_by_role("link", name=re.compile(r"^all \d")).click()
    page.get_by_role("button", name="Approve 2").click()
    double.settle()
    page.get_by_role("button", name="Check now").click()
    complete = double.ledger()["submissions"]
    assert [complete[p.submission]["status"] for p in came["complete"]] == ["APPROVED"] * 22
    reward = recruitment.plan["hourly_minor"]
    assert reward == 900
    row = page.locator("tr", has_text=came["complete"][0].session.rater.code)
    for amount in ("1.60", "1.50"):  # a slip first, which is taken back
        row.get_by_role("button", name="Bonus").click()
        page.get_by_label("Amount, GBP").locator("visible=true").fill(amount)
        page.get_by_role("button", name="Add bonus").locator("visible=true").click()
        if amount == "1.60":
            row.get_by_role("button", name="Cancel bonus…").click()
            expect(row.get_by_role("heading", name="Cancel the bonus of £1.60")).to_be_visible()
            row.get_by_role("button", name="Cancel bonus", exact=True).click()
            expect(page.get_by_text("no longer due")).to_be_visible()
    page.get_by_role("button", name="Prepare bonuses").click()
    page.get_by_role("button", name="Pay £").click()
    double.settle()
    page.get_by_role("button", name="Check now").click()
    assert double.ledger()["submissions"][came["complete"][0].submission]["bonuses"] == [150]
    expect(page.get_by_text("differ", exact=True)).to_have_count(0)
    expect(page.get_by_text("agree", exact=True)).to_have_count(3)


def decline(web: WebProcess, double: Double, recruitment: Recruitment, rater: Page) -> None:
    """A participant opens the study at Prolific, does not want to take part, and goes back."""
    (person,) = double.participants()
    submission = double.reserve(recruitment.prolific_study, person)
    rater.context.add_cookies([{"name": "participant", "value": person, "url": double.url}])
    address = double.start(submission)
    rater.goto(web.url + address[address.index("/r/") :])
    rater.get_by_role("button", name="I do not want to take part").click()
    rater.get_by_role("link", name="Go back and finish there").click()
    expect(rater).to_have_url(f"{double.url}/submissions/{submission}")
    assert double.ledger()["submissions"][submission]["code"] == CODES["no_consent"]
