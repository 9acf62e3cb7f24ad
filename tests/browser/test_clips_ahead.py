"""Clips come before they are needed: the first one alone, the next trial's decoded in good time."""

from __future__ import annotations

import re
from collections.abc import Callable

from playwright.sync_api import Page, expect

from tests.browser.driver import enter, go_on, wait_until
from tests.browser.fake import FakeServer
from tests.browser.parallel_story import mushra_story
from tests.browser.story import Story, short_story

Serve = Callable[[Story], FakeServer]
NewPage = Callable[..., Page]
PAIR: dict[str, object] = {"clip_names": ["Reference", "A"], "roles": ["reference", "rated"]}
COUNT_DECODING = """
window.__decoded = 0;
const decode = BaseAudioContext.prototype.decodeAudioData;
BaseAudioContext.prototype.decodeAudioData = async function (bytes) {
  const sound = await decode.call(this, bytes);
  window.__decoded += 1;
  return sound;
};
"""


def test_no_other_clip_takes_the_link_from_the_first_one(serve: Serve, new_page: NewPage) -> None:
    page = new_page()
    server = serve(short_story(3))
    first, second = (server.house.hold(f"/c/{place}x0") for place in range(2))
    requests = server.house.clip_requests
    enter(page, server)  # the introduction and the trial both ask for the clips
    expect(page.locator(".player-status")).to_have_text(re.compile(r"Loading \d+ %"))
    page.wait_for_timeout(500)  # however slow: no other may be asked for while this one comes
    assert requests == ["/c/0x0"]
    first.set()
    expect(page.locator(".player")).to_have_attribute("data-state", "ready")
    wait_until(page, lambda: len(requests) > 1)
    page.wait_for_timeout(500)  # as above
    assert requests == ["/c/0x0", "/c/1x0"]
    second.set()
    wait_until(page, lambda: len(requests) > 2)


def test_the_next_screens_clips_are_decoded_while_the_present_ones_are_heard(
    serve: Serve, new_page: NewPage
) -> None:
    page = new_page()
    page.add_init_script(COUNT_DECODING)
    enter(page, serve(mushra_story(0.6, PAIR, trials=2)))
    page.wait_for_function("() => window.__decoded === 4")
    for place in range(2):
        page.locator(".clip-button").nth(place).click()
        expect(page.locator(".clip-button").nth(place)).to_contain_class("heard")
    page.get_by_role("slider", name="Clip A, score").fill("50")
    go_on(page)
    expect(page.locator("#count")).to_contain_text("2 of ")
    expect(page.locator(".deck")).to_have_attribute("data-state", "ready")
    assert page.evaluate("window.__decoded") == 4  # of two trials: none was decoded twice
