"""Parallel trials in Chromium: what must be heard, what is answered, and what the sound does."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

from listening.sessions.playback_facts import KNOWN
from tests.browser.conftest import PHONE
from tests.browser.driver import enter, go_on, wait_stored
from tests.browser.fake import FakeServer
from tests.browser.parallel_story import BEST_WORST, MUSHRA, RANKING, mushra_story, sine, wav
from tests.browser.recorder import FLUSH, TAP
from tests.browser.story import Story
from tests.browser.test_rater_looks import TOO_WIDE, can_be_seen_and_reached

Serve = Callable[[Story], FakeServer]
NewPage = Callable[..., Page]
PAIR: dict[str, Any] = {"clip_names": ["Reference", "A"], "roles": ["reference", "rated"]}
TRIO: dict[str, Any] = {
    "clip_names": ["Reference", "A", "B"],
    "roles": ["reference", "rated", "rated"],
}


def clip(page: Page, name: str) -> Locator:
    return page.get_by_role("button", name=re.compile(rf"^(Play|Pause): {name}(,|$)"))


def slider(page: Page, letter: str) -> Locator:
    return page.get_by_role("slider", name=f"Clip {letter}, score")


def hear_all(page: Page, names: list[str]) -> None:
    """Lets every clip be heard, in this order, each until its mark is gone."""
    for name in names:
        clip(page, name).click()
        expect(clip(page, name)).to_have_class(re.compile(r"\bheard\b"))


def hear_reference_and(page: Page, letters: str) -> None:
    hear_all(page, ["Reference", *(f"Clip {letter}" for letter in letters)])


def test_a_slider_opens_when_its_clip_and_the_reference_were_heard(
    serve: Serve, new_page: NewPage
) -> None:
    page = new_page()
    enter(page, serve(mushra_story(0.6, TRIO)))
    for letter in "AB":
        expect(slider(page, letter)).to_be_disabled()
    hear_all(page, ["Clip A"])
    expect(slider(page, "A")).to_be_disabled()
    expect(page.locator("[data-part=missing]")).to_have_text("Listen to Reference.")
    hear_all(page, ["Reference"])
    expect(slider(page, "A")).to_be_enabled()
    expect(slider(page, "B")).to_be_disabled()
    hear_all(page, ["Clip B"])
    expect(slider(page, "B")).to_be_enabled()
    expect(page.locator("[data-part=missing]")).to_have_text("Still to score: A, B")


def test_a_refused_screen_comes_back_and_says_why(serve: Serve, new_page: NewPage) -> None:
    page = new_page()
    server = serve(mushra_story(0.6, TRIO))
    message = "Please listen to the whole clip before you answer."
    refusal = {"error": "not_heard", "message": message, "state": None}
    server.house.fail("/answers/", 422, body=refusal)
    enter(page, server)
    hear_reference_and(page, "AB")
    for letter in "AB":
        slider(page, letter).press("End")
    go_on(page)
    expect(page.locator("[data-part=missing]")).to_have_text(message)
    expect(slider(page, "A")).to_be_disabled()


MARKED = """(button) => new MutationObserver(() => {
    if (window.heardS || !button.classList.contains("heard")) return;
    const { ranges } = JSON.parse(localStorage["earnest:draft:demo"]).players.tracks[0];
    window.heardS = ranges.reduce((sum, [from, to]) => sum + to - from, 0);
}).observe(button, { attributes: true, attributeFilter: ["class"] })"""


def heard_s_when_marked(page: Page, name: str) -> float:
    """How much of the first clip had been heard when its mark went away."""
    clip(page, name).evaluate(MARKED)
    clip(page, name).click()
    page.wait_for_function("() => window.heardS")
    return float(page.evaluate("window.heardS"))


def test_two_seconds_are_enough_unless_the_task_wants_all(serve: Serve, new_page: NewPage) -> None:
    page = new_page()
    enter(page, serve(mushra_story(8.0, PAIR)))
    assert 2.0 <= heard_s_when_marked(page, "Reference") < 5.0
    whole = new_page()
    enter(whole, serve(mushra_story(3.0, {"heard_out": True, **PAIR})))
    assert heard_s_when_marked(whole, "Reference") >= 2.9


def test_the_answer_has_a_score_for_each_rated_clip_and_what_was_heard(
    serve: Serve, new_page: NewPage
) -> None:
    page = new_page()
    server = serve(mushra_story(0.8))
    enter(page, server)
    hear_reference_and(page, "ABCD")
    for letter, score in zip("ABCD", (80, 37, 0, 100), strict=True):
        slider(page, letter).fill(str(score))
    go_on(page)
    wait_stored(page, server, 1)
    body = server.house.stored["t0"]
    assert body["answers"] == {"0.1": "80", "0.2": "37", "0.3": "0", "0.4": "100"}
    facts = body["playback"]
    assert facts["mixer"] == "buffers"
    assert facts["switches"] == 4
    assert facts["loops"] >= 1
    assert facts["loop_s"] == [0, 0.8]
    assert facts["plays_each"] == [1, 1, 1, 1, 1]
    assert body["plays"] == 5
    assert facts["duration_s"] == pytest.approx([0.8, 0.8, 0.64, 0.8, 0.8], abs=0.002)
    assert all(0 < heard <= 0.8 for heard in facts["heard_s"])
    assert body["heard_fraction"] >= 0.8
    assert len(json.dumps(facts)) < 2_000
    assert 0 < facts["reference_heard_ms"] < facts["first_rated_ms"] < body["latency_ms"]
    assert set(facts) <= set(KNOWN)


def test_a_slider_has_no_value_until_it_is_touched(serve: Serve, new_page: NewPage) -> None:
    page = new_page()
    enter(page, serve(mushra_story(0.6, PAIR)))
    hear_reference_and(page, "A")
    control = slider(page, "A")
    expect(control).to_have_attribute("aria-valuetext", "no answer yet")
    control.focus()
    page.keyboard.press("Tab")
    expect(control).to_have_attribute("aria-valuetext", "no answer yet")
    expect(page.locator("[data-part=next]")).to_have_attribute("aria-disabled", "true")
    control.click()  # in the very middle, where it already stands
    expect(control).to_have_attribute("aria-valuetext", "50, Fair")
    expect(page.locator("[data-part=next]")).to_have_attribute("aria-disabled", "false")


def test_all_goes_by_keys(serve: Serve, new_page: NewPage) -> None:
    page = new_page()
    server = serve(mushra_story(0.6, TRIO))
    enter(page, server)
    now = page.locator("[data-part=now]")
    for key, name in (("r", "Reference"), ("a", "Clip A"), ("2", "Clip B")):
        page.keyboard.press(key)
        expect(now).to_have_text(name)
        expect(clip(page, name)).to_have_class(re.compile("heard"))
    page.keyboard.press(" ")
    expect(page.locator(".deck")).to_have_attribute("data-state", "ready")
    page.keyboard.press("a")
    expect(slider(page, "A")).to_be_focused()
    for key in ("ArrowRight", "PageUp", "ArrowLeft"):
        page.keyboard.press(key)
    page.keyboard.press("b")
    expect(slider(page, "B")).to_be_focused()
    page.keyboard.press("End")
    page.keyboard.press("0")
    expect(now).to_have_text("Reference")
    page.keyboard.press("Enter")
    wait_stored(page, server, 1)
    assert server.house.stored["t0"]["answers"] == {"0.1": "60", "0.2": "100"}


def test_rows_can_be_sorted_by_score_and_back(serve: Serve, new_page: NewPage) -> None:
    page = new_page()
    enter(page, serve(mushra_story(0.6)))
    hear_reference_and(page, "ABCD")
    for letter, score in zip("ABC", (20, 90, 50), strict=True):
        slider(page, letter).fill(str(score))
    letters = page.locator(".rate-row [data-part=letter]")
    page.get_by_role("button", name="Sort by score").click()
    expect(letters).to_have_text(["B", "C", "A", "D"])
    page.get_by_role("button", name="Sort by letter").click()
    expect(letters).to_have_text(["A", "B", "C", "D"])


# Where the ear is, frame by frame, until it has gone on by more than the length of the loop.
PLACES = """async (slider) => {
    const places = [];
    for (let gone = 0; gone < 0.8 || places.length < 12; ) {
        await new Promise((resolve) => setTimeout(resolve, 20));
        const place = Number(slider.value);
        gone += Math.max(0, place - (places.at(-1) ?? place));
        places.push(place);
    }
    return places;
}"""


def test_the_loop_can_be_set_by_keys_and_stays_within(serve: Serve, new_page: NewPage) -> None:
    page = new_page()
    enter(page, serve(mushra_story(2.0, PAIR)))
    clip(page, "Clip A").click()
    start, end = (page.get_by_role("slider", name=f"Repeat {way}") for way in ("from", "to"))
    expect(start).to_be_enabled()
    start.fill("0.5")
    end.fill("0.9")
    end.press("ArrowRight")
    expect(end).to_have_attribute("aria-valuetext", "0.9 s")
    page.wait_for_timeout(300)  # to be drawn; slowness leads into the loop all the more
    places = page.get_by_role("slider", name="Position").evaluate(PLACES)
    assert min(places) >= 0.45
    assert max(places) <= 1.0
    assert max(places) - min(places) > 0.15
    page.get_by_role("button", name="Repeat", exact=True).click()
    expect(start).to_be_hidden()


def test_a_ranking_starts_empty_and_takes_buttons_and_number_keys(
    serve: Serve, new_page: NewPage
) -> None:
    page = new_page()
    server = serve(mushra_story(0.6, RANKING))
    enter(page, server)
    put = page.get_by_role("button", name="Clip C: place it next")
    expect(put).to_be_disabled()
    hear_all(page, ["Clip A", "Clip B", "Clip C"])
    expect(page.locator("[data-part=missing]")).to_have_text("Still to place: A, B, C")
    put.click()
    page.get_by_role("button", name="Clip A: place it next").click()
    page.get_by_role("button", name="Clip A: one place up").click()
    expect(page.get_by_role("button", name="Clip A: one place down")).to_be_focused()
    expect(page.locator("[data-part=said]")).to_have_text("Clip A: place 1 of 3")
    page.keyboard.press("b")
    page.keyboard.press("2")
    expect(page.locator(".rank-row [data-part=letter]")).to_have_text(["A", "B", "C"])
    go_on(page)
    wait_stored(page, server, 1)
    assert server.house.stored["t0"]["answers"] == {"0.0": "1", "0.1": "2", "0.2": "3"}


def test_the_best_and_the_worst_are_chosen_by_buttons_and_by_keys(
    serve: Serve, new_page: NewPage
) -> None:
    page = new_page()
    server = serve(mushra_story(0.6, BEST_WORST))
    enter(page, server)
    choice = {
        (letter, end): page.get_by_role("button", name=f"Clip {letter}: {end}", exact=True)
        for letter in "ABCD"
        for end in ("Best", "Worst")
    }
    expect(choice["C", "Best"]).to_be_disabled()
    hear_all(page, [f"Clip {letter}" for letter in "ABCD"])
    missing = page.locator("[data-part=missing]")
    expect(missing).to_have_text("Still to choose: Best, Worst")
    choice["C", "Best"].click()
    expect(page.locator("[data-part=said]")).to_have_text("Clip C: Best")
    choice["C", "Worst"].click()  # it cannot be both
    expect(choice["C", "Best"]).to_have_attribute("aria-pressed", "false")
    expect(missing).to_have_text("Still to choose: Best")
    page.keyboard.press("2")
    page.keyboard.press("ArrowRight")
    expect(choice["B", "Best"]).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("d")
    page.keyboard.press("ArrowLeft")
    expect(choice["C", "Worst"]).to_have_attribute("aria-pressed", "false")
    go_on(page)
    wait_stored(page, server, 1)
    labels = ["neither", "best", "neither", "worst"]
    assert list(server.house.stored["t0"]["answers"].values()) == labels


def test_enter_goes_on_from_the_choice_that_a_key_has_made(serve: Serve, new_page: NewPage) -> None:
    """A pressed button has nothing left to choose: Enter means "Next" there, as the page says."""
    page = new_page()
    server = serve(mushra_story(0.6, BEST_WORST))
    enter(page, server)
    hear_all(page, [f"Clip {letter}" for letter in "ABCD"])
    page.keyboard.press("a")
    page.keyboard.press("ArrowLeft")
    worst = page.get_by_role("button", name="Clip A: Worst", exact=True)
    expect(worst).to_be_focused()
    page.keyboard.press("d")
    page.keyboard.press("Enter")  # an open choice has the focus: this makes it
    expect(worst).to_have_attribute("aria-pressed", "true")
    page.keyboard.press("Enter")
    wait_stored(page, server, 1)
    labels = ["worst", "neither", "neither", "best"]
    assert list(server.house.stored["t0"]["answers"].values()) == labels


def switched(page: Page) -> np.ndarray:
    """What is heard while clips are switched, at a moment when the page has the time to do it.

    Who is held up for longer than the mixer plans ahead (5 ms) must click; that is no fault of it.
    """
    for _attempt in range(8):
        page.evaluate("() => { window.captured = []; window.late = 0; }")
        for key in "rabarbabra":
            page.keyboard.press(key)
            page.wait_for_timeout(130)
        page.keyboard.press(" ")
        page.evaluate(FLUSH)
        if not page.evaluate("() => window.late"):
            break
    return np.array(page.evaluate("() => window.captured"))


@pytest.mark.usefixtures("recorder")
def test_what_comes_out_while_a_rater_switches_has_no_gap_and_no_click(
    serve: Serve, new_page: NewPage
) -> None:
    """All that the page sends to the loudspeaker is recorded while clips are switched."""
    story = mushra_story(6.0, TRIO)
    for place, frequency_hz in enumerate((300, 350, 400)):
        story.clips[f"0x{place}"] = wav(sine(frequency_hz, 6.0), 48_000)
    page = new_page()
    page.add_init_script(TAP)
    enter(page, serve(story))
    page.wait_for_function("() => window.recorder")
    wave = switched(page)
    sounding = np.flatnonzero(np.abs(wave) > 0.02)
    wave = wave[sounding[0] - 10 : sounding[-1] + 10]
    assert len(wave) > 48_000
    slope = 0.3 * 2 * np.pi * 400 / 44_100
    assert np.abs(np.diff(wave)).max() < 2**0.5 * slope + 0.002
    windows = np.lib.stride_tricks.sliding_window_view(wave[1_000:-1_000], 240)[::60]
    assert np.abs(windows).max(axis=1).min() > 0.1


HELD = """(() => {
    const Real = window.AudioContext;
    window.AudioContext = class extends Real {
        constructor(options) { super(options); this.suspend(); }
        resume() { return window.allowed ? super.resume() : new Promise(() => {}); }
    };
})();"""


def test_a_sound_that_is_held_back_says_so_and_starts_with_the_next_tap(
    serve: Serve, new_page: NewPage
) -> None:
    page = new_page()
    page.add_init_script(HELD)
    enter(page, serve(mushra_story(0.6, PAIR)))
    clip(page, "Reference").click()
    expect(page.get_by_text("No sound comes out")).to_be_visible()
    page.evaluate("() => { window.allowed = true; }")
    page.get_by_role("button", name="Play", exact=True).click()
    expect(page.locator(".deck")).to_have_attribute("data-state", "playing")
    expect(page.get_by_text("No sound comes out")).to_be_hidden()


SLOW = """(() => {
    const resume = window.AudioContext.prototype.resume;
    window.AudioContext = class extends window.AudioContext {
        constructor(options) { super(options); this.suspend(); }
        async resume() {
            await new Promise((done) => { window.openDevice = done; });
            return resume.call(this);
        }
    };
})();"""


def test_a_sound_device_that_opens_late_plays_the_clip_that_was_pressed(
    serve: Serve, new_page: NewPage
) -> None:
    """A busy machine or a Bluetooth headset: the page said so, and stayed silent for good."""
    page = new_page()
    page.add_init_script(SLOW)
    server = serve(mushra_story(0.6, PAIR))
    enter(page, server)
    clip(page, "Reference").click()
    expect(page.get_by_text("No sound comes out")).to_be_visible()
    page.evaluate("() => window.openDevice()")
    expect(page.locator(".deck")).to_have_attribute("data-state", "playing")
    expect(page.get_by_text("No sound comes out")).to_be_hidden()
    expect(clip(page, "Reference")).to_have_class(re.compile(r"\bheard\b"))
    hear_all(page, ["Clip A"])
    slider(page, "A").fill("64")
    go_on(page)
    wait_stored(page, server, 1)
    assert server.house.stored["t0"]["playback"]["blocked"] == 0


def test_what_was_heard_and_scored_survives_a_reload(serve: Serve, new_page: NewPage) -> None:
    page = new_page()
    server = serve(mushra_story(0.6, PAIR))
    enter(page, server)
    hear_reference_and(page, "A")
    slider(page, "A").fill("64")
    page.reload()
    expect(page.locator(".trial")).to_be_visible()
    expect(slider(page, "A")).to_have_value("64")
    page.get_by_role("button", name="Instructions").or_(page.locator("summary")).first.click()
    expect(slider(page, "A")).to_be_enabled()  # decoded with the first tap
    go_on(page)
    wait_stored(page, server, 1)
    assert server.house.stored["t0"]["answers"] == {"0.1": "64"}
    assert server.house.stored["t0"]["playback"]["reloads"] == 1


def test_clips_too_long_to_decode_play_as_elements_and_the_answer_says_so(
    serve: Serve, new_page: NewPage
) -> None:
    story = mushra_story(2.0, PAIR)
    story.clips["0x1"] = wav(sine(300, 70.0), 48_000)  # 13 MB: streamed, never decoded whole
    page = new_page()
    server = serve(story)
    enter(page, server)
    hear_reference_and(page, "A")
    slider(page, "A").fill("10")
    go_on(page)
    wait_stored(page, server, 1)
    facts = server.house.stored["t0"]["playback"]
    assert facts["mixer"] == "elements"
    assert facts["streamed"] is True
    assert facts["heard_s"][1] >= 2


def test_a_clip_that_never_comes_can_be_left_out(serve: Serve, new_page: NewPage) -> None:
    server = serve(mushra_story(0.6, PAIR, trials=2))
    server.house.fail("/c/0x1", 410, times=99)
    page = new_page()
    enter(page, server)
    page.get_by_role("button", name="Go on without it").click()
    expect(page.locator("#count")).to_contain_text("2 of ")
    assert server.house.skipped == {"t0"}


@pytest.mark.parametrize(
    "task", [MUSHRA, RANKING, BEST_WORST], ids=["mushra", "ranking", "best-worst"]
)
def test_everyone_can_see_and_reach_all_of_it(
    serve: Serve, new_page: NewPage, task: dict[str, Any]
) -> None:
    page = new_page(**PHONE, color_scheme="light", reduced_motion="reduce")
    enter(page, serve(mushra_story(0.6, task)))
    letters = task["clip_names"]
    for stage in ("locked", "open"):
        if stage == "open":
            hear_all(page, [f"Clip {name}" if len(name) == 1 else name for name in letters])
        can_be_seen_and_reached(page, stage)
    for width in (320, 640, 1280):
        page.set_viewport_size({"width": width, "height": 700})
        assert page.evaluate(TOO_WIDE) <= 0, width


def test_the_hint_of_a_hidden_reference_is_not_given_twice(serve: Serve, new_page: NewPage) -> None:
    page = new_page()
    enter(page, serve(mushra_story(0.6, PAIR)))
    expect(page.get_by_text("hidden among the others")).to_be_visible()
    told = {**PAIR, "instructions": "One clip is the reference: give it 100."}
    other = new_page()
    enter(other, serve(mushra_story(0.6, told)))
    expect(other.get_by_text("hidden among the others")).to_be_hidden()


def test_every_sentence_of_parallel_trials_is_on_the_page() -> None:
    from tests.browser.test_rater_looks import ROOT, SCRIPTS, imported_with

    pages = [
        (ROOT / "templates/rater" / f"strings_{name}.html").read_text()
        for name in ("same", "parallel")
    ]
    there, own = (set(re.findall(r'<data value="(\w+)"', text)) for text in pages)
    modules = imported_with("rater/parallel.js")
    text = "\n".join((SCRIPTS / name).read_text() for name in modules)
    assert set(re.findall(r'say\("(\w+)"', text)) <= there | own
    assert own <= set(re.findall(r'"(\w+)"', text))
