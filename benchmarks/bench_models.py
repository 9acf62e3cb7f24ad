"""Mixed models on the size of the Audio Turing Test: CPU seconds, effective draws, convergence.

    python benchmarks/bench_models.py [--repeats 3] [--all]

The data are att_s1 of the tests (simulated: 19,992 labels by 857 raters of 5 systems after the
traps) and mos_s1 (4,929 scores by 87 raters of 12 systems and 708 clips). Every row is the median
of the repeats, imports and reading apart, on one thread. `--all` adds the REML fit with 3,999
stimulus effects across 857 raters, about a minute. The goals: REML and all contrasts 0.3 CPU s,
Gaussian posterior 2, ordinal posterior 15.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402  after the number of threads is set
import pandas as pd  # noqa: E402

from analysis.mixed.comparisons import means, pairs  # noqa: E402
from analysis.mixed.gaussian import HLS_PRIOR, gaussian_posterior  # noqa: E402
from analysis.mixed.linear import crossed_reml, nested_reml  # noqa: E402
from analysis.mixed.ordinal import label_counts  # noqa: E402
from analysis.mixed.ordinal_fit import ordinal_ml, ordinal_posterior  # noqa: E402
from analysis.mixed.posterior import Posterior  # noqa: E402
from analysis.mixed.sufficient import Codes, sums  # noqa: E402

DATA = ROOT / "tests/data/analysis"
LABELS = {"Machine": 0, "Unclear": 1, "Human": 2}


def att() -> pd.DataFrame:
    """att_s1 without the batches whose traps failed."""
    frame = pd.read_csv(DATA / "att_s1.csv.gz")
    traps = frame[frame["is_trap"] == 1]
    right = traps[traps["label"] == traps["expected_label"]]
    passed = [
        set(zip(rows["rater"], rows["batch"], strict=True))
        for rows in (right[right["trap_kind"] == kind] for kind in ("flawed", "human"))
    ]
    kept = passed[0] & passed[1]
    in_kept = [key in kept for key in zip(frame["rater"], frame["batch"], strict=True)]
    return frame[(frame["is_trap"] == 0) & np.array(in_kept)]


def mos() -> pd.DataFrame:
    """mos_s1, the isolated sentences heard over headphones."""
    frame = pd.read_csv(DATA / "mos_s1.csv.gz")
    return frame[(frame["headphones"] == 1) & (frame["condition"] == "isolation")]


def codes(frame: pd.DataFrame, *columns: str) -> Codes:
    """Codes from 0 of a combination of columns."""
    joined = frame[list(columns)].astype(str).agg("|".join, axis=1)
    return pd.factorize(joined, sort=True)[0].astype(np.int64)


def with_texts(frame: pd.DataFrame) -> Callable[[], object]:
    """REML with rater, rater by system, text and stimulus effects, and all contrasts."""
    system = codes(frame, "system")
    inside = {
        "rater:condition": codes(frame, "rater", "system"),
        "stimulus": codes(frame, "stimulus"),
    }
    across = {"rater": codes(frame, "rater"), "item": codes(frame, "text")}
    y, design = frame["score"].to_numpy(np.float64), np.eye(system.max() + 1)[system]
    return lambda: pairs(crossed_reml(y, design, system, inside, across))


def models(everything: bool) -> dict[str, Callable[[], object]]:
    """What is timed, by name."""
    frame = att()
    y, rater, system = (
        frame["score"].to_numpy(np.float64),
        codes(frame, "rater"),
        codes(frame, "system"),
    )
    label = frame["label"].map(LABELS).to_numpy(np.int64)
    scores = np.array([0.0, 0.5, 1.0])

    def reml() -> object:
        fit = nested_reml(sums(y, rater, system))
        return means(fit), pairs(fit)

    found: dict[str, Callable[[], object]] = {
        "att_s1 Gaussian REML, all contrasts": reml,
        "att_s1 Gaussian posterior": lambda: gaussian_posterior(sums(y, rater, system), HLS_PRIOR),
        "att_s1 ordinal maximum likelihood": lambda: ordinal_ml(label_counts(label, rater, system)),
        "att_s1 ordinal posterior": lambda: ordinal_posterior(
            label_counts(label, rater, system), scores=scores
        ),
        "mos_s1 REML with text and stimulus, all contrasts": with_texts(mos()),
    }
    if everything:
        found["att_s1 REML with text and stimulus, all contrasts"] = with_texts(frame)
    return found


def timed(run: Callable[[], object], repeats: int) -> tuple[float, float, Any]:
    """Median CPU seconds, median wall seconds, and the last result."""
    cpu, wall = [], []
    for _ in range(repeats):
        at = time.process_time(), time.perf_counter()
        result = run()
        cpu.append(time.process_time() - at[0])
        wall.append(time.perf_counter() - at[1])
    return statistics.median(cpu), statistics.median(wall), result


def main() -> None:
    """Time every model and print the table."""
    asked = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    asked.add_argument("--repeats", type=int, default=3)
    asked.add_argument("--all", action="store_true")
    options = asked.parse_args()
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores\n")
    print("| model | CPU s | wall s | least ESS | R-hat | Pareto k | ESS / CPU s |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name, run in models(options.all).items():
        cpu, wall, result = timed(run, options.repeats)
        cells = [name, f"{cpu:.3f}", f"{wall:.3f}", "", "", "", ""]
        if isinstance(result, Posterior):
            said = result.diagnostics
            least = min(said.ess_bulk.values())
            cells[3:] = [f"{least:.0f}", f"{max(said.r_hat.values()):.4f}"]
            cells += [f"{said.pareto_k:.2f}", f"{least / cpu:.0f}"]
        print(f"| {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
