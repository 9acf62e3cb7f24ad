"""Scores of 10,000 clips from a CSV of ratings, against pandas by hand and the model by hand.

    python benchmarks/bench_clips.py [--clips 10000] [--ratings 10] [--rounds 3] [--report]
        [--sureal PYTHON]

Earnest reads and checks the file, screens it, and writes mean, SD, interval, both recovered scores
of ITU-T P.910 and the means without raters whom BT.500 rejects, as CSV and JSON. Beside it what
people write by hand: `read_csv`, `groupby`, mean, SD and t interval; and that with P.910's
published algorithm on the matrix of clips and raters. `--sureal` runs the package sureal with the
Python of an environment that has it, `--report` the whole `analyse --by stimulus`. CPU seconds.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RATERS, CONDITIONS, GOAL_S = 500, 20, 60

COUNTED = """
import json, resource, sys, time
def told(**more):
    used = resource.getrusage(resource.RUSAGE_SELF)
    more |= {"cpu": used.ru_utime + used.ru_stime, "GB": used.ru_maxrss / 1024**2}
    print(json.dumps(more))
"""
EARNEST = """
from analysis.statistics.options import options_from
from analysis.report.part import Given
from analysis.report.parts.clip_scores import ClipScoresPart
from analysis.ratings.table import from_csv
from analysis.report.writers.clip_files import clip_files
from analysis.statistics.screening import DEFAULT, screen
table = from_csv(sys.argv[1])
screened = screen(table, DEFAULT)
options = options_from({"by": ["stimulus"]})
shown = ClipScoresPart().make(Given(screened.kept(DEFAULT), screened, options)).plain()
origin = {"level": 0.95, "table_hash": "", "code": ""}
files = clip_files({"provenance": origin}, shown)
told(rows=len(json.loads(files["clips.json"])["rows"]), size=sum(map(len, files.values())))
"""
PANDAS = """
import pandas as pd
from scipy import stats
table = pd.read_csv(sys.argv[1])
found = table.groupby("stimulus")["score"].agg(["mean", "std", "count"])
found["half"] = stats.t.ppf(0.975, found["count"] - 1) * found["std"] / found["count"] ** 0.5
"""
DENSE = """
import numpy as np
y = table.pivot(index="stimulus", columns="rater", values="score").to_numpy()
q = np.nanmean(y, axis=1)
b = np.nanmean(y - q[:, None], axis=0)
for _ in range(1000):
    before = q
    v = np.nanstd(y - q[:, None] - b, axis=0)
    w = np.where(np.isnan(y), 0.0, 1 / (v**2 + 1e-8))
    q = np.nansum(w * (y - b), axis=1) / w.sum(axis=1)
    b = np.nanmean(y - q[:, None], axis=0)
    if np.linalg.norm(before - q) < 1e-8:
        break
found["recovered"], found["recovered_se"] = q, w.sum(axis=1) ** -0.5
"""
WRITTEN = """
text = found.reset_index().to_csv() + found.reset_index().to_json(orient="records")
told(rows=len(found), size=len(text))
"""
SUREAL = """
import contextlib, csv, io
from collections import defaultdict
from types import SimpleNamespace
from sureal.dataset_reader import RawDatasetReader
from sureal.subjective_model import SubjectMLEModelProjectionSolver
os = defaultdict(dict)
for row in csv.DictReader(open(sys.argv[1])):
    os[row["stimulus"]][row["rater"]] = float(row["score"])
named = [{"content_id": i, "asset_id": i, "path": name} for i, name in enumerate(os)]
rated = [{**one, "os": os[one["path"]]} for one in named]
data = SimpleNamespace(dataset_name="x", ref_videos=named, dis_videos=rated, ref_score=5.0)
with contextlib.redirect_stdout(io.StringIO()):
    found = SubjectMLEModelProjectionSolver(RawDatasetReader(data)).run_modeling()
told(rows=len(found["quality_scores"]), size=0)
"""
REPORT = """
import os, tempfile
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
import django
from django.core.management import call_command
django.setup()
with tempfile.TemporaryDirectory() as out:
    call_command("analyse", sys.argv[1], "--by", "stimulus", "--out", out, "--figures", "none",
                 "--no-ratings", stdout=open(os.devnull, "w"))
    rows = len(json.load(open(out + "/clips.json"))["rows"])
    told(rows=rows, size=os.path.getsize(out + "/clips.csv"))
"""


def write_ratings(path: Path, clips: int, each: int) -> None:
    """Whole scores of 1 to 5: clips differ by SD 0.8, raters by 0.4, and by 0.4 to 1.1 in noise."""
    import numpy as np
    import pandas as pd

    rng = np.random.default_rng(1)
    quality, bias = rng.normal(3.2, 0.8, clips), rng.normal(0, 0.4, RATERS)
    noise = rng.uniform(0.4, 1.1, RATERS)
    clip = np.repeat(np.arange(clips), each)
    rater = np.concatenate([rng.choice(RATERS, each, replace=False) for _ in range(clips)])
    y = quality[clip] + bias[rater] + noise[rater] * rng.normal(size=len(clip))
    pd.DataFrame(
        {
            "rater": [f"r{r:03}" for r in rater],
            "condition": [f"c{c % CONDITIONS:02}" for c in clip],
            "item": [f"i{c // CONDITIONS:04}" for c in clip],
            "stimulus": [f"c{c % CONDITIONS:02}-i{c // CONDITIONS:04}" for c in clip],
            "score": np.clip(np.round(y), 1, 5),
        }
    ).to_csv(path, index=False)


def measured(code: str, path: Path, python: str = sys.executable) -> dict[str, float]:
    done = subprocess.run(
        [python, "-c", COUNTED + code, str(path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
    )
    took: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return took


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--clips", type=int, default=10_000)
    parser.add_argument("--ratings", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--report", action="store_true")
    parser.add_argument("--sureal", metavar="PYTHON", default="")
    options = parser.parse_args()
    runs = {
        "Earnest, CSV and JSON": (EARNEST, sys.executable),
        "pandas by hand, no recovered scores": (PANDAS + WRITTEN, sys.executable),
        "pandas and P.910 by hand": (PANDAS + DENSE + WRITTEN, sys.executable),
    }
    if options.sureal:
        runs["sureal, recovered scores alone"] = (SUREAL, options.sureal)
    if options.report:
        runs["the whole report with it"] = (REPORT, sys.executable)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ratings.csv"
        write_ratings(path, options.clips, options.ratings)
        print(f"{options.clips} clips, {options.ratings} ratings each, {RATERS} raters")
        took: dict[str, list[dict[str, float]]] = {name: [] for name in runs}
        for _ in range(options.rounds):
            for name, (code, python) in runs.items():
                took[name].append(measured(code, path, python))
    for name, rounds in took.items():
        assert {each["rows"] for each in rounds} == {options.clips}, f"{name}: not all clips"
        seconds = [each["cpu"] for each in rounds]
        gigabytes = max(each["GB"] for each in rounds)
        told = f"median {statistics.median(seconds):.1f} CPU s, worst {max(seconds):.1f}"
        print(f"{name:<36} {told}, {gigabytes:.2f} GB")
    print(f"goal: {GOAL_S} CPU s")


if __name__ == "__main__":
    main()
