"""`score_dataset`: datasets of several kinds scored by Ray, resumed, and with a node that dies."""

import io
import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path

import boto3
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
from tests.s3_service import KEYS, s3_service

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


def test_every_file_of_results_has_the_columns_of_all(tmp_path: Path) -> None:
    """Readers of a folder take the columns of its first file; of one clip, a shard had no JSON."""
    named = {"reasons": "{}", "warnings": "{}", "failed": ["length_s"], "length_s": None}
    bad = pa.Table.from_pylist([{"key": "bad", **named}])
    good = pa.Table.from_pylist([{"key": "a", "text": "Hello.", **named, "failed": []}])
    datasets._write(good, tmp_path, 0)
    datasets._write(bad, tmp_path, 1)
    datasets._give_all_columns(tmp_path)
    read = pd.read_parquet(tmp_path).set_index("key")
    assert list(read["text"].dropna().items()) == [("a", "Hello.")]


def parquet(*names: str) -> bytes:
    file = io.BytesIO()
    rows = [{"id": n, "audio": {"bytes": sound(SECONDS[n]), "path": None}} for n in names]
    pq.write_table(pa.Table.from_pylist(rows), file)
    return file.getvalue()


def shard(*names: str) -> bytes:
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode="w") as tar:
        for name in names:
            for ending, content in (
                *(("wav", sound(SECONDS[name])), ("json", b'{"text": "Hello."}')),
            ):
                member = tarfile.TarInfo(f"{name}.{ending}")
                member.size = len(content)
                tar.addfile(member, io.BytesIO(content))
    return file.getvalue()


def fill(tmp_path: Path) -> Path:
    (tmp_path / "clips" / "sys").mkdir(parents=True)
    for name, seconds in SECONDS.items():
        (tmp_path / "clips" / "sys" / f"{name}.wav").write_bytes(sound(seconds))
    lines = ["file,stimulus,text", *(f"clips/sys/{name}.wav,{name},Hello." for name in SECONDS)]
    (tmp_path / "clips.csv").write_text("\n".join([*lines, "clips/none.wav,none,Hello."]) + "\n")
    (tmp_path / "clips.parquet").write_bytes(parquet(*SECONDS))
    (tmp_path / "clips.tar").write_bytes(shard(*SECONDS))
    return tmp_path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return fill(tmp_path)


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
        env={
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "DJANGO_SETTINGS_MODULE": "config.settings",
        },
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
    length = [make_metric("length_s")]
    (out / datasets.SETTINGS).write_bytes(datasets._settings_bytes(length))
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
        datasets.check_results_folder(out, [make_metric("srmr_norm")])
    table = (folder / "clips.csv").read_text().splitlines()
    (folder / "done.csv").write_text("\n".join(line for line in table if "none" not in line) + "\n")
    said: list[str] = []
    again = datasets.score_dataset(
        str(folder / "done.csv"), length, out, datasets.Workers(), said.append
    )
    assert (list(again), said) == ([], ["3 rows are scored already"])
    assert not sys.modules["ray"].is_initialized()  # no worker is started for nothing
    with pytest.raises(datasets.DatasetError, match="has columns length_s already"):
        datasets._check_columns(["key", "text", "length_s"], [make_metric("length_s")])
    by_folder = list(datasets._listed(str(folder / "clips"), folder / "clips"))
    assert next((row["key"], row["condition"]) for row in by_folder) == ("sys/one", "sys")


WHOLE = {  # of the bucket, by keys that addresses must not change
    "all/sys ä+ #1/three.wav": sound(SECONDS["three"]),
    "parts/b #2.parquet": parquet("three"),
    "shards/b.tar": shard("three"),
    "late/three.wav": sound(SECONDS["three"]),
}
BROKEN = {
    "all/sys ä+ #1/three.wav": b"broken",
    "parts/b #2.parquet": WHOLE["parts/b #2.parquet"][:2000],
    "shards/b.tar": WHOLE["shards/b.tar"][:50_000],
    "parts/a.parquet": parquet("one", "two"),
    "shards/a.tar": shard("one", "two"),
    **{f"all/sys ä+ #1/{name}.wav": sound(SECONDS[name]) for name in ("one", "two")},
}


