"""Datasets of any size scored by Ray: on this machine, or on all nodes of a cluster.

The rows come from tables, folders, Parquet, WebDataset or storage services. Workers call
`metrics.scoring.scored_rows.score`, this process writes what they return as Parquet. A node that
dies costs time: Ray scores its rows again elsewhere, and each is written once.
"""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from listening.common.remote_files import ADDRESS, is_web, storage_of
from listening.common.whole_files import write_whole
from metrics.core.decoding import SUFFIXES
from metrics.core.metric import Metric
from metrics.scoring.inputs import REFERENCES, TABLES, folder_clips, table_rows
from metrics.scoring.presets import Choice
from metrics.scoring.scored_rows import AUDIO, FAILED, REASONS, SCORES, WARNINGS, score

KEY = "key"
KEYS = (KEY, "stimulus", "id", "utt_id", "__key__", "file")  # the first that a dataset has
ROWS_A_TASK = 256
WORKER_CPUS, READER_CPUS = 0.9, 0.1  # so that one CPU has room for both
ROWS_A_FILE = 10_000
UNWRITTEN_S = 30.0  # that results may wait for others, and be lost with this process
DONE, TO_RETRY = "scores", "failed"  # how the files of results begin
SETTINGS = "_metrics.json"  # readers of Parquet folders pass over what begins with _
WEBDATASET = re.compile(r"\.tar(\.gz)?$")


class DatasetError(ValueError):
    """A dataset that cannot be scored, or results that are of something else."""


@dataclass(frozen=True)
class Workers:
    """How many processes score, and what each of them takes."""

    count: int = 0  # 0: one for each processor or GPU of the cluster
    gpus: float = 0.0  # of each; a half: two share one
    device: str = "cpu"


@dataclass(frozen=True)
class Portion:
    """What was just written."""

    rows: int
    failed: int
    reasons: Mapping[str, tuple[str, str]]  # by output: a key and why it has no value


def score_dataset(
    source: str,
    metrics: Sequence[Metric],
    out: Path,
    workers: Workers,
    say: Callable[[str], None],
    audio: str = AUDIO,
) -> Iterator[Portion]:
    """Score what ``source`` holds, and write it to the folder ``out``; yield each portion.

    Ray must be initialised. ``source``: a table, a folder, or an address or pattern of Parquet or
    WebDataset files, or a folder at a storage service. ``audio``: the column of the sounds. Results
    are rows with the source's columns but the sounds, ``key``, a column for each output, and
    ``reasons``, ``warnings`` (JSON) and ``failed``. A row whose scores failed is in a file that
    begins with "failed", and is tried again by the next run; all others are not. Raises
    DatasetError.
    """
    check_results_folder(out, metrics)
    out.mkdir(parents=True, exist_ok=True)
    write_whole(out / SETTINGS, _settings_bytes(metrics))
    for old in out.glob(f"{TO_RETRY}-*.parquet"):
        old.unlink()
    done = _done_keys(out)
    if done:
        say(f"{len(done):,} rows are scored already")
    dataset = _dataset(source, done)
    if dataset is None:
        return
    dataset = _keyed(dataset, audio)
    _check_columns(dataset.schema().names, metrics)
    if done:
        dataset = dataset.filter(lambda row: str(row[KEY]) not in done, num_cpus=READER_CPUS)
    scored = dataset.map_batches(
        _Scorer,
        fn_constructor_kwargs={
            "choices": [Choice.of(metric).plain() for metric in metrics],
            "device": workers.device,
        },
        batch_size=ROWS_A_TASK,
        batch_format="pyarrow",
        num_cpus=WORKER_CPUS,
        num_gpus=workers.gpus,
        **_pool(workers),
    )
    number = len(list(out.glob(f"{DONE}-*.parquet")))
    tables = scored.iter_batches(batch_size=None, batch_format="pyarrow")
    for table in _portions(table for table in tables if table.num_rows):
        yield _write(table, out, number)
        number += 1
    _give_all_columns(out)


# --- Sources --------------------------------------------------------------------------------------


def _dataset(source: str, done: set[str]) -> Any:
    """The rows of a source as Ray reads them; None where it is known that all are done."""
    import ray.data

    place = Path(source)
    if source.endswith(".parquet") or (place.is_dir() and any(place.glob("*.parquet"))):
        # The newer reader lists files in tasks of a whole CPU, which workers may have taken.
        ray.data.DataContext.get_current().use_datasource_v2 = False
        return ray.data.read_parquet(**_paths(source), num_cpus=READER_CPUS)
    if WEBDATASET.search(source):
        samples = ray.data.read_datasource(_shards(source), num_cpus=READER_CPUS)
        return samples.map_batches(
            _webdataset_rows, batch_format="pyarrow", batch_size=None, num_cpus=READER_CPUS
        )
    rows = list(_listed(source, place))
    if not rows:
        raise DatasetError(f"{source}: no audio files are there")
    if done.issuperset(row[KEY] for row in rows):
        return None
    # All rows have all columns: a block of a table has one schema.
    names = list(dict.fromkeys(name for row in rows for name in row))
    return ray.data.from_items([{name: row.get(name, "") for name in names} for row in rows])


