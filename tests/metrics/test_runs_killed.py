"""Kill -9 of a real worker in the middle of a run: what it stored stays, another does the rest."""

import subprocess
import sys

import pytest

from tests.config.helpers import BASE_DIR, own_folder, wait_for
from tests.demo_house import DemoHouse

pytestmark = [pytest.mark.slow, pytest.mark.timeout(500)]

METRICS = ("srmr", "srmr_norm")
SCORES = "SELECT sha256, metric, computed_at FROM metrics_metricscore ORDER BY id"


def test_a_killed_worker_loses_nothing_and_nothing_is_scored_twice():
    with own_folder() as var:
        house = DemoHouse(var).start()
        try:
            ask(house)
            wait_for(lambda: len(house.rows(SCORES)) >= 5, 200)
            worker = house.part("gpu")
            assert worker is not None
            worker.kill()
            worker.wait(10)
            before = house.rows(SCORES)
            wait_for(
                lambda: house.column("SELECT state FROM metrics_scoringrun") != ["working"], 240
            )
            report(house, before)
        finally:
            house.close()


def ask(house: DemoHouse) -> None:
    command = [sys.executable, "manage.py", "score_study", "demo", "--queue", "--shards=2"]
    subprocess.run(
        [*command, f"--metrics={','.join(METRICS)}"],
        cwd=BASE_DIR,
        env=house.environment,
        check=True,
        timeout=120,
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
