"""Claims per second, and how long one takes, at 1e4, 1e5 and 1e6 planned ratings.

With --pairs: at 1e5 comparisons of 30 systems, of fixed pairs and of pairs that each claim draws.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.house import machine_facts, own_house, percentile, print_table
from benchmarks.material import add_task, make_study

CONDITIONS, RATINGS_PER_STIMULUS, BLOCK_SIZE = 20, 10, 10
PROCESSES, CONNECTIONS = 4, 8  # connections per process
SYSTEMS, ITEMS, OF_EACH_PAIR = 30, 23, 10  # of a comparison: 100,050 slots
FIXED, DRAWN = "bench_all", "bench_adaptive"  # databases of comparisons, by the rule of pairs
KINDS = ("claim", "start")  # allocation.claim_blocks alone, or the whole sessions.start


@dataclass(frozen=True)
class Load:
    """What one round does: how many connections ask, how often, for how long, at most how often."""

    kind: str
    processes: int
    connections: int  # per process
    per_second: float  # claims asked for by all together; 0: each asks again at once
    seconds: float
    at_most: int  # claims of all together: the study must not run out of blocks


@dataclass
class Times:
    """What one connection measured."""

    each_ms: list[float] = field(default_factory=list)
    took_s: float = 0.0


# --- In the processes that claim -----------------------------------------------------------------


def use_database(name: str) -> None:
    """Django of this process, connected to one of the benchmark's databases."""
    import django
    from django.conf import settings

    settings.DATABASES["default"]["NAME"] = name
    django.setup()