@pytest.fixture(scope="module")
def scored(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, dict[str, list[str]]]]:
    """A folder of results and what each run said, all by one cluster that is started once."""
    folder = fill(tmp_path_factory.mktemp("scored"))
    for name, content in WHOLE.items():
        (folder / "whole" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "whole" / name).write_bytes(content)
    addresses = [f"s3://clips/all/sys ä+ #1/{name}.wav,{name}" for name in ("one", "two")]
    lines = ["file,stimulus", *addresses, "s3://clips/late/three.wav,three"]
    (folder / "s3.csv").write_text("\n".join(lines) + "\n")
    with s3_service() as url, pytest.MonkeyPatch.context() as patch:
        for name, value in {**KEYS, "AWS_ENDPOINT_URL": url}.items():
            patch.setenv(name, value)
        client = boto3.client("s3")
        client.create_bucket(Bucket="clips")
        for name, content in BROKEN.items():
            client.put_object(Bucket="clips", Key=name, Body=content)
        told: dict[str, list[str]] = {}
        for line in run(RUNS, folder).splitlines():
            label, _, words = line.partition("| ")
            told.setdefault(label, []).append(words)
        yield folder, told


RUNS = """
import json, django
django.setup()
from django.core.management import CommandError, call_command
from ray.cluster_utils import Cluster
from metrics.scoring import datasets

cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
ray.init(cluster.address, logging_level=logging.ERROR, log_to_driver=False)
context = ray.data.DataContext.get_current()
context.enable_progress_bars = False
logging.getLogger("ray.data").setLevel(logging.CRITICAL)
metrics = [make_metric("length_s")]

def score(source, out, **more):
    say = lambda words: print(f"{out}| {words}")
    try:
        portions = list(score_dataset(source, metrics, Path(out), Workers(1), say, **more))
        say(f"{sum(p.rows for p in portions)} {sum(p.failed for p in portions)}")
    except Exception as error:
        say(str(getattr(error, "cause", error)).partition("\\n")[0])

score("clips", "of-folder")
score("clips.parquet", "of-parquet")
score("clips.parquet", "of-parquet", audio="sound")
score("clips.tar", "of-shard")
score("clips.csv", "of-table")
Path("clips/none.wav").write_bytes(Path("clips/sys/one.wav").read_bytes())
score("clips.csv", "of-table")
score("clips.csv", "of-table")
score("nothing.txt", "of-nothing")
metrics = [make_metric("loudness_lufs")]
score("clips.csv", "of-table")

metrics = [make_metric("length_s")]
buckets = {"s3-folder": "s3://clips/all", "s3-parquet": "s3://clips/parts/*.parquet",
           "s3-shard": "s3://clips/shards/*.tar", "s3-table": "s3.csv"}
for out, source in buckets.items():
    score(source, out)
import boto3
for path in Path("whole").rglob("*.*"):
    key = path.relative_to("whole").as_posix()
    boto3.client("s3").put_object(Bucket="clips", Key=key, Body=path.read_bytes())
for out, source in buckets.items():
    score(source, out)
ray.shutdown()

def command(label, *words):
    try:
        call_command("score_dataset", *words, "--metrics", "length_s", "--ray", cluster.address)
    except CommandError as error:
        print(f"{label}| {error}")

for place in ("all", "*.parquet", "a.tar"):
    command("missing", f"s3://none/{place}", "--out", "none")
command("gpus", "clips.csv", "--out", "gpus", "--gpus-per-worker", "0.5")
command("device", "clips.csv", "--out", "device", "--device", "cuda:99")

class Recorder(datasets._Scorer):
    def __init__(self, choices, device):
        of = [device, os.environ["CUDA_VISIBLE_DEVICES"], ray.get_runtime_context().get_node_id()]
        Path(ACTORS, str(os.getpid())).write_text(json.dumps(of))

    def __call__(self, table):
        import time
        until = time.monotonic() + 120  # only ends what hangs
        while len(os.listdir(ACTORS)) < 4 and time.monotonic() < until:
            time.sleep(0.05)
        empty = {"reasons": "{}", "warnings": "{}", "failed": []}
        rows = [{"key": key, "length_s": 1.0, **empty} for key in table["key"].to_pylist()]
        import pyarrow as pa
        types = [("key", pa.string()), ("length_s", pa.float64()), ("reasons", pa.string()),
                 ("warnings", pa.string()), ("failed", pa.list_(pa.string()))]
        return pa.Table.from_pylist(rows, pa.schema(types))

node = cluster.add_node(num_cpus=4, num_gpus=2)
datasets._Scorer = Recorder
ACTORS = os.path.abspath("actors")
os.mkdir(ACTORS)
command("halves", "clips.csv", "--out", "halves", "--gpus-per-worker", "0.5")
for path in Path(ACTORS).iterdir():
    device, visible, place = json.loads(path.read_text())
    print(f"halves| {device} {visible} {place == node.node_id}")
cluster.shutdown()
"""


