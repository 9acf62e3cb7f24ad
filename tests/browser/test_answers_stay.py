"""No answer moves under a rater's finger: from first paint to Next, on every screen."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from listening.methods import Method
from tests.browser.driver import begin, choose, hear, hear_together
from tests.browser.fake import FakeServer
from tests.browser.forms import ABOUT, ANTIPHASE, DIGITS, HUGGINS, Requirements
from tests.browser.parallel_story import (
    BEST_WORST,
    MUSHRA,
    RANKING,
    SCALES,
    TRANSCRIPT,
    alternatives_story,
    marks_story,
    mushra_story,
    spans_story,
    step,
)
from tests.browser.story import ABX, ATT, CMOS, CONTEXT, SEVERAL, Story, line, short_story

Serve = Callable[[Story], FakeServer]
NewPage = Callable[..., Page]

# In each frame: how far each answer has gone from where it was first seen on its screen. What
# sticks to an edge of the window is left out.
WATCH = """() => {
    const ANSWERS = `fieldset :is(label, input, textarea, .clip-button, .rank-move),
        [data-part=confirm], .view-questionnaire label`;
    const first = new Map();
    window.moved = {};
    window.watching = true;
    const look = () => {
        for (const each of window.watching ? document.querySelectorAll(ANSWERS) : []) {
            const box = each.getBoundingClientRect();
            if (!box.width || each.closest(".deck, .visually-hidden")) continue;
            const style = getComputedStyle(each.closest("#stage > *"));
            if (style.opacity !== "1") continue;
            const at = [box.left + scrollX, box.top + scrollY];
            if (!first.has(each)) first.set(each, at);
            const by = at.map((place, k) => Math.round(place - first.get(each)[k]));
            const name = each.textContent.trim() || each.value || each.className;
            const far = window.moved[name] ?? [0, 0];
            if (Math.hypot(...by) > Math.hypot(...far)) window.moved[name] = by;
        }
        requestAnimationFrame(look);
    };
    look();
}"""
TWO_FRAMES = """() => new Promise((done) => {
    requestAnimationFrame(() => requestAnimationFrame(done));
})"""
PLUGGED_IN = "() => navigator.mediaDevices.dispatchEvent(new Event('devicechange'))"
WIDGETS = Path(__file__).resolve().parents[2] / "templates" / "widgets"
WIDTHS = {390: 844, 1280: 800}
REASON = {**ATT["justification"], "min_chars": 1}
SENTENCE = "The harbour lay quiet in the early light."


def moved(page: Page) -> dict[str, Any]:
    """What has moved by more than rounding on the screens since the last look, by how much."""
    page.evaluate(
        "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
    )
    found: dict[str, Any] = page.evaluate("window.moved")
    page.evaluate("() => { window.moved = {}; }")
    return {name: by for name, by in found.items() if max(map(abs, by)) > 1}


def screens() -> Iterator[tuple[str, Story, Callable[[Page], None]]]:
    """Each method's screen, and what a rater does on it."""
    text = short_story(1, task=ATT)
    text.trials = [(0, [0.4], SENTENCE)]
    yield "att", text, answer_att
    yield "cmos", Story([CMOS], [(0, [0.3, 0.3], None)]), lambda page: heard_then(page, "1")
    yield "abx", Story([ABX], [(0, [0.3, 0.3, 0.3], None)]), lambda page: heard_then(page, "Human")
    yield "several", Story([SEVERAL], [(0, [0.3], None)]), lambda page: heard_then(page, "4")
    scales = {**SCALES, "justification": REASON}
    yield "scales", Story([scales], [(0, [0.3], None)]), hear
    yield "transcript", Story([TRANSCRIPT], [(0, [0.3], None)]), hear_and_type
    lines = [line("context", 0, 0, SENTENCE), line("rated", 0, 0.3, SENTENCE)]
    long = Story([CONTEXT], [(0, [0.3, 0.3], None)], extras={0: {"lines": [lines, lines[1:]]}})
    yield "context", long, hear
    yield "alternatives", alternatives_story(), lambda page: heard_then(page, "veal")
    yield "marks", marks_story(), hear_and_mark
    yield "spans", spans_story(), hear_and_mark_a_span
    yield "mushra", mushra_story(0.4, {"justification": REASON}), hear_and_set
    first = {"playback": {"share": 1.0, "reference_first": True, "waveform": True}}
    wide = [step(label, f"{text}, at length") for label, text in (("0", "Worst"), ("100", "Best"))]
    one = {**MUSHRA["criteria"][0]}
    one["scale"] = {**one["scale"], "steps": wide}
    yield "reference first", mushra_story(0.3, {**first, "criteria": [one]}), hear_and_set
    yield "rank", mushra_story(0.3, RANKING), hear_and_set
    yield "best-worst", mushra_story(0.3, BEST_WORST), hear_and_set


