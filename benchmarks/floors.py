"""What storing an answer costs at least: psycopg alone, and a minimal ASGI handler before it.

Both store the same two rows, durably: what became of a trial, and its rating. They check nothing,
ask nobody, and know no next state. This file is also the application that granian serves.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import psycopg
from msgspec.json import decode

from benchmarks.client import Browser
from benchmarks.house import wait_until_answers
from benchmarks.raters import REASON, Tally
from listening.common.asgi import Receive, Scope, Send

TABLES = """
CREATE TABLE floor_trial (id bigint PRIMARY KEY, state text, answered_at timestamptz,
    latency_ms integer, plays smallint, heard_fraction float8, playback jsonb, reason text);
CREATE TABLE floor_rating (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    trial_id bigint NOT NULL, label text, score float8, rated_at timestamptz);
INSERT INTO floor_trial SELECT g, 'planned' FROM generate_series(1, 1000000) g;
"""
STORE = """
WITH answered AS (UPDATE floor_trial SET state = 'answered', answered_at = statement_timestamp(),
    latency_ms = %(latency_ms)s, plays = %(plays)s, heard_fraction = %(heard_fraction)s,
    playback = %(playback)s::jsonb, reason = %(reason)s WHERE id = %(trial)s RETURNING id)
INSERT INTO floor_rating (trial_id, label, score, rated_at)
SELECT id, %(label)s, 1, statement_timestamp() FROM answered
"""
BODY = (
    b'{"trial":%d,"answers":{"0":"Human"},"justification":{"text":"'
    + REASON["text"].encode()
    + b'","keystrokes":51,"pasted_chars":0,"typing_ms":9000},"latency_ms":4200,"plays":1,'
    b'"heard_fraction":1.0,"playback":{"stalls":0,"hidden_ms":0,"sample_rate_hz":48000}}'
)
CONNECTIONS = 32
ADDRESS = "EARNEST_FLOOR_DATABASE"


async def store(connection: psycopg.AsyncConnection[object], body: bytes) -> None:
    sent = decode(body)
    values = {name: sent[name] for name in ("trial", "latency_ms", "plays", "heard_fraction")}
    reason, playback = sent["justification"]["text"], '{"stalls":0,"hidden_ms":0}'
    values |= {"label": sent["answers"]["0"], "reason": reason, "playback": playback}
    await connection.execute(STORE, values, prepare=True)


# --- The handler that granian serves -------------------------------------------------------------

_free: asyncio.Queue[psycopg.AsyncConnection[object]] = asyncio.Queue()
_made: list[bool] = []


async def application(scope: Scope, receive: Receive, send: Send) -> None:
    """Reads the body, stores two rows, says so."""
    if scope["type"] != "http":
        return
    if not _made:
        _made.append(True)
        for _ in range(CONNECTIONS):
            _free.put_nowait(await connected(os.environ[ADDRESS]))
    body, more = b"", scope["method"] == "POST"
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    if body:
        connection = await _free.get()
        try:
            await store(connection, body)
        finally:
            _free.put_nowait(connection)
    headers = [(b"content-type", b"application/json"), (b"content-length", b"15")]
    await send({"type": "http.response.start", "status": 201, "headers": headers})
    await send({"type": "http.response.body", "body": b'{"stored":true}'})


async def connected(address: str) -> psycopg.AsyncConnection[object]:
    connection = await psycopg.AsyncConnection.connect(address, autocommit=True)
    connection.prepare_threshold = 0
    return connection  # type: ignore[return-value]  # rows are read by nobody


@contextmanager
def floor_server(address: str, port: int, log: Path) -> Iterator[psutil.Process]:
    """The handler, served as Earnest is: granian, one process."""
    from config.run.supervisor import web_command

    command = web_command("127.0.0.1", port, 1, "benchmarks.floors:application")
    with log.open("wb") as output:
        child = subprocess.Popen(
            command,
            env=os.environ | {ADDRESS: address},
            stdout=output,
            stderr=output,
            cwd=Path(__file__).resolve().parent.parent,
        )
    try:
        wait_until_answers(port, "/", child, log)
        yield psutil.Process(child.pid)
    finally:
        child.terminate()
        child.wait(20)


# --- Their loops ---------------------------------------------------------------------------------


class Trials:
    """Numbers of trials that are still to be answered."""

    def __init__(self) -> None:
        self.next = 0

    def body(self) -> bytes:
        self.next += 1
        return BODY % self.next


async def floor_loop(
    trials: Trials, port: int, seconds: float, tally: Tally, begin: Callable[[], None]
) -> float:
    """As many raters as connections, each over HTTP, answering again at once."""
    kind = "Accept: application/json\r\nContent-Type: application/json\r\n"
    browsers = [Browser(port) for _ in range(CONNECTIONS)]

    async def send(browser: Browser) -> None:
        reply = await browser.request("POST", "/", kind, trials.body())
        if reply.status != 201:
            tally.errors[str(reply.status)] += 1

    took = await _looped([lambda b=b: send(b) for b in browsers], seconds, tally, begin)
    for browser in browsers:
        browser.close()
    return took


async def psycopg_loop(
    trials: Trials, address: str, seconds: float, tally: Tally, begin: Callable[[], None]
) -> float:
    """The same statement from as many connections, without HTTP."""
    held = [await connected(address) for _ in range(CONNECTIONS)]
    took = await _looped([lambda c=c: store(c, trials.body()) for c in held], seconds, tally, begin)
    for connection in held:
        await connection.close()
    return took


async def _looped(
    doors: list[Callable[[], object]], seconds: float, tally: Tally, begin: Callable[[], None]
) -> float:
    begin()
    began = time.perf_counter()

    async def go_on(door: Callable[[], object]) -> None:
        while (at := time.perf_counter()) < began + seconds:
            await door()  # type: ignore[misc]  # a coroutine
            tally.submit_ms.append(1000 * (time.perf_counter() - at))

    await asyncio.gather(*(go_on(door) for door in doors))
    return time.perf_counter() - began
