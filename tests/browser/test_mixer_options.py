"""What a study may choose for clips that play together, the keys of their page, and dragging."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import CDPSession, Locator, Page, expect

from tests.browser.conftest import PHONE
from tests.browser.driver import enter, go_on, hear, wait_stored
from tests.browser.fake import FakeServer
from tests.browser.parallel_story import BEST_WORST, MUSHRA, RANKING, mushra_story
from tests.browser.story import ATT, CMOS, Story, short_story
from tests.browser.test_mixer_fits import LAPTOP
from tests.browser.test_parallel import TRIO, clip, hear_all, slider

Serve = Callable[[Story], FakeServer]
NewPage = Callable[..., Page]
CHOSEN = {
    "share": 0.5,
    "restart": True,
    "reference_first": True,
    "hidden_reference": False,
    "waveform": True,
}
KEPT = """(track) => {
    const { players } = JSON.parse(localStorage["earnest:draft:demo"]);
    return { ...players, ranges: players.tracks[track].ranges };
}"""
REGION = """() => {
    const marks = document.querySelector("[data-part=marks]");
    const region = getComputedStyle(marks, "::before");
    const line = getComputedStyle(marks.parentElement, "::before");
    return region.content === "none" ? 0 : parseFloat(region.width) / parseFloat(line.width);
}"""


def kept(page: Page, track: int) -> dict[str, Any]:
    """What the browser keeps of the listening: heard ranges of a track, the loop, how often."""
    return dict(page.evaluate(KEPT, track))


def test_the_reference_comes_first_a_share_opens_and_a_press_starts_anew(
    serve: Serve, new_page: NewPage
) -> None:
    page = new_page(viewport=LAPTOP)
    server = serve(mushra_story(4.0, TRIO | {"playback": CHOSEN}))
    enter(page, server)
    first = "Listen to the reference first. Then the other clips can be played."
    lock, missing = (page.locator(f"[data-part={name}]") for name in ("lock-text", "missing"))
    expect(lock).to_have_text(first)
    expect(page.get_by_text("hidden among the others")).to_be_hidden()
    expect(clip(page, "Clip A")).to_have_attribute("aria-disabled", "true")
    page.keyboard.press("a")
    expect(missing).to_have_text(first)
    expect(page.locator("[data-part=now]")).to_have_text("Reference")
    expect(page.locator(".deck")).to_have_attribute("data-state", "ready")

    hear_all(page, ["Reference"])
    expect(lock).to_contain_text("Listen to at least 50 % of a clip")
    expect(missing).to_have_text("Listen to at least 50 % of Clip A.")
    half = kept(page, 0)["ranges"]
    assert len(half) == 1
    assert 2.0 <= half[0][1] - half[0][0] < 3.9

    page.keyboard.press("a")  # from the beginning, and not from where the reference was
    expect(clip(page, "Clip A")).to_have_class(re.compile("heard"))
    whole = kept(page, 1)
    assert [len(whole["ranges"]), whole["loops"]] == [1, 0]
    assert whole["ranges"][0][0] < 0.2
    expect(slider(page, "A")).to_be_enabled()
    expect(slider(page, "B")).to_be_disabled()

    page.get_by_role("slider", name="Repeat from").fill("1")
    assert page.evaluate(REGION) == pytest.approx(0.75, abs=0.03)
    clip(page, "Clip B").click()  # from where the repeated part begins
    expect(clip(page, "Clip B")).to_have_class(re.compile("heard"))
    assert 0.9 < kept(page, 2)["ranges"][0][0] < 1.2
    expect(page.locator("[data-part=wave] path")).to_have_attribute("d", re.compile(r"^M0.5 -.*V"))
    expect(page.locator("[data-part=wave]")).to_have_text("Waveform: Reference")
    page.get_by_role("button", name="Repeat all of it").click()
    expect(page.get_by_role("button", name="Repeat all of it")).to_be_hidden()
    assert page.evaluate(REGION) == 0
    assert kept(page, 0)["loop"] == {"on": True, "from": 0, "to": 4}
    order = [kept(page, 0)[name] for name in ("reference_ms", "rated_ms")]
    page.reload()  # what was heard before it still counts, and in the same order
    page.get_by_text("Instructions and keys").click()  # by the first tap, clips are decoded
    expect(slider(page, "B")).to_be_enabled()
    slider(page, "A").fill("20")
    slider(page, "B").fill("90")
    go_on(page)
    wait_stored(page, server, 1)
    sent = server.house.posts[0]
    assert sent["heard_fraction"] >= 0.5
    assert order == [sent["playback"][name] for name in ("reference_heard_ms", "first_rated_ms")]
    assert 1000 < order[0] < order[1]


# --- Keys ----------------------------------------------------------------------------------------

# Every key that the page uses, pressed nowhere in particular: what it uses, it takes.
TAKEN = """(keys) => keys.filter((key) => {
    const event = new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true });
    document.body.dispatchEvent(event);
    const taken = event.defaultPrevented;
    document.activeElement.blur();
    return taken;
})"""
KEYS = [*"abcdefghijklmnopqrstuvwxyz0123456789,.;:-+*/'#<>[]", " ", "ArrowLeft", "ArrowRight"]
KEYS += ["ArrowUp", "ArrowDown", "Escape", "Enter", "Backspace", "Delete", "Home", "End"]
NAMES = {"Space": " ", "←": "ArrowLeft", "→": "ArrowRight", "Esc": "Escape"}
SHOWN = """() => [...document.querySelectorAll(".keys dt")].filter((each) => each.offsetParent)
    .map((each) => each.innerText.replace(/\\s+/g, " ").trim())"""


def shown_keys(page: Page) -> set[str]:
    """Those of the page's own hint, its ranges written out."""
    page.get_by_text("Instructions and keys").click()
    keys = set()
    for entry in page.evaluate(SHOWN):
        for first, last, one in re.findall(r"(\w) … (\w)|(\S+)", entry):
            whole = "" if one else "".join(map(chr, range(ord(first), ord(last) + 1)))
            keys |= {*whole.lower()} or {NAMES.get(one, one.lower() if len(one) == 1 else one)}
    return keys


