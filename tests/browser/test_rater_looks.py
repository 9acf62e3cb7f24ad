"""Everyone can use the rater's pages: names, contrast, room for fingers, narrow screens."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from listening.templatetags.modules import EVERY_TRIAL, SOME
from tests.browser.axe import SETTLED, darkened
from tests.browser.conftest import PHONE
from tests.browser.driver import choose, enter, hear
from tests.browser.fake import FakeServer
from tests.browser.story import ATT, CMOS, CONTEXT, MOS, SEVERAL, Story, line, short_story

Serve = Callable[[Story], FakeServer]
NewPage = Callable[..., Page]
ROOT = Path(__file__).resolve().parents[2]

SMALL_TARGETS = """() => {
    const touched = "button, a.button, label.option, label.step, summary";
    return [...document.querySelectorAll(touched)]
        .map((each) => [each.textContent.trim().slice(0, 20), each.getBoundingClientRect()])
        .filter(([, box]) => box.width && (box.height < 44 || box.width < 44))
        .map(([name, box]) => `${name}: ${box.width} x ${box.height}`);
}"""
TOO_WIDE = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
FAINT = (
    """async () => {
    """
    + SETTLED
    + """
    const faint = [];
    const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
    const rgb = (colour) => {
        canvas.clearRect(0, 0, 1, 1);
        canvas.fillStyle = colour;
        canvas.fillRect(0, 0, 1, 1);
        return [...canvas.getImageData(0, 0, 1, 1).data];
    };
    const light = ([r, g, b]) => [r, g, b].map((c) => c / 255)
        .map((c) => (c <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4))
        .reduce((sum, c, k) => sum + c * [0.2126, 0.7152, 0.0722][k], 0);
    const behind = (element) => {
        for (let e = element; e; e = e.parentElement) {
            const colour = rgb(getComputedStyle(e).backgroundColor);
            if (colour[3] === 255) return colour;
        }
        return rgb("white");
    };
    for (const element of document.querySelectorAll("main *")) {
        const words = [...element.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
        if (!words || !element.checkVisibility() || element.closest(".visually-hidden")) continue;
        const [a, b] = [light(rgb(getComputedStyle(element).color)), light(behind(element))];
        const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        const start = element.textContent.trim().slice(0, 30);
        if (ratio < 4.5) faint.push(`${start}: ${ratio.toFixed(2)}`);
    }
    return faint;
}"""
)


def stages(page: Page, server: FakeServer) -> Iterator[str]:
    """Walks through landing, check, and one trial of each kind; stops at each to be looked at."""
    page.emulate_media(reduced_motion="reduce")
    page.goto(f"{server.url}/r/x/")
    yield "landing"
    page.goto(f"{server.url}/s/demo/")
    expect(page.locator(".player")).to_have_attribute("data-state", "ready")
    yield "check"
    page.locator(".player-button").click()
    page.locator("[data-part=confirm][aria-disabled=false]").click()
    answers = {"Human": "a breath before it", "2.5": "", "1": "", "4": "", "3": ""}
    for label, reason in answers.items():
        yield "introduction"
        page.locator("[data-part=start]").click()
        expect(page.locator(".player").first).to_have_attribute("data-state", "ready")
        yield "locked trial"
        hear(page)
        for criterion in range(page.locator("fieldset.criterion").count()):
            choose(page, label, criterion)
        if reason:
            page.locator("textarea").fill(reason)
        yield "complete trial"
        page.locator("[data-part=next]").click()
    expect(page.locator(".view-end")).to_be_visible()
    yield "end"


LAST = {"debrief": "Half of the voices were synthetic.", "comment": True}


def whole_story() -> Story:
    text = "The harbour lay quiet in the early light."
    lines = [line("context", 0, 0, text), line("rated", 0, 0.4, text), line("context", 0.4, 0.6)]
    trials = [
        (0, [0.6], None),
        (1, [0.6], text),
        (2, [0.6, 0.6], None),
        (3, [0.4, 0.4], None),
        (4, [0.6], None),
    ]
    examples = [{"clip": "/checks/a.wav", "name": "Natural", "caption": "A person: this is a 5."}]
    tasks = [{**ATT, "examples": examples}, MOS, CMOS, CONTEXT, SEVERAL]
    return Story(tasks, trials, check=True, extras={4: {"lines": [lines]}}, end=LAST)


def can_be_seen_and_reached(page: Page, stage: str, small_targets: str = SMALL_TARGETS) -> None:
    """In light and in the dark."""

    def check(stage: str) -> None:
        assert page.evaluate(FAINT) == [], stage
        assert page.evaluate(small_targets) == [], stage
        assert page.evaluate(TOO_WIDE) <= 0, stage

    check(stage)
    with darkened(page):
        check(f"{stage}, dark")


def test_text_has_contrast_fingers_have_room_and_no_screen_is_too_narrow(
    serve: Serve, new_page: NewPage
) -> None:
    """640 is what a laptop of 1280 has left at 200 % zoom, 320 at 400 %; 844 a phone that lies."""
    page = new_page(**PHONE, color_scheme="light")
    for stage in stages(page, serve(whole_story())):
        can_be_seen_and_reached(page, stage)
        for width, height in ((844, 390), (1280, 700), (640, 360), (320, 700)):
            page.set_viewport_size({"width": width, "height": height})
            assert page.evaluate(TOO_WIDE) <= 0, f"{stage}, {width} wide"
        page.set_viewport_size({"width": 390, "height": 844})


def test_a_screen_reader_finds_every_part_by_its_name(serve: Serve, new_page: NewPage) -> None:
    page = new_page()
    enter(page, serve(short_story(2, task=ATT)))
    expect(page.get_by_role("button", name="Play: Clip")).to_be_visible()
    expect(page.get_by_role("region", name="Clip")).to_be_visible()
    hear(page)
    expect(page.get_by_role("button", name="Play again: Clip")).to_be_visible()
    expect(page.get_by_role("group", name="Is this voice a human or a machine?")).to_be_visible()
    for name in ("Human", "Unclear", "Machine"):
        assert page.get_by_role("radio", name=name, exact=True).count() == 1
    expect(page.get_by_role("textbox", name="Why? Name what you heard.")).to_be_enabled()
    expect(page.get_by_role("progressbar", name="Progress of the study")).to_be_attached()
    expect(page.get_by_role("heading", level=1)).to_have_text("Clip 1 of 2")
    assert page.evaluate("() => document.activeElement.tagName") == "BUTTON"


def test_tab_walks_from_play_to_next_in_the_order_of_the_page(
    serve: Serve, new_page: NewPage
) -> None:
    page = new_page()
    enter(page, serve(short_story(2, task=ATT)))
    hear(page)
    order = page.evaluate(
        """() => [...document.querySelectorAll("#stage :is(button, input, textarea, summary)")]
            .filter((each) => each.checkVisibility())
            .map((each) => each.getBoundingClientRect().top)"""
    )
    assert all(above <= below + 1 for above, below in pairwise(order))


def test_arrow_keys_walk_over_a_scale_that_has_the_focus(serve: Serve, new_page: NewPage) -> None:
    page = new_page()
    enter(page, serve(short_story(1)))
    hear(page)
    page.locator('input[value="3"]').focus()
    page.keyboard.press("ArrowRight")
    assert page.locator("#stage input:checked").get_attribute("value") == "3.5"
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    assert page.locator("#stage input:checked").get_attribute("value") == "2.5"


def test_the_landing_asks_for_consent_and_carries_the_arrival(
    serve: Serve, new_page: NewPage
) -> None:
    page = new_page()
    server = serve(short_story(1))
    page.goto(f"{server.url}/r/x/?PROLIFIC_PID=5f0c")
    page.get_by_role("button", name="Start").click()
    expect(page.get_by_text("Please tick the box first")).to_be_visible()
    expect(page.get_by_role("checkbox")).to_be_focused()
    assert page.locator("input[name=PROLIFIC_PID]").get_attribute("value") == "5f0c"
    page.keyboard.press("Space")
    page.keyboard.press("Enter")
    page.wait_for_url("**/s/demo/")


@pytest.mark.parametrize(
    ("problem", "words"),
    [
        ("closed", "The study has ended"),
        ("full", "All places are taken"),
    ],
)
def test_a_closed_door_says_why(serve: Serve, new_page: NewPage, problem: str, words: str) -> None:
    page = new_page()
    server = serve(short_story(1))
    server.house.landing = {"problem": problem}
    page.goto(f"{server.url}/r/x/")
    expect(page.get_by_role("heading", name=words)).to_be_visible()
    expect(page.get_by_role("button", name="Start")).to_have_count(0)


@pytest.mark.parametrize("path", ["/r/x/", "/s/demo/"])
def test_without_its_scripts_the_page_says_so(serve: Serve, new_page: NewPage, path: str) -> None:
    page = new_page(reduced_motion="no-preference")
    server = serve(short_story(1))
    page.route("**/*.js", lambda route: route.abort())
    page.goto(server.url + path)
    missing = page.get_by_text("It needs JavaScript and an up-to-date browser")
    missing.evaluate("each => { const [a] = each.getAnimations(); a.pause(); a.currentTime = 0; }")
    expect(missing).to_be_hidden()
    missing.evaluate("each => each.getAnimations()[0].play()")
    expect(missing).to_be_visible()


def test_the_scripts_take_their_warning_away(serve: Serve, new_page: NewPage) -> None:
    page = new_page()
    server = serve(short_story(1))
    for path in ("/r/x/", "/s/demo/"):
        page.goto(server.url + path)
        expect(page.locator("#script-missing")).to_have_count(0)


@pytest.mark.parametrize("path", ["/lost/", "/500/"])
def test_pages_of_trouble_say_what_to_do(serve: Serve, new_page: NewPage, path: str) -> None:
    page = new_page(**PHONE)
    page.goto(serve(short_story(1)).url + path)
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    assert page.evaluate(TOO_WIDE) <= 0
    assert page.evaluate(FAINT) == []


SCRIPTS = ROOT / "static/js"


def imported_by(module: str, seen: set[str]) -> set[str]:
    """Modules, as paths under static/js, that are fetched with this one."""
    text = (SCRIPTS / module).read_text()
    for path in re.findall(r'^(?:import|\}) .*?from "(\.[\w./]+\.js)";$', text, re.MULTILINE):
        name = beside(module, path)
        if name not in seen:
            seen.add(name)
            imported_by(name, seen)
    return seen


def beside(module: str, path: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(module), path))


def later_imports(modules: set[str]) -> set[str]:
    """What these modules fetch only when a session needs it."""
    later = set()
    for name in modules:
        text = code_of((SCRIPTS / name).read_text())
        later |= {beside(name, path) for path in re.findall(r'import\("(\.[\w./]+\.js)"\)', text)}
    return later


def code_of(text: str) -> str:
    """The script without its comments, where types name modules too."""
    return re.sub(r"/\*.*?\*/", "", text, flags=re.DOTALL)


def imported_with(module: str) -> set[str]:
    """This module, those that are fetched with it, and those that it fetches for some tasks."""
    own = imported_by(module, {module})
    return own.union(*(imported_by(name, {name}) for name in later_imports(own)))


def test_the_session_page_fetches_all_its_modules_at_once() -> None:
    needed = imported_by("rater/session.js", set())
    later = later_imports(needed | {"rater/session.js"})
    assert later == {
        f"rater/{name}.js"
        for name in ("checks", "questionnaire", "parallel", "preview", "ending", "marks", "spans")
    }
    assert {f"{name}.js" for name in EVERY_TRIAL} == needed | {"rater/session.js"}
    sometimes = {f"{name}.js" for names in SOME.values() for name in names}
    reached = later.union(*(imported_with(name) for name in later))
    assert sometimes <= reached
    late = {"rater/elementmixer.js"}  # for clips too long to decode, which the page finds out
    assert imported_with("rater/parallel.js") - needed - late <= sometimes
    assert not later & needed


def test_every_sentence_of_the_scripts_is_on_the_page_and_none_is_idle() -> None:
    templates = sorted((ROOT / "templates/rater").glob("strings*.html"))
    strings = "\n".join(template.read_text() for template in templates)
    there = set(re.findall(r'<data value="(\w+)"', strings))
    modules = imported_by("rater/session.js", {"rater/session.js"})
    for name in later_imports(modules):
        modules |= imported_with(name)
    text = "\n".join((SCRIPTS / name).read_text() for name in modules)
    used = set(re.findall(r'say\("(\w+)"', text))
    quoted = set(re.findall(r'"(\w+)"', text))
    assert used <= there
    idle = {key for key in there - quoted if not key.startswith(("end_", "line_"))}
    assert idle == set()