def _paths(source: str) -> dict[str, Any]:
    """What Ray's readers take: paths, and the file system of an address."""
    from glob import glob

    if is_web(source):
        raise DatasetError(f"{source}: web servers list no files; use a table of addresses")
    system, path = storage_of(source) if ADDRESS.match(source) else (None, os.path.abspath(source))
    if "*" in path:
        found = sorted(system.glob(path) if system else glob(path))
    else:
        found = [system.info(path)["name"] if system else path]
    if not found:
        raise DatasetError(f"{source}: no file has such a name")
    return {"paths": found, "filesystem": system}


def _listed(source: str, place: Path) -> Iterator[dict[str, Any]]:
    """The rows of a table, a folder, or a folder at a storage service."""
    if ADDRESS.match(source):
        system, path = storage_of(source)
        scheme = source.partition("://")[0]
        for found in sorted(system.find(path)):
            if Path(found).suffix.lower() in SUFFIXES:
                yield {KEY: os.path.relpath(found, path), AUDIO: f"{scheme}://{found}"}
    elif place.suffix.lower() in TABLES:
        for _, row in table_rows(place):
            texts = {n: v if isinstance(v, str) else json.dumps(v) for n, v in row.items() if n}
            sounds = {n: _beside(place, texts[n]) for n in REFERENCES if texts.get(n)}
            file = texts.pop("file", "")
            name = texts.get(KEY) or texts.get("stimulus") or os.path.splitext(file)[0]
            yield {**texts, **sounds, KEY: name, AUDIO: _beside(place, file) if file else ""}
    elif place.is_dir():
        for clip in folder_clips(place):
            path = os.path.abspath(clip.path)
            yield {KEY: clip.stimulus, "condition": clip.condition, AUDIO: path}
    else:
        raise DatasetError(
            f"{source}: give a folder, a table (.csv, .jsonl), Parquet or WebDataset files"
        )


def _beside(table: Path, name: str) -> str:
    return name if ADDRESS.match(name) else os.path.abspath(table.parent / name)


def _shards(source: str) -> Any:
    """Ray's reader of WebDataset files, with the file in its errors."""
    from ray.data._internal.datasource.webdataset_datasource import WebDatasetDatasource

    class Shards(WebDatasetDatasource):
        def _read_stream(self, stream: Any, path: str) -> Iterator[Any]:
            try:
                yield from super()._read_stream(stream, path)
            except Exception as error:
                why = str(error).partition("\n")[0]  # Ray adds lines
                raise DatasetError(f"{path}: {why}; check it, or copy it again") from None

    return Shards(**_paths(source), decoder=None)


def _webdataset_rows(table: Any) -> Any:
    """A sample's sound as ``audio``, its .txt as ``text``; the fields of its .json beside."""
    import pyarrow as pa

    sounds = [name for name in table.column_names if f".{name}".lower() in SUFFIXES]
    rows = []
    for sample in table.to_pylist():
        row = json.loads(sample.get("json") or b"{}")
        if sample.get("txt") is not None:
            row["text"] = sample["txt"].decode("utf-8", "replace")
        row = {n: v if isinstance(v, str) else json.dumps(v) for n, v in row.items()}
        sound = next((sample[name] for name in sounds if sample[name] is not None), None)
        rows.append({**row, "__key__": sample["__key__"], AUDIO: sound})
    names = list(dict.fromkeys(name for row in rows for name in row))
    return pa.Table.from_pylist([{name: row.get(name) for name in names} for row in rows])


def _keyed(dataset: Any, audio: str) -> Any:
    """The dataset with its sounds in ``audio`` and a text in ``key``."""
    schema = dataset.schema()
    names = schema.names if schema else []
    if audio not in names:
        raise DatasetError(
            f"there is no column {audio}; name the column of the sounds with --audio: "
            f"{', '.join(names)}"
        )
    key = next((name for name in KEYS if name in names), None)
    if key is None:
        raise DatasetError(f"rows need a column that names them: one of {', '.join(KEYS)}")
    pairs = ((audio, AUDIO), (key, KEY))
    renamed = {theirs: ours for theirs, ours in pairs if theirs != ours}
    return dataset.rename_columns(renamed, num_cpus=READER_CPUS) if renamed else dataset


def _check_columns(names: Sequence[str], metrics: Sequence[Metric]) -> None:
    """DatasetError where the results would have two columns of a name."""
    added = {output.key for metric in metrics for output in metric.outputs()}
    if taken := sorted({*added, REASONS, WARNINGS, FAILED, SCORES}.intersection(names)):
        raise DatasetError(f"the source has columns {', '.join(taken)} already; rename them")


# --- Workers --------------------------------------------------------------------------------------