REASONED = {"justification": ATT["justification"]}


def loop_of(page: Page) -> list[float]:
    ends = (page.get_by_role("slider", name=f"Repeat {way}") for way in ("from", "to"))
    return [float(end.input_value()) for end in ends]


def try_loop(page: Page) -> None:
    """The part that repeats, set to where the ear is, then cleared."""
    page.keyboard.press("Space")
    seek = page.get_by_role("slider", name="Position")
    seek.evaluate("(each) => { each.value = 0.5; each.dispatchEvent(new Event('change')); }")
    page.keyboard.press(",")
    assert loop_of(page) == [pytest.approx(0.5, abs=0.06), pytest.approx(1.2)]
    seek.evaluate("(each) => { each.value = 0.9; each.dispatchEvent(new Event('change')); }")
    page.keyboard.press(".")
    assert loop_of(page) == [pytest.approx(0.5, abs=0.06), pytest.approx(0.9, abs=0.06)]
    page.keyboard.press("x")
    assert loop_of(page) == [0, pytest.approx(1.2)]


def try_playing(page: Page, names: dict[str, str]) -> None:
    """Each of these keys lets its clip be heard; Space and P pause and go on."""
    now, deck = page.locator("[data-part=now]"), page.locator(".deck")
    for key, name in names.items():
        page.keyboard.press(key)
        expect(now).to_have_text(name)
        expect(clip(page, name)).to_have_class(re.compile("heard"))
    for key, state in (("p", "ready"), ("p", "playing"), (" ", "ready"), (" ", "playing")):
        page.keyboard.press(key)
        expect(deck).to_have_attribute("data-state", state)


def write_and_send(page: Page) -> None:
    page.keyboard.press("w")
    expect(page.get_by_role("textbox")).to_be_focused()
    page.keyboard.type("the second one has a metallic tail")
    page.keyboard.press("Escape")
    expect(page.get_by_role("textbox")).not_to_be_focused()
    page.keyboard.press("Enter")


def test_every_key_of_mushra_is_shown_and_every_shown_key_works(
    serve: Serve, new_page: NewPage
) -> None:
    page = new_page(viewport=LAPTOP)
    server = serve(mushra_story(1.2, TRIO | REASONED))
    enter(page, server)
    clips = {"0": "Reference", "a": "Clip A", "b": "Clip B", "r": "Reference"}
    try_playing(page, clips | {"1": "Clip A", "2": "Clip B"})
    try_loop(page)
    page.keyboard.press("a")
    page.keyboard.press("ArrowRight")
    slider(page, "A").evaluate("(each) => each.blur()")
    for _ in range(2):
        page.keyboard.press("ArrowLeft")
        slider(page, "A").evaluate("(each) => each.blur()")
    page.keyboard.press("b")
    page.keyboard.press("ArrowRight")
    tried = {*clips, *"12,.xpw", " ", "ArrowLeft", "ArrowRight", "Escape", "Enter"}
    shown = shown_keys(page)
    assert shown == tried
    assert {*page.evaluate(TAKEN, [key for key in KEYS if key != "Enter"])} == shown - {
        *("Enter", "Escape")  # one sends, the other means something in a text only
    }
    write_and_send(page)
    wait_stored(page, server, 1)
    assert set(server.house.posts[0]["answers"]) == {"0.1", "0.2"}


