"""Scripted raters that answer through the web process: as fast as it goes, or at people's pace."""

from __future__ import annotations

import asyncio
import gc
import json
import secrets
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from random import Random
from typing import Any

from benchmarks.client import Browser, Gone, Reply

REASON = {
    "text": "The rhythm is too even, and no breath is taken.",
    "keystrokes": 51,
    "pasted_chars": 0,
    "typing_ms": 9000,
}
TRIES, TIME_LIMIT_S = 30, 15.0


@dataclass
class Tally:
    """What was measured: milliseconds per kind of request, and whatever went wrong."""

    submit_ms: list[float] = field(default_factory=list)
    submit_at: list[float] = field(default_factory=list)  # when each was acknowledged, perf_counter
    acknowledged: dict[str, dict[str, str]] = field(default_factory=dict)  # trial: its labels
    clip_ms: list[float] = field(default_factory=list)
    clip_bytes: int = 0
    again: Counter[str] = field(default_factory=Counter)  # requests sent again, by the reason
    errors: Counter[str] = field(default_factory=Counter)


class ScriptedRater:
    """One session in one browser: it knows its code, its cookies, and the state it was given."""

    def __init__(
        self, browser: Browser, code: str, clip_cookie: tuple[str, str], tally: Tally
    ) -> None:
        self.code, self.tally = code, tally
        self.browser = browser
        token = secrets.token_hex(16)
        shared = f"Cookie: csrftoken={token}\r\nX-CSRFToken: {token}\r\n"
        self.headers = f"{shared}Accept: application/json\r\nContent-Type: application/json\r\n"
        self.clip_headers = f"Cookie: csrftoken={token}; {'='.join(clip_cookie)}\r\n"
        self.rng = Random(code)
        self.state: dict[str, Any] = {}
        self.clips: set[str] = set()

    async def load(self) -> None:
        reply = await self.browser.request("GET", f"/api/s/{self.code}/", self.headers)
        if reply.status != 200:
            raise RuntimeError(f"no state: {reply.status} {reply.body[:300]!r}")
        self.state = json.loads(reply.body)
        self.clips |= {clip for trial in self.state["trials"] for clip in trial["clips"]}

    @property
    def over(self) -> bool:
        return not self.state["trials"]

    async def answer(self, due: float | None = None) -> None:
        """Answer the current trial; the time counts from when the answer was due."""
        given = self._answer()
        body = json.dumps(given).encode()
        began = time.perf_counter() if due is None else due
        path = f"/api/s/{self.code}/answers/"
        reply = await self.ask("POST", path, self.headers, body)
        now = time.perf_counter()
        self.tally.submit_ms.append(1000 * (now - began))
        self.tally.submit_at.append(now)
        if reply.status in (200, 201):
            self.tally.acknowledged[given["trial"]] = given["answers"]
        else:
            self.tally.errors[_named(reply)] += 1
        if answer := json.loads(reply.body).get("state"):
            self.state = answer

    async def ask(self, method: str, path: str, headers: str, body: bytes | None = None) -> Reply:
        """Ask until the server replies, as the page does (`static/js/rater/api.js`)."""
        for tries in range(TRIES):
            if tries:
                await asyncio.sleep(min(2**tries / 4, 8) * self.rng.uniform(0.5, 1))
            try:
                async with asyncio.timeout(TIME_LIMIT_S):
                    reply = await self.browser.request(method, path, headers, body)
            except (Gone, OSError, TimeoutError) as error:
                self.browser.close()
                self.tally.again[type(error).__name__] += 1
                continue
            if reply.status < 500:
                return reply
            self.tally.again[str(reply.status)] += 1
        raise RuntimeError(f"{method} {path}: no reply after {TRIES} tries")

    def _answer(self) -> dict[str, Any]:
        trial = self.state["trials"][0]
        task = self.state["tasks"][trial["task"]]
        labels = {
            str(c["index"]): self.rng.choice(c["scale"]["steps"])["label"] for c in task["criteria"]
        }
        return {
            "trial": trial["id"],
            "answers": labels,
            "justification": REASON if task["justification"] else None,
            "latency_ms": 4200,
            "plays": 1,
            "heard_fraction": 1.0,
            "playback": {"stalls": 0, "hidden_ms": 0, "sample_rate_hz": 48000},
        }

    async def fetch_new_clips(self) -> None:
        for clip in [clip for trial in self.state["trials"] for clip in trial["clips"]]:
            if clip in self.clips:
                continue
            self.clips.add(clip)
            began = time.perf_counter()
            reply = await self.ask("GET", clip, self.clip_headers)
            self.tally.clip_ms.append(1000 * (time.perf_counter() - began))
            self.tally.clip_bytes += len(reply.body)
            if reply.status != 200:
                self.tally.errors[f"clip: {reply.status}"] += 1


def _named(reply: Reply) -> str:
    try:
        return f"submit: {reply.status} {json.loads(reply.body)['error']}"
    except (ValueError, KeyError, TypeError):
        return f"submit: {reply.status}"


def scripted(
    port: int, sessions: Iterable[Any], tally: Tally, host: str = "127.0.0.1"
) -> Iterator[ScriptedRater]:
    from listening import audio

    for session in sessions:
        cookie = audio.clip_cookie(session)
        yield ScriptedRater(Browser(port, host), session.code, cookie, tally)


def run_quietly(main: Any) -> None:
    """Runs a coroutine without pauses by the garbage collector, which would pass for latency."""
    gc.collect()
    gc.disable()
    try:
        asyncio.run(main)
    finally:
        gc.enable()


async def closed_loop(waiting: list[ScriptedRater], concurrent: int, seconds: float) -> float:
    """Each of `concurrent` raters answers again at once; seconds until the last one stopped."""
    began = time.perf_counter()
    deadline = began + seconds

    async def rate() -> None:
        rater: ScriptedRater | None = None
        while time.perf_counter() < deadline:
            if rater is None or rater.over:
                if rater:
                    rater.browser.close()
                rater = waiting.pop()
                await rater.load()
            await rater.answer()
        if rater and not rater.over:
            waiting.append(rater)  # goes on in the next round
            rater.browser.close()

    await asyncio.gather(*(rate() for _ in range(concurrent)))
    return time.perf_counter() - began


async def open_loop(
    raters: list[ScriptedRater], seconds: float, pause_s: tuple[float, float]
) -> float:
    """Each rater answers after a pause drawn anew each time, and then loads the next clip."""
    loaders = iter(raters)

    async def load() -> None:
        for rater in loaders:
            await rater.load()

    await asyncio.gather(*(load() for _ in range(16)))
    began = time.perf_counter() + 1
    deadline = began + seconds
    mean_s = sum(pause_s) / 2

    async def rate(rater: ScriptedRater) -> None:
        due = began + rater.rng.uniform(0, mean_s)  # the crowd is in its stride at once
        while due < deadline and not rater.over:
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            await rater.answer(due)
            await rater.fetch_new_clips()
            due = max(due, time.perf_counter() - pause_s[0]) + rater.rng.uniform(*pause_s)
        rater.browser.close()

    await asyncio.gather(*(rate(rater) for rater in raters))
    return time.perf_counter() - began
