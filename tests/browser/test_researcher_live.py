"""A researcher watches a study in Chromium: numbers follow, lost connections come back."""

from collections.abc import Callable, Iterator

import pytest
from playwright.sync_api import Page, expect

from listening.models import Rating, Session, Study
from tests.browser.axe import Report
from tests.browser.gate import Gate
from tests.browser.moments import note_words
from tests.browser.researcher import hashed, log_in, with_script
from tests.factories import answer_all, arrive, make_study
from tests.listening.folders import write_sound
from tests.listening.sounds import give_sound
from tests.listening.web import WebProcess


@pytest.fixture
def study(transactional_db) -> Study:
    made = make_study(key="voices")
    made.owner.password = hashed()
    made.owner.save()
    return made


@pytest.fixture
def page(web: WebProcess, study: Study, new_page: Callable[..., Page]) -> Page:
    """The study's page, after the log-in form sent the researcher there."""
    opened = new_page()
    log_in(opened, f"{web.url}/studies/voices/", study.owner.username)
    expect(opened.get_by_role("heading", level=1)).to_have_text("A study")
    return opened


def test_numbers_and_bars_follow_the_ratings_without_a_reload(page, study):
    expect(page.locator("#live")).to_have_text("Live")
    page.evaluate("window.stillHere = true")
    give_sound(study)
    answer_all(arrive(study), stop_after=4)
    total = page.locator("dd [data-live='total/rated']")
    expect(total).to_have_text("4")
    expect(page.locator("[data-live='sessions/started']")).to_have_text("1")
    bars = page.locator("progress[data-live^='tasks/mos/conditions/']")
    assert sum(bar.evaluate("bar => bar.value") for bar in bars.all()) == 4
    expect(page.get_by_text("1 of these sessions are simulated.")).to_be_visible()
    assert page.evaluate("window.stillHere") is True


def test_the_box_of_what_may_be_said_so_far_comes_with_the_page(page, study, web):
    expect(page.locator("#so-far").get_by_text("No rater has finished yet")).to_be_visible()
    give_sound(study)
    answer_all(arrive(study))
    page.goto(f"{web.url}/studies/voices/?matters=0.5")
    box = page.locator("#so-far")
    expect(box.get_by_text("not final")).to_be_visible()
    expect(box.get_by_label("Smallest relevant difference")).to_have_value("0.5")
    box.get_by_label("Smallest relevant difference").fill("0.25")
    box.get_by_role("button", name="Apply").click()
    expect(page).to_have_url(f"{web.url}/studies/voices/?matters=0.25")
    expect(page.locator("#live")).to_have_text("Live")


@pytest.fixture
def gate(web: WebProcess, page: Page) -> Iterator[Gate]:
    """The study's page is open through it."""
    with Gate(web.port) as standing:
        page.goto(f"{standing.url}/studies/voices/")
        expect(page.locator("#live")).to_have_text("Live")
        yield standing


def test_a_lost_connection_is_shown_and_comes_back_with_the_news(page, study, gate):
    gate.shut()
    expect(page.locator("#live")).to_have_text("Reconnecting…")
    answer_all(arrive(study), stop_after=2)
    gate.open()
    expect(page.locator("#live")).to_have_text("Live")
    expect(page.locator("dd [data-live='total/rated']")).to_have_text("2")


def test_who_logged_out_elsewhere_is_told_at_the_next_connection(page, gate):
    page.context.clear_cookies()
    gate.shut()
    gate.open()
    expect(page.locator("#live")).to_have_text("You were logged out. Log in again to watch.")


def test_a_paused_study_reloads_its_watchers_unless_they_are_busy(page, study):
    expect(page.locator("#live")).to_have_text("Live")
    page.get_by_text("Close permanently…").click()
    Study.objects.update(state="paused")
    expect(page.locator("#live")).to_have_text("The study has changed: reload the page")
    page.get_by_text("Close permanently…").click()
    expect(page.get_by_role("heading", name="Paused")).to_be_visible()


def test_a_session_is_rejected_with_the_keyboard_alone(page, study):
    session = arrive(study)
    answer_all(session)
    page.get_by_role("link", name="Participants", exact=True).click()
    judge = page.get_by_role("button", name="Actions…")
    expect(judge).to_be_disabled()  # nobody is chosen
    page.get_by_label(f"Select the session of {session.rater.code}").focus()
    page.keyboard.press("Space")
    judge.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_label("Reason")).to_be_focused()
    page.keyboard.press("Escape")
    expect(page.get_by_label("Reason")).to_be_hidden()
    page.keyboard.press("Enter")
    page.keyboard.type("failed both traps")
    page.get_by_role("button", name="Reject", exact=True).focus()
    page.keyboard.press("Enter")
    expect(page.get_by_text("The ratings are kept but no longer count")).to_be_visible()
    assert Session.objects.get().status == "rejected"
    assert not Rating.objects.filter(counts=True).exists()