def test_every_key_of_a_ranking_is_shown_and_every_shown_key_works(
    serve: Serve, new_page: NewPage
) -> None:
    page = new_page(viewport=LAPTOP)
    server = serve(mushra_story(1.2, RANKING | REASONED))
    enter(page, server)
    clips = {letter: f"Clip {letter.upper()}" for letter in "abc"}
    try_playing(page, clips)
    try_loop(page)
    page.keyboard.press("r")  # from the start: there is no reference
    letters = page.locator("ol .rank-row [data-part=letter]")
    for key in ("a", "1", "b", "2", "c", "3", "ArrowRight"):
        page.keyboard.press(key)
    expect(letters).to_have_text(["A", "C", "B"])
    page.keyboard.press("ArrowLeft")
    expect(letters).to_have_text(["A", "B", "C"])
    tried = {*clips, *"123,.xprw", " ", "ArrowLeft", "ArrowRight", "Escape", "Enter"}
    shown = shown_keys(page)
    assert shown == tried
    taken = page.evaluate(TAKEN, [key for key in KEYS if key != "Enter"])
    assert {*taken} == shown - {"Enter", "Escape"}
    write_and_send(page)
    wait_stored(page, server, 1)


def test_every_key_of_best_worst_scaling_is_shown_and_every_shown_key_works(
    serve: Serve, new_page: NewPage
) -> None:
    page = new_page(viewport=LAPTOP)
    server = serve(mushra_story(1.2, BEST_WORST | REASONED))
    enter(page, server)
    clips = {letter: f"Clip {letter.upper()}" for letter in "abcd"}
    try_playing(page, clips)
    try_loop(page)
    page.keyboard.press("r")  # from the start: there is no reference
    for key in ("2", "ArrowRight", "d", "ArrowLeft"):
        page.keyboard.press(key)
    chosen = page.locator("[aria-pressed=true].extreme-choice")
    expect(chosen).to_have_text(["Clip B: Best", "Clip D: Worst"])
    tried = {*clips, *"1234,.xprw", " ", "ArrowLeft", "ArrowRight", "Escape", "Enter"}
    shown = shown_keys(page)
    assert shown == tried
    write_and_send(page)
    wait_stored(page, server, 1)


@pytest.mark.parametrize("task", [ATT, CMOS], ids=["reason", "pair"])
def test_keys_of_clips_one_after_the_other_are_those_that_are_shown(
    serve: Serve, new_page: NewPage, task: dict[str, Any]
) -> None:
    page = new_page(viewport=LAPTOP)
    enter(page, serve(short_story(1, task=task)))
    shown = shown_keys(page)
    hear(page)
    taken = page.evaluate(TAKEN, [key for key in KEYS if key != "Enter"])
    assert {*taken} == shown - {"Enter", "Escape"}


# --- Dragging ------------------------------------------------------------------------------------


class Mouse:
    def __init__(self, page: Page) -> None:
        self.page = page

    def drag(self, start: tuple[float, float], *stops: tuple[float, float]) -> None:
        self.page.mouse.move(*start)
        self.page.mouse.down()
        for stop in stops:
            self.page.mouse.move(*stop, steps=5)

    def drop(self) -> None:
        self.page.mouse.up()


class Finger:
    """A real touch, as Chromium's input has it: it would scroll the page where it may."""

    def __init__(self, page: Page) -> None:
        self.session: CDPSession = page.context.new_cdp_session(page)

    def send(self, kind: str, *points: tuple[float, float]) -> None:
        touches = [{"x": x, "y": y} for x, y in points]
        self.session.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": touches})

    def drag(self, start: tuple[float, float], *stops: tuple[float, float]) -> None:
        self.send("touchStart", start)
        (x, y) = start
        for to_x, to_y in stops:
            for step in range(1, 6):
                self.send("touchMove", (x + (to_x - x) * step / 5, y + (to_y - y) * step / 5))
            x, y = to_x, to_y

    def drop(self) -> None:
        self.send("touchEnd")


