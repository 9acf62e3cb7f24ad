"""Several clips in one player: in order or alone, context marked apart from what is rated."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from tests.browser.conftest import PHONE
from tests.browser.driver import choose, enter, go_on, hear, heard_out, wait_stored
from tests.browser.fake import FakeServer
from tests.browser.moments import note_states, note_words, press_at, was, words
from tests.browser.recorder import PEAKS
from tests.browser.story import ABX, CMOS, CONTEXT, MOS, SEVERAL, Story, line, short_story

Serve = Callable[[Story], FakeServer]
NewPage = Callable[..., Page]
GAP = """() => {
    const [first, second] = document.querySelectorAll("audio");
    const play = HTMLMediaElement.prototype.play;
    window.late = false;
    first.addEventListener("ended", () => {
        window.ended = performance.now();
        setTimeout(() => { window.late = true; }, 1200);
    });
    HTMLMediaElement.prototype.play = function () {
        if (this === second) window.began = [performance.now(), window.late];
        return play.call(this);
    };
}"""
# The last clip is begun as soon as the first one plays; which of them play when one begins.
BOTH = """() => {
    const all = [...document.querySelectorAll("audio")];
    window.playing = [];
    const last = [...document.querySelectorAll(".segment")].at(-1);
    all[0].addEventListener("playing", () => last.click(), { once: true });
    for (const audio of all) audio.addEventListener("playing", () => {
        window.playing.push(all.filter((each) => !each.paused).map((each) => all.indexOf(each)));
    });
}"""


def locked(page: Page) -> bool:
    return bool(page.locator("fieldset.criterion").first.evaluate("each => each.disabled"))


@pytest.mark.usefixtures("recorder")
def test_play_sounds_every_clip_in_order_and_then_unlocks(serve: Serve, new_page: NewPage) -> None:
    page = new_page()
    server = serve(short_story(1, task=CMOS))
    enter(page, server)
    expect(page.locator(".player")).to_have_attribute("data-state", "ready")
    assert locked(page)
    page.evaluate(PEAKS)
    assert page.evaluate("() => window.peaks") == [0, 0]
    hear(page)
    page.wait_for_function("() => Math.min(...window.peaks) > 0.1")
    choose(page, "-2")
    go_on(page)
    wait_stored(page, server, 1)
    (answer,) = server.house.posts
    assert answer["answers"] == {"0": "-2"}
    assert answer["plays"] == 2
    assert answer["playback"]["heard_s"] == [pytest.approx(0.7, abs=0.06)] * 2
    assert answer["playback"]["duration_s"] == [pytest.approx(0.7, abs=0.02)] * 2
    assert answer["playback"]["starts_each"] == [1, 1]
    assert answer["playback"]["channels"] >= 1


def test_there_is_a_short_silence_between_two_clips(serve: Serve, new_page: NewPage) -> None:
    page = new_page()
    enter(page, serve(short_story(1, task=CMOS)))
    page.evaluate(GAP)
    hear(page)
    began, late = page.evaluate("window.began")
    assert began - page.evaluate("window.ended") > 400
    assert not late  # timers keep their order, however busy the page is


def test_the_second_clip_waits_for_the_first_and_then_plays_alone(
    serve: Serve, new_page: NewPage
) -> None:
    page = new_page()
    enter(page, serve(Story([CMOS], [(0, [0.9, 0.9], None)])))
    first, second = page.locator(".segment").all()
    expect(second).to_have_attribute("aria-disabled", "true")
    expect(page.get_by_role("button", name="Play: Second. After First")).to_be_attached()
    second.click(force=True)
    assert page.evaluate("[...document.querySelectorAll('audio')].every((audio) => audio.paused)")
    first.click()
    expect(first).to_have_attribute("aria-current", "true")
    expect(second).to_have_attribute("aria-disabled", "false")
    page.wait_for_timeout(900)  # however slow: it may not begin by itself at any time
    assert page.evaluate("document.querySelectorAll('audio')[1].paused")
    page.keyboard.press("s")
    expect(second).to_have_attribute("aria-current", "true")
    expect(first).not_to_have_attribute("aria-current", "true")
    heard_out(page)
    note_states(page, ".segment")
    press_at(page, "f", 0.2)
    page.keyboard.press("f")
    was(page, "playing")
    page.wait_for_function("() => document.querySelector('audio').paused")
    assert page.evaluate("document.querySelector('audio').currentTime") < 0.9


def test_only_one_clip_sounds_at_a_time(serve: Serve, new_page: NewPage) -> None:
    page = new_page()
    enter(page, serve(Story([CMOS], [(0, [1.2, 1.2], None)])))
    hear(page)
    page.evaluate(BOTH)
    page.locator(".segment").first.click()
    page.wait_for_function("() => window.playing.length > 1")
    assert page.evaluate("() => window.playing.at(-1)") == [1]


def test_three_clips_have_their_names_as_keys(serve: Serve, new_page: NewPage) -> None:
    page = new_page()
    enter(page, serve(Story([ABX], [(0, [0.6, 0.6, 0.6], None)])))
    hear(page)
    note_states(page, ".segment")
    page.keyboard.press("x")
    was(page, "playing", 2)
    page.keyboard.press("a")
    was(page, "playing", 0)
    page.keyboard.press("2")
    assert page.locator("#stage input:checked").get_attribute("value") == "Unclear"


def test_a_pause_in_the_middle_goes_on_where_it_was(serve: Serve, new_page: NewPage) -> None:
    page = new_page()
    server = serve(Story([CMOS], [(0, [0.5, 1.5], None)]))
    enter(page, server)
    press_at(page, "p", 0.3, clip=1)
    page.keyboard.press("Space")
    expect(page.locator(".player")).to_have_attribute("data-state", "paused")
    page.keyboard.press("Space")
    heard_out(page)
    choose(page, "0")
    go_on(page)
    wait_stored(page, server, 1)
    assert server.house.posts[0]["playback"]["plays_each"] == [1, 1]
    assert server.house.posts[0]["playback"]["starts_each"] == [1, 2]


def test_a_separate_context_clip_comes_first_and_the_rated_one_is_marked(
    serve: Serve, new_page: NewPage
) -> None:
    page = new_page()
    enter(page, serve(Story([CONTEXT], [(0, [0.7, 1.2], None)])))
    note_words(page, ".player-now", "shown")
    note_words(page, "[data-part=said]")
    hear(page)
    shown = [text for text in words(page, "shown") if text]
    assert shown.index("Context") < shown.index("Rate this part")
    assert words(page)[0] == "Rate this part"
    assert not locked(page)


def test_lines_within_one_clip_mark_what_is_rated_while_it_plays(
    serve: Serve, new_page: NewPage
) -> None:
    lines = [
        line("context", 0.0, 0.8, "The harbour lay quiet."),
        line("rated", 1.0, 1.9, "A gull began to laugh."),
        line("context", 2.0, 2.6, "Nobody answered."),
    ]
    story = Story([MOS], [(0, [2.6], None)], extras={0: {"lines": [lines]}})
    page = new_page()
    enter(page, serve(story))
    page.evaluate(
        """() => {
            window.roles = [];
            window.said = [];
            const watch = (part, list) => {
                const place = document.querySelector(`[data-part=${part}]`);
                const note = () => {
                    const row = document.querySelector(".line.now")?.textContent ?? "";
                    if (place.textContent !== list.at(-1)?.[0]) list.push([place.textContent, row]);
                };
                new MutationObserver(note).observe(place, { childList: true, characterData: true });
            };
            watch("now", window.roles);
            watch("said", window.said);
        }"""
    )
    expect(page.locator(".line")).to_have_count(3)
    expect(page.locator(".line[data-role=rated]")).to_contain_text("A gull began to laugh.")
    hear(page)
    roles = [role for role, _row in page.evaluate("window.roles")]
    idle = "You rate the marked part only"
    assert [role for role in roles if role != idle] == ["Context", "Rate this part", "Context"]
    rows = {role: row for role, row in page.evaluate("window.said") if role}
    assert list(rows) == ["Rate this part"]  # spoken once
    left, width = page.locator(".marks i").evaluate(
        "mark => [mark.style.insetInlineStart, mark.style.inlineSize].map(parseFloat)"
    )
    assert (left, width) == (pytest.approx(100 / 2.6, abs=1), pytest.approx(90 / 2.6, abs=1))


def test_a_context_that_is_only_text_is_read_before_the_clip(
    serve: Serve, new_page: NewPage
) -> None:
    lines = [line("context", 0, 0, "Anna had not slept."), line("rated", 0, 0.7)]
    story = Story([MOS], [(0, [0.7], None)], extras={0: {"lines": [lines]}})
    page = new_page()
    enter(page, serve(story))
    row = page.locator(".line")
    expect(row).to_have_text(re.compile(r"Read this first\s+Anna had not slept\."))
    above = page.locator(".player").bounding_box()
    words = row.bounding_box()
    assert above is not None
    assert words is not None
    assert words["y"] + words["height"] <= above["y"]
    assert locked(page)
    hear(page)
    assert not locked(page)


def test_a_task_that_need_not_be_heard_out_unlocks_when_every_clip_was_started(
    serve: Serve, new_page: NewPage
) -> None:
    page = new_page()
    free = {**CMOS, "heard_out": False}
    server = serve(Story([free], [(0, [30.0, 30.0], None)], strict=False))
    enter(page, server)
    page.locator(".segment").nth(1).click()
    expect(page.locator("[data-part=missing]")).to_have_text("Play every clip first.")
    page.locator(".segment").nth(0).click()
    expect(page.locator("fieldset.criterion")).to_be_enabled()
    choose(page, "1")
    go_on(page)
    wait_stored(page, server, 1)
    assert server.house.posts[0]["heard_fraction"] < 0.9


def test_number_keys_walk_down_the_criteria_and_enter_sends(
    serve: Serve, new_page: NewPage
) -> None:
    page = new_page()
    server = serve(Story([SEVERAL], [(0, [0.6], None)]))
    enter(page, server)
    hear(page)
    fieldsets = page.locator("fieldset.criterion")
    missing = page.locator("[data-part=missing]")
    expect(fieldsets.nth(0)).to_have_class(re.compile("active"))
    page.keyboard.press("4")
    expect(missing).to_have_text("1 of 3 answered")
    expect(fieldsets.nth(1)).to_have_class(re.compile("active"))
    page.keyboard.press("2")
    page.keyboard.press("5")
    expect(missing).to_have_text("All set.")
    page.keyboard.press("Enter")
    wait_stored(page, server, 1)
    assert server.house.posts[0]["answers"] == {"0": "4", "1": "2", "2": "5"}


def test_a_number_key_after_a_click_answers_the_next_question(
    serve: Serve, new_page: NewPage
) -> None:
    page = new_page()
    server = serve(Story([SEVERAL], [(0, [0.6], None)]))
    enter(page, server)
    hear(page)
    choose(page, "1", 0)
    expect(page.locator("fieldset.criterion").nth(1)).to_have_class(re.compile("active"))
    page.keyboard.press("2")
    choose(page, "3", 2)
    page.keyboard.press("Enter")
    wait_stored(page, server, 1)
    assert server.house.posts[0]["answers"] == {"0": "1", "1": "2", "2": "3"}


def test_after_a_click_on_play_a_number_and_enter_send_the_answer(
    serve: Serve, new_page: NewPage
) -> None:
    page = new_page()
    server = serve(short_story(1))
    enter(page, server)
    hear(page)
    page.keyboard.press("4")
    page.keyboard.press("Enter")
    wait_stored(page, server, 1)
    assert server.house.posts[0]["plays"] == 1


def test_half_heard_sequences_are_kept_over_a_reload(serve: Serve, new_page: NewPage) -> None:
    page = new_page()
    enter(page, serve(Story([CMOS], [(0, [0.6, 0.6], None)])))
    page.locator(".segment").first.click()
    expect(page.locator(".segment").first).to_have_class(re.compile("heard"))
    page.reload()
    expect(page.locator(".segment").first).to_have_class(re.compile("heard"))
    expect(page.locator(".segment").nth(1)).to_have_attribute("aria-disabled", "false")
    assert locked(page)
    page.keyboard.press("Space")
    heard_out(page)


def test_a_phone_taps_through_a_pair(serve: Serve, new_page: NewPage) -> None:
    page = new_page(**PHONE)
    server = serve(short_story(1, task=CMOS))
    enter(page, server)
    for place in (0, 1):
        page.locator(".segment").nth(place).tap()
        expect(page.locator(".segment").nth(place)).to_have_class(re.compile("heard"))
    page.locator('label:has(input[value="3"])').tap()
    page.locator("[data-part=next]").tap()
    expect(page.locator(".view-end")).to_be_visible()
    assert server.house.posts[0]["answers"] == {"0": "3"}


def test_a_screen_reader_is_not_talked_into_the_clips(serve: Serve, new_page: NewPage) -> None:
    page = new_page()
    enter(page, serve(short_story(1, task=CMOS)))
    page.evaluate(
        """() => {
            window.spoken = [];
            const note = (changes) => {
                for (const { target } of changes) {
                    const place = (target.parentElement ?? target).closest(LIVE) ?? target;
                    if (place.matches?.(LIVE)) window.spoken.push(place.textContent);
                }
            };
            const LIVE = "[aria-live], [role=status], [role=alert]";
            for (const place of document.querySelectorAll(LIVE)) {
                new MutationObserver(note).observe(place, { childList: true, subtree: true });
            }
        }"""
    )
    hear(page)
    assert page.evaluate("window.spoken") == ["Choose an answer."]


BUSY = """() => document.addEventListener('play', ({ target }) => {
  target.addEventListener('playing', () => {
    const until = performance.now() + 350;
    while (performance.now() < until);
  }, { capture: true, once: true });
}, { capture: true, once: true })"""


def test_a_device_too_busy_to_follow_the_first_moment_heard_it_all_the_same(
    serve: Serve, new_page: NewPage
) -> None:
    page = new_page()
    server = serve(short_story(1))
    enter(page, server)
    page.evaluate(BUSY)
    hear(page)
    choose(page, "4")
    go_on(page)
    wait_stored(page, server, 1)
    facts = server.house.posts[0]
    assert (facts["plays"], facts["heard_fraction"]) == (1, 1)
