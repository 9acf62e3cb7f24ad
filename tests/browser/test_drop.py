"""A folder dropped on the page of sounds: every file arrives; a problem stands at its field."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from playwright.sync_api import Page, Route, expect

from listening.drafts.folder import folder_of
from listening.models import Draft
from tests.browser.researcher import hashed, log_in, with_script
from tests.listening.folders import write_sound
from tests.listening.web import WebProcess

pytestmark = pytest.mark.slow


def test_a_dropped_folder_becomes_the_table(
    web: WebProcess,
    transactional_db: None,
    tmp_path: Path,
    new_page: Callable[..., Page],
) -> None:
    User.objects.create(username="ada", password=hashed())
    dropped = tmp_path / "set"
    for n, name in enumerate(("tts/s1", "tts/s2", "human/s1", "human/s2")):
        write_sound(dropped / f"{name}.wav", n)
    write_sound(dropped / "human" / "s2.wav", 9, rate=48_000, seconds=30)  # more than a piece
    for name in ("notes.docx", "tts/._s1.wav", "tts/Thumbs.db", "human/.DS_Store"):
        (dropped / name).write_bytes(b"x")
    page = new_page()
    log_in(page, f"{web.url}/new/", "ada")
    page.get_by_role("button", name="Start: MOS", exact=True).click()
    drop(page, dropped)
    expect(page.get_by_role("heading", name="2 systems, 2 sentences")).to_be_visible()
    warning = page.get_by_text("Not sent (hidden, or no sound by their ending):")
    for name in ("notes.docx", "tts/._s1.wav", "tts/Thumbs.db", "human/.DS_Store"):
        expect(warning).to_contain_text(f"set/{name}")
    there = folder_of(Draft.objects.get()) / "audio" / "set"
    for name in ("tts/s1.wav", "human/s2.wav"):
        assert (there / name).read_bytes() == (dropped / name).read_bytes()
    page.get_by_role("link", name="4. Raters").click()
    ratings = page.get_by_label("Ratings per stimulus")
    ratings.fill("0")
    expect(page.locator(".field:has(#r0) .field-problem")).to_be_visible()
    ratings.fill("20")
    expect(page.locator(".field-problem")).to_have_count(0)


@pytest.fixture
def draft(web: WebProcess, transactional_db: None, new_page: Callable[..., Page]) -> Page:
    """The page of sounds of a new draft."""
    User.objects.create(username="ada", password=hashed())
    page = new_page()
    log_in(page, f"{web.url}/new/", "ada")
    page.get_by_role("button", name="Start: MOS", exact=True).click()
    return page


def test_a_folder_dropped_while_another_is_sent_is_sent_too(draft: Page, tmp_path: Path) -> None:
    for n, name in enumerate(("tts/s1", "tts/s2", "human/s1", "human/s2")):
        write_sound(tmp_path / f"{name}.wav", n)
    (tmp_path / "human" / "notes.docx").write_bytes(b"x")
    upload = draft.locator("#drop").get_attribute("data-upload")
    held: list[Route] = []
    draft.route(f"**{upload}?*", lambda route: held.append(route), times=1)
    with draft.expect_request(f"**{upload}?*"):
        drop(draft, tmp_path / "tts")
    drop(draft, tmp_path / "human")
    held[0].continue_()
    expect(draft.get_by_role("heading", name="2 systems, 2 sentences")).to_be_visible()
    expect(draft.get_by_text("Not sent (hidden, or no sound by their ending):")).to_contain_text(
        "human/notes.docx"
    )


def test_a_link_pressed_while_a_change_is_saved_is_followed(draft: Page, tmp_path: Path) -> None:
    for n, name in enumerate(("tts/s1", "tts/s2", "human/s1", "human/s2")):
        write_sound(tmp_path / "voices" / f"{name}.wav", n)
    drop(draft, tmp_path / "voices")
    expect(draft.get_by_role("heading", name="2 systems, 2 sentences")).to_be_visible()
    draft.get_by_role("link", name="4. Raters").click()
    with_script(draft)
    save = draft.locator("#draft").get_attribute("data-save")
    held: list[Route] = []
    draft.route(f"**{save}", lambda route: held.append(route), times=1)
    with draft.expect_request(f"**{save}"):
        draft.get_by_role("textbox", name="Title").fill("Two voices")
    draft.get_by_label("Ratings per stimulus").fill("4")
    draft.get_by_role("link", name="Next: review and open").click()
    held[0].continue_()
    expect(draft).to_have_url(re.compile("/review/$"))
    settings = tomllib.loads((folder_of(Draft.objects.get()) / "study.toml").read_text())
    assert settings["study"]["title"] == "Two voices"
    assert settings["tasks"][0]["ratings_per_stimulus"] == 4


def test_the_pairs_of_a_comparison_are_chosen_by_keyboard(
    web: WebProcess, transactional_db: None, new_page: Callable[..., Page], tmp_path: Path
) -> None:
    User.objects.create(username="ada", password=hashed())
    page = new_page()
    log_in(page, f"{web.url}/new/", "ada")
    page.get_by_role("button", name="Start: AB / ABX").click()
    for n, name in enumerate(f"{system}/s{line}" for system in "abc" for line in (1, 2)):
        write_sound(tmp_path / "voices" / f"{name}.wav", n)
    drop(page, tmp_path / "voices")
    expect(page.get_by_role("heading", name="3 systems, 2 sentences")).to_be_visible()
    page.get_by_role("link", name="2. Questions").click()
    task = page.locator("[data-task]", has=page.locator("option[value=adaptive]"))
    share = task.get_by_label("Even share")
    expect(share).to_be_hidden()
    with_script(page)
    task.get_by_label("Compare").focus()
    for _ in range(3):  # random, Swiss, informative
        page.keyboard.press("ArrowDown")
    page.keyboard.press("Tab")
    expect(share).to_be_focused()
    page.keyboard.type("0.3")
    page.get_by_role("link", name="4. Raters").click()
    expect(page.get_by_label("Comparisons per sentence")).to_have_count(1)
    settings = tomllib.loads((folder_of(Draft.objects.get()) / "study.toml").read_text())
    options = next(task["options"] for task in settings["tasks"] if task["method"] == "ab")
    assert (options["pairs"], options["uniform_share"]) == ("adaptive", 0.3)


def test_nothing_can_be_typed_or_pressed_before_the_script_that_saves_is_there(draft: Page) -> None:
    draft.wait_for_load_state()
    held: list[Route] = []
    draft.route("**/draft*.js", lambda route: held.append(route), times=1)
    with draft.expect_request("**/draft*.js"):
        draft.get_by_role("link", name="4. Raters").click(no_wait_after=True)
    title = draft.locator("#title")
    before = title.input_value()
    title.focus()
    draft.keyboard.type("lost")
    draft.evaluate("document.getAnimations().forEach((late) => late.finish())")
    late = draft.get_by_text("This page is still loading.")
    expect(late).to_be_visible()
    assert title.input_value() == before
    held[0].continue_()
    expect(late).to_be_hidden()
    title.focus()
    draft.keyboard.press("Control+A")
    draft.keyboard.type("Kept")
    draft.get_by_role("link", name="Next: review and open").click()
    expect(draft).to_have_url(re.compile("/review/$"))
    settings = tomllib.loads((folder_of(Draft.objects.get()) / "study.toml").read_text())
    assert settings["study"]["title"] == "Kept"


def drop(page: Page, folder: Path) -> None:
    """As a hand does it: the browser gets a folder of the disk, and reads it itself."""
    page.wait_for_load_state()  # with its scripts
    box = page.locator("#drop").bounding_box()
    assert box is not None
    tools = page.context.new_cdp_session(page)
    data = {"items": [], "files": [str(folder)], "dragOperationsMask": 1}
    at = {"x": box["x"] + 40, "y": box["y"] + 20, "data": data}
    for kind in ("dragEnter", "dragOver", "drop"):
        tools.send("Input.dispatchDragEvent", {"type": kind, **at})