@pytest.mark.soak
def test_sources_of_each_kind_are_scored_and_a_second_run_tries_what_failed(
    scored: tuple[Path, dict[str, list[str]]],
):
    folder, told = scored
    assert told["of-folder"] == ["3 0"]
    assert told["of-parquet"][:2] == ["3 0", "3 rows are scored already"]
    assert "no column sound" in told["of-parquet"][2]
    assert told["of-shard"] == ["3 0"]
    assert told["of-table"][:5] == [
        *("4 1", "3 rows are scored already", "1 0", "4 rows are scored already", "0 0"),
    ]
    assert "scores of other metrics" in told["of-table"][5]
    assert "give a folder, a table" in told["of-nothing"][0]
    for out in ("of-parquet", "of-shard", "of-table"):
        values = {key: row["length_s"] for key, row in results(folder / out).items()}
        assert values == {**SECONDS, **({"none": 1.0} if out == "of-table" else {})}
    assert results(folder / "of-folder")["sys/one"]["condition"] == "sys"
    assert results(folder / "of-shard")["two"]["text"] == "Hello."
    assert results(folder / "of-table", "failed") == {}


@pytest.mark.soak
def test_sources_in_a_bucket_are_scored_and_a_second_run_has_what_was_broken_or_missing(
    scored: tuple[Path, dict[str, list[str]]],
):
    folder, told = scored
    for out in ("s3-folder", "s3-table"):
        assert told[out] == ["3 1", "2 rows are scored already", "1 0"]
    assert "clips/parts/b #2.parquet': Parquet magic bytes not found" in told["s3-parquet"][0]
    assert told["s3-shard"][0].startswith("clips/shards/b.tar: unexpected end of data; check it")
    for out in ("s3-parquet", "s3-shard"):
        assert told[out][1:] == ["3 0"]
    for out in ("s3-parquet", "s3-shard", "s3-table"):
        values = {key: row["length_s"] for key, row in results(folder / out).items()}
        assert values == SECONDS
    assert set(results(folder / "s3-folder")) == {f"sys ä+ #1/{name}.wav" for name in SECONDS}
    for words in told["missing"]:
        assert words.startswith("s3://none")
        assert "there is no such file or bucket. Check the address, the keys" in words


@pytest.mark.soak
def test_workers_of_gpus_are_where_gpus_are_as_many_as_fit_and_each_has_its_own(
    scored: tuple[Path, dict[str, list[str]]],
):
    _, told = scored
    (refused,) = told["gpus"]
    assert refused.startswith(
        "no machine here has a GPU for --gpus-per-worker 0.5 and a CPU for a worker"
    )
    assert told["device"][0].startswith("clips.csv: device cuda:99 ")
    assert sorted(told["halves"]) == ["cuda 0 True"] * 2 + ["cuda 1 True"] * 2


@pytest.mark.parametrize(
    ("cpus", "there", "gpus", "room"),
    [
        *((8, 2, 0, 8), (8, 2, 1, 2), (8, 2, 0.5, 4), (8, 2, 0.4, 4), (8, 2, 0.3, 6)),
        *((3, 2, 0.25, 3), (8, 2, 2, 1), (8, 3, 2, 1), (8, 1, 2, 0), (8, 0, 0.5, 0)),
    ],
)
def test_a_node_has_room_for_workers_of_whole_and_of_shared_gpus(cpus, there, gpus, room):
    assert datasets._room({"CPU": cpus, **({"GPU": there} if there else {})}, gpus) == room


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
