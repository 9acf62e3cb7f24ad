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

import httpx
import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.house import (
    BASE_DIR,
    machine_facts,
    own_house,
    percentile,
    print_table,
    web_process,
)

HEAD = ("study", "goal, first screen", "first screen", "worst", "complete", "worst")
LIMIT_S = 300.0
STUDIES = (  # name, systems, texts, raters, blocks of ten for each, goal in seconds
    ("6 systems, 840 ratings, as the demo", 6, 10, 42, 2, 5.0),
    ("6 systems, 20,000 ratings", 6, 100, 500, 4, 15.0),
    ("20 systems, 20,000 ratings", 20, 100, 500, 4, 15.0),
)


@contextmanager
def worker() -> Iterator[None]:
    """A new worker of jobs, as the supervisor starts it; gone afterwards."""
    from django.conf import settings

    from config.run.processes import spawn, stop
    from config.run.supervisor import jobs_command

    log = settings.EARNEST_VAR / "logs" / "jobs.log"
    log.unlink(missing_ok=True)
    child = spawn(jobs_command(), log=log, cwd=BASE_DIR)
    try:
        deadline = time.monotonic() + LIMIT_S
        while not (log.exists() and " ready." in log.read_text()):
            if child.poll() is not None or time.monotonic() > deadline:
                sys.exit("The worker does not start.")
            time.sleep(0.1)
        yield
    finally:
        stop([child], grace_s=10)


def rated_study(key: str, systems: int, items: int, raters: int, blocks_each: int) -> Any:
    """An open study with a MOS task; raters have rated whole blocks of ten, others are to come."""
    from django.conf import settings

    from benchmarks.material import add_task, make_study, write_clips
    from listening.models import Block, Rater, Session
    from listening.sessions import allocation

    study = make_study(
        key,
        conditions=systems,
        items=items,
        clips=write_clips(settings.EARNEST_VAR / "media", 1),
    )
    needed = raters * blocks_each * 10 // (systems * items) + 2
    task = add_task(study, "mos", ratings_per_stimulus=needed)
    allocation.plan_study(study)
    rng = np.random.default_rng(1)
    level = rng.normal(3.2, 0.5, systems)
    blocks = iter(Block.objects.filter(task=task).order_by("ord"))
    people = Rater.objects.bulk_create([Rater(simulated=True) for _ in range(raters)])
    sessions = Session.objects.bulk_create(
        [
            Session(rater=r, study=study, status=Session.Status.FINISHED, finished_at=now())
            for r in people
        ]
    )
    for session in sessions:
        mine = [next(blocks).pk for _ in range(blocks_each)]
        _rate(session, task, mine, level + rng.normal(0, 0.4), rng)
    return study


def _rate(session: Any, task: Any, blocks: list[int], level: Any, rng: Any) -> None:
    from django.db import transaction

    from listening.models import Block, Rating, Slot, Trial

    slots = list(Slot.objects.filter(block__in=blocks).select_related("stimulus__condition"))
    same = {"session": session, "rater_id": session.rater_id, "task": task, "plays": 1}
    same |= {"state": Trial.State.ANSWERED, "answered_at": now(), "heard_fraction": 1.0}
    trials = Trial.objects.bulk_create(
        Trial(
            **same,
            block_id=slot.block_id,
            slot=slot,
            position=place,
            stimulus=slot.stimulus,
            item_id=slot.stimulus.item_id,
            latency_ms=int(rng.integers(2000, 9000)),
        )
        for place, slot in enumerate(slots)
    )
    criterion, ratings = task.criteria.get(), []
    for trial, slot in zip(trials, slots, strict=True):
        system = int(slot.stimulus.condition.key.removeprefix("cond-"))
        score = int(np.clip(np.rint(level[system] + rng.normal(0, 0.8)), 1, 5))
        given = {"label": str(score), "score": score, "counts": True}
        ratings.append(
            Rating(trial=trial, slot=slot, criterion=criterion, stimulus=slot.stimulus, **given)
        )
    with transaction.atomic():  # a block that is done has its ratings: the database sees to it
        Rating.objects.bulk_create(ratings)
        Block.objects.filter(pk__in=blocks).update(state=Block.State.DONE, session=session)


def now() -> Any:
    from django.utils import timezone

    return timezone.now()


def opened(client: Any, key: str) -> tuple[float, float]:
    """Seconds to the first screen and to the complete report."""
    url, began, first = f"/studies/{key}/results/", time.perf_counter(), 0.0
    while time.perf_counter() - began < LIMIT_S:
        answer = client.get(url if not first else f"{url}state/")
        answer.raise_for_status()
        text = answer.text
        if not first:
            first = time.perf_counter() - began if "The answer</h2>" in text else 0.0
        if "The last analysis failed" in text:
            sys.exit(re.sub("<[^>]+>", "", text)[-3000:])
        if first and "data-state=" not in text:
            return first, time.perf_counter() - began
        time.sleep(1.0)  # as often as the page
    sys.exit("No answer came.")


def logged_in(port: int) -> httpx.Client:
    """A researcher's browser, logged in."""
    from django.conf import settings
    from django.contrib.auth.models import User
    from django.test import Client

    known = Client()
    known.force_login(User.objects.get(username="researcher"))
    name = settings.SESSION_COOKIE_NAME
    cookies = {name: known.cookies[name].value}
    return httpx.Client(base_url=f"http://127.0.0.1:{port}", cookies=cookies, timeout=60)


def rows(port: int, rounds: int) -> Iterator[list[object]]:
    from analysis.models import AnalysisRun

    for number, (name, systems, items, raters, blocks, goal_s) in enumerate(STUDIES):
        study = rated_study(f"bench-{number}", systems, items, raters, blocks)
        client, times = logged_in(port), []
        for _ in range(rounds):
            AnalysisRun.objects.all().delete()
            with worker():
                times.append(opened(client, study.key))
        first, complete = zip(*times, strict=True)
        yield [
            *(name, f"{goal_s:g} s"),
            *(percentile(first, 0.5), max(first), percentile(complete, 0.5), max(complete)),
        ]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--port", type=int, default=8391)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    with own_house(options.port, 1):
        from django.core.management import call_command

        call_command("collectstatic", interactive=False, verbosity=0)
        measure(options.port, options.rounds)


def measure(port: int, rounds: int) -> None:
    with web_process():
        print(machine_facts())
        print_table(HEAD, list(rows(port, rounds)))


if __name__ == "__main__":
    main()
