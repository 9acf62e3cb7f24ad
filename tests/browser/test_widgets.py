"""Every kind of scale on a trial's page: answered by hand and by keys, as the server expects it."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from listening.methods.error_spans import (
    ErrorSpan,
    finds_spans,
    joined_spans,
    read_spans,
    write_spans,
)
from listening.methods.marks import Mark, finds_marks, read_marks, write_marks
from listening.methods.method import Scale, Step
from tests.browser.conftest import PHONE
from tests.browser.driver import enter, go_on, hear, wait_stored
from tests.browser.fake import FakeServer
from tests.browser.moments import note_states, was
from tests.browser.parallel_story import (
    MARKED_WORDS,
    SCALES,
    TRANSCRIPT,
    WORDS,
    alternatives_story,
    criterion,
    marks_story,
    question_story,
    spans_story,
    step,
)
from tests.browser.story import Story, short_story
from tests.browser.test_rater_looks import TOO_WIDE, can_be_seen_and_reached

Serve = Callable[[Story], FakeServer]
NewPage = Callable[..., Page]


def story_of(*criteria: dict[str, Any]) -> Story:
    return short_story(1, task={**SCALES, "criteria": list(criteria)})


def one(widget: str, **scale: Any) -> dict[str, Any]:
    return criterion(0, "How is it?", widget, **scale)


def heard(serve: Serve, new_page: NewPage, story: Story, **options: Any) -> tuple[Page, FakeServer]:
    """A page whose clip was heard, ready to be answered."""
    page, server = new_page(**options), serve(story)
    enter(page, server)
    hear(page)
    return page, server


def answers(page: Page, server: FakeServer) -> dict[str, str]:
    go_on(page)
    wait_stored(page, server, 1)
    found: dict[str, str] = server.house.stored["t0"]["answers"]
    return found


def missing(page: Page, text: str) -> None:
    expect(page.locator("[data-part=missing]")).to_have_text(text)


def test_all_kinds_stand_on_one_screen_and_every_answer_is_on_its_scale(
    serve: Serve, new_page: NewPage
) -> None:
    page, server = heard(serve, new_page, short_story(1, task=SCALES))
    page.get_by_role("radio", name="0 No laughter heard").check()
    page.get_by_role("slider", name="How natural is it?").fill("37")
    page.get_by_role("checkbox", name="Breathing").check()
    page.get_by_role("checkbox", name="Laughter").check()
    page.get_by_role("textbox", name="Anything else?").fill("  a chair, far away ")
    found = answers(page, server)
    assert found == {"0": "0", "1": "37", "2": "laugh|breath", "3": "a chair, far away"}
    for place, label in found.items():
        scale = dict(SCALES["criteria"][int(place)]["scale"])
        steps = tuple(Step(each["label"], float(k)) for k, each in enumerate(scale["steps"]))
        span = tuple(scale["span"]) if scale["span"] else None
        Scale(steps, scale["widget"], span, scale["longest"]).score(label)


def test_locked_scales_take_no_answer(serve: Serve, new_page: NewPage) -> None:
    page = new_page()
    enter(page, serve(short_story(1, task=SCALES)))
    expect(page.get_by_role("slider", name="How natural is it?")).to_be_disabled()
    expect(page.get_by_role("checkbox", name="Laughter")).to_be_disabled()
    expect(page.get_by_role("textbox", name="Anything else?")).to_be_disabled()
    page.keyboard.press("4")
    assert page.locator("#stage input:checked").count() == 0


def test_a_step_apart_has_its_own_line_words_and_key(serve: Serve, new_page: NewPage) -> None:
    page, server = heard(serve, new_page, story_of(SCALES["criteria"][0]))
    apart, first = page.locator(".step-apart"), page.locator(".steps .step").first
    expect(apart).to_contain_text("No laughter heard")
    boxes = apart.bounding_box(), first.bounding_box()
    assert boxes[0] is not None
    assert boxes[1] is not None
    assert boxes[0]["y"] + boxes[0]["height"] < boxes[1]["y"]
    page.keyboard.press("ArrowRight")  # arrows walk over the scale alone
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    assert page.locator("#stage input:checked").get_attribute("value") == "1"
    page.keyboard.press("0")
    assert answers(page, server) == {"0": "0"}


def test_a_slider_counts_only_when_it_was_touched(serve: Serve, new_page: NewPage) -> None:
    page, server = heard(serve, new_page, story_of(one("slider", steps=WORDS, span=[0, 100, 1])))
    control = page.get_by_role("slider", name="How is it?")
    expect(control).to_have_attribute("aria-valuetext", "no answer yet")
    expect(page.locator("[data-part=score]")).to_have_text("–")
    missing(page, "Move the slider.")
    control.focus()
    page.keyboard.press("Enter")
    missing(page, "Move the slider.")
    page.keyboard.press("Home")
    expect(control).to_have_attribute("aria-valuetext", "0, Bad")
    for key in ("PageUp", "ArrowRight", "ArrowRight", "ArrowLeft"):
        page.keyboard.press(key)
    expect(page.locator("[data-part=score]")).to_have_text("11")
    assert answers(page, server) == {"0": "11"}


@pytest.mark.parametrize(
    ("span", "key", "label"),
    [([1, 5, 0.1], "ArrowRight", "3.1"), ([-3, 3, 0.5], "Home", "-3")],
)
def test_a_slider_speaks_numbers_as_the_server_does(
    serve: Serve, new_page: NewPage, span: list[float], key: str, label: str
) -> None:
    page, server = heard(serve, new_page, story_of(one("slider", span=span)))
    page.get_by_role("slider", name="How is it?").focus()
    page.keyboard.press(key)
    found = answers(page, server)
    assert found == {"0": label}
    low, high, by = span
    assert Scale((), "slider", (low, high, by)).score(found["0"]) == float(label)


def test_arrows_move_the_slider_from_anywhere_and_space_still_plays(
    serve: Serve, new_page: NewPage
) -> None:
    page, server = heard(serve, new_page, story_of(one("slider", steps=WORDS, span=[0, 100, 1])))
    page.keyboard.press("ArrowRight")
    control = page.get_by_role("slider", name="How is it?")
    expect(control).to_be_focused()
    expect(control).to_have_attribute("aria-valuetext", "50, Fair")
    note_states(page, ".player")
    page.keyboard.press(" ")
    was(page, "playing")
    page.keyboard.press("ArrowRight")
    assert answers(page, server) == {"0": "51"}


def test_a_tap_on_the_middle_of_a_slider_counts(serve: Serve, new_page: NewPage) -> None:
    story = story_of(one("slider", steps=WORDS, span=[0, 100, 1]))
    page, server = heard(serve, new_page, story, **PHONE)
    page.get_by_role("slider", name="How is it?").tap()
    assert answers(page, server) == {"0": "50"}


def test_several_choices_need_one_and_a_step_apart_excludes_the_others(
    serve: Serve, new_page: NewPage
) -> None:
    steps = [step("a", "Hiss", "1"), step("b", "Hum", "2"), step("none", "None", "3", apart=True)]
    page, server = heard(serve, new_page, story_of(one("many", steps=steps)))
    missing(page, "Choose at least one.")
    for key in "21":
        page.keyboard.press(key)
    assert page.locator("#stage input:checked").count() == 2
    page.keyboard.press("3")
    expect(page.get_by_role("checkbox", name="None")).to_be_checked()
    assert page.locator("#stage input:checked").count() == 1
    page.get_by_role("checkbox", name="Hum").check()
    assert answers(page, server) == {"0": "b"}


def test_text_counts_what_is_left_and_blank_is_no_answer(serve: Serve, new_page: NewPage) -> None:
    page, server = heard(serve, new_page, story_of(one("text", longest=20)))
    field = page.get_by_role("textbox", name="How is it?")
    left = page.locator("[data-part=count]")
    expect(left).to_have_text("Characters left: 20")
    field.fill("   ")
    missing(page, "Write your answer.")
    field.fill("")
    field.press_sequentially("twenty-one characters")
    expect(left).to_have_text("Characters left: 0")
    field.press("Enter")
    wait_stored(page, server, 1)
    assert server.house.stored["t0"]["answers"] == {"0": "twenty-one character"}


def test_number_keys_pass_over_a_text_to_the_scale_that_knows_them(
    serve: Serve, new_page: NewPage
) -> None:
    text = criterion(0, "Which words?", "text", longest=40)
    scale = criterion(1, "How is it?", "steps", steps=[step(k, "", k) for k in "12345"])
    page, _ = heard(serve, new_page, story_of(text, scale))
    page.keyboard.press("2")
    page.keyboard.press("4")
    assert page.locator("#stage input:checked").get_attribute("value") == "4"


def test_answers_of_every_kind_survive_a_reload(serve: Serve, new_page: NewPage) -> None:
    page, server = heard(serve, new_page, short_story(1, task=SCALES))
    page.get_by_role("radio", name="4", exact=True).check()
    page.get_by_role("slider", name="How natural is it?").fill("5")
    page.get_by_role("checkbox", name="A cough").check()
    page.get_by_role("textbox", name="Anything else?").fill("nothing")
    page.reload()
    expect(page.get_by_role("slider", name="How natural is it?")).to_have_value("5")
    assert answers(page, server) == {"0": "4", "1": "5", "2": "cough", "3": "nothing"}


def test_every_scale_can_be_seen_and_reached_on_a_phone(serve: Serve, new_page: NewPage) -> None:
    story = short_story(1, task=SCALES)
    options = {**PHONE, "color_scheme": "light", "reduced_motion": "reduce"}
    page, _ = heard(serve, new_page, story, **options)
    page.get_by_role("slider", name="How natural is it?").fill("80")
    page.get_by_role("checkbox", name="A cough").check()
    can_be_seen_and_reached(page, "answered")
    for width in (320, 390, 640, 1280):
        page.set_viewport_size({"width": width, "height": 700})
        assert page.evaluate(TOO_WIDE) <= 0, width


def test_a_trial_shows_the_alternatives_of_its_clip_and_takes_them_by_number_keys(
    serve: Serve, new_page: NewPage
) -> None:
    words = ("peas", "peak", "peal", "peace", "peach", "a peat that is long enough to wrap here")
    page, server = heard(
        serve, new_page, alternatives_story(*words), viewport={"width": 390, "height": 844}
    )
    expect(page.get_by_role("radio")).to_have_count(6)
    missing(page, "Choose an answer.")
    wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
    assert wide <= 0
    page.keyboard.press("5")
    expect(page.get_by_role("radio", name="peach")).to_be_checked()
    assert answers(page, server) == {"0": "peach"}
    hear(page)
    page.keyboard.press("5")  # the order is turned round
    expect(page.get_by_role("radio", name="peak")).to_be_checked()
    go_on(page)
    wait_stored(page, server, 2)
    assert server.house.stored["t1"]["answers"] == {"0": "peak"}


def test_each_clip_asks_its_own_question(serve: Serve, new_page: NewPage) -> None:
    page, server = heard(serve, new_page, question_story())
    expect(page.get_by_role("group", name="Does it cost $& much?")).to_be_visible()
    page.keyboard.press("2")
    assert answers(page, server) == {"0": "no"}
    hear(page)
    expect(page.get_by_role("group", name="Is it late?")).to_be_visible()


# --- Words typed as they were heard ---------------------------------------------------------------


@pytest.mark.parametrize("phone", [False, True], ids=["desk", "phone"])
def test_what_is_typed_goes_by_enter_and_no_device_corrects_it(
    serve: Serve, new_page: NewPage, phone: bool
) -> None:
    options = PHONE if phone else {}
    page, server = heard(serve, new_page, short_story(1, task=TRANSCRIPT), **options)
    field = page.get_by_role("textbox", name="Type the words that you heard.")
    for name, value in (
        ("autocapitalize", "off"),
        ("autocorrect", "off"),
        ("autocomplete", "off"),
        ("spellcheck", "false"),
    ):
        expect(field).to_have_attribute(name, value)
    missing(page, "Type the words, or say that you could not understand anything.")
    box = page.get_by_role("checkbox", name="I could not understand anything")
    box.check()
    expect(page.locator(".all-set")).to_be_visible()
    field.fill(" teh Harbour  ")
    expect(box).not_to_be_checked()
    assert not page.evaluate(TOO_WIDE)
    field.press("Enter")
    wait_stored(page, server, 1)
    assert server.house.stored["t0"]["answers"] == {"0": "teh Harbour"}


def test_nothing_understood_is_an_answer_by_keys(serve: Serve, new_page: NewPage) -> None:
    page, server = heard(serve, new_page, short_story(1, task=TRANSCRIPT))
    field = page.get_by_role("textbox")
    field.fill("mmm")
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    expect(field).to_have_value("")
    assert answers(page, server) == {"0": "[nothing understood]"}


def test_a_clip_is_played_as_often_as_the_task_allows(serve: Serve, new_page: NewPage) -> None:
    page = new_page()
    server = serve(short_story(1, task=TRANSCRIPT))
    enter(page, server)
    button, status = page.locator(".player-button"), page.locator(".player [data-part=status]")
    expect(status).to_have_text("Plays left: 2")
    hear(page)
    expect(status).to_have_text("Plays left: 1")
    page.get_by_role("button", name="Play again").first.click()
    expect(status).to_have_text("Plays left: 0")
    expect(button).to_have_attribute("aria-disabled", "true")
    page.locator("#stage").focus()
    for key in ("p", "r"):
        page.keyboard.press(key)
    page.evaluate("document.querySelector('audio').currentTime = 0.1")
    page.get_by_role("textbox").fill("two plays")
    answers(page, server)
    assert server.house.stored["t0"]["plays"] == 2


def test_words_are_marked_by_keys_alone(serve: Serve, new_page: NewPage) -> None:
    page, server = heard(serve, new_page, marks_story())
    missing(page, "Mark the words that sound wrong, or say that you hear no errors.")
    words = page.locator(".mark-words").get_by_role("button")
    expect(words).to_have_count(len(MARKED_WORDS))
    words.first.focus()
    for key in ("ArrowRight", "ArrowRight", "3"):  # a glitch on word 3
        page.keyboard.press(key)
    expect(words.nth(2)).to_be_focused()
    expect(page.locator("[data-part=prompt]")).to_have_text("“not”: Glitch")
    expect(words.nth(2)).to_have_accessible_name("not , Glitch")
    for key in ("End", "Shift+ArrowLeft", "Shift+ArrowLeft"):  # words 5 to 7
        page.keyboard.press(key)
    expect(page.locator(".mark-word[aria-pressed=true]")).to_have_count(3)
    page.keyboard.press("2")
    page.keyboard.press("Home")
    for key in ("Space", "Space", "1"):  # chosen, not chosen, and marked as it has the focus
        page.keyboard.press(key)
    page.keyboard.press("Delete")
    expect(page.locator(".mark-entry > span")).to_have_text(
        ["“not”: Glitch", "“ill-disposed” to “man,”: Unnatural pause"]
    )
    page.keyboard.press("0")  # not with marks
    expect(page.get_by_role("checkbox", name="I hear no errors")).to_be_disabled()
    label = answers(page, server)["0"]
    assert label == "3:glitch 5-7:pause"
    steps = tuple(Step(each, None) for each in ("glitch", "pause"))
    Scale(steps, "marks").score(label)


@pytest.mark.parametrize("width", [390, 1280])
def test_words_are_marked_by_a_finger_and_no_errors_must_be_said(
    serve: Serve, new_page: NewPage, width: int
) -> None:
    options = {**PHONE} if width == 390 else {"viewport": {"width": width, "height": 800}}
    page, server = heard(serve, new_page, marks_story(2), **options)
    words = page.locator(".mark-words button")
    for place in (1, 4):
        words.nth(place).tap() if width == 390 else words.nth(place).click()
    page.get_by_role("button", name="Glitch").click()
    words.nth(3).click()  # a marked word stands for its mark
    expect(page.locator(".mark-word[aria-pressed=true]")).to_have_count(4)
    page.get_by_role("button", name="Mispronounced").click()
    expect(page.locator(".mark-entry")).to_have_count(1)
    can_be_seen_and_reached(page, "marks") if width == 390 else None
    assert page.evaluate(TOO_WIDE) <= 0
    page.get_by_role("button", name="Delete the mark on “was” to “ill-disposed”").click()
    missing(page, "Mark the words that sound wrong, or say that you hear no errors.")
    page.reload()
    hear(page)
    page.get_by_role("checkbox", name="I hear no errors").check()
    assert answers(page, server) == {"0": "[no errors]"}


def test_spans_are_marked_by_keys_alone(serve: Serve, new_page: NewPage) -> None:
    page, server = heard(serve, new_page, spans_story(2))
    missing(page, "Mark the errors that you hear, or say that you hear no errors.")
    page.wait_for_function("() => document.querySelector('.span-wave path').hasAttribute('d')")
    page.evaluate("document.querySelector('audio').currentTime = 0.3")
    for key in ("b", "e"):  # both where the clip is: 0.3 s up to there
        page.keyboard.press(key)
    start = page.get_by_role("slider", name="Start of the span")
    expect(start).to_have_attribute("aria-valuetext", "0.00 s")
    start.focus()
    for key in ("Shift+ArrowRight", "ArrowRight", "ArrowRight", "ArrowLeft"):
        page.keyboard.press(key)
    expect(start).to_have_attribute("aria-valuetext", "0.11 s")
    page.keyboard.press("v")
    page.wait_for_function("() => !document.querySelector('audio').paused")
    page.wait_for_function("() => document.querySelector('audio').paused")
    at = page.evaluate("document.querySelector('audio').currentTime")
    assert 0.3 <= at < 0.5
    page.keyboard.press("3")
    expect(page.locator("[data-part=prompt]")).to_have_text("0.11 to 0.30 s: Glitch")
    page.evaluate("document.querySelector('audio').currentTime = 0.25")
    for key in ("b", "2", "b", "3"):  # of another kind, and one that joins the first
        page.keyboard.press(key)
    expect(page.locator(".mark-entry > span")).to_have_text(
        ["0.11 to 0.55 s: Glitch", "0.25 to 0.55 s: Unnatural pause"]
    )
    page.get_by_role("button", name="Change 0.25 to 0.55 s").press("Enter")
    page.keyboard.press("Delete")
    page.keyboard.press("0")  # not with marks
    expect(page.get_by_role("checkbox", name="I hear no errors")).to_be_disabled()
    label = answers(page, server)["0"]
    assert label == "0.110-0.550:glitch"
    Scale(tuple(Step(each, None) for each in ("glitch", "pause")), "spans").score(label)


def test_previews_judge_spans_as_the_server_does(serve: Serve, new_page: NewPage) -> None:
    page = new_page()
    enter(page, serve(spans_story()))
    rng = Random(8)

    def drawn(most: int) -> str:
        spans = [
            ErrorSpan(at / 20, (at + rng.randint(1, 30)) / 20, rng.choice(("glitch", "pause")))
            for at in rng.sample(range(60), rng.randint(0, most))
        ]
        return write_spans(joined_spans(spans))

    cases = [(drawn(5), drawn(2)) for _ in range(400)]
    passes = page.evaluate(
        """async (cases) => {
          const link = document.querySelector('link[href*="rater/spans"]');
          const { findsSpans } = await import(link.href);
          return cases.map(([label, expected]) => findsSpans(label, [expected]));
        }""",
        cases,
    )
    assert passes == [finds_spans(read_spans(label), read_spans(e)) for label, e in cases]
    assert 0 < sum(passes) < len(cases)


def test_previews_judge_marks_as_the_server_does(serve: Serve, new_page: NewPage) -> None:
    page, server = new_page(), serve(marks_story())
    enter(page, server)
    rng, kinds = Random(8), ("glitch", "pause")
    cases = []
    for _ in range(300):
        label, expected = (
            write_marks(
                [
                    Mark(place, place + rng.randint(0, 1), rng.choice(kinds))
                    for place in range(1, 12, 2)
                    if rng.random() < share
                ]
            )
            for share in (0.5, 0.3)
        )
        cases.append((label, expected))
    passes = page.evaluate(
        """async (cases) => {
          const link = document.querySelector('link[href*="rater/marks"]');
          const { findsMarks } = await import(link.href);
          return cases.map(([label, expected]) => findsMarks(label, [expected]));
        }""",
        cases,
    )
    assert passes == [finds_marks(read_marks(label), read_marks(e)) for label, e in cases]
    assert 0 < sum(passes) < len(cases)
