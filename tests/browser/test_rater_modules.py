"""The pure parts of the rater's modules, run in the browser they are written for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page

from tests.browser.fake import FakeServer
from tests.browser.story import Story, short_story

Serve = Callable[[Story], FakeServer]
NewPage = Callable[..., Page]
Run = Callable[[str, str], Any]


@pytest.fixture
def run(serve: Serve, new_page: NewPage) -> Run:
    """Evaluates an expression over the names that a module exports."""
    page = new_page()
    page.goto(f"{serve(short_story(1)).url}/lost/")

    def evaluate(module: str, body: str) -> Any:
        script = f"async () => {{ const m = await import('/static/js/{module}.js'); {body} }}"
        return page.evaluate(script)

    return evaluate


def test_heard_counts_what_there_was_time_to_hear(run: Run) -> None:
    body = """
        const heard = new m.Heard();
        heard.begin(0, 0); heard.advance(1, 1000); heard.advance(2, 2000); heard.end();
        heard.begin(5, 3000); heard.advance(6, 4000);
        return [heard.seconds, heard.frontier, heard.fraction(10), heard.complete(10)];
    """
    assert run("rater/heard", body) == [3, 2, 0.3, False]


def test_heard_refuses_a_jump_and_fast_playing(run: Run) -> None:
    body = """
        const jump = new m.Heard();
        jump.begin(0, 0); jump.advance(1, 1000); jump.advance(9, 1100); jump.advance(10, 2100);
        const fast = new m.Heard();
        fast.begin(0, 0);
        for (let k = 1; k <= 40; k += 1) fast.advance(k, k * 250);
        return [jump.ranges, fast.seconds < 12];
    """
    assert run("rater/heard", body) == [[[0, 1], [9, 10]], True]


def test_heard_twice_counts_once_and_a_hair_at_the_end_is_forgiven(run: Run) -> None:
    body = """
        const heard = new m.Heard([[0, 1.5], [1, 2.95]]);
        return [heard.seconds, heard.complete(3), heard.fraction(3), heard.complete(3.3),
                heard.fraction(3.3) < 1, heard.complete(NaN), heard.fraction(Infinity)];
    """
    assert run("rater/heard", body) == [2.95, True, 1, False, True, False, 0]


def test_waits_double_up_to_a_limit(run: Run) -> None:
    body = "return [0, 1, 2, 3, 9, 30].map((tries) => m.backoffMs(tries, 0.5));"
    assert run("shared/backoff", body) == [1000, 2000, 4000, 8000, 20000, 20000]


def test_only_what_may_pass_is_tried_again(run: Run) -> None:
    """What is no documented reply comes from a proxy or a portal, whatever its status."""
    body = """
        const fetched = globalThis.fetch;
        const retried = async (text, status) => {
            globalThis.fetch = async () => new Response(text, { status });
            return (await new m.Api("/").state()).retry;
        };
        const found = [];
        for (const status of [200, 201]) found.push(await retried('{"stage": "trial"}', status));
        for (const status of [403, 404, 409, 422, 429, 500, 503])
            found.push(await retried('{"error": "closed"}', status));
        for (const status of [200, 404, 511])
            for (const text of ["{}", "<h1>"]) found.push(await retried(text, status));
        globalThis.fetch = fetched;
        return found;
    """
    assert run("rater/api", body) == [False] * 6 + [True] * 9


def test_blank_space_does_not_count_as_a_reason(run: Run) -> None:
    body = "return ['', '  a   b  ', '停顿很自然', '👍👍'].map(m.counted);"
    assert run("rater/justification", body) == [0, 3, 5, 2]


def test_scales_lie_as_their_words_and_steps_ask_for(run: Run) -> None:
    body = """
        const steps = (labels, text = "") => labels.map((label) => ({ label, text }));
        return [
            m.layoutOf(steps(["1", "1.5", "2", "2.5", "3", "3.5", "4", "4.5", "5"])),
            m.layoutOf(steps(["1", "2", "3", "4", "5"])),
            m.layoutOf(steps(["-1", "0", "1"], "Second is better")),
            m.layoutOf(steps(["0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10"])),
        ];
    """
    assert run("rater/criteria", body) == ["halves", "short", "long", "long"]


def test_the_outbox_keeps_answers_without_a_store_and_sends_them_in_order(run: Run) -> None:
    body = """
        const sent = [];
        let fail = 1;
        const box = new m.Outbox("x", null, async (answer) => {
            if (fail-- > 0) return { status: 0, body: null, retry: true, waitS: 0 };
            sent.push(answer.trial);
            return { status: 201, body: {}, retry: false, waitS: 0 };
        });
        box.put({ trial: "a" }); box.put({ trial: "b" }); box.put({ trial: "a" });
        const durable = box.durable;
        while (box.size) await new Promise((resolve) => setTimeout(resolve, 50));
        return [sent, durable];
    """
    assert run("rater/outbox", body) == [["a", "b"], False]


def test_the_outbox_survives_a_full_disk(run: Run) -> None:
    body = """
        const store = { length: 0, key: () => null, getItem: () => null, removeItem: () => {},
                        setItem: () => { throw new DOMException("full", "QuotaExceededError"); } };
        const box = new m.Outbox("x", store, () => new Promise(() => {}));
        box.put({ trial: "a" });
        return [box.size, box.durable];
    """
    assert run("rater/outbox", body) == [1, False]


def test_the_clock_rounds_up(run: Run) -> None:
    body = "return [0, 0.02, 0.5, 59.5, 61, 600].map(m.clock);"
    assert run("rater/strings", body) == ["0:00", "0:00", "0:01", "1:00", "1:01", "10:00"]
