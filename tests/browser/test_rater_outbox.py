"""Answers survive what networks, servers, tabs and devices do to them, and are stored once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.driver import arrived, at_trial, choose, enter, go_on, hear, rate, wait_stored
from tests.browser.fake import FakeServer
from tests.browser.story import ATT, Story, short_story

Serve = Callable[[Story], FakeServer]
NewPage = Callable[..., Page]
KEPT = "() => Object.keys(localStorage).filter((key) => key.startsWith('earnest:outbox:demo:'))"


def kept(page: Page, *answers: str) -> None:
    """The device holds these answers, now or soon."""
    wanted = [f"earnest:outbox:demo:{answer}" for answer in answers]
    script = f"wanted => JSON.stringify(({KEPT})().sort()) === JSON.stringify(wanted)"
    page.wait_for_function(script, arg=wanted)


def saved(page: Page, text: str) -> None:
    expect(page.locator("#saved")).to_have_text(text)


def test_an_answer_is_on_the_device_before_it_is_sent_and_gone_after_it_was_stored(
    serve: Serve, new_page: NewPage
) -> None:
    page = new_page()
    server = serve(short_story(2))
    server.house.fail("/answers/", "drop", times=99)
    enter(page, server)
    rate(page)
    kept(page, "t0")
    saved(page, "Saved on this device, will be sent: 1")
    server.house.faults.clear()
    wait_stored(page, server, 1)
    saved(page, "All answers saved")
    kept(page)


def test_the_rater_goes_on_without_network_and_every_answer_is_sent_once_after(
    serve: Serve, new_page: NewPage
) -> None:
    page = new_page()
    server = serve(short_story(4))
    enter(page, server)
    rate(page, "1")
    at_trial(page, 2)
    wait_stored(page, server, 1)
    arrived(page, "/c/3x0")
    page.context.set_offline(True)
    for place, label in ((2, "2"), (3, "3"), (4, "4")):
        at_trial(page, place)
        rate(page, label)
    expect(page.locator(".view-wait")).to_contain_text("Your answers (3) are safe on this device")
    assert len(server.house.posts) == 1
    page.context.set_offline(False)
    expect(page.locator(".view-end")).to_be_visible()
    assert [post["answers"]["0"] for post in server.house.posts] == ["1", "2", "3", "4"]


def test_a_reload_without_network_loses_nothing(serve: Serve, new_page: NewPage) -> None:
    page = new_page()
    server = serve(short_story(3))
    server.house.fail("/answers/", "drop", times=99)
    enter(page, server)
    rate(page, "2")
    at_trial(page, 2)
    page.reload()
    at_trial(page, 2)
    kept(page, "t0")
    server.house.faults.clear()
    wait_stored(page, server, 1)
    assert server.house.stored["t0"]["answers"] == {"0": "2"}
    assert len(server.house.posts) == 1


def test_an_answer_whose_acknowledgement_got_lost_is_sent_again_unchanged(
    serve: Serve, new_page: NewPage
) -> None:
    page = new_page()
    server = serve(short_story(3))
    server.house.fail("/answers/", "lose")
    enter(page, server)
    rate(page, "5")
    saved(page, "All answers saved")
    first, second = server.house.posts
    assert first == second
    assert server.house.repeats == 1
    assert list(server.house.stored) == ["t0"]
    at_trial(page, 2)


def test_a_broken_server_is_asked_again(serve: Serve, new_page: NewPage) -> None:
    page = new_page()
    server = serve(short_story(2))
    server.house.fail("/answers/", 500)
    server.house.fail("/answers/", 429)
    enter(page, server)
    rate(page)
    wait_stored(page, server, 1)
    assert len(server.house.posts) == 1


def test_a_refused_token_is_renewed_without_the_rater_noticing(
    serve: Serve, new_page: NewPage
) -> None:
    page = new_page()
    server = serve(short_story(2))
    server.house.fail("/answers/", "csrf")
    enter(page, server)
    rate(page)
    wait_stored(page, server, 1)
    expect(page.locator("#notice")).to_be_hidden()


def test_a_lost_lease_is_explained_and_the_next_trial_shown(
    serve: Serve, new_page: NewPage
) -> None:
    page = new_page()
    server = serve(short_story(3))
    house = server.house
    enter(page, server)
    hear(page)
    choose(page, "3")
    house.skipped |= {"t0", "t1"}
    reply = house.error("lease_lost", "You were away for a while; please go on with the next one.")
    house.fail("/answers/", 409, body=reply)
    go_on(page)
    expect(page.locator("#notice")).to_have_text(
        "You were away for a while; please go on with the next one."
    )
    at_trial(page, 3)
    rate(page)
    wait_stored(page, server, 1)
    expect(page.locator("#notice")).to_be_hidden()
    kept(page)


def test_a_session_that_ended_meanwhile_shows_its_end(serve: Serve, new_page: NewPage) -> None:
    page = new_page()
    server = serve(short_story(3))
    house = server.house
    enter(page, server)
    hear(page)
    choose(page, "3")
    house.skipped |= {"t0", "t1", "t2"}
    house.outcome = "partial"
    house.fail("/answers/", 409, body=house.error("session_over", "This session has ended."))
    go_on(page)
    expect(page.get_by_role("heading", name="The study stops here")).to_be_visible()
    expect(page.locator("#notice")).to_have_text("This session has ended.")


def test_an_answer_given_on_another_device_is_not_asked_for_again(
    serve: Serve, new_page: NewPage
) -> None:
    page = new_page()
    server = serve(short_story(3))
    enter(page, server)
    hear(page)
    server.house.stored |= {"t0": {}, "t1": {}}
    choose(page, "3")
    go_on(page)
    at_trial(page, 3)
    assert server.house.repeats == 1


def test_a_refused_answer_comes_back_and_later_ones_wait_for_it(
    serve: Serve, new_page: NewPage
) -> None:
    page = new_page()
    server = serve(short_story(3, task=ATT))
    house = server.house
    message = "Please give your reason in at least 10 characters."
    refusal = {"error": "justification_required", "message": message, "state": None}
    house.fail("/answers/", 422, body=refusal)
    enter(page, server)
    hear(page)
    choose(page, "Human")
    page.locator("textarea").fill("not enough?")
    go_on(page)
    expect(page.locator("[data-part=missing]")).to_have_text(message)
    at_trial(page, 1)
    expect(page.locator("textarea")).to_have_value("not enough?")
    expect(page.locator(".player")).to_have_attribute("data-state", "heard")
    page.locator("textarea").fill("a breath before the verb")
    go_on(page)
    wait_stored(page, server, 1)
    assert house.stored["t0"]["justification"]["text"] == "a breath before the verb"


def test_a_page_that_a_proxy_sends_is_no_reply_to_an_answer(
    serve: Serve, new_page: NewPage
) -> None:
    page = new_page()
    server = serve(short_story(2))
    page.route(
        "**/answers/",
        lambda route: route.fulfill(status=404, body="<h1>No</h1>", content_type="text/html"),
        times=1,
    )
    enter(page, server)
    rate(page, "3")
    wait_stored(page, server, 1)
    expect(page.locator("#notice")).to_be_hidden()


@pytest.mark.parametrize(
    "foreign", [{}, [], 1, {"status": "ok"}, {"stored": True, "state": {}}, {"stage": "x"}]
)
def test_only_the_documented_reply_counts_as_stored(
    serve: Serve, new_page: NewPage, foreign: Any
) -> None:
    """A network's login page or a proxy may reply 200 with JSON of its own."""
    page = new_page()
    server = serve(short_story(2))
    server.house.fail("/answers/", 200, body=foreign)
    enter(page, server)
    rate(page, "3")
    kept(page, "t0")
    wait_stored(page, server, 1)
    saved(page, "All answers saved")
    assert server.house.stored["t0"]["answers"] == {"0": "3"}


