"""What raters feel of a flood of log-in attempts: their wait without it and with 200 a second."""

from __future__ import annotations

import argparse
import asyncio
import itertools
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import httpx

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.house import machine_facts, own_house, percentile, print_table, web_process
from benchmarks.material import demo_like_study, write_clips

RATERS = 24
PAUSE_S = 0.25
HEAD = ("load", "log-ins/s", "answered", "raters' requests", "p50 ms", "p99 ms", "max ms")


async def raters(base: str, codes: list[str], seconds: float) -> list[float]:
    """Milliseconds of each look at a session's state, while all of them go on."""
    waits: list[float] = []
    end = time.perf_counter() + seconds

    async def rate(client: httpx.AsyncClient, code: str) -> None:
        while time.perf_counter() < end:
            began = time.perf_counter()
            response = await client.get(f"/api/s/{code}/")
            assert response.status_code == 200, response.status_code
            waits.append(1000 * (time.perf_counter() - began))
            await asyncio.sleep(PAUSE_S)

    async with httpx.AsyncClient(base_url=base, timeout=60) as client:
        await asyncio.gather(*(rate(client, code) for code in codes))
    return waits


async def flood(base: str, per_second: float, until: asyncio.Event) -> Counter[int]:
    """Log-in attempts at that pace, whether they are answered or not; their statuses."""
    statuses: Counter[int] = Counter()
    tasks: set[asyncio.Task[None]] = set()
    limits = httpx.Limits(max_connections=400)
    async with httpx.AsyncClient(base_url=base, timeout=60, limits=limits) as client:
        page = await client.get("/login/")
        assert page.status_code == 200, page.text
        token = client.cookies["csrftoken"]

        async def attempt(n: int) -> None:
            form = {"username": f"name-{n}", "password": "x", "csrfmiddlewaretoken": token}
            try:
                statuses[(await client.post("/login/", data=form)).status_code] += 1
            except httpx.HTTPError:
                statuses[0] += 1

        for n in itertools.count():
            if until.is_set():
                break
            task = asyncio.create_task(attempt(n))
            tasks.add(task)
            task.add_done_callback(tasks.discard)
            await asyncio.sleep(1 / per_second)
        await asyncio.gather(*tasks)
    return statuses


async def measured(
    load: str, run: Callable[[], Awaitable[list[float]]], base: str, per_second: float
) -> list[object]:
    stop = asyncio.Event()
    attack = asyncio.create_task(flood(base, per_second, stop)) if per_second else None
    began = time.perf_counter()
    waits = await run()
    seconds = time.perf_counter() - began
    stop.set()
    statuses = await attack if attack else Counter[int]()
    return [
        load,
        round(sum(statuses.values()) / seconds),
        ", ".join(f"{status}: {count}" for status, count in sorted(statuses.items())) or "–",
        len(waits),
        *(round(percentile(waits, share), 1) for share in (0.5, 0.99)),
        round(max(waits), 1),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--port", type=int, default=8790)
    options = parser.parse_args()
    with own_house(options.port, 1):
        from django.conf import settings

        from config.run.preparation import collect_static
        from listening.sessions import lifecycle
        from listening.sessions.lifecycle import Arrival

        study = demo_like_study(write_clips(settings.MEDIA_ROOT, 20), RATERS)
        made = [lifecycle.start(study, Arrival(simulated=True)) for _ in range(RATERS)]
        collect_static()  # the log-in page names its styles
        print(machine_facts())
        base = f"http://127.0.0.1:{options.port}"
        rows: list[Any] = []
        with web_process():

            async def run() -> list[float]:
                return await raters(base, [session.code for session in made], options.seconds)

            asyncio.run(raters(base, [made[0].code], 2))  # warm
            for load, per_second in (("quiet", 0), ("flood", 200), ("quiet again", 0)):
                rows.append(asyncio.run(measured(load, run, base, per_second)))
        print_table(HEAD, rows)


if __name__ == "__main__":
    main()
