"""Mixed models of large studies with effects of texts, beside lme4: CPU seconds, memory, errors.

    python benchmarks/bench_crossed.py [--rounds 1] [--all] [--no-lme4]
    python benchmarks/bench_crossed.py --moments 10000 100000 [--gpboost PYTHON]
    python benchmarks/bench_crossed.py --movies

InstEval of lme4 (73,421 ratings of 1,128 lecturers by 2,972 students; service is the condition)
with rater, item, and item by condition; `--all` adds rater by condition. Each fit is a process of
its own, on one thread; CPU seconds are those of the fit and of the contrast, reading apart. lme4
needs R with lme4 (Debian: r-cran-lme4), which also has the data. Then 200,000 simulated ratings of
2,000 clips (10 systems, 200 texts, 1,000 raters) with all four effects, by Earnest alone. Goals:
half of lme4's CPU seconds, standard errors within 1e-4 of lme4's, and 2 GB.

`--moments` fits simulated ratings by moments, as reports of millions do, beside lme4's REML and
GPBoost's maximum likelihood; PYTHON is one that has the package gpboost.

`--movies` fits, by moments, as many ratings of as many movies by as many users as the largest fits
that MixedModels.jl has published (Embrace Uncertainty, "A large-scale observational study":
rating ~ 1 + (1 | userId) + (1 | movieId) of MovieLens), some heard and some rating far more often
than others. The ratings themselves are simulated: MovieLens may not be passed on.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

for library in ("OMP", "OPENBLAS", "MKL"):  # before NumPy, and for R
    os.environ[f"{library}_NUM_THREADS"] = "1"
ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402  after the number of threads is set
import pandas as pd  # noqa: E402

from analysis.statistics.mixed.large_fit import moments_fit  # noqa: E402
from analysis.statistics.mixed.linear_model import crossed_reml  # noqa: E402
from analysis.statistics.mixed.model_contrasts import pairs  # noqa: E402

THREE = ("rater", "item", "stimulus")
FOUR = (*THREE, "rater:condition")
TERMS = {**{name: name for name in FOUR}, "stimulus": "item:condition"}
BY_R = """
suppressMessages(library(lme4)); table <- read.csv("{path}"); began <- proc.time()
for (name in c("rater", "item", "condition")) table[[name]] <- factor(table[[name]])
fit <- lmer(score ~ 0 + condition + {terms}, table)
took <- proc.time() - began; v <- as.matrix(vcov(fit)); k <- c(-1, 1, rep(0, nrow(v) - 2))
peak <- grep("VmHWM", readLines("/proc/self/status"), value = TRUE)
peak <- as.numeric(sub("[^0-9]*([0-9]+).*", "\\\\1", peak))
said <- '{{"cpu": %.3f, "gb": %.3f, "difference": %.8f, "se": %.8f, "se_means": [%.8f, %.8f]}}'
cat(sprintf(said,
  took[["user.self"]] + took[["sys.self"]], peak / 1e6, sum(k * fixef(fit)),
  sqrt(drop(k %*% v %*% k)), sqrt(v[1, 1]), sqrt(v[2, 2])))
