"""Questionnaires as raters meet them: branches, errors in place, reloads, keys, screen readers."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from playwright.sync_api import expect

from tests.browser.form_driver import (
    NewPage,
    Serve,
    fill_in,
    group,
    house_of,
    open_session,
    send,
    tick,
)
from tests.browser.forms import ABOUT

ROOT = Path(__file__).resolve().parents[2]
MODULES = ("questionnaire", "question", "checktrials", "checkanswers", "stylesheet")


def test_a_questionnaire_is_filled_in_and_sent(serve_forms: Serve, new_page: NewPage) -> None:
    page, server = new_page(), serve_forms(ABOUT)
    open_session(page, server)
    expect(page.get_by_role("heading", level=1)).to_have_text("About you")
    fill_in(page)
    tick(page, "How tired are you now?", "3")
    send(page)
    expect(page.get_by_role("button", name="Begin")).to_be_visible()
    assert house_of(server).answered["about"] == {
        "gender": "prefer_not",
        "age": "25-34",
        "native_speaker": "yes",
        "hearing": "normal",
        "years": 12,
        "devices": ["Smart speaker", "A screen reader"],
        "tired": 3,
    }


def test_what_is_missing_is_said_beside_its_question_and_the_first_gets_the_focus(
    serve_forms: Serve, new_page: NewPage
) -> None:
    page, server = new_page(), serve_forms(ABOUT)
    open_session(page, server)
    fill_in(page)
    group(page, "Which of these do you own?").get_by_label("Smart speaker").uncheck()
    group(page, "Which of these do you own?").get_by_label("A screen reader").uncheck()
    page.get_by_label("For how many years").fill(" ")
    send(page)
    years, devices = page.get_by_label("For how many years"), group(page, "Which of these")
    expect(years).to_be_focused()
    expect(years).to_have_attribute("aria-invalid", "true")
    expect(years).to_have_accessible_description(re.compile("Please answer this question"))
    expect(devices.locator(".field-error")).to_have_text("Please answer this question.")
    expect(devices.get_by_label("Smart speaker")).to_have_attribute("aria-invalid", "true")
    expect(page.locator("[data-part=missing]")).to_have_text("Questions that still need you: 2")
    assert house_of(server).posts == []
    years.fill("3")
    expect(years).not_to_have_attribute("aria-invalid", "true")
    expect(page.locator("[data-part=missing]")).to_have_text("Questions that still need you: 1")


def test_what_the_server_finds_wrong_is_said_beside_its_question(
    serve_forms: Serve, new_page: NewPage
) -> None:
    page, server = new_page(), serve_forms(ABOUT)
    open_session(page, server)
    fill_in(page)
    page.get_by_label("For how many years").fill("120")
    send(page)
    years = group(page, "For how many years")
    expect(years.locator(".field-error")).to_have_text("Please write a number from 0 to 99.")
    expect(page.get_by_label("For how many years")).to_be_focused()
    expect(page.locator("#notice")).to_be_hidden()
    page.get_by_label("For how many years").fill("12,5")
    send(page)
    expect(page.get_by_role("button", name="Begin")).to_be_visible()
    assert house_of(server).answered["about"]["years"] == 12.5


def test_a_question_appears_with_the_answer_that_leads_to_it(
    serve_forms: Serve, new_page: NewPage
) -> None:
    page, server = new_page(), serve_forms(ABOUT)
    open_session(page, server)
    language = page.get_by_label("Which language did you grow up with?")
    expect(language).to_be_hidden()
    fill_in(page)
    tick(page, "first language?", "No")
    expect(language).to_be_visible()
    language.fill("Tigrinya")
    tick(page, "first language?", "Yes")
    expect(language).to_be_hidden()
    send(page)
    expect(page.get_by_role("button", name="Begin")).to_be_visible()
    assert "first_language" not in house_of(server).posts[0]["answers"]


def test_a_reload_keeps_what_was_filled_in(serve_forms: Serve, new_page: NewPage) -> None:
    page, server = new_page(), serve_forms(ABOUT)
    open_session(page, server)
    tick(page, "first language?", "No")
    page.get_by_label("Which language did you grow up with?").fill("Tigrinya")
    page.get_by_label("For how many years").fill("7")
    tick(page, "For how many years", "I prefer not to say")
    tick(page, "Which of these do you own?", "None of them")
    tick(page, "How tired are you now?", "6")
    page.get_by_label("What should we know").fill("Quiet,\nalmost")
    page.reload()
    expect(page.get_by_label("Which language did you grow up with?")).to_have_value("Tigrinya")
    years = group(page, "For how many years")
    expect(years.get_by_label("I prefer not to say")).to_be_checked()
    expect(page.get_by_label("For how many years")).to_be_disabled()
    expect(page.get_by_label("For how many years")).to_have_value("")
    expect(page.get_by_label("None of them")).to_be_checked()
    expect(group(page, "How tired").locator("input:checked")).to_have_value("6")
    expect(page.get_by_label("What should we know")).to_have_value("Quiet,\nalmost")


def test_who_prefers_not_to_say_chooses_that_alone(serve_forms: Serve, new_page: NewPage) -> None:
    page, server = new_page(), serve_forms(ABOUT)
    open_session(page, server)
    fill_in(page)
    devices = group(page, "Which of these do you own?")
    tick(page, "Which of these do you own?", "I prefer not to say")
    assert devices.locator("input:checked").evaluate_all("all => all.map(e => e.value)") == [
        "prefer_not"
    ]
    tick(page, "Which of these do you own?", "None of them")
    expect(devices.get_by_label("I prefer not to say")).not_to_be_checked()
    tick(page, "For how many years", "I prefer not to say")
    send(page)
    expect(page.get_by_role("button", name="Begin")).to_be_visible()
    kept = house_of(server).answered["about"]
    assert (kept["devices"], kept["years"]) == (["None of them"], "prefer_not")


def test_an_optional_choice_can_be_taken_back(serve_forms: Serve, new_page: NewPage) -> None:
    page, server = new_page(), serve_forms(ABOUT)
    open_session(page, server)
    tired = group(page, "How tired are you now?")
    back = tired.get_by_role("button", name="Clear the answer")
    expect(back).to_be_hidden()
    tick(page, "How tired are you now?", "3")
    back.click()
    expect(tired.locator("input:checked")).to_have_count(0)
    expect(tired.locator("input").first).to_be_focused()
    expect(group(page, "How old are you?").get_by_role("button")).to_have_count(0)


def test_enter_goes_to_the_next_question_and_makes_lines_but_sends_nothing(
    serve_forms: Serve, new_page: NewPage
) -> None:
    page, server = new_page(), serve_forms(ABOUT)
    open_session(page, server)
    fill_in(page)
    page.get_by_label("For how many years").press("Enter")
    expect(page.get_by_label("Smart speaker")).to_be_focused()
    notes = page.get_by_label("What should we know")
    notes.press_sequentially("One")
    notes.press("Enter")
    notes.press_sequentially("two")
    expect(notes).to_have_value("One\ntwo")
    assert house_of(server).posts == []


def test_the_keyboard_alone_fills_it_in(serve_forms: Serve, new_page: NewPage) -> None:
    toml = """
    [[questionnaires]]
    key = "short"
    use = "device"
    """
    page, server = new_page(), serve_forms(toml)
    open_session(page, server)
    expect(page.get_by_role("heading", level=1)).to_have_text("How you listen")
    page.locator("h1").focus()
    for key in ("Tab", "Space", "ArrowDown", "Tab", "Space", "Tab", "Enter"):
        page.keyboard.press(key)
    expect(page.get_by_role("button", name="Begin")).to_be_visible()
    assert house_of(server).answered["short"] == {"listening_device": "over_ear", "place": "quiet"}


def test_a_screen_reader_hears_groups_limits_and_what_is_required(
    serve_forms: Serve, new_page: NewPage
) -> None:
    page, server = new_page(), serve_forms(ABOUT)
    open_session(page, server)
    gender = page.get_by_role("radiogroup", name="What is your gender?")
    expect(gender).to_have_attribute("aria-required", "true")
    assert gender.get_by_role("radio").count() == 4
    devices = page.get_by_role("group", name="Which of these do you own?")
    expect(devices).to_have_accessible_description(re.compile("Choose all that you use"))
    years = page.get_by_role("textbox", name="For how many years")
    expect(years).to_have_accessible_description(re.compile("A number from 0 to 99"))
    tired = page.get_by_role("radiogroup", name="How tired are you now? (optional)")
    expect(tired.get_by_role("radio").first).to_have_accessible_name("1 wide awake")
    expect(tired.get_by_role("radio").last).to_have_accessible_name("7 very tired")


def test_an_answer_that_screens_out_ends_the_session(serve_forms: Serve, new_page: NewPage) -> None:
    page, server = new_page(), serve_forms(ABOUT)
    open_session(page, server)
    assert "screen_out" not in page.content()
    fill_in(page, hearing="No, I hear less well on one or both ears")
    send(page)
    expect(page.locator(".view-end")).to_contain_text("You are not asked to go on")


def test_a_questionnaire_waits_for_the_network(serve_forms: Serve, new_page: NewPage) -> None:
    page, server = new_page(), serve_forms(ABOUT)
    open_session(page, server)
    fill_in(page)
    server.house.fail("/questionnaires/", 503, times=99)
    send(page)
    expect(page.locator("[data-part=missing]")).to_have_text("Saving…")
    page.get_by_role("button", name="Go on").click(force=True)
    server.house.faults.clear()
    expect(page.get_by_role("button", name="Begin")).to_be_visible()
    assert len(server.house.posts) == 1


def test_every_sentence_of_the_forms_is_on_the_page_and_none_is_idle() -> None:
    there: set[str] = set()
    for name in ("strings_same", "strings_forms"):
        text = (ROOT / f"templates/rater/{name}.html").read_text("utf-8")
        there |= set(re.findall(r'<data value="(\w+)"', text))
    folder = ROOT / "static/js/rater"
    scripts = "\n".join((folder / f"{name}.js").read_text("utf-8") for name in MODULES)
    assert set(re.findall(r'say\("(\w+)"', scripts)) <= there
    ours = set(re.findall(r'<data value="(\w+)"', text))
    assert ours <= set(re.findall(r'"(\w+)"', scripts))


def test_the_page_branches_as_the_server_does(serve_forms: Serve, new_page: NewPage) -> None:
    """The same rule in both languages: what the server would drop, the page hides."""
    from listening.design.questionnaires import visible

    rule: dict[str, Any] = {"question": "b", "answers": ["x", "2"]}
    questions: list[dict[str, Any]] = [
        {"key": "a", "show_if": None},
        {"key": "b", "show_if": {"question": "a", "answers": ["1"]}},
        {"key": "c", "show_if": rule},
        {"key": "d", "show_if": {"question": "c", "answers": ["x"]}},
    ]
    cases: list[dict[str, Any]] = [
        *({}, {"a": "1"}, {"a": "2", "b": "x"}, {"a": "1", "b": "x"}),
        *({"a": ["0", "1"], "b": ["y", "2"], "c": "x"}, {"b": "x", "c": "x"}, {"a": []}),
    ]
    page = new_page()
    page.goto(f"{serve_forms().url}/lost/")
    script = """async ([questions, cases]) => {
        const m = await import("/static/js/rater/question.js");
        return cases.map((answers) => m.visible(questions, answers).map((each) => each.key));
    }"""
    expected = [[each["key"] for each in visible(questions, case)] for case in cases]
    assert page.evaluate(script, [questions, cases]) == expected
