"""How often each interval holds the truth: simulated studies with new raters, texts and clips.

    python benchmarks/bench_coverage.py [--studies 1000]

A rater-by-text study of two conditions, scores as numbers: raters differ in leniency and taste,
texts and clips in quality. Every interval is made of the same studies; the truth is the mean over
all raters and texts there could be. Nominal 95 %; a share of 1000 has a standard error of .007.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

for library in ("OMP", "OPENBLAS"):  # before NumPy: small matrices
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np  # noqa: E402

from analysis.statistics.intervals import (  # noqa: E402
    PigeonholeWeights,
    clustered,
    naive_interval,
    percentile_interval,
    t_interval,
    welch_interval,
)
from analysis.statistics.mixed.gaussian import gaussian_posterior, prior_for  # noqa: E402
from analysis.statistics.mixed.linear_model import ComponentVariance  # noqa: E402
from analysis.statistics.mixed.model_errors import NotEstimable  # noqa: E402
from analysis.statistics.mixed.posterior import highest_density  # noqa: E402
from analysis.statistics.mixed.sufficient_statistics import sums  # noqa: E402

LEVEL = 0.95
SDS = {"rater": 0.42, "taste": 0.20, "text": 0.16, "clip": 0.22, "rest": 0.60}
DIFFERENCE = 0.2
Bounds = tuple[float, float]


@dataclass(frozen=True)
class Design:
    """Raters, texts, and how many raters hear each clip (a text by one of two conditions)."""

    raters: int
    texts: int
    per_clip: int

    def __str__(self) -> str:
        return f"{self.raters} raters, {self.texts} texts, {self.per_clip} ratings a clip"


DESIGNS = (Design(20, 20, 5), Design(40, 40, 8), Design(100, 60, 8))


def study(design: Design, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
    """Scores, conditions, raters and texts (n,) of one study; the true means are 3 and 3.2."""
    clips = [(text, condition) for text in range(design.texts) for condition in (0, 1)]
    rater = np.concatenate(
        [rng.choice(design.raters, design.per_clip, replace=False) for _ in clips]
    )
    text, condition = (np.repeat(x, design.per_clip) for x in np.array(clips).T)
    clip = np.repeat(np.arange(len(clips)), design.per_clip)
    y = 3 + DIFFERENCE * condition + rng.normal(0, SDS["rater"], design.raters)[rater]
    y = y + rng.normal(0, SDS["taste"], (design.raters, 2))[rater, condition]
    y = y + rng.normal(0, SDS["text"], design.texts)[text]
    y = y + rng.normal(0, SDS["clip"], len(clips))[clip] + rng.normal(0, SDS["rest"], len(clip))
    return y, condition.astype(np.int64), rater.astype(np.int64), text.astype(np.int64)


def intervals(
    y: np.ndarray, condition: np.ndarray, rater: np.ndarray, text: np.ndarray, seed: int
) -> Iterator[tuple[str, Bounds | None, float]]:
    """Every interval of the first mean and of the difference, with the truth."""
    first = condition == 0
    means = clustered(y, condition, rater, text, 2)
    gap = float(means.value[1] - means.value[0])
    yield "mean: naive t over ratings", naive_interval(y[first], LEVEL), 3
    se = means.variance(0) ** 0.5
    yield "mean: two-way clustered", t_interval(means.value[0], se, means.degrees(0), LEVEL), 3
    draws = PigeonholeWeights(int(rater.max()) + 1, int(text.max()) + 1, 500, seed)
    again = [draws.means(y[at], rater[at], text[at]) for at in (first, ~first)]
    yield "mean: bootstrap over both", percentile_interval(again[0], LEVEL), 3
    found = welch_interval(y[~first], y[first], LEVEL)
    yield "difference: naive Welch", found[:2] if found else None, DIFFERENCE
    se = means.variance(1, 0) ** 0.5
    bounds = t_interval(gap, se, means.degrees(1, 0), LEVEL)
    yield "difference: two-way clustered", bounds, DIFFERENCE
    bounds = percentile_interval(again[1] - again[0], LEVEL)
    yield "difference: bootstrap over both", bounds, DIFFERENCE
    yield from modelled(y, condition, rater, text, seed, means.value)


def modelled(
    y: np.ndarray,
    condition: np.ndarray,
    rater: np.ndarray,
    text: np.ndarray,
    seed: int,
    value: np.ndarray,
) -> Iterator[tuple[str, Bounds | None, float]]:
    """Those by mixed models: REML with texts and clips, and the posterior without them."""
    weights = [(condition == code) / (condition == code).sum() for code in (0, 1)]
    bounds: list[Bounds | None] = [None, None]
    try:
        model = ComponentVariance(y, condition, rater, text)
        for place, vector in enumerate((weights[0], weights[1] - weights[0])):
            se, degrees = model.se_and_degrees(vector)
            bounds[place] = t_interval(float(vector @ y), se, degrees, LEVEL)
    except NotEstimable:
        pass
    yield "mean: mixed model", bounds[0], 3
    yield "difference: mixed model", bounds[1], DIFFERENCE
    bounds = [None, None]
    try:
        prior = prior_for(1, 5)
        posterior = gaussian_posterior(sums(y, rater, condition), prior, seed=seed, draws=500)
        drawn = posterior.draws["condition"].reshape(-1, 2)
        both = np.column_stack([drawn[:, 0], drawn[:, 1] - drawn[:, 0]])
        low, high = highest_density(both, level=LEVEL)
        bounds = [(float(low[k]), float(high[k])) for k in (0, 1)]
    except NotEstimable:
        pass
    yield "mean: posterior HDI, these clips", bounds[0], 3
    yield "difference: posterior HDI, these clips", bounds[1], DIFFERENCE


def held(design: Design, studies: int) -> dict[str, str]:
    """Of each interval: the share that holds the truth, the mean width, and how many there were."""
    rng = np.random.default_rng(20261122)
    found: dict[str, list[tuple[bool, float]]] = defaultdict(list)
    for number in range(studies):
        for name, bounds, truth in intervals(*study(design, rng), seed=number):
            if bounds is not None:
                low, high = bounds
                found[name].append((low <= truth <= high, high - low))
    told = {}
    for name, each in found.items():
        share, width = np.mean(each, axis=0)
        less = f", {len(each)} studies" if len(each) < studies else ""
        told[name] = f"{share:.3f} (width {width:.3f}{less})"
    return told


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--studies", type=int, default=1000)
    options = parser.parse_args()
    began = time.perf_counter()
    with ProcessPoolExecutor(os.cpu_count()) as processes:
        columns = list(processes.map(held, DESIGNS[::-1], [options.studies] * len(DESIGNS)))[::-1]
    print("| interval | " + " | ".join(str(design) for design in DESIGNS) + " |")
    print("| --- |" + " --- |" * len(DESIGNS))
    for name in columns[0]:
        print(f"| {name} | " + " | ".join(column.get(name, "") for column in columns) + " |")
    print(f"{options.studies} studies each; {time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
