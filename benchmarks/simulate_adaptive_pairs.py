"""What choosing pairs by their information gains: error, coverage, order and spread, by simulation.

    python benchmarks/simulate_adaptive_pairs.py OUT.csv [--studies 200] [--only TEXT]
    python benchmarks/simulate_adaptive_pairs.py OUT.csv --table

Strengths are drawn from a normal distribution, answers follow Bradley and Terry (1952). In cells
named “raters and items”, each rater and each item shifts each system, four raters listen at once,
and intervals are clustered; truth is then the fit of all pairs, each equally often, to the expected
answers. A row of OUT.csv per cell and rule; cells that it holds are not run again.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from random import Random

for library in ("OMP", "OPENBLAS"):  # before NumPy: small matrices
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np  # noqa: E402
from scipy import linalg, optimize, special, stats  # noqa: E402

from analysis.arrays import Floats  # noqa: E402
from analysis.statistics.comparisons.test_result import Undefined  # noqa: E402
from analysis.statistics.pairs.ability_fit import CLUSTERED, MODEL, AbilityFit  # noqa: E402
from analysis.statistics.pairs.pair_information import pair_information  # noqa: E402
from analysis.statistics.pairs.pair_ratings import PairRatings  # noqa: E402
from analysis.statistics.pairs.win_models import bradley_terry  # noqa: E402
from listening.design.pair_drawing import (  # noqa: E402
    PairDeck,
    PairFacts,
    draw_place,
    pair_probabilities,
    swiss_round,
)
from listening.methods.paired import ADAPTIVE, RANDOM, SWISS  # noqa: E402

GREEDY = "greedy"
RULES = (RANDOM, SWISS, GREEDY, ADAPTIVE)
UNIFORM = 0.2
WEAK_PRIOR_SD = 5.0  # where maximum likelihood is infinite
EACH, AT_ONCE = 15, 4  # answers of a rater, raters at the same time
ITEMS = 30
SEED = 20261129
FIELDS = ("cell", "rule", "fit", "studies", "error", "coverage", "tau", "spread", "error_se")


@dataclass(frozen=True)
class Cell:
    """A kind of study: systems, the SD of their strengths, answers per pair, random effects."""

    systems: int
    sd: float
    per_pair: int
    effects: float = 0.0  # SD of a rater's, and of an item's, shift of a system
    rules: tuple[str, ...] = RULES

    @property
    def name(self) -> str:
        crossed = f", raters and items {self.effects:g}" if self.effects else ""
        return f"{self.systems} systems, sd {self.sd:g}, {self.per_pair} per pair{crossed}"


CELLS = (
    Cell(10, 1.5, 4),
    Cell(10, 0.7, 4),
    Cell(10, 1.5, 12, 0.5),
    Cell(10, 0.7, 12, 0.5),
    Cell(30, 1.5, 4),
    Cell(30, 0.7, 4),
    Cell(30, 1.5, 4, 0.5),
    Cell(6, 1.5, 4, rules=(RANDOM, ADAPTIVE)),
    Cell(6, 0.7, 4, rules=(RANDOM, ADAPTIVE)),
    # how many more answers random pairs need for the same order
    *(
        Cell(systems, sd, per_pair, rules=(RANDOM,))
        for systems in (6, 10, 30)
        for sd in (1.5, 0.7)
        for per_pair in (5, 6, 7)
    ),
)


class Simulated:
    """One study: pairs drawn by a rule, answered, and fitted as it goes on."""

    def __init__(self, cell: Cell, rule: str, seed: int) -> None:
        self.cell, self.rule = cell, rule
        truth = np.random.default_rng([SEED, seed])  # the same strengths for every rule
        strengths = truth.normal(0, cell.sd, cell.systems)
        self.strengths: Floats = strengths - strengths.mean()
        self.by_item = truth.normal(0, cell.effects, (ITEMS, cell.systems))
        self.random = np.random.default_rng([SEED, seed, RULES.index(rule)])
        self.rng = Random(f"{seed} {rule}")
        self.a, self.b = np.triu_indices(cell.systems, 1)
        n = len(self.a)
        self.wins = np.zeros((cell.systems, cell.systems), dtype=int)
        self.drawn = [0] * n
        self.at_fit, self.spread, self.variance = [0] * n, [0.25] * n, [1.0] * n
        self.met = [True] * n
        self.rows: list[tuple[int, int, float, int, int]] = []
        pairs = [(f"{a:03d}", f"{b:03d}") for a, b in zip(self.a, self.b, strict=True)]
        self.place = {pair: n for n, pair in enumerate(pairs)}
        self.deck = PairDeck(pairs, self.rng)

    def run(self) -> PairRatings:
        total = self.cell.per_pair * len(self.a)
        batch = EACH * AT_ONCE if self.cell.effects else self.cell.systems
        rater = 0
        while len(self.rows) < total:
            self.refit()
            size = min(batch, total - len(self.rows))
            draws = [self.draw() for _ in range(size)]
            for start in range(0, size, EACH if self.cell.effects else size):
                stop = start + (EACH if self.cell.effects else size)
                self.answer(draws[start:stop], rater)
                rater += 1
        a, b, y, raters, items = map(np.asarray, zip(*self.rows, strict=True))
        names = tuple(f"{n:03d}" for n in range(self.cell.systems))
        return PairRatings(names, a, b, y, np.zeros(len(y)), raters, items, 1.0)

    def draw(self) -> int:
        if self.rule == RANDOM:
            place = self.place[self.deck.deal(self.place)[0]]
        else:
            facts = [
                PairFacts(*own)
                for own in zip(
                    self.drawn, self.at_fit, self.spread, self.variance, self.met, strict=True
                )
            ]
            if self.rule == GREEDY:
                place = max(range(len(facts)), key=lambda n: facts[n].information)
                if self.rng.random() < UNIFORM:
                    place = self.rng.randrange(len(facts))
            else:
                place = draw_place(pair_probabilities(self.rule, facts, UNIFORM), self.rng)
        self.drawn[place] += 1
        return place

    def answer(self, draws: list[int], rater: int) -> None:
        shift = self.random.normal(0, self.cell.effects, self.cell.systems)
        items = self.random.permutation(ITEMS)
        for n, place in enumerate(draws):
            a, b, item = int(self.a[place]), int(self.b[place]), int(items[n % ITEMS])
            heard = self.strengths + shift + self.by_item[item]
            won = self.random.random() < special.expit(heard[a] - heard[b])
            self.wins[(a, b) if won else (b, a)] += 1
            self.rows.append((a, b, 1.0 if won else -1.0, rater, item))

    def refit(self) -> None:
        if self.rule == RANDOM:
            return
        k = self.cell.systems
        drawn = np.zeros((k, k))
        drawn[self.a, self.b] = self.drawn
        none = np.zeros((k, k))
        found = pair_information(self.wins, none, drawn, bias_reduced=self.rule != GREEDY)
        self.at_fit = list(self.drawn)
        self.spread = found.spread[self.a, self.b].tolist()
        self.variance = found.variance[self.a, self.b].tolist()
        if self.rule == SWISS:
            counts = {pair: self.drawn[n] for pair, n in self.place.items()}
            names = {f"{n:03d}": float(value) for n, value in enumerate(found.strengths)}
            chosen = set(swiss_round(names, counts, self.rng))
            self.met = [pair in chosen for pair in self.place]

    def truth(self) -> Floats:
        """Strengths that all pairs, each equally often, would give."""
        if not self.cell.effects:
            return self.strengths
        return marginal_strengths(self.strengths, self.cell.effects)


def marginal_strengths(strengths: Floats, effects: float) -> Floats:
    """The Bradley-Terry strengths nearest to answers whose difference has normal shifts."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(41)
    a, b = np.triu_indices(len(strengths), 1)
    gap = strengths[a] - strengths[b]
    p = special.expit(gap[:, None] + 2 * effects * nodes) @ weights / weights.sum()

    def loss(at: Floats) -> tuple[float, Floats]:
        fitted = at[a] - at[b]
        value = float(np.sum(np.logaddexp(0, fitted) - p * fitted))
        error = special.expit(fitted) - p
        slope = np.zeros_like(at)
        np.add.at(slope, a, error)
        np.add.at(slope, b, -error)
        return value, slope

    found = optimize.minimize(loss, strengths, jac=True, method="BFGS", options={"gtol": 1e-8})
    centred: Floats = np.asarray(found.x - found.x.mean(), dtype=np.float64)
    return centred


