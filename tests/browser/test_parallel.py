"""Parallel trials in Chromium: what must be heard, what is answered, and what the sound does."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.conftest import PHONE
from tests.browser.driver import enter, go_on, wait_stored
from tests.browser.fake import FakeServer, Handler
from tests.browser.parallel_story import MUSHRA, RANKING, mushra_story, sine, wav
from tests.browser.story import Story
from tests.browser.test_rater_looks import FAINT, SMALL_TARGETS, TOO_WIDE

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


def test_two_seconds_are_enough_unless_the_task_wants_all(serve: Serve, new_page: NewPage) -> None:
    page = new_page()
    enter(page, serve(mushra_story(4.0, PAIR)))
    clip(page, "Reference").click()
    expect(clip(page, "Reference")).to_have_class(re.compile("heard"), timeout=3_500)
    whole = new_page()
    enter(whole, serve(mushra_story(3.0, {"heard_out": True, **PAIR})))
    clip(whole, "Reference").click()
    whole.wait_for_timeout(2_400)
    expect(clip(whole, "Reference")).not_to_have_class(re.compile("heard"))
    expect(clip(whole, "Reference")).to_have_class(re.compile("heard"))


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
    assert len(facts) <= 20


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
    position = page.get_by_role("slider", name="Position")
    page.wait_for_timeout(600)
    places = []
    for _ in range(12):
        page.wait_for_timeout(70)
        places.append(float(position.input_value()))
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


TAP = """(() => {
    window.captured = [];
    const connect = AudioNode.prototype.connect;
    AudioNode.prototype.connect = function (target, ...rest) {
        if (target instanceof AudioDestinationNode && this.context instanceof AudioContext) {
            this.context.audioWorklet.addModule("/static/js/tap.test.js").then(() => {
                const tap = new AudioWorkletNode(this.context, "tap");
                tap.port.onmessage = ({ data }) => window.captured.push(...data);
                connect.call(this, tap);
            });
        }
        return connect.call(this, target, ...rest);
    };
})();"""
WORKLET = """registerProcessor("tap", class extends AudioWorkletProcessor {
    process([[samples]]) {
        if (samples) this.port.postMessage(samples.slice());
        return true;
    }
});"""


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fake house also serves the recorder: it must come from the page's own address."""
    files = Handler.file

    def file(self: Handler, path: Path) -> None:
        if path.name == "tap.test.js":
            return self.send(200, WORKLET.encode(), "text/javascript")
        return files(self, path)

    monkeypatch.setattr(Handler, "file", file)


@pytest.mark.usefixtures("recorder")
def test_what_comes_out_while_a_rater_switches_has_no_gap_and_no_click(
    serve: Serve, new_page: NewPage
) -> None:
    """All that the page sends to the loudspeaker is recorded while clips are switched."""
    story = mushra_story(3.0, TRIO)
    for place, frequency_hz in enumerate((300, 350, 400)):
        story.clips[f"0x{place}"] = wav(sine(frequency_hz, 3.0), 48_000)
    page = new_page()
    page.add_init_script(TAP)
    enter(page, serve(story))
    page.wait_for_timeout(300)  # the recorder is there
    for key in "rabarbabra":
        page.keyboard.press(key)
        page.wait_for_timeout(130)
    page.keyboard.press(" ")
    page.wait_for_timeout(400)
    wave = np.array(page.evaluate("() => window.captured"))
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
    expect(page.get_by_text("holds the sound back")).to_be_visible()
    page.evaluate("() => { window.allowed = true; }")
    page.get_by_role("button", name="Play", exact=True).click()
    expect(page.locator(".deck")).to_have_attribute("data-state", "playing")
    expect(page.get_by_text("holds the sound back")).to_be_hidden()


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


ELEMENTS = """async (urls) => {
    const { ElementMixer, loadedElement } = await import("/static/js/elementmixer.js");
    const context = new AudioContext();
    const elements = await Promise.all(urls.map(loadedElement));
    const m = new ElementMixer(context, elements);
    const wait = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
    const run = async (ms) => {
        for (let k = 0; k < ms / 50; k += 1) { await wait(50); m.tick(); }
    };
    await m.play();
    await run(800);
    const [before, apart] = [m.position, elements[0].currentTime - elements[1].currentTime];
    m.select(1);
    const after = m.position;
    await run(300);
    m.setLoop({ on: true, from: 0.5, to: 1.0 });
    await run(1500);
    const place = m.position;
    m.pause();
    const gains = m.gains.map((gain) => gain.gain.value);
    return { before, apart, after, place, gains, wraps: m.wraps, spans: m.take() };
}"""


def test_elements_are_kept_in_step(serve: Serve, new_page: NewPage) -> None:
    story = mushra_story(4.0, PAIR)
    page = new_page()
    enter(page, serve(story))
    page.locator("summary").click()  # a tap, so that sound may start
    got: dict[str, Any] = page.evaluate(ELEMENTS, ["/c/0x0", "/c/0x1"])
    assert got["before"] == pytest.approx(0.8, abs=0.4)
    assert abs(got["apart"]) < 0.1
    assert got["after"] == pytest.approx(got["before"], abs=0.1)
    assert got["gains"] == [0, 1]
    assert got["wraps"] >= 2
    assert 0.4 < got["place"] < 1.2
    assert {track for track, _, _ in got["spans"]} == {0, 1}


def test_a_clip_that_never_comes_can_be_left_out(serve: Serve, new_page: NewPage) -> None:
    server = serve(mushra_story(0.6, PAIR, trials=2))
    server.house.fail("/c/0x1", 410, times=99)
    page = new_page()
    enter(page, server)
    page.get_by_role("button", name="Go on without it").click()
    expect(page.locator("#count")).to_contain_text("2 of ")
    assert server.house.skipped == {"t0"}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("task", [MUSHRA, RANKING], ids=["mushra", "ranking"])
def test_everyone_can_see_and_reach_all_of_it(
    serve: Serve, new_page: NewPage, scheme: str, task: dict[str, Any]
) -> None:
    page = new_page(**PHONE, color_scheme=scheme, reduced_motion="reduce")
    enter(page, serve(mushra_story(0.6, task)))
    letters = task["clip_names"]
    for stage in ("locked", "open"):
        if stage == "open":
            hear_all(page, [f"Clip {name}" if len(name) == 1 else name for name in letters])
        assert page.evaluate(FAINT) == [], stage
        assert page.evaluate(SMALL_TARGETS) == [], stage
        assert page.evaluate(TOO_WIDE) <= 0, stage
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
    from tests.browser.test_rater_looks import ROOT, imported_by

    pages = [
        (ROOT / "templates/rater" / f"strings{name}.html").read_text() for name in ("", "_parallel")
    ]
    there, own = (set(re.findall(r'<data value="(\w+)"', text)) for text in pages)
    modules = imported_by("parallel.js", {"parallel.js"})
    text = "\n".join((ROOT / "static/js" / name).read_text() for name in modules)
    assert set(re.findall(r'say\("(\w+)"', text)) <= there | own
    assert own <= set(re.findall(r'"(\w+)"', text))