def middle(place: Locator) -> tuple[float, float]:
    box = place.bounding_box()
    assert box is not None
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def row(page: Page, letter: str) -> Locator:
    return page.locator(".rank-row", has=page.get_by_text(letter, exact=True))


def grip(page: Page, letter: str) -> Locator:
    return row(page, letter).locator("[data-part=grip]")


LOW = {**PHONE, "viewport": {"width": 390, "height": 700}}  # whose page can be scrolled
HANDS = [({"viewport": LAPTOP}, Mouse), (LOW, Finger)]
STANDS = """() => [scrollY, document.documentElement.scrollHeight,
    document.querySelector(".trial-next").getBoundingClientRect().top]"""


@pytest.mark.parametrize(("screen", "hand"), HANDS, ids=["mouse", "finger"])
def test_clips_are_put_in_order_by_dragging_and_the_loop_by_its_handle(
    serve: Serve, new_page: NewPage, screen: dict[str, Any], hand: type[Mouse] | type[Finger]
) -> None:
    page = new_page(**screen)
    server = serve(mushra_story(0.6, RANKING))
    enter(page, server)
    hear_all(page, ["Clip A", "Clip B", "Clip C"])
    page.keyboard.press("p")
    rows, said = page.locator("ol .rank-row [data-part=letter]"), page.locator("[data-part=said]")
    by, edge = hand(page), page.get_by_text("Not placed yet")
    expect(page.get_by_text("Drag the best clip up here")).to_be_visible()
    stood = page.evaluate(STANDS)
    assert hand is Mouse or stood[1] > 740

    by.drag(middle(grip(page, "C")), middle(edge), middle(page.locator("[data-part=best]")))
    expect(row(page, "C")).to_have_class(re.compile("dragged"))
    expect(rows).to_have_count(0)  # nothing is answered before it is dropped
    by.drop()
    expect(rows).to_have_text(["C"])
    expect(said).to_have_text("Clip C: place 1 of 3")
    by.drag(middle(grip(page, "A")), middle(row(page, "C")), middle(page.locator("legend")))
    by.drop()
    expect(rows).to_have_text(["A", "C"])
    expect(said).to_have_text("Clip A: place 1 of 3")
    by.drag(middle(grip(page, "A")), middle(row(page, "B")))  # the last place, and no way out
    by.drop()
    expect(rows).to_have_text(["C", "A"])
    by.drag(middle(grip(page, "B")), middle(row(page, "C")))
    page.keyboard.press("Escape")  # takes it back
    by.drop()
    expect(rows).to_have_text(["C", "A"])
    assert page.locator(".dragged").count() == 0
    x, y = middle(row(page, "A"))
    by.drag(middle(grip(page, "B")), (x, y - 8))
    by.drop()
    expect(rows).to_have_text(["C", "B", "A"])
    assert page.evaluate(STANDS) == pytest.approx(stood, abs=1)

    start, body = page.get_by_role("slider", name="Repeat to"), page.locator(".deck-loop")
    box = body.bounding_box()
    assert box is not None
    _, y = middle(start)
    by.drag((box["x"] + box["width"] - 20, y), (box["x"] + box["width"] / 2, y))
    by.drop()
    expect(start).not_to_have_value("0.6")
    page.get_by_role("button", name="Repeat all of it").click()
    expect(start).to_have_value("0.6")
    go_on(page)
    wait_stored(page, server, 1)
    sent = server.house.posts[0]
    assert sent["answers"] == {"0.2": "1", "0.1": "2", "0.0": "3"}  # as by keys
    assert (sent["plays"], sent["heard_fraction"]) == (3, 1)


def test_nine_clips_fit_with_the_waveform_and_what_comes_first(
    serve: Serve, new_page: NewPage
) -> None:
    from tests.browser.test_mixer_fits import LAST_ROW, NEXT_END, NEXT_TOP

    page = new_page(viewport=LAPTOP)
    nine = {"clip_names": ["Reference", *"ABCDEFGHI"], "roles": ["reference", *["rated"] * 9]}
    chosen = CHOSEN | {"hidden_reference": True}
    enter(page, serve(mushra_story(0.6, MUSHRA | nine | {"playback": chosen})))
    expect(page.locator("[data-part=wave] path")).to_have_attribute("d", re.compile("V"))
    expect(page.get_by_text("hidden among the others")).to_be_visible()
    assert page.evaluate(LAST_ROW) <= page.evaluate(NEXT_TOP)
    assert page.evaluate(NEXT_END) <= LAPTOP["height"]
