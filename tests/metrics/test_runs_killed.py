"""Kill -9 of a real worker in the middle of a run: what it stored stays, another does the rest."""

import contextlib
import subprocess
import sys
from collections.abc import Iterator

import psycopg
import pytest

from config.run.embedded_servers import socket_folder
from tests.config.helpers import BASE_DIR, PATIENCE_S, wait_for
from tests.demo_house import DemoHouse

pytestmark = pytest.mark.slow

METRICS = ("length_s",)  # what is scored does not matter here, and this is quick
HOLD = """
SELECT pg_advisory_lock(4711);
CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
    IF (SELECT count(*) FROM metrics_metricscore) >= 5 THEN
        PERFORM pg_advisory_xact_lock_shared(4711);
    END IF;
    RETURN NULL;
END $$;
CREATE TRIGGER hold BEFORE INSERT ON metrics_metricscore EXECUTE FUNCTION hold();
"""
LET_GO = "DROP FUNCTION IF EXISTS hold CASCADE"
SCORES = "SELECT sha256, metric, computed_at FROM metrics_metricscore ORDER BY id"


def test_a_killed_worker_loses_nothing_and_nothing_is_scored_twice(demo_house: DemoHouse):
    house = demo_house
    with held(house):
        ask(house)
        wait_for(lambda: len(house.rows(SCORES)) >= 5)
        worker = house.part("gpu")
        assert worker is not None
        worker.kill()
        worker.wait(PATIENCE_S)
        before = house.rows(SCORES)
    wait_for(lambda: house.column("SELECT state FROM metrics_scoringrun") != ["working"])
    report(house, before)


@contextlib.contextmanager
def held(house: DemoHouse) -> Iterator[None]:
    """Whoever would store more once there are five scores waits here: it is amid its run."""
    host = str(socket_folder(house.var))
    with psycopg.connect(host=host, dbname="earnest", user="earnest", autocommit=True) as hand:
        hand.execute(HOLD)
        try:
            yield
        finally:
            hand.execute("SELECT pg_advisory_unlock_all()")
            hand.execute(LET_GO)


def ask(house: DemoHouse) -> None:
    command = [sys.executable, "manage.py", "score_study", "demo", "--queue", "--shards=2"]
    subprocess.run(
        [*command, f"--metrics={','.join(METRICS)}"],
        cwd=BASE_DIR,
        env=house.environment,
        check=True,
        timeout=PATIENCE_S,
    )


def report(house: DemoHouse, before: list) -> None:
    """Compares what is stored with what was stored when the worker was killed."""
    after = house.rows(SCORES)
    clips = house.column("SELECT DISTINCT sha256 FROM listening_stimulus")
    stored = {(row["sha256"], row["metric"]) for row in after}
    print(f"\nstored before the kill: {len(before)} scores; at the end: {len(after)}")
    assert 0 < len(before) < len(after)
    assert house.column("SELECT state FROM metrics_scoringrun") == ["done"]
    assert stored == {(clip, metric) for clip in clips for metric in METRICS}
    assert len(after) == len(stored)
    assert [row for row in after if row in before] == before  # none was made again
    assert house.column("SELECT sum(failed) FROM metrics_scoringshard") == [0]