def test_a_refusal_that_is_not_earnests_own_is_no_refusal(serve: Serve, new_page: NewPage) -> None:
    page = new_page()
    server = serve(short_story(2))
    server.house.fail("/answers/", 404, body={"message": "no route matched"})
    enter(page, server)
    rate(page, "3")
    wait_stored(page, server, 1)
    expect(page.locator("#notice")).to_be_hidden()


def test_a_foreign_reply_withdraws_nobody(serve: Serve, new_page: NewPage) -> None:
    page = new_page()
    server = serve(short_story(2))
    server.house.fail("/withdraw/", 200, body={"status": "ok"})
    enter(page, server)
    page.locator("#withdraw").click()
    page.locator("#withdraw-confirm").click()
    expect(page.locator("#withdraw-error")).to_be_visible()
    page.locator("#withdraw-confirm").click()
    expect(page.locator(".view-end")).to_be_visible()
    assert server.house.withdrawn


def test_the_older_tab_rests_and_can_take_over_again(serve: Serve, new_page: NewPage) -> None:
    old = new_page()
    server = serve(short_story(3))
    enter(old, server)
    hear(old)
    new = new_page(old.context)
    new.goto(f"{server.url}/s/demo/")
    expect(old.get_by_role("dialog")).to_contain_text("open in another tab")
    rate(new, "2")
    wait_stored(new, server, 1)
    old.bring_to_front()
    old.keyboard.press("Escape")
    expect(old.get_by_role("dialog")).to_be_visible()
    old.get_by_role("button", name="Go on here").click()
    at_trial(old, 2)
    expect(new.get_by_role("dialog")).to_contain_text("open in another tab")
    rate(old, "4")
    wait_stored(old, server, 2)
    assert [post["answers"]["0"] for post in server.house.posts] == ["2", "4"]