def _pool(workers: Workers) -> dict[str, Any]:
    """As many actors as the nodes have room for, or as were asked for."""
    import ray
    from ray.data import ActorPoolStrategy

    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]  # type: ignore[no-untyped-call]
    room = sum(_room(node, workers.gpus) for node in nodes)
    if room < 1:
        gpu = f"a GPU for --gpus-per-worker {workers.gpus:g} and " * bool(workers.gpus)
        raise DatasetError(f"no machine here has {gpu}a CPU for a worker")
    return {"compute": ActorPoolStrategy(size=min(workers.count or room, room))}


def _room(node: Mapping[str, float], gpus: float) -> int:
    """How many workers fit into a node; one of less than a GPU has it on a single one."""
    cpus, there = int(node.get("CPU", 0)), node.get("GPU", 0)
    if not gpus:
        return cpus
    return min(cpus, int(there) * int(1 / gpus) if gpus < 1 else int(there / gpus))


class _Scorer:
    """A worker: models are loaded with its first rows, and stay."""

    def __init__(self, choices: Sequence[Mapping[str, Any]], device: str) -> None:
        self.choices, self.device = choices, device

    def __call__(self, table: Any) -> Any:
        import pyarrow as pa

        rows = list(score(table.to_pylist(), self.choices, device=self.device))
        kept = table.select([n for n in table.column_names if n not in (AUDIO, *REFERENCES)])
        result = kept.set_column(
            kept.column_names.index(KEY), KEY, pa.array([str(row[KEY]) for row in rows])
        )
        for output in rows[0][SCORES] if rows else ():
            values = pa.array([row[SCORES][output] for row in rows], pa.float64())
            result = result.append_column(output, values)
        for name in (REASONS, WARNINGS):
            words = [json.dumps(row[name], ensure_ascii=False) for row in rows]
            result = result.append_column(name, pa.array(words, pa.string()))
        failed = pa.array([row[FAILED] for row in rows], pa.list_(pa.string()))
        return result.append_column(FAILED, failed)


# --- Results --------------------------------------------------------------------------------------


def _portions(tables: Iterable[Any]) -> Iterator[Any]:
    """Tables joined until they are worth a file, or have waited long enough."""
    import pyarrow as pa

    waiting: list[Any] = []
    since = time.monotonic()
    for table in tables:
        waiting.append(table)
        if sum(map(len, waiting)) >= ROWS_A_FILE or time.monotonic() - since >= UNWRITTEN_S:
            yield pa.concat_tables(waiting, promote_options="default")
            waiting, since = [], time.monotonic()
    if waiting:
        yield pa.concat_tables(waiting, promote_options="default")


def _write(table: Any, out: Path, number: int) -> Portion:
    """Write what is done and what is tried again, each into a file that is whole."""
    import pyarrow.compute as pc

    is_done = pc.equal(pc.list_value_length(table[FAILED]), 0)
    parts = {DONE: table.filter(is_done), TO_RETRY: table.filter(pc.invert(is_done))}
    for begin, part in parts.items():
        if part.num_rows:
            _write_file(part, out / f"{begin}-{number:06d}.parquet")
    reasons: dict[str, tuple[str, str]] = {}
    for key, words in zip(table[KEY].to_pylist(), table[REASONS].to_pylist(), strict=True):
        for output, reason in json.loads(words).items():
            reasons.setdefault(output, (key, reason))
    return Portion(table.num_rows, parts[TO_RETRY].num_rows, reasons)


def _write_file(table: Any, path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink = pa.BufferOutputStream()
    pq.write_table(table, sink)
    write_whole(path, sink.getvalue().to_pybytes())


def _give_all_columns(out: Path) -> None:
    """Every file gets the columns of all: readers of a folder take those of its first file."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    schemas = {path: pq.read_schema(path) for path in sorted(out.glob("*.parquet"))}
    if len({tuple(schema.names) for schema in schemas.values()}) < 2:
        return
    whole = pa.unify_schemas(schemas.values(), promote_options="permissive").empty_table()
    for path, schema in schemas.items():
        if schema.names != whole.column_names:
            parts = [whole, pq.read_table(path)]
            _write_file(pa.concat_tables(parts, promote_options="permissive"), path)


def _done_keys(out: Path) -> set[str]:
    """The rows that earlier runs have written."""
    import pyarrow.parquet as pq

    files = (pq.read_table(path, columns=[KEY]) for path in out.glob(f"{DONE}-*.parquet"))
    return {key for file in files for key in file[KEY].to_pylist()}


def check_results_folder(out: Path, metrics: Sequence[Metric]) -> None:
    """Raise DatasetError where a folder has results of other metrics, or of something else."""
    path = out / SETTINGS
    if path.exists():
        if json.loads(path.read_bytes()) != json.loads(_settings_bytes(metrics)):
            raise DatasetError(
                f"{out} has scores of other metrics, see {SETTINGS}; use a new folder"
            )
    elif any(out.glob("*.parquet")):
        raise DatasetError(f"{out} holds Parquet files of something else; use a new folder")


def _settings_bytes(metrics: Sequence[Metric]) -> bytes:
    own = [{**Choice.of(metric).plain(), "version": metric.version} for metric in metrics]
    return (json.dumps(own, indent=2) + "\n").encode()
