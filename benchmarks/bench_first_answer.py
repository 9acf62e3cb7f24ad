"""How long the answer takes after a results page is opened for the first time, and all of it.

    python benchmarks/bench_first_answer.py [--port 8391] [--rounds 3]

A house of its own with web process and worker as the supervisor starts them; the worker is new in
each round, so its imports count. A script opens the page as a researcher does, and looks as often
as the page: the first screen stands when the page has its answer, the report when it is complete.
"""

from __future__ import annotations

import argparse
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.house import machine_facts, own_house, percentile, print_table, web_process

HEAD = ("study", "goal, first screen", "first screen", "worst", "complete", "worst")
LIMIT_S = 300.0
STUDIES = (  # name, systems, texts, raters, ratings of each, goal in seconds
    ("the demo's size: 6 systems, 840 ratings", 6, 10, 42, 20, 5.0),
    ("6 systems, 20,000 ratings", 6, 100, 500, 40, 15.0),
    ("20 systems, 20,000 ratings", 20, 100, 500, 40, 15.0),
)


@contextmanager
def worker() -> Iterator[None]:
    """The worker of jobs exactly as the supervisor starts it, gone afterwards."""
    from django.conf import settings

    from config.log_pipes import LogPipes
    from config.processes import spawn, stop
    from config.services import services

    var, pipes = settings.EARNEST_VAR, LogPipes()
    jobs = next(s for s in services(var, "", 0, 1, pipes) if s.name == "jobs")
    child = spawn(jobs.command, log=var / "logs" / "jobs.log", cwd=Path.cwd())
    try:
        deadline = time.monotonic() + LIMIT_S
        while " ready." not in (var / "logs" / "jobs.log").read_text().rpartition("Connected")[2]:
            if time.monotonic() > deadline:
                sys.exit("The worker does not start.")
            time.sleep(0.1)
        yield
    finally:
        stop([child], grace_s=10)
        (var / "logs" / "jobs.log").write_text("")


def rated_study(number: int, systems: int, items: int, raters: int, each: int) -> Any:
    """An open study with a MOS task whose ratings are stored as the raters' pages store them."""
    from benchmarks.rated_study import fill

    return fill(f"bench-{number}", systems, items, raters, each)


def opened(client: Any, key: str) -> tuple[float, float]:
    """Seconds to the first screen and to the complete report."""
    url, began, first = f"/studies/{key}/results/", time.perf_counter(), 0.0
    while time.perf_counter() - began < LIMIT_S:
        text = client.get(url if not first else f"{url}state/").text
        if not first:
            first = time.perf_counter() - began if "The answer</h2>" in text else 0.0
        if "The last analysis failed" in text:
            sys.exit(re.sub("<[^>]+>", "", text)[-3000:])
        if first and "data-state=" not in text:
            return first, time.perf_counter() - began
        time.sleep(1.0)  # as often as the page
    sys.exit("No answer came.")