def test_a_session_that_is_gone_says_what_to_do(serve: Serve, new_page: NewPage) -> None:
    page = new_page()
    server = serve(short_story(2))
    gone = {"error": "unknown_session", "message": "We do not know this session.", "state": None}
    server.house.fail("/answers/", 404, body=gone)
    enter(page, server)
    rate(page)
    expect(page.locator(".view-trouble")).to_contain_text(
        "Please open the link you were first given"
    )


def test_a_check_is_sent_again_until_it_arrives(serve: Serve, new_page: NewPage) -> None:
    page = new_page()
    server = serve(short_story(1, check=True))
    server.house.fail("/checks/", "drop")
    page.goto(f"{server.url}/s/demo/")
    page.locator(".player-button").click()
    confirm = page.get_by_role("button", name="The volume is right")
    expect(confirm).to_have_attribute("aria-disabled", "false")
    server.house.fail("/api/s/demo/checks/", 500)
    confirm.click()
    expect(page.locator(".view-intro")).to_be_visible()
    assert server.house.checked["volume"]["comfortable"] is True


def test_a_clip_that_the_server_calls_unheard_must_be_heard_again(
    serve: Serve, new_page: NewPage
) -> None:
    page = new_page()
    server = serve(short_story(2))
    message = "Please listen to the whole clip before you answer."
    refusal = {"error": "not_heard", "message": message, "state": None}
    server.house.fail("/answers/", 422, body=refusal)
    enter(page, server)
    rate(page, "3")
    expect(page.locator("[data-part=missing]")).to_have_text(message)
    expect(page.locator(".player")).to_have_attribute("data-state", "ready")
    assert page.locator("#stage input:checked").get_attribute("value") == "3"
    hear(page)
    go_on(page)
    wait_stored(page, server, 1)
    assert server.house.stored["t0"]["answers"] == {"0": "3"}


def test_a_clip_that_the_server_has_not_sent_is_fetched_from_it_and_heard_again(
    serve: Serve, new_page: NewPage
) -> None:
    page = new_page()
    server = serve(short_story(2))
    (clip,) = server.house.state()["trials"][0]["clips"]
    message = "This clip has not reached you yet. Please listen to it again."
    refusal = {"error": "not_fetched", "message": message, "state": None}
    server.house.fail("/answers/", 422, body=refusal)
    enter(page, server)
    rate(page, "3")
    expect(page.locator("[data-part=missing]")).to_have_text(message)
    expect(page.locator(".player")).to_have_attribute("data-state", "ready")
    hear(page)
    go_on(page)
    wait_stored(page, server, 1)
    assert server.house.clip_requests.count(clip) == 2