def fitted(ratings: PairRatings, bias_reduced: bool) -> AbilityFit:
    with warnings.catch_warnings():
        warnings.simplefilter("error", linalg.LinAlgWarning)
        try:
            return bradley_terry(ratings, bias_reduced=bias_reduced)
        except Undefined:
            return bradley_terry(ratings, prior_sd=WEAK_PRIOR_SD)


def measures(fit: AbilityFit, truth: Floats, kind: str) -> tuple[float, float, float, float]:
    """Root mean squared error, share covered, Kendall's tau, and the slope on truth."""
    ends = fit.abilities(kind)
    covered = [one.low <= true <= one.high for one, true in zip(ends, truth, strict=True)]
    error = float(np.sqrt(np.mean((fit.ability - truth) ** 2)))
    tau = float(stats.kendalltau(fit.ability, truth).statistic)
    return error, float(np.mean(covered)), tau, float(fit.ability @ truth / (truth @ truth))


def results(cell: Cell, rule: str, studies: int) -> Iterator[dict[str, object]]:
    found: dict[str, list[tuple[float, float, float, float]]] = {"ML": [], "bias-reduced": []}
    kind = CLUSTERED if cell.effects else MODEL
    for seed in range(studies):
        study = Simulated(cell, rule, seed)
        ratings, truth = study.run(), study.truth()
        for name, each in found.items():
            each.append(measures(fitted(ratings, name != "ML"), truth, kind))
    for name, each in found.items():
        error, coverage, tau, spread = np.mean(each, axis=0)
        yield {
            "cell": cell.name,
            "rule": rule,
            "fit": name,
            "studies": studies,
            "error": round(float(error), 4),
            "coverage": round(float(coverage), 4),
            "tau": round(float(tau), 4),
            "spread": round(float(spread) - 1, 4),
            "error_se": round(float(np.std([e[0] for e in each]) / studies**0.5), 4),
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--studies", type=int, default=200)
    parser.add_argument("--only", default="")
    parser.add_argument("--table", action="store_true")
    given = parser.parse_args()
    if given.table:
        print(given.out.read_text())
        return
    done = set()
    if given.out.exists():
        with given.out.open() as file:
            done = {(row["cell"], row["rule"]) for row in csv.DictReader(file)}
    with given.out.open("a", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        if not done:
            writer.writeheader()
        for cell in CELLS:
            for rule in cell.rules:
                if given.only not in f"{cell.name}, {rule}" or (cell.name, rule) in done:
                    continue
                start = time.monotonic()
                writer.writerows(results(cell, rule, given.studies))
                file.flush()
                print(f"{cell.name}, {rule}: {time.monotonic() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
