"""Durable rating submissions per second through the real web process: 32 and 2,000 raters."""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.house import (
    Meter,
    family,
    machine_facts,
    own_house,
    percentile,
    postgres_of,
    print_table,
    web_process,
)
from benchmarks.material import demo_like_study, write_clips
from benchmarks.raters import Tally, closed_loop, open_loop, run_quietly, scripted

HEAD = ("load", "answers", "answers/s", "p50 ms", "p99 ms", "max ms", "errors")
CPU_HEAD = ("web CPU ms/answer", "PostgreSQL CPU ms/answer", "client CPU ms/answer", "cores used")
PAUSE_S = (15.0, 45.0)


def start_sessions(study: Any, count: int) -> list[Any]:
    from listening.sessions import lifecycle
    from listening.sessions.lifecycle import Arrival

    began = time.perf_counter()
    made = [lifecycle.start(study, Arrival(simulated=True)) for _ in range(count)]
    print(f"{count} sessions started in {time.perf_counter() - began:.1f} s", flush=True)
    return made


def measured(var: Path, web: psutil.Process, tally: Tally, run: Any) -> list[object]:
    """One row: the load's answers, their latency, and who used how much CPU."""
    groups: dict[str, Callable[[], list[psutil.Process]]] = {
        "web": lambda: family(web),
        "postgres": lambda: postgres_of(var),
        "client": lambda: [psutil.Process()],
    }
    seconds: list[float] = []

    async def timed() -> None:
        seconds.append(await run)

    meter = Meter(**groups)
    run_quietly(timed())
    used = meter.read()
    count = len(tally.submit_ms)
    per_answer = [1000 * used[name] / count for name in groups]
    return [
        *(count, count / seconds[0]),
        *(percentile(tally.submit_ms, share) for share in (0.5, 0.99, 1.0)),
        ", ".join(f"{n} × {what}" for what, n in tally.errors.items()) or "0",
        *per_answer,
        sum(used.values()) / seconds[0],
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a minute in all, not five")
    parser.add_argument("--port", type=int, default=8140)
    parser.add_argument("--workers", type=int, default=1, help="web processes")
    parser.add_argument("--raters", type=int, default=2000, help="in the open loop")
    parser.add_argument("--only", choices=("closed", "open"))
    options = parser.parse_args()
    seconds = 5.0 if options.quick else 20.0
    rounds = 2 if options.quick else 4
    crowd = min(options.raters, 300) if options.quick else options.raters
    crowd_s = 20.0 if options.quick else 90.0
    with own_house(options.port, options.workers) as var:
        from django.conf import settings

        facts = machine_facts()
        clips = write_clips(settings.MEDIA_ROOT, 20)
        fast = int(rounds * seconds * 120) if options.only != "open" else 0
        crowd = crowd if options.only != "closed" else 0
        study = demo_like_study(clips, fast + crowd)
        started = start_sessions(study, fast + crowd)
        rows: list[list[object]] = []
        with web_process() as web:
            for number in range(rounds if fast else 0):
                tally = Tally()
                if number == 0:
                    waiting = list(scripted(options.port, started[:fast], tally))
                for rater in waiting:
                    rater.tally = tally
                run = closed_loop(waiting, 32, seconds)
                rows.append([f"32 at once, round {number + 1}", *measured(var, web, tally, run)])
                print(rows[-1], flush=True)
            if crowd:
                tally = Tally()
                raters = list(scripted(options.port, started[fast:], tally))
                run = open_loop(raters, crowd_s, PAUSE_S)
                rows.append([f"{crowd} people, {PAUSE_S} s", *measured(var, web, tally, run)])
                ends = [f"{percentile(tally.clip_ms, share):.1f} ms" for share in (0.5, 0.99)]
                print(
                    f"{len(tally.clip_ms)} clips, {tally.clip_bytes / 1024**2:.0f} MB: "
                    f"p50 {ends[0]}, p99 {ends[1]}; {tally.again.total()} requests were sent again"
                )
        print(f"\n{facts}; load average at the end {os.getloadavg()[0]:.1f}")
        print_table((*HEAD, *CPU_HEAD), rows)


if __name__ == "__main__":
    main()
