"""Where Firefox itself hangs, its bridge says so, and that one test runs again."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace
from typing import Any

import pytest
from websockets.asyncio.client import connect
from websockets.asyncio.server import ServerConnection, serve

from tests.browser.firefox import repeated_after_a_hang
from tests.browser.firefox_bridge import NO_LIMITS, OWN_IDS, Bridge


def driven(*, answers: bool) -> tuple[bool, list[int], list[dict[str, Any]]]:
    """With a Firefox that answers the bridge or does not: whether a hang was found, the commands
    that Firefox got, and what Playwright was told."""

    async def run() -> tuple[bool, list[int], list[dict[str, Any]]]:
        hung, beaten = asyncio.Event(), asyncio.Event()
        got: list[int] = []

        async def firefox(connection: ServerConnection) -> None:
            async for message in connection:
                command = json.loads(message)
                got.append(command["id"])
                if command["id"] < OWN_IDS or answers:
                    result = {"contexts": [{"context": "a"}]}
                    await connection.send(json.dumps({"id": command["id"], "result": result}))
                if command["method"] == "script.evaluate":
                    beaten.set()

        bridge = Bridge(hung.set, beat_s=0.01, hung_s=60 if answers else 0.05)
        told: list[dict[str, Any]] = []
        async with serve(firefox, "127.0.0.1", 0, **NO_LIMITS) as there:
            bridge.firefox_url = f"ws://127.0.0.1:{there.sockets[0].getsockname()[1]}"
            async with serve(bridge.join, "127.0.0.1", 0, **NO_LIMITS) as here:
                url = f"ws://127.0.0.1:{here.sockets[0].getsockname()[1]}"
                async with connect(url, **NO_LIMITS) as playwright:
                    await (beaten if answers else hung).wait()
                    await playwright.send(json.dumps({"id": 1, "method": "session.status"}))
                    told.append(json.loads(await playwright.recv()))
        return hung.is_set(), got, told

    return asyncio.run(run())


def test_a_firefox_that_answers_is_asked_and_playwright_hears_nothing_of_it() -> None:
    hung, got, told = driven(answers=True)
    assert not hung
    assert max(got) > OWN_IDS
    assert [each["id"] for each in told] == [1]


def test_a_firefox_that_stops_answering_is_found() -> None:
    hung, _, told = driven(answers=False)
    assert hung
    assert [each["id"] for each in told] == [1]


@pytest.mark.parametrize(
    ("outcomes", "hangs", "runs"),
    [([True], True, 1), ([True], False, 1), ([False], False, 1), ([False, True], True, 2)],
)
def test_only_a_test_that_failed_while_firefox_hung_runs_again(
    outcomes: list[bool], hangs: bool, runs: int
) -> None:
    said: list[str] = []
    left = [[SimpleNamespace(failed=not passed)] for passed in outcomes]
    reports = repeated_after_a_hang(lambda: left.pop(0), lambda: hangs, said.append)
    assert not left
    assert reports[0].failed is not outcomes[-1]
    assert len(said) == runs - 1
