"""`score_dataset`: datasets of several kinds scored by Ray, resumed, and with a node that dies."""

import io
import json
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import soundfile
from django.core.management.base import CommandError

from metrics.core.metric import make_metric
from metrics.management.commands.score_dataset import check_address
from metrics.scoring import datasets

ROOT = Path(__file__).parents[2]
SECONDS = {"one": 1.0, "two": 2.0, "three": 3.0}


def sound(seconds: float) -> bytes:
    file = io.BytesIO()
    noise = np.random.default_rng(0).normal(0, 0.1, int(16_000 * seconds))
    soundfile.write(file, noise, 16_000, format="WAV")
    return file.getvalue()


def results(out: Path, begin: str = "scores") -> dict[str, dict]:
    rows = [
        row for path in out.glob(f"{begin}-*.parquet") for row in pq.read_table(path).to_pylist()
    ]
    assert len({row["key"] for row in rows}) == len(rows)
    return {row["key"]: row for row in rows}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "clips" / "sys").mkdir(parents=True)
    for name, seconds in SECONDS.items():
        (tmp_path / "clips" / "sys" / f"{name}.wav").write_bytes(sound(seconds))
    lines = ["file,stimulus,text", *(f"clips/sys/{name}.wav,{name},Hello." for name in SECONDS)]
    (tmp_path / "clips.csv").write_text("\n".join([*lines, "clips/none.wav,none,Hello."]) + "\n")
    rows = [{"id": n, "audio": {"bytes": sound(s), "path": None}} for n, s in SECONDS.items()]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "clips.parquet")
    with tarfile.open(tmp_path / "clips.tar", "w") as tar:
        for name, seconds in SECONDS.items():
            for ending, content in (("wav", sound(seconds)), ("json", b'{"text": "Hello."}')):
                member = tarfile.TarInfo(f"{name}.{ending}")
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content))
    return tmp_path


PROGRAM = """
import os, sys
from pathlib import Path
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
os.environ["RAY_raylet_start_wait_time_s"] = "300"
import logging, ray
from metrics.core.metric import make_metric
from metrics.scoring.datasets import DatasetError, Workers, score_dataset
"""


def run(program: str, cwd: Path) -> str:
    """A program of its own: Ray stays in a process that starts it."""
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM + program],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        cwd=cwd,
        capture_output=True,
        text=True,
    )
    assert ran.returncode == 0, ran.stderr[-3000:]
    return ran.stdout


def test_a_table_is_scored_written_and_its_failures_are_tried_again(folder: Path):
    """What workers do with a block of rows, and this process with their results; without Ray."""
    rows = list(datasets._listed(str(folder / "clips.csv"), folder / "clips.csv"))
    (out := folder / "out").mkdir()
    datasets._check_settings(out, [make_metric("length_s")])
    scorer = datasets._Scorer([{"metric": "length_s"}], "cpu")
    scored = [scorer(pa.Table.from_pylist(rows[place : place + 1])) for place in range(4)]
    (joined,) = datasets._portions(scored)
    portion = datasets._write(joined, out, 0)
    assert (portion.rows, portion.failed) == (4, 1)
    key, reason = portion.reasons["length_s"]
    assert (key, reason.endswith("there is no such file; look for a slip in its name")) == (
        "none",
        True,
    )
    assert {key: row["length_s"] for key, row in results(out).items()} == SECONDS
    assert [*results(out, "failed")] == ["none"]
    assert datasets._done_keys(out) == set(SECONDS)
    lengths = pd.read_parquet(out).set_index("key")["length_s"]
    assert lengths.dropna().to_dict() == SECONDS
    assert lengths.isna()["none"]
    with pytest.raises(datasets.DatasetError, match="scores of other metrics"):
        datasets._check_settings(out, [make_metric("srmr_norm")])
    with pytest.raises(datasets.DatasetError, match="has columns length_s already"):
        datasets._check_columns(["key", "text", "length_s"], [make_metric("length_s")])
    by_folder = list(datasets._listed(str(folder / "clips"), folder / "clips"))
    assert next((row["key"], row["condition"]) for row in by_folder) == ("sys/one", "sys")


