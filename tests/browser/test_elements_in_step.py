"""Clips too long to be decoded play as audio elements, which are kept in step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page

from tests.browser.driver import enter
from tests.browser.fake import FakeServer
from tests.browser.parallel_story import mushra_story
from tests.browser.story import Story
from tests.browser.test_parallel import PAIR

Serve = Callable[[Story], FakeServer]
NewPage = Callable[..., Page]

ELEMENTS = """async (urls) => {
    const { ElementMixer, loadedElement } = await import("/static/js/rater/elementmixer.js");
    const context = new AudioContext();
    const elements = await Promise.all(urls.map(loadedElement));
    const m = new ElementMixer(context, elements);
    const apart = () => Math.abs(elements[0].currentTime - elements[1].currentTime);
    const until = async (true_) => {
        for (let k = 0; k < 400 && !true_(); k += 1) {
            await new Promise((resolve) => setTimeout(resolve, 50));
            m.tick();
        }
        return true_();
    };
    const began = performance.now();
    await m.play();
    await until(() => m.position > 0.5);
    const [before_s, passed_s] = [m.position, (performance.now() - began) / 1000];
    elements[1].currentTime = 0;
    await until(() => m.wraps > 0 || (!elements[1].seeking && apart() < 0.1));
    const in_step = m.wraps === 0; // a new round would have put them together too
    const before = m.position;
    m.select(1);
    const after = m.position;
    m.setLoop({ on: true, from: 0.5, to: 1.0 });
    await until(() => m.wraps >= 2);
    const place = m.position;
    await until(() => m.gains[1].gain.value === 1);
    m.pause();
    const gains = m.gains.map((gain) => gain.gain.value);
    const { wraps } = m;
    return { before_s, passed_s, in_step, before, after, place, gains, wraps, spans: m.take() };
}"""


def test_elements_are_kept_in_step(serve: Serve, new_page: NewPage) -> None:
    story = mushra_story(4.0, PAIR)
    page = new_page()
    enter(page, serve(story))
    page.locator("summary").click()  # a tap, so that sound may start
    got: dict[str, Any] = page.evaluate(ELEMENTS, ["/c/0x0", "/c/0x1"])
    assert 0.5 < got["before_s"] < got["passed_s"] + 0.1
    assert got["in_step"]  # though one of them was moved away
    assert got["after"] == pytest.approx(got["before"], abs=0.1)
    assert got["gains"] == [0, 1]
    assert got["wraps"] >= 2
    assert 0.4 < got["place"] < 1.0
    assert {track for track, _, _ in got["spans"]} == {0, 1}