"""

BY_GPBOOST = """
import json, resource, sys, time
import gpboost, numpy as np, pandas as pd
table = pd.read_csv(sys.argv[1])
groups = [table.groupby(names.split(":")).ngroup() for names in sys.argv[2].split(",")]
condition = table.groupby("condition").ngroup().to_numpy()
fixed = np.eye(condition.max() + 1)[condition]
fixed[:, 0] = 1  # so that the second coefficient is the first difference
began = time.process_time()
model = gpboost.GPModel(group_data=np.column_stack(groups), num_parallel_threads=1)
model.fit(y=table["score"].to_numpy(float), X=fixed)
found = np.asarray(model.get_coef(std_err=True))
took = time.process_time() - began
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
print(json.dumps({"cpu": took, "gb": peak, "difference": abs(found[0, 1]), "se": found[1, 1]}))
"""
MOVIES = ((27_394_411, 266_974, 13_360), (27_716_748, 266_980, 53_883))  # ratings, users, movies


def inst_eval(folder: Path) -> pd.DataFrame:
    """The ratings of InstEval: rater, item, condition, score."""
    path = folder / "insteval.csv"
    write = f"library(lme4); data(InstEval); write.csv(InstEval, '{path}', row.names = FALSE)"
    subprocess.run(["Rscript", "-e", write], check=True, capture_output=True)
    frame = pd.read_csv(path)
    names = {"s": "rater", "d": "item", "service": "condition", "y": "score"}
    return frame.rename(columns=names)[[*names.values()]]


def simulated(n: int = 200_000, raters: int = 1000, items: int = 200) -> pd.DataFrame:
    """Ratings of 10 systems by raters and of items whose effects all matter."""
    rng = np.random.default_rng(1)
    shape = (raters, 10, items)
    rater, condition, item = (rng.integers(0, size, n) for size in shape)
    score = 3 + 0.1 * condition + rng.normal(0, 0.5, shape[0])[rater]
    score += rng.normal(0, 0.3, shape[2])[item] + rng.normal(0, 0.3, shape[:2])[rater, condition]
    score += rng.normal(0, 0.3, shape[1:])[condition, item] + rng.normal(0, 0.8, n)
    columns = {"rater": rater, "item": item, "condition": condition}
    return pd.DataFrame({**columns, "score": np.clip(score.round(), 1, 5)})


def movies(n: int, users: int, films: int) -> pd.DataFrame:
    """Ratings by users of movies, none twice; how many each gives or gets is log-normal."""
    rng = np.random.default_rng(1)

    def drawn(size: int) -> np.ndarray:
        weights = rng.lognormal(0, 1, size)
        return rng.choice(size, 2 * n, p=weights / weights.sum())

    both = rng.permutation(np.unique(drawn(users) * films + drawn(films)))[:n]
    assert len(both) == n
    rater, item = np.divmod(both, films)
    score = 3.5 + rng.normal(0, 0.4, users)[rater] + rng.normal(0, 0.5, films)[item]
    score += rng.normal(0, 0.85, n)
    score = np.clip((2 * score).round() / 2, 0.5, 5)
    return pd.DataFrame({"rater": rater, "item": item, "condition": 0, "score": score})


def fit(frame: pd.DataFrame, effects: tuple[str, ...], moments: bool = False) -> dict[str, Any]:
    """The fit and its contrasts in this process: CPU seconds, GB, the first difference."""
    columns = {"stimulus": ["item", "condition"], "rater:condition": ["rater", "condition"]}
    codes = {
        name: frame.groupby(columns.get(name, [name])).ngroup().to_numpy(np.int64)
        for name in effects
    }
    condition = frame.groupby("condition").ngroup().to_numpy(np.int64)
    y, n_conditions = frame["score"].to_numpy(np.float64), int(condition.max()) + 1
    began = time.process_time()
    if moments:
        found = moments_fit(y, condition, condition, codes, n_conditions)
    else:
        found = crossed_reml(y, np.eye(n_conditions)[condition], condition, codes)
    differences = pairs(found) if n_conditions > 1 else None
    took = time.process_time() - began
    value, se = (
        (found.estimate, found.se) if differences is None else (differences.value, differences.se)
    )
    return {
        "cpu": took,
        "gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6,
        "difference": abs(float(value[0])),
        "se": float(se[0]),
        "se_means": found.se.tolist()[:2],
    }


def apart(path: Path, effects: tuple[str, ...], moments: bool = False) -> dict[str, Any]:
    """`fit` in a process of its own."""
    call = [sys.executable, __file__, "--fit", str(path), ",".join(effects), "moments" * moments]
    done = subprocess.run(call, check=True, capture_output=True, text=True)
    return dict(json.loads(done.stdout))


def by_lme4(path: Path, effects: tuple[str, ...]) -> dict[str, Any]:
    """The same by lmer, in a process of its own."""
    terms = " + ".join(f"(1 | {TERMS[name]})" for name in effects)
    call = ["Rscript", "-e", BY_R.format(path=path, terms=terms)]
    done = subprocess.run(call, check=True, capture_output=True, text=True)
    return dict(json.loads(done.stdout))


def by_gpboost(python: str, path: Path, effects: tuple[str, ...]) -> dict[str, Any]:
    """The same by GPBoost, in a process of the Python that has it."""
    terms = ",".join(TERMS[name] for name in effects)
    call = [python, "-c", BY_GPBOOST, str(path), terms]
    done = subprocess.run(call, check=True, capture_output=True, text=True)
    return {"se_means": [], **json.loads(done.stdout.splitlines()[-1])}


def row(name: str, found: dict[str, Any], rival: dict[str, Any] | None = None) -> None:
    """One line of the table; ``rival`` is lme4's fit of the same."""
    cells = [name, f"{found['cpu']:.1f}", f"{found['gb']:.2f}"]
    cells += [f"{found['difference']:.5f}", f"{found['se']:.6f}", "", ""]
    if rival is not None:
        both = np.array([found["se"], *found["se_means"]]), [rival["se"], *rival["se_means"]]
        cells[5:] = [f"{np.abs(both[0] - both[1]).max():.1e}", f"{rival['cpu'] / found['cpu']:.1f}"]
    print(f"| {' | '.join(cells)} |", flush=True)