def answer_att(page: Page) -> None:
    hear(page)
    choose(page, "Human")
    page.locator("textarea").fill("A breath before it.")


def hear_and_mark(page: Page) -> None:
    hear(page)
    page.locator(".mark-word").first.click()
    page.get_by_role("button", name="Glitch").click()


def hear_and_mark_a_span(page: Page) -> None:
    hear(page)
    page.get_by_role("button", name="Start here").click()
    page.get_by_role("button", name="Glitch").click()


def hear_and_type(page: Page) -> None:
    hear(page)
    page.locator("textarea").fill("the harbour")


def heard_then(page: Page, label: str) -> None:
    hear(page)
    for criterion in range(page.locator("fieldset.criterion").count()):
        choose(page, label, criterion)


def hear_and_set(page: Page) -> None:
    """All clips of a trial whose clips play together; then each slider."""
    hear_together(page)
    for slider in page.locator(".rate-row input").all():
        slider.evaluate("each => { each.value = 60; each.dispatchEvent(new Event('input')); }")


def test_every_method_has_its_kind_of_screen_here():
    """A new one, or a new kind of question, needs a story above."""
    shown = {
        (task.get("screen", "sequence"), criterion["scale"]["widget"])
        for _, story, _ in screens()
        for task in story.tasks
        for criterion in task["criteria"]
    }
    asked = {
        "free_choice": [
            {"choices": ["a", "b"]},
            {"choices": ["a", "b"], "many": True},
            {"slider": [0, 10, 1]},
            {"text": True},
        ]
    }
    for key, method in Method.registry.items():
        for options in asked.get(key, [{}]):
            assert (method.screen, method().scale(options).widget) in shown, key
    assert {widget for _, widget in shown} == {path.stem for path in WIDGETS.glob("[!_]*.html")}


@pytest.mark.slow
def test_no_answer_of_any_method_moves(serve: Serve, new_page: NewPage) -> None:
    page = new_page()
    page.emulate_media(reduced_motion="reduce")
    for name, story, act in screens():
        server = serve(story)
        for width, height in WIDTHS.items() if name in ("att", "mushra") else ((390, 844),):
            page.set_viewport_size({"width": width, "height": height})
            page.goto(f"{server.url}/s/demo/")
            page.evaluate(WATCH)
            begin(page)
            act(page)
            page.evaluate(PLUGGED_IN)
            expect(page.locator("#notice")).to_be_visible()
            assert moved(page) == {}, f"{name}, {width} wide"
            page.evaluate("() => localStorage.clear()")


@pytest.mark.slow
def test_no_answer_of_a_check_or_a_form_moves(
    serve_forms: Callable[..., FakeServer], new_page: NewPage
) -> None:
    page = new_page()
    page.emulate_media(reduced_motion="reduce")
    asked = [("", Requirements(check, ("1", "2"))) for check in (HUGGINS, ANTIPHASE)]
    for form, *checks in (
        *asked,
        (
            "",
            Requirements(DIGITS, ("123", "456")),
        ),
        (ABOUT,),
    ):
        for width, height in WIDTHS.items() if form else ((390, 844),):
            page.set_viewport_size({"width": width, "height": height})
            page.goto(f"{serve_forms(form, *checks).url}/s/demo/")
            page.evaluate(WATCH)
            if form:
                page.get_by_label("For how many years").fill("12")
                for label in page.locator("fieldset.question").first.locator("label").all():
                    label.click()
            else:
                answer_check(page, checks[0].check["kind"])
            assert moved(page) == {}, f"{form[:30] or checks[0].key}, {width} wide"


def answer_check(page: Page, kind: str) -> None:
    """Both sounds, the second of which shows its instructions folded."""
    for sound in (1, 2):
        expect(page.locator(".player")).to_contain_text(f"Sound {sound} of 2")
        hear(page)
        if kind == "digits":
            page.locator(".digits").fill("123")
        else:
            page.locator("label.option").last.click()
        if sound == 1:
            page.locator("[data-part=next]").click()


def test_the_button_of_the_volume_check_stays(serve: Serve, new_page: NewPage) -> None:
    page = new_page()
    page.emulate_media(reduced_motion="reduce")
    server = serve(short_story(1, check=True))
    for width, height in WIDTHS.items():
        page.set_viewport_size({"width": width, "height": height})
        page.goto(f"{server.url}/s/demo/")
        page.evaluate(WATCH)
        page.locator(".player-button").click()
        expect(page.locator("[data-part=confirm]")).to_have_attribute("aria-disabled", "false")
        assert moved(page) == {}, f"{width} wide"
