"""Mixed models on the size of the Audio Turing Test: CPU seconds, effective draws, convergence.

    python benchmarks/bench_models.py [--repeats 3] [--all] [--alternatives]

The data are att_s1 of the tests (simulated: 19,992 labels by 857 raters of 5 systems after the
traps) and mos_s1 (4,929 scores by 87 raters of 12 systems and 708 clips). Every row is the median
of the repeats, imports and reading apart, on one thread. `--all` adds the REML fit with 3,999
stimulus effects across 857 raters, about a minute. The goals: REML and all contrasts 0.3 CPU s,
Gaussian posterior 2, ordinal posterior 15.

`--alternatives` samples the Gaussian model of att_s1 (mean per system, rater, rater by system) in
the same run by PyMC's default sampler and by bambi, 4 chains of 1,000 draws after 1,000, as their
users would: once each, minutes. PyMC is among Earnest's packages; for bambi make an environment of
its own, `pip install "bambi==0.17.*" "matplotlib<3.11"`, and run this script with its Python.
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

from analysis.statistics.mixed.convergence import diagnose  # noqa: E402
from analysis.statistics.mixed.gaussian import HLS_PRIOR, gaussian_posterior  # noqa: E402
from analysis.statistics.mixed.linear_model import crossed_reml, nested_reml  # noqa: E402
from analysis.statistics.mixed.model_contrasts import means, pairs  # noqa: E402
from analysis.statistics.mixed.ordinal_fit import (  # noqa: E402
    label_counts,
    ordinal_ml,
    ordinal_posterior,
)
from analysis.statistics.mixed.posterior import Posterior  # noqa: E402
from analysis.statistics.mixed.sufficient_statistics import Codes, sums  # noqa: E402

DATA = ROOT / "tests/data/analysis"
GAUSSIAN = "att_s1 Gaussian posterior"
Draws = dict[str, np.ndarray]
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
    effects = {
        "rater": codes(frame, "rater"),
        "rater:condition": codes(frame, "rater", "system"),
        "item": codes(frame, "text"),
        "stimulus": codes(frame, "stimulus"),
    }
    y, design = frame["score"].to_numpy(np.float64), np.eye(system.max() + 1)[system]
    return lambda: pairs(crossed_reml(y, design, system, effects))


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
        GAUSSIAN: lambda: gaussian_posterior(sums(y, rater, system), HLS_PRIOR),
        "att_s1 ordinal maximum likelihood": lambda: ordinal_ml(label_counts(label, rater, system)),
        "att_s1 ordinal posterior": lambda: ordinal_posterior(
            label_counts(label, rater, system), scores=scores
        ),
        "mos_s1 REML with text and stimulus, all contrasts": with_texts(mos()),
    }
    if everything:
        found["att_s1 REML with text and stimulus, all contrasts"] = with_texts(frame)
    return found


def by_pymc(frame: pd.DataFrame) -> Draws:
    """The model as a user of PyMC writes it: non-centred, one row a label, default sampler."""
    import pymc as pm

    system, rater = codes(frame, "system"), codes(frame, "rater")
    both = codes(frame, "rater", "system")
    with pm.Model():
        beta = pm.Normal("beta", 0, 1, shape=int(system.max()) + 1)
        sd_rater = pm.HalfNormal("sd_rater", 0.5)
        sd_both = pm.HalfNormal("sd_both", 0.5)
        sigma = pm.HalfNormal("sigma", 0.5)
        u = pm.Normal("u", shape=int(rater.max()) + 1)
        w = pm.Normal("w", shape=int(both.max()) + 1)
        mean = beta[system] + sd_rater * u[rater] + sd_both * w[both]
        pm.Normal("y", mean, sigma, observed=frame["score"].to_numpy(np.float64))
        found = pm.sample(1000, tune=1000, chains=4, random_seed=1, progressbar=False)
    return chosen(found, "beta", "sd_rater", "sd_both", "sigma")


def by_bambi(frame: pd.DataFrame) -> Draws:
    """The model by bambi's formula, with its own priors and default sampler."""
    import bambi

    formula = "score ~ 0 + system + (1|rater) + (1|rater:system)"
    data = frame[["score", "system", "rater"]].reset_index(drop=True)
    found = bambi.Model(formula, data).fit(
        draws=1000, tune=1000, chains=4, random_seed=1, progressbar=False
    )
    return chosen(found, "system", "1|rater_sigma", "1|rater:system_sigma", "sigma")


def chosen(found: Any, *names: str) -> Draws:
    """The means and standard deviations of an InferenceData."""
    return {name: np.asarray(found.posterior[name].values, dtype=np.float64) for name in names}


def alternatives(cpu: float, wall: float, ours: Posterior) -> None:
    """Time PyMC and bambi once each on att_s1, and print them beside our own posterior."""
    frame = att()
    least = min(ours.diagnostics.ess_bulk.values())
    print(
        "\n| Gaussian model of att_s1 | wall s | CPU s | least ESS | R-hat | ESS / wall s |", end=""
    )
    print(" wall, times ours | ESS / s, ours is times better | largest difference of means |")
    print("| --- |" + " --- |" * 8)
    print(f"| Earnest, closed form | {wall:.2f} | {cpu:.2f} | {least:.0f} | ", end="")
    print(f"{max(ours.diagnostics.r_hat.values()):.4f} | {least / wall:.0f} | | | |", flush=True)
    means = ours.draws["condition"].mean(axis=(0, 1))
    for name, run in (("PyMC, default NUTS", by_pymc), ("bambi, default NUTS", by_bambi)):
        began = cpu_with_children(), time.perf_counter()
        try:
            draws = run(frame)
        except ImportError as error:
            print(f"| {name} | {error}; see the top of this script |")
            continue
        took = cpu_with_children() - began[0], time.perf_counter() - began[1]
        said = diagnose(draws)
        size = min(said.ess_bulk.values())
        off = float(np.abs(next(iter(draws.values())).mean(axis=(0, 1)) - means).max())
        cells = [name, f"{took[1]:.0f}", f"{took[0]:.0f}", f"{size:.0f}"]
        cells += [f"{max(said.r_hat.values()):.4f}", f"{size / took[1]:.1f}"]
        cells += [f"{took[1] / wall:.0f}", f"{least / wall / (size / took[1]):.0f}", f"{off:.4f}"]
        print(f"| {' | '.join(cells)} |", flush=True)


def cpu_with_children() -> float:
    """CPU seconds of this process and of those that it started and that ended."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


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
    asked.add_argument("--alternatives", action="store_true")
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
        if name == GAUSSIAN:
            gaussian = cpu, wall, result
    if options.alternatives:
        alternatives(*gaussian)


if __name__ == "__main__":
    main()
