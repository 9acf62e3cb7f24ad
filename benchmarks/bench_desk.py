"""The recruiting desk of a study with 5,000 submissions: its pages, a look at Prolific, approval.

Prolific is the double of the tests, a program of its own on this machine.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import psutil

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.house import machine_facts, own_house, percentile, print_table, web_process
from benchmarks.material import demo_like_study
from tests.play_money import TOKEN, Double

CODES = {"complete": "COMPLETE1", "screened_out": "SCREENED1", "no_consent": "NOCONSENT"}
PAGES = {
    "first page of all": "",
    "last page of all": "?page={last}",
    "to decide": "?show=todo",
    "mismatches": "?show=mismatch",
}
ANSWERED = """
UPDATE listening_trial SET state = 'answered', answered_at = now(), latency_ms = 2000, plays = 1,
    heard_fraction = 1, playback = '{"stalls": 0, "pointer_jumps": 0}', trap_passed = (
        CASE WHEN trap = '' THEN NULL ELSE id % 10 > 0 END);
INSERT INTO listening_justification (trial_id, text)
    SELECT id, 'the pauses of clip ' || id || ' are too even' FROM listening_trial WHERE trap = '';
UPDATE listening_session SET status = 'finished', finished_at = started_at
    + make_interval(mins => 9, secs => (id % 240)::int);
ANALYZE;
"""


def published(study: Any, places: int, double: Double) -> Any:
    """A live recruitment of the study at the double."""
    from listening.recruitment import connecting, drafting, syncing
    from listening.recruitment.plan import Plan

    study.completion_codes = CODES
    study.save(update_fields=["completion_codes"])
    connection = connecting.connect(study.owner, TOKEN)
    plan = Plan("Clips", "<p>Headphones.</p>", places, minutes=12, hourly_minor=900, currency="GBP")
    recruitment = drafting.start_plan(study, connection, plan)
    drafting.send_draft(recruitment)
    drafting.publish(recruitment)
    double.settle()
    syncing.sync(recruitment)
    return recruitment


def send(double: Double, recruitment: Any, count: int) -> None:
    """Participants with their sessions, all clips answered; one in ten hands in without a code."""
    from django.db import connection

    from listening.sessions import lifecycle
    from listening.sessions.lifecycle import Arrival

    for number, person in enumerate(double.participants(count)):
        submission = double.reserve(recruitment.prolific_study, person)
        query = parse_qs(urlsplit(double.start(submission)).query)
        arrival = Arrival(
            prolific_id=query["PROLIFIC_PID"][0],
            prolific_study=query["STUDY_ID"][0],
            prolific_session=query["SESSION_ID"][0],
        )
        lifecycle.start(recruitment.study, arrival)
        double.submit(submission, CODES["complete"] if number % 10 else None)
    with connection.cursor() as cursor:
        cursor.execute(ANSWERED)


def told(action: Callable[[], object]) -> list[object]:
    """Seconds, CPU seconds of this process, requests to Prolific and SQL statements of it."""
    from django.db import connection

    from listening.recruitment.prolific import Prolific

    asked, statements = 0, 0
    once = Prolific._once

    def counted(self: Prolific, *args: Any) -> Any:
        nonlocal asked
        asked += 1
        return once(self, *args)

    def statement(execute: Any, *args: Any) -> Any:
        nonlocal statements
        statements += 1
        return execute(*args)

    Prolific._once = counted  # type: ignore[method-assign]
    began, cpu = time.perf_counter(), time.process_time()
    try:
        with connection.execute_wrapper(statement):
            action()
    finally:
        Prolific._once = once  # type: ignore[method-assign]
    return [time.perf_counter() - began, time.process_time() - cpu, asked, statements]


def page_rows(study: Any, port: int, count: int, rounds: int) -> list[list[object]]:
    """Each page as the web process sends it, the first request of each left out."""
    from django.test import Client

    client = Client()
    client.force_login(study.owner)
    cookies = {name: morsel.value for name, morsel in client.cookies.items()}
    rows: list[list[object]] = []
    with (
        web_process() as web,
        httpx.Client(base_url=f"http://localhost:{port}", cookies=cookies, timeout=60) as browser,
    ):
        for name, query in PAGES.items():
            path = f"/studies/{study.key}/recruiting/" + query.format(last=count // 50)
            took, before = [], psutil.Process(web.pid)
            for number in range(rounds + 1):
                began = time.perf_counter()
                reply = browser.get(path)
                reply.raise_for_status()
                took += [1000 * (time.perf_counter() - began)] if number else []
            memory = sum(p.memory_info().rss for p in (before, *before.children(recursive=True)))
            statements = told(lambda path=path: client.get(path))[3]  # type: ignore[misc]
            size = len(reply.content) / 1000
            rows.append([name, percentile(took, 0.5), max(took), statements, size, memory / 1e6])
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="500 submissions")
    parser.add_argument("--port", type=int, default=8142)
    options = parser.parse_args()
    count, rounds = (500, 5) if options.quick else (5000, 10)
    balance = ("--balance", str(count * 1000))
    with own_house(options.port, 1), Double.running(None, *balance) as double:
        from django.conf import settings

        from config.run.preparation import collect_static
        from listening.recruitment import deciding, syncing

        collect_static()
        settings.EARNEST_PROLIFIC_API = double.url
        settings.ALLOWED_HOSTS = ["*"]  # Django's own test client counts the statements
        facts = machine_facts()
        recruitment = published(demo_like_study([], count), count, double)
        began = time.perf_counter()
        send(double, recruitment, count)
        print(f"{count} came and went in {time.perf_counter() - began:.0f} s", flush=True)
        acts = [
            ["first look: all are new", *told(lambda: syncing.sync(recruitment))],
            ["second look: nothing is new", *told(lambda: syncing.sync(recruitment))],
        ]
        pages = page_rows(recruitment.study, options.port, count, rounds)
        acts.append(["approve all", *told(lambda: deciding.approve_many(recruitment, "ada"))])
        double.settle()
        acts.append(["look: all are approved", *told(lambda: syncing.sync(recruitment))])
        print(f"\n{facts}; load average at the end {os.getloadavg()[0]:.1f}")
        print_table(("page", "p50 ms", "max ms", "SQL", "kB", "web MB"), pages)
        print_table(("what", "s", "own CPU s", "requests", "SQL"), acts)


if __name__ == "__main__":
    main()