def claimer(database: str, load: Load, number: int, ready: Any, results: Any) -> None:
    """One process: its threads claim until the time is over; sends their times or a failure."""
    use_database(database)
    told: list[Times | str] = []
    threads = [
        threading.Thread(
            target=lambda n: told.append(claim_until(load, n, ready)),
            args=(number * load.connections + n,),
        )
        for n in range(load.connections)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    results.put(told)


def claim_until(load: Load, number: int, ready: Any) -> Times | str:
    """One connection. With a rate, a claim's time counts from when it was due."""
    from django.db import connection

    workers = load.processes * load.connections
    rng, times = Random(number), Times()
    try:
        claim = CLAIMS[load.kind](number)
        claim()  # opens the connection and fills the caches
        ready.wait(120)
        due = began = time.perf_counter()
        for _ in range(load.at_most // workers):
            if load.per_second:
                due += rng.expovariate(load.per_second / workers)
            else:
                due = time.perf_counter()
            if due > began + load.seconds:
                break
            time.sleep(max(0.0, due - time.perf_counter()))
            claim()
            times.each_ms.append(1000 * (time.perf_counter() - due))
        times.took_s = time.perf_counter() - began
        return times
    except Exception as error:  # told to the parent, which stops the benchmark
        ready.abort()
        return f"{type(error).__name__}: {error}"
    finally:
        connection.close()


def claim_of(number: int) -> Callable[[], None]:
    """`allocation.claim_blocks` in a transaction of its own, for raters that are new each time."""
    from django.db import transaction

    from listening.models import Session, Study
    from listening.sessions import allocation, pair_draws

    study = Study.objects.get()
    task = study.tasks.get()
    draws = pair_draws.is_drawn_at_claim(task)
    session = Session.objects.exclude(consent_version="earlier").order_by("pk")[number]
    rng = Random(number)

    def claim() -> None:
        with transaction.atomic():
            claimed = allocation.claim_blocks(
                task, session=session.pk, rater=session.rater_id, lease_s=3600, wanted=1, rng=rng
            )
            if draws:
                pair_draws.draw_pairs(task, claimed, session.rater_id, rng)
        if not claimed:
            raise RuntimeError("the study has no open block left")

    return claim


def start_of(number: int) -> Callable[[], None]:
    """The whole of a rater's start: rater, session, block and trials, in one transaction."""
    from listening.models import Study
    from listening.sessions import lifecycle
    from listening.sessions.lifecycle import Arrival

    study = Study.objects.get()

    def start() -> None:
        lifecycle.start(study, Arrival(simulated=True))

    return start


CLAIMS = {"claim": claim_of, "start": start_of}


# --- In the parent -------------------------------------------------------------------------------


# Every other block is somebody's, with its trials, so that all tables are as long as half-way
# through the study; foreign keys are not looked up meanwhile (the rows are made from each other).
HALF_TAKEN = """
SET session_replication_role = replica;
CREATE TEMP TABLE taken AS SELECT id AS block, row_number() OVER (ORDER BY ord) AS n
    FROM listening_block WHERE id % 2 = 0;
INSERT INTO listening_rater (code, simulated, created_at)
    SELECT 'earlier-' || n, true, now() FROM taken;
INSERT INTO listening_session (rater_id, study_id, code, status, prolific_study, prolific_session,
        source, external_session, consent_version, language, wording_first, wording_last, ready,
        checks, questionnaires, comment, device, short, review, rejected_because, paid, origin,
        browser_of, pilot, agent, started_at)
    SELECT r.id, (SELECT id FROM listening_study), r.code, 'started', '', '', '', '', 'earlier',
        '', 0, 0, true, '{}', '{}', '', '', false, '', '', false, '', '', false, '', now()
    FROM listening_rater r WHERE r.code LIKE 'earlier-%';
CREATE TEMP TABLE held AS SELECT t.block, s.id AS session, s.rater_id AS rater
    FROM taken t JOIN listening_session s ON s.code = 'earlier-' || t.n;
INSERT INTO listening_trial (session_id, rater_id, task_id, block_id, slot_id, code, position,
        stimulus_id, versus_id, versus_first, others, context, item_id, meets, trap, expected,
        state, playback, fetched)
    SELECT h.session, h.rater, s.task_id, s.block_id, s.id, 'earlier-' || s.id, s.position,
        s.stimulus_id, s.versus_id, false, '{}', '{}', u.item_id, u.item_id, '', '[]', 'planned',
        '{}', 0
    FROM held h JOIN listening_slot s ON s.block_id = h.block
        JOIN listening_stimulus u ON u.id = s.stimulus_id;
UPDATE listening_block b SET state = 1, session_id = h.session, lease_until = now() + '1 day'
    FROM held h WHERE b.id = h.block;
SET session_replication_role = DEFAULT;
"""
# Back to that: what was claimed since is open again, and the tables are tidy.
RESET = (
    "CREATE TEMP TABLE own AS SELECT id FROM listening_session WHERE consent_version <> 'earlier'",
    "DELETE FROM listening_trial WHERE session_id IN (SELECT id FROM own)",
    "UPDATE listening_block SET state = 0, session_id = NULL, lease_until = NULL"
    " WHERE session_id IN (SELECT id FROM own)",
    "UPDATE listening_slot s SET pair_probability = NULL FROM listening_block b"
    " WHERE b.id = s.block_id AND b.state = 0 AND s.pair_probability IS NOT NULL",
    "VACUUM ANALYZE listening_block, listening_slot, listening_paircount, listening_trial,"
    " listening_session, listening_rater",
    "CHECKPOINT",  # the next round shall not wait for what this one wrote
)


def build(database: str, slots: int) -> None:
    """A study of so many planned ratings in a database of its own."""
    use_database(database)
    from django.core.management import call_command
    from django.db import connection

    from listening.models import Rater, Session
    from listening.sessions import allocation

    call_command("migrate", interactive=False, verbosity=0)
    items = slots // (CONDITIONS * RATINGS_PER_STIMULUS)
    study = make_study("bench", conditions=CONDITIONS, items=items)
    add_task(study, "mos", block_size=BLOCK_SIZE, ratings_per_stimulus=RATINGS_PER_STIMULUS)
    began = time.perf_counter()
    written = allocation.plan_study(study)
    print(f"{written:,} slots planned in {time.perf_counter() - began:.1f} s", flush=True)
    raters = Rater.objects.bulk_create([Rater(simulated=True) for _ in range(64)])
    Session.objects.bulk_create([Session(rater=rater, study=study) for rater in raters])
    with connection.cursor() as cursor:
        cursor.execute(HALF_TAKEN)
        cursor.execute("VACUUM ANALYZE")
        cursor.execute("CHECKPOINT")


# Of comparisons: the pairs of every other block were drawn, and their strengths are fitted.
HALF_DRAWN = """
UPDATE listening_slot s SET pair_probability = 0.0023 FROM listening_block b
WHERE b.id = s.block_id AND b.state = 1;
UPDATE listening_paircount c SET drawn = d.n FROM (
    SELECT x.condition_id, v.condition_id AS versus_id, count(*) AS n FROM listening_slot s
    JOIN listening_stimulus x ON x.id = s.stimulus_id
    JOIN listening_stimulus v ON v.id = s.versus_id
    WHERE s.pair_probability IS NOT NULL GROUP BY 1, 2) d
WHERE d.condition_id = c.condition_id AND d.versus_id = c.versus_id
"""


def build_pairs(database: str, slots: int) -> None:
    """A comparison of so many planned ratings, half of them taken."""
    use_database(database)
    from django.core.management import call_command
    from django.db import connection

    from listening.models import Rater, Session
    from listening.sessions import allocation

    call_command("migrate", interactive=False, verbosity=0)
    study = make_study("bench", conditions=SYSTEMS, items=ITEMS)
    fixed = database == FIXED
    task = add_task(
        study,
        "ab",
        block_size=BLOCK_SIZE,
        ratings_per_stimulus=OF_EACH_PAIR if fixed else slots // ITEMS,
        options={"pairs": "all" if fixed else "adaptive"},
    )
    print(f"{allocation.plan_study(study):,} slots planned", flush=True)
    raters = Rater.objects.bulk_create([Rater(simulated=True) for _ in range(64)])
    Session.objects.bulk_create([Session(rater=rater, study=study) for rater in raters])
    with connection.cursor() as cursor:
        cursor.execute(HALF_TAKEN)
        if not fixed:
            cursor.execute(HALF_DRAWN)
            _fit(task)
        cursor.execute("VACUUM ANALYZE")
        cursor.execute("CHECKPOINT")


def _fit(task: Any) -> None:
    """A fit of strengths with an SD of 1.5 logits, by which close pairs are drawn more often."""
    from math import exp

    from listening.models import PairFit

    rng = Random(1)
    strengths = {f"cond-{c}": rng.gauss(0, 1.5) for c in range(SYSTEMS)}
    pairs = []
    for count in task.pair_counts.select_related("condition", "versus").order_by("pk"):
        a, b = count.condition.key, count.versus.key
        p = 1 / (1 + exp(strengths[b] - strengths[a]))
        pairs.append([a, b, count.drawn, p * (1 - p), 0.005, True])
    drawn = sum(pair[2] for pair in pairs)
    PairFit.objects.create(
        task=task, number=1, answers=drawn, drawn=drawn, strengths=strengths, pairs=pairs
    )


def in_process(target: Callable[..., None], *args: Any) -> None:
    child = multiprocessing.get_context("spawn").Process(target=target, args=args)
    child.start()
    child.join()
    if child.exitcode:
        sys.exit(f"{target.__name__} failed")


def one_round(database: str, load: Load) -> tuple[list[float], float]:
    """Milliseconds of every claim, and claims per second."""
    context = multiprocessing.get_context("spawn")
    results, ready = context.Queue(), context.Barrier(load.processes * load.connections)
    children = [
        context.Process(target=claimer, args=(database, load, number, ready, results))
        for number in range(load.processes)
    ]
    for child in children:
        child.start()
    told = [one for _ in children for one in results.get(timeout=load.seconds + 180)]
    for child in children:
        child.join()
    failures = [one for one in told if isinstance(one, str)]
    if failures:
        sys.exit(f"A claim failed: {sorted(failures, key=len)[-1]}")
    times = [t for one in told for t in one.each_ms]
    return times, len(times) / max(one.took_s for one in told)


def reset(database: str) -> None:
    """The database as it was built."""
    use_database(database)
    from django.db import connection

    with connection.cursor() as cursor:
        for statement in RESET:
            cursor.execute(statement)


def loads() -> dict[str, Load]:
    seconds = 3.0
    most = 440  # of the 500 blocks that the smallest study has left
    return {
        "one connection": Load("claim", 1, 1, 0, seconds, most),
        "4 × 8 connections": Load("claim", PROCESSES, CONNECTIONS, 0, seconds, most),
        "100 a second": Load("claim", PROCESSES, CONNECTIONS, 100, seconds, most),
        "whole start, one connection": Load("start", 1, 1, 0, seconds, most),
        "whole start, 4 × 8": Load("start", PROCESSES, CONNECTIONS, 0, seconds, most),
        "whole start, 40 a second": Load("start", PROCESSES, CONNECTIONS, 40, seconds, most),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="one round, without 1e6")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--largest", type=float, default=1e6)
    parser.add_argument("--pairs", action="store_true", help="comparisons of 30 systems")
    parser.add_argument("--only", default="", help="loads whose name holds this text")
    options = parser.parse_args()
    rounds = 1 if options.quick else options.rounds
    largest = 1e5 if options.quick else options.largest
    sizes = {f"bench_{n}": n for n in (10**4, 10**5, 10**6) if n <= largest}
    if options.pairs:
        slots = ITEMS * SYSTEMS * (SYSTEMS - 1) // 2 * OF_EACH_PAIR
        sizes = dict.fromkeys((FIXED, DRAWN), slots)
    wanted = {name: load for name, load in loads().items() if options.only in name}
    with own_house(8149, 1):
        from django.db import connection

        facts = machine_facts()
        for database, slots in sizes.items():
            with connection.cursor() as cursor:
                cursor.execute(f"CREATE DATABASE {database}")
            in_process(build_pairs if options.pairs else build, database, slots)
        found: dict[tuple[str, str], list[tuple[list[float], float]]] = {}
        for _ in range(rounds):
            for name, load in wanted.items():
                for database in sizes:  # sizes interleaved: the machine's mood is the same for all
                    found.setdefault((name, database), []).append(one_round(database, load))
                    in_process(reset, database)
        print(f"\n{facts}; load average at the end {os.getloadavg()[0]:.1f}")
        print_table(
            (
                "load",
                "planned ratings",
                "study",
                "claims",
                "claims/s",
                "p50 ms",
                "p99 ms",
                "rounds' p99",
            ),
            [row(name, database, sizes[database], p) for (name, database), p in found.items()],
        )


def row(
    name: str, database: str, slots: int, parts: list[tuple[list[float], float]]
) -> list[object]:
    times = [t for some, _ in parts for t in some]
    return [
        *(name, f"{slots:,}", database, len(times), sum(rate for _, rate in parts) / len(parts)),
        *(percentile(times, 0.5), percentile(times, 0.99)),
        ", ".join(f"{percentile(some, 0.99):.1f}" for some, _ in parts),
    ]


if __name__ == "__main__":
    main()
