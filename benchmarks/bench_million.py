"""A million ratings from CSV to MOS with clustered intervals, against pandas with a naive interval.

    python benchmarks/bench_million.py [--ratings 1000000] [--rounds 3]

Both start as new processes on the same file, in turns. Earnest checks every cell, hashes the table,
screens it and makes two-way clustered and naive intervals, overall and by dimension; the script
beside it is what people write by hand: `pandas.read_csv`, `groupby`, mean and t interval.
"""

from __future__ import annotations

import argparse
import csv
import json
import random
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PER_RATER, CONDITIONS, ITEMS = 200, 20, 500
GOAL_S, GOAL_GB = 20, 2

EARNEST = """
import json, resource, sys, time
begun = last = time.perf_counter()
took = {}
def done(name):
    global last
    now = time.perf_counter()
    took[name], last = now - last, now
from analysis.statistics.estimators.mean_score import MeanScore
from analysis.statistics.options import Breakdown
from analysis.ratings.table import from_csv, table_hash
from analysis.statistics.screening import DEFAULT, screen
done("import")
table = from_csv(sys.argv[1])
done("load and check")
table_hash(table)
done("hash")
kept = screen(table, DEFAULT).kept(DEFAULT)
done("screen")
made = MeanScore(intervals=("two_way",)).fit(kept)
done("MOS")
MeanScore(Breakdown(by=("dimension",)), ("two_way",), ("ratings",)).fit(kept)
done("MOS by dimension")
took["all"] = time.perf_counter() - begun
took["GB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
took["first"] = made[0].value
print(json.dumps(took))
"""
BY_HAND = """
import json, resource, sys, time
begun = time.perf_counter()
import pandas as pd
from scipy import stats
table = pd.read_csv(sys.argv[1])
kept = table[table["trap"].isna() & (table["session_status"] == "finished")]
means = kept.groupby("condition")["score"].agg(["mean", "std", "count"])
means["half"] = stats.t.ppf(0.975, means["count"] - 1) * means["std"] / means["count"] ** 0.5
took = {"all": time.perf_counter() - begun, "first": float(means["mean"].iloc[0])}
took["GB"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
print(json.dumps(took))
"""


def write_ratings(path: Path, count: int) -> None:
    """Ratings as export_study writes them: raters of 200 clips, 20 conditions, 500 texts."""
    from analysis.ratings.cells import COLUMNS

    chance = random.Random(1)
    same = {"study": "big", "task": "mos", "method": "mos", "criterion": "naturalness"}
    same |= {"estimand": "mos", "language": "en", "session_status": "finished", "plays": "1"}
    same |= {"heard_fraction": "1.0", "paid": "true", "counts": "true"}
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, restval="")
        writer.writeheader()
        for number in range(count):
            rater, place = divmod(number, PER_RATER)
            item, condition = chance.randrange(ITEMS), chance.randrange(CONDITIONS)
            score = min(5, max(1, round(3 + condition / CONDITIONS + chance.gauss(0, 0.8))))
            own = {"session": f"s{rater:06}", "rater": f"r{rater:06}", "block": str(place // 20)}
            own |= {"position": str(place), "item": f"i{item}", "dimension": f"d{item % 5}"}
            own |= {"condition": f"c{condition:02}", "stimulus": f"c{condition:02}-i{item}"}
            own |= {"label": str(score), "score": str(score), "system": f"c{condition:02}"}
            own |= {"latency_ms": str(3000 + chance.randrange(9000))}
            own |= {"rated_at": f"2026-11-{1 + rater % 28:02}T{place // 60:02}:{place % 60:02}:00Z"}
            writer.writerow(same | own)


def measured(code: str, path: Path) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    took: dict[str, float] = json.loads(done.stdout)
    return took


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--ratings", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ratings.csv"
        write_ratings(path, options.ratings)
        print(f"{options.ratings} ratings, {path.stat().st_size / 1024**2:.0f} MB of CSV")
        ours, theirs = [], []
        for _ in range(options.rounds):
            ours.append(measured(EARNEST, path))
            theirs.append(measured(BY_HAND, path))
    assert abs(ours[0]["first"] - theirs[0]["first"]) < 1e-9, "the two do not agree on a mean"
    for name in ours[0]:
        if name not in ("first", "GB"):
            print(f"  {name:<18} {statistics.median(took[name] for took in ours):6.2f} s")
    for name, rounds in (("Earnest", ours), ("pandas by hand", theirs)):
        seconds = [took["all"] for took in rounds]
        gigabytes = max(took["GB"] for took in rounds)
        times = f"median {statistics.median(seconds):.2f} s, worst {max(seconds):.2f} s"
        print(f"{name:<15} {times}, {gigabytes:.2f} GB")
    print(f"goal: {GOAL_S} s and {GOAL_GB} GB")


if __name__ == "__main__":
    main()