@pytest.mark.soak
def test_sources_of_each_kind_are_scored_and_a_second_run_tries_what_failed(folder: Path):
    told = run(
        """
quiet = dict(include_dashboard=False, logging_level=logging.ERROR, log_to_driver=False)
ray.init("local", num_cpus=1, **quiet)
ray.data.DataContext.get_current().enable_progress_bars = False
metrics = [make_metric("length_s")]
def score(source, out, **more):
    try:
        portions = list(score_dataset(source, metrics, Path(out), Workers(1), print, **more))
        print(out, sum(p.rows for p in portions), sum(p.failed for p in portions))
    except DatasetError as error:
        print(out, error)
score("clips", "of-folder")
score("clips.parquet", "of-parquet")
score("clips.parquet", "of-parquet", audio="sound")
score("clips.tar", "of-shard")
score("clips.csv", "of-table")
Path("clips/none.wav").write_bytes(Path("clips/sys/one.wav").read_bytes())
score("clips.csv", "of-table")
score("clips.csv", "of-table")
metrics = [make_metric("loudness_lufs")]
score("clips.csv", "of-table")
score("nothing.txt", "of-nothing")
""",
        folder,
    )
    lines = told.splitlines()
    assert lines[:2] == ["of-folder 3 0", "of-parquet 3 0"]
    assert lines[2] == "3 rows are scored already"
    assert "no column sound" in lines[3]
    assert lines[4:6] == ["of-shard 3 0", "of-table 4 1"]
    assert lines[6:10] == [
        *("3 rows are scored already", "of-table 1 0", "4 rows are scored already", "of-table 0 0"),
    ]
    assert "scores of other metrics" in lines[10]
    assert "give a folder, a table" in lines[11]
    for out in ("of-parquet", "of-shard", "of-table"):
        values = {key: row["length_s"] for key, row in results(folder / out).items()}
        assert values == {**SECONDS, **({"none": 1.0} if out == "of-table" else {})}
    assert results(folder / "of-folder")["sys/one"]["condition"] == "sys"
    assert results(folder / "of-shard")["two"]["text"] == "Hello."
    assert results(folder / "of-table", "failed") == {}


@pytest.mark.soak
def test_a_node_that_dies_costs_no_row_and_doubles_none(tmp_path: Path):
    count = 4_000
    rows = [{"id": str(n), "audio": {"bytes": sound(0.5 + n % 7 / 10)}} for n in range(count)]
    for part in range(20):
        table = pa.Table.from_pylist(rows[part::20])
        pq.write_table(table, tmp_path / f"part-{part}.parquet")
    told = run(
        """
import atexit
for name, value in {"period_ms": 1000, "timeout_ms": 1000, "failure_threshold": 5}.items():
    os.environ[f"RAY_health_check_{name}"] = str(value)  # or a dead node is noticed after minutes
from ray.cluster_utils import Cluster
from metrics.scoring import datasets
datasets.ROWS_A_FILE = 200
cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
atexit.register(lambda: (ray.shutdown(), cluster.shutdown()))
node = cluster.add_node(num_cpus=1)
ray.init(cluster.address, logging_level=logging.ERROR, log_to_driver=False)
portions = score_dataset("*.parquet", [make_metric("srmr_norm")], Path("out"), Workers(2), print)
done = next(portions).rows
print("before", done < 4_000)
cluster.remove_node(node, allow_graceful=False)
print("rows", done + sum(each.rows for each in portions))
""",
        tmp_path,
    )
    own = [line for line in told.splitlines() if line.startswith(("before", "rows"))]
    assert own == ["before True", f"rows {count}"]  # Ray prints the end of the node beside
    assert set(results(tmp_path / "out")) == {str(n) for n in range(count)}
    assert json.loads((tmp_path / "out" / "_metrics.json").read_text())[0]["metric"] == "srmr_norm"


@pytest.mark.parametrize("address", ["127.0.0.1:1", "ray://127.0.0.1:1", "[::1]:1"])
def test_an_address_where_no_cluster_is_ends_the_command_at_once(address: str):
    with pytest.raises(CommandError, match="nothing answers there"):
        check_address(address)
    check_address("auto")
