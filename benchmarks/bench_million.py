"""Reports of files of up to ten million ratings whose truth is known: time, memory, coverage.

    python benchmarks/bench_million.py [--ratings 100000 1000000 10000000] [--csv] [--models]

Each size is a file of 100 ratings per rater of 10 systems and up to 10,000 items, in Parquet or
CSV, and each report a process of its own: `manage.py analyse`, with `--part models` for the mixed
model. Goals at ten million: 180 s on two cores and 4 GB for the report, 600 s for the model.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import special

ROOT = Path(__file__).resolve().parents[1]
PER_RATER, SYSTEMS, MOST_ITEMS = 100, 10, 10_000
LOWEST, HIGHEST = 2.5, 3.9  # means of the latent scores of the first and the last system
SDS = {"rater": 0.5, "item": 0.3, "stimulus": 0.2, "rater:condition": 0.25, "residual": 0.7}
STEPS = np.arange(1, 6)


def true_means() -> np.ndarray:
    """The mean score of each system over all raters and items, after rounding to 1 to 5."""
    latent = np.linspace(LOWEST, HIGHEST, SYSTEMS)
    spread = np.sqrt(sum(sd**2 for sd in SDS.values()))
    below = special.ndtr((STEPS[:-1, None] + 0.5 - latent) / spread)
    shares = np.diff(np.vstack([np.zeros(SYSTEMS), below, np.ones(SYSTEMS)]), axis=0)
    return np.asarray(STEPS @ shares)


def write_ratings(path: Path, count: int, seed: int = 1) -> None:
    """Write ``count`` ratings as Parquet, or as CSV where the name ends in .csv."""
    import pyarrow as pa
    import pyarrow.csv
    import pyarrow.parquet

    rng = np.random.default_rng(seed)
    raters = max(count // PER_RATER, 2)
    items = min(MOST_ITEMS, raters)
    rater = np.repeat(np.arange(raters, dtype=np.int32), count // raters)
    n = len(rater)
    item, system = (rng.integers(0, size, n, dtype=np.int32) for size in (items, SYSTEMS))
    y = np.linspace(LOWEST, HIGHEST, SYSTEMS)[system]
    y += rng.normal(0, SDS["rater"], raters)[rater] + rng.normal(0, SDS["item"], items)[item]
    y += rng.normal(0, SDS["stimulus"], (items, SYSTEMS))[item, system]
    y += rng.normal(0, SDS["rater:condition"], (raters, SYSTEMS))[rater, system]
    y += rng.normal(0, SDS["residual"], n)
    named = {"rater": (rater, raters), "item": (item, items), "condition": (system, SYSTEMS)}
    columns: dict[str, Any] = {
        name: pa.DictionaryArray.from_arrays(codes, [f"{name[0]}{k:06}" for k in range(size)])
        for name, (codes, size) in named.items()
    }
    table = pa.table({**columns, "score": np.clip(np.round(y), 1, 5).astype(np.int8)})
    if path.suffix == ".csv":
        texts = {name: table[name].cast(pa.string()) for name in named}
        pyarrow.csv.write_csv(pa.table({**texts, "score": table["score"]}), path)
    else:
        pyarrow.parquet.write_table(table, path)


def analysed(path: Path, out: Path, extra: Sequence[str] = ()) -> dict[str, Any]:
    """Run `manage.py analyse` in a process of its own: its report, seconds and peak memory in GB.

    Peak memory is that of the largest process that this one has waited for so far.
    """
    began, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    call = [sys.executable, "manage.py", "analyse", str(path), "--out", str(out), "--everything"]
    subprocess.run(
        [*call, "--no-ratings", "--figures", "none", *extra],
        cwd=ROOT,
        check=True,
        stdout=subprocess.DEVNULL,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    (report,) = out.rglob("report.json")
    return {
        "report": json.loads(report.read_text()),
        "wall_s": time.perf_counter() - began,
        "cpu_s": cpu,
        "gb": after.ru_maxrss / 1024**2,
    }


def recovered(rows: Sequence[dict[str, Any]], names: tuple[str, str, str]) -> tuple[float, int]:
    """The largest error of ten means, and how many intervals hold the true one.

    ``names`` are the columns of the mean and of the ends of its interval.
    """
    truth = true_means()
    held = [
        (row[names[0]] - true, row[names[1]] <= true <= row[names[2]])
        for row, true in zip(sorted(rows, key=lambda row: row["condition"]), truth, strict=True)
    ]
    return max(abs(error) for error, _ in held), sum(inside for _, inside in held)


def clustered_rows(report: dict[str, Any]) -> list[dict[str, Any]]:
    """The report's overall means with two-way clustered intervals."""
    return [
        row
        for row in report["estimates"]
        if row["breakdown"] == "condition:"
        and row["weighting"] == "ratings"
        and row["interval"].startswith("two-way")
    ]


def model_rows(report: dict[str, Any]) -> list[dict[str, Any]]:
    """The means of the mixed model."""
    (part,) = [part for part in report["parts"] if part["key"] == "models"]
    return next(each["rows"] for each in part["tables"] if each["key"].endswith("-means"))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--ratings", type=int, nargs="+", default=[10**5, 10**6, 10**7])
    parser.add_argument("--csv", action="store_true", help="CSV in place of Parquet")
    parser.add_argument("--models", action="store_true", help="with --part models")
    options = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores\n")
    print("| ratings | CPU s | s | GB | largest error of a mean | intervals that hold it, of 10 |")
    print("| --- | --- | --- | --- | --- | --- |")
    for count in sorted(options.ratings):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / ("ratings.csv" if options.csv else "ratings.parquet")
            write_ratings(path, count)
            extra = ["--part", "models"] if options.models else []
            made = analysed(path, Path(folder) / "out", extra)
        error, inside = recovered(clustered_rows(made["report"]), ("value", "low", "high"))
        cells = [f"{count:,}", f"{made['cpu_s']:.0f}", f"{made['wall_s']:.0f}", f"{made['gb']:.2f}"]
        print(f"| {' | '.join(cells)} | {error:.4f} | {inside} |", flush=True)


if __name__ == "__main__":
    main()