def main() -> None:
    """Fit everything and print the table."""
    asked = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    asked.add_argument("--rounds", type=int, default=1)
    asked.add_argument("--all", action="store_true")
    asked.add_argument("--no-lme4", action="store_true")
    asked.add_argument("--moments", type=int, nargs="+", metavar="RATINGS")
    asked.add_argument("--gpboost", metavar="PYTHON")
    asked.add_argument("--movies", action="store_true")
    asked.add_argument("--fit", nargs=3, help=argparse.SUPPRESS)
    options = asked.parse_args()
    if options.fit:
        path, effects, moments = options.fit
        frame = pd.read_parquet(path) if path.endswith(".parquet") else pd.read_csv(path)
        print(json.dumps(fit(frame, tuple(effects.split(",")), bool(moments))))
        return
    print(f"load {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores\n")
    print("| fit | CPU s | GB | difference | its SE | SEs off by, at most | lme4's CPU s, times |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for n in options.moments or ():
            path = folder / "simulated.csv"
            simulated(n, raters=n // 100, items=100).to_csv(path, index=False)
            if theirs := None if options.no_lme4 else by_lme4(path, FOUR):
                row(f"{n:,}: lme4", theirs)
            if options.gpboost:
                row(f"{n:,}: GPBoost", by_gpboost(options.gpboost, path, FOUR))
            row(f"{n:,}: moments", apart(path, FOUR, moments=True), theirs)
        for n, users, films in MOVIES if options.movies else ():
            path = folder / "movies.parquet"
            movies(n, users, films).to_parquet(path)
            name = f"{n:,} of {films:,} by {users:,}: moments; the mean"
            row(name, apart(path, ("rater", "stimulus"), moments=True))
        if options.moments or options.movies:
            return
        if shutil.which("Rscript") and not options.no_lme4:
            path = folder / "ratings.csv"
            inst_eval(folder).to_csv(path, index=False)
            for effects in (THREE, FOUR) if options.all else (THREE,):
                for _ in range(options.rounds):
                    ours, theirs = apart(path, effects), by_lme4(path, effects)
                    row(f"InstEval, {', '.join(effects)}: lme4", theirs)
                    row(f"InstEval, {', '.join(effects)}: Earnest", ours, theirs)
        elif not options.no_lme4:
            print("| InstEval: needs R with lme4 | | | | | | |")
        path = folder / "large.csv"
        simulated().to_csv(path, index=False)
        row("200,000 x 2,000 clips, all four: Earnest", apart(path, FOUR))


if __name__ == "__main__":
    main()
