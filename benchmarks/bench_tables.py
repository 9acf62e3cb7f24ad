"""The tables of a study with 1,000,000 ratings: server time of each page and file."""

from __future__ import annotations

import argparse
import os
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import psutil

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.house import machine_facts, own_house, percentile, print_table, web_process
from benchmarks.rated_study import rated_study

GOAL_MS = 300
STUDY = "/studies/million/"
RATINGS = f"{STUDY}ratings/"
PAGES = {
    "list of studies": "/studies/",
    "list of studies, searched": "/studies/?q=small&sort=key",
    "study": STUDY,
    "clips, first page": f"{STUDY}results/clips/",
    "clips, last page": f"{STUDY}results/clips/?page=100",
    "clips of one system": f"{STUDY}results/clips/?condition=cond-7",
    "ratings, newest": RATINGS,
    "ratings, page 400": f"{RATINGS}?page=400",
    "ratings, oldest first": f"{RATINGS}?sort=when",
    "ratings, sorted by answer": f"{RATINGS}?sort=-answer",
    "ratings of one system": f"{RATINGS}?condition=cond-7",
    "ratings of one clip, by answer": f"{RATINGS}?clip=cond-7_item-33&sort=answer",
    "ratings of one rater": f"{RATINGS}?rater={{rater}}",
    "ratings, answer 5": f"{RATINGS}?from=5",
    "ratings, answer none gave": f"{RATINGS}?from=6",
    "ratings with a reason": f"{RATINGS}?reason=with",
    "ratings of traps": f"{RATINGS}?use=trap",
    "ratings of rejected sessions": f"{RATINGS}?use=rejected",
    "ratings, left out for whatever": f"{RATINGS}?use=left_out",
    "ratings, counted": f"{RATINGS}?use=counts",
    "ratings of a day": f"{RATINGS}?since={{day}}&until={{day}}",
    "ratings within 1 s (none)": f"{RATINGS}?faster=0.1",
    "log": f"{STUDY}log/",
    "log, last page": f"{STUDY}log/?page=200",
}
FILES = {
    "ratings.csv, all": f"{STUDY}results/ratings.csv",
    "ratings.csv of one system": f"{STUDY}results/ratings.csv?condition=cond-7",
    "ratings.csv of one clip": f"{STUDY}results/ratings.csv?clip=cond-7_item-33",
}


def memory_mb(web: psutil.Process) -> float:
    return sum(p.memory_info().rss for p in (web, *web.children(recursive=True))) / 1e6


def statements_of(client: Any, path: str) -> int:
    """How many SQL statements a page takes when nothing of it is kept."""
    from django.db import connection

    count = 0

    def counted(execute: Any, *args: Any) -> Any:
        nonlocal count
        count += 1
        return execute(*args)

    with connection.execute_wrapper(counted):
        client.get(path)
    return count


def page_rows(client: Any, browser: httpx.Client, study: int, rounds: int) -> list[list[object]]:
    """Each page as the web process sends it; its first request stands alone."""
    rows: list[list[object]] = []
    day = (datetime.now(UTC) - timedelta(days=20)).strftime("%Y-%m-%d")
    for name, pattern in PAGES.items():
        path, took = pattern.format(day=day, rater=f"r{study}-77"), []
        for _ in range(rounds + 1):
            began = time.perf_counter()
            reply = browser.get(path)
            took.append(1000 * (time.perf_counter() - began))
            reply.raise_for_status()
        statements = statements_of(client, path)
        first, again = took[0], took[1:]
        size = len(reply.content) / 1000
        within = "yes" if max(percentile(again, 0.5), first) < GOAL_MS else "NO"
        rows.append([name, first, percentile(again, 0.5), max(again), statements, size, within])
    return rows


def file_rows(browser: httpx.Client, web: psutil.Process) -> list[list[object]]:
    """Each file, streamed: when its first bytes come, how long it takes, its memory in the web."""
    rows: list[list[object]] = []
    for name, path in FILES.items():
        began, before, most, size, first_ms = time.perf_counter(), memory_mb(web), 0.0, 0, 0.0
        with browser.stream("GET", path) as reply:
            reply.raise_for_status()
            looked = began
            for piece in reply.iter_raw():
                first_ms = first_ms or 1000 * (time.perf_counter() - began)
                size += len(piece)
                if time.perf_counter() - looked > 0.2:
                    looked = time.perf_counter()
                    most = max(most, memory_mb(web))
        took = time.perf_counter() - began
        rows.append([name, first_ms, took, size / 1e6, max(most, before) - before])
    return rows


def made(ratings: int, others: int) -> Any:
    """The big study, and small ones beside it in the list."""
    from django.db import connection

    began = time.perf_counter()
    for number in range(others):
        rated_study(f"small-{number:02}", 2000)
    study = rated_study("million", ratings, events=10_000)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")
    print(f"made in {time.perf_counter() - began:.0f} s", flush=True)
    return study


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="100,000 ratings")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--port", type=int, default=8143)
    options = parser.parse_args()
    ratings, others = (100_000, 9) if options.quick else (1_000_000, 49)
    with own_house(options.port, 1):
        from django.conf import settings
        from django.test import Client

        from config.run.preparation import collect_static

        collect_static()
        settings.ALLOWED_HOSTS = ["*"]  # Django's own test client counts the statements
        facts = machine_facts()
        client, study = Client(), made(ratings, others)
        client.force_login(study.owner)
        cookies = {name: morsel.value for name, morsel in client.cookies.items()}
        address = f"http://localhost:{options.port}"
        with (
            web_process() as web,
            httpx.Client(base_url=address, cookies=cookies, timeout=120) as browser,
        ):
            pages = page_rows(client, browser, study.pk, options.rounds)
            files = file_rows(browser, web)
        print(f"\n{facts}; load average at the end {os.getloadavg()[0]:.1f}")
        head = ("page", "first ms", "p50 ms", "max ms", "SQL", "kB", f"under {GOAL_MS} ms")
        print_table(head, pages)
        print_table(("file", "first bytes ms", "s", "MB", "web + MB"), files)


if __name__ == "__main__":
    main()