def test_the_link_is_copied(page, study, web):
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    note_words(page, "[data-copy]")  # "Copied" goes away by itself
    page.get_by_role("button", name="Copy").click()
    page.wait_for_function("() => window.said.includes('Copied')")
    copied = page.evaluate("navigator.clipboard.readText()")
    assert copied == f"{web.url}/r/{study.link}/"


def written_in_two_windows_and_without_a_log_in(page, draft):
    second = page.context.new_page()
    second.goto(draft)
    second.get_by_label("Heading").fill("Theirs")
    expect(second.get_by_role("heading", name="As raters see it")).to_be_visible()
    expect(second.frame_locator("iframe").get_by_role("heading", name="Theirs")).to_be_visible()
    second.close()
    page.get_by_label("Heading").fill("Mine")
    page.get_by_role("button", name="Overwrite with mine").click()
    expect(page.get_by_role("button", name="Overwrite with mine")).to_be_hidden()
    shown = page.frame_locator("iframe")
    expect(
        shown.get_by_role("heading", name="Mine")
    ).to_be_visible()  # the preview is not on its way
    kept = page.context.cookies()
    page.context.clear_cookies()
    page.get_by_label("Heading").fill("Written while logged out")
    expect(page.get_by_text("You were logged out.")).to_be_visible()
    for cookie in kept:  # another log-in has another token, and the page keeps that of before
        cookie["value"] = "a" * 32 if cookie["name"] == "csrftoken" else cookie["value"]
    page.context.add_cookies(kept)
    page.get_by_role("button", name="Save again").click()
    expect(page.locator("#trouble")).to_be_hidden()


def test_sounds_on_a_laptop_become_an_open_study(page, web, tmp_path):
    """The whole way, with a lost log-in and a second window on it; every page is looked at."""
    for n, clip in enumerate(f"{s}/line_{i}" for s in ("vits", "human") for i in (1, 2, 3)):
        write_sound(tmp_path / "voices" / f"{clip}.wav", n, seconds=1)
    (tmp_path / "voices" / "notes.txt").write_text("no sound")
    report = Report()
    page.goto(f"{web.url}/studies/")
    page.get_by_role("link", name="New study").click()
    report.look(page, "kinds")
    page.get_by_role("button", name="Start: MOS").click()
    report.look(page, "no sounds")
    with_script(page)
    page.set_input_files("#choose-folder", tmp_path / "voices")
    expect(page.get_by_text("2 systems, 3 sentences: the folder is the system.")).to_be_visible()
    expect(
        page.get_by_text("Not sent (hidden, or no sound by their ending): voices/notes.txt")
    ).to_be_visible()
    page.get_by_label("What human is").select_option("Reference")
    expect(page.get_by_label("What human is")).to_have_value("reference")
    report.look_in_both_schemes(page, "sounds")
    page.get_by_role("link", name="Next: questions").click()
    draft = page.url
    with_script(page)
    page.get_by_label("Question", exact=False).first.fill("Is it natural?")
    page.get_by_label("Heading").fill("How natural is it?")
    expect(page.locator("#saved")).to_have_text("Saved")
    shown = page.frame_locator("iframe")
    expect(shown.get_by_role("heading", name="How natural is it?")).to_be_visible()
    report.look(page, "questions")
    written_in_two_windows_and_without_a_log_in(page, draft)
    page.get_by_role("link", name="Next: questionnaires").click()
    page.get_by_role("link", name="Next: raters").click()
    with_script(page)
    page.get_by_role("textbox", name="Title").fill("Two voices")
    page.get_by_label("Ratings per stimulus").fill("4")
    report.look(page, "raters")
    page.get_by_role("link", name="Next: review and open").click()
    page.get_by_role("button", name="Check every clip").click()
    report.look(page, "review")
    page.get_by_role("button", name="Open the study").click()
    expect(page.get_by_text("The study is open: raters can start.")).to_be_visible()
    made = Study.objects.get(title="Two voices")
    task = made.tasks.get()
    assert (task.title, task.ratings_per_stimulus) == ("Written while logged out", 4)
    assert report.grave == []


def test_without_scripts_the_page_stands_and_its_buttons_work(web, study, browser):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    log_in(page, f"{web.url}/studies/voices/", study.owner.username)
    expect(page.locator("#live")).to_be_hidden()
    expect(page.get_by_role("button", name="Copy")).to_be_hidden()
    page.get_by_role("button", name="Pause").click()
    expect(page.get_by_text("The study is paused. New raters cannot start.")).to_be_visible()
    assert Study.objects.get().state == "paused"
    context.close()
