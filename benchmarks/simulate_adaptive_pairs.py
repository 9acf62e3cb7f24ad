"""What choosing pairs by their information gains: error, coverage, order and spread, by simulation.

    python benchmarks/simulate_adaptive_pairs.py OUT.csv [--studies 200] [--only TEXT] [--wins CSV]
    python benchmarks/simulate_adaptive_pairs.py OUT.csv --table

Strengths are drawn from a normal distribution, answers follow Bradley and Terry (1952). In cells
named “raters and items”, each rater and each item shifts each system, four raters listen at once,
and intervals are clustered; truth is then the fit of all pairs, each equally often, to the expected
answers. ``--wins`` draws answers from the win shares of real comparisons instead: its first line
names the systems, the next ones say how often each beat each. A row of OUT.csv per cell, rule and
fit; cells that it holds are not run again.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
import time
import warnings
from collections import Counter
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from math import ceil, inf, log, sqrt
from pathlib import Path
from random import Random

for library in ("OMP", "OPENBLAS"):  # before NumPy: small matrices
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np  # noqa: E402
from scipy import linalg, optimize, sparse, special, stats  # noqa: E402

from analysis.arrays import Floats  # noqa: E402
from analysis.statistics.comparisons.test_result import Undefined  # noqa: E402
from analysis.statistics.pairs.ability_fit import (  # noqa: E402
    CLUSTERED,
    MODEL,
    AbilityFit,
)
from analysis.statistics.pairs.pair_information import (  # noqa: E402
    PairInformation,
    pair_information,
)
from analysis.statistics.pairs.pair_ratings import PairRatings  # noqa: E402
from analysis.statistics.pairs.win_models import bradley_terry  # noqa: E402
from listening.design.pair_drawing import (  # noqa: E402
    PairDeck,
    PairDrawing,
    PairFacts,
    swiss_round,
)
from listening.methods.paired import ADAPTIVE, RANDOM, SWISS  # noqa: E402

GREEDY, BAYES, SORT = "greedy", "bayes", "sort"
RULES = (RANDOM, SWISS, GREEDY, ADAPTIVE, BAYES, SORT)
PLAIN, REDUCED = "ML", "bias-reduced"
UNIFORM = 0.2
EACH, AT_ONCE = 15, 4  # answers of a rater, raters at the same time
ITEMS = 30
SORT_ERROR = 0.1  # of one comparison of a sort
NODES, _density = np.polynomial.hermite_e.hermegauss(41)
NODE_WEIGHTS = _density / _density.sum()  # of a standard normal distribution at NODES
SEED = 20261129
MEASURES = ("error", "error_se", "coverage", "coverage_se", "tau", "tau_se", "spread")
FIELDS = ("cell", "rule", "fit", "studies", *MEASURES)
Draws = Generator[list[int], list[bool], None]  # places of pairs, and who won


@dataclass(frozen=True)
class Cell:
    """A kind of study: systems, the SD of their strengths, answers per pair, random effects."""

    systems: int
    sd: float
    per_pair: int
    effects: float = 0.0  # SD of a rater's, and of an item's, shift of a system
    rules: tuple[str, ...] = (RANDOM, SWISS, GREEDY, ADAPTIVE)
    wins: Path | None = None

    @property
    def name(self) -> str:
        if self.wins:
            return f"{self.wins.stem}, {self.per_pair} per pair"
        crossed = f", raters and items {self.effects:g}" if self.effects else ""
        return f"{self.systems} systems, sd {self.sd:g}, {self.per_pair} per pair{crossed}"


CELLS = (
    Cell(10, 1.5, 4, rules=RULES),
    Cell(10, 0.7, 4, rules=RULES),
    Cell(10, 1.5, 12, 0.5),
    Cell(10, 0.7, 12, 0.5),
    Cell(30, 1.5, 4, rules=RULES),
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


def shares_of(file: Path) -> Floats:
    """How probably each system beats each (k, k), by a table of wins; half a win is added."""
    with file.open(newline="") as rows:
        wins = np.array([[float(n) for n in row] for row in list(csv.reader(rows))[1:]])
    return np.asarray((wins + 0.5) / (wins + wins.T + 1))


class Simulated:
    """One study: pairs drawn by a rule, answered, and fitted as it goes on."""

    def __init__(self, cell: Cell, rule: str, seed: int) -> None:
        self.cell, self.rule = cell, rule
        truth = np.random.default_rng([SEED, seed])  # the same strengths for every rule
        self.shares = shares_of(cell.wins) if cell.wins else None
        strengths = truth.normal(0, cell.sd, cell.systems)
        self.strengths: Floats = strengths - strengths.mean()
        self.by_item = truth.normal(0, cell.effects, (ITEMS, cell.systems))
        self.random = np.random.default_rng([SEED, seed, RULES.index(rule)])
        self.rng = Random(f"{seed} {rule}")
        self.a, self.b = np.triu_indices(cell.systems, 1)
        self.total = cell.per_pair * len(self.a)
        self.batch = EACH * AT_ONCE if cell.effects else cell.systems
        self.wins = np.zeros((cell.systems, cell.systems), dtype=int)
        self.drawn = [0] * len(self.a)
        self.rows: list[tuple[int, int, float, int, int]] = []
        pairs = [(f"{a:03d}", f"{b:03d}") for a, b in zip(self.a, self.b, strict=True)]
        self.place = {pair: n for n, pair in enumerate(pairs)}

    def run(self) -> PairRatings:
        rules = {RANDOM: self.deal, GREEDY: self.greedy, BAYES: self.bayes, SORT: self.sort}
        draws = rules.get(self.rule, self.draw)()
        batch = next(draws)
        while True:
            answers = self.answer(batch[: self.total - len(self.rows)])
            if len(self.rows) == self.total:
                break
            batch = draws.send(answers)
        a, b, y, raters, items = map(np.asarray, zip(*self.rows, strict=True))
        names = tuple(f"{n:03d}" for n in range(self.cell.systems))
        return PairRatings(names, a, b, y, np.zeros(len(y)), raters, items, 1.0)

    def deal(self) -> Draws:
        """Balanced pairs."""
        deck = PairDeck(list(self.place), self.rng)
        while True:
            dealt = [deck.deal(self.place)[0] for _ in range(self.batch)]
            yield [self.place[pair] for pair in dealt]

    def draw(self) -> Draws:
        """By the product's rules."""
        everywhere = range(len(self.place))
        while True:
            found = self.information(bias_reduced=True)
            gain = (found.spread * found.variance)[self.a, self.b].tolist()
            met = [True] * len(gain)
            if self.rule == SWISS:
                counts = {pair: self.drawn[n] for pair, n in self.place.items()}
                names = {f"{n:03d}": float(value) for n, value in enumerate(found.strengths)}
                chosen = set(swiss_round(names, counts, self.rng))
                met = [pair in chosen for pair in self.place]
            facts = PairFacts(list(self.drawn), gain, met)
            never = {"most": inf, "most_met": inf}
            drawing = PairDrawing(self.rule, facts, self.drawn, UNIFORM, met=Counter(), **never)
            yield [drawing.draw(everywhere, self.rng)[0] for _ in range(self.batch)]

    def greedy(self) -> Draws:
        """The most informative pair by a plain fit, a fifth at random."""
        while True:
            found = self.information(bias_reduced=False)
            gain = (found.spread * found.variance)[self.a, self.b].tolist()
            facts, drawn = PairFacts(list(self.drawn), gain, [True] * len(gain)), list(self.drawn)
            batch = []
            for _ in range(self.batch):
                if self.rng.random() < UNIFORM:
                    place = self.rng.randrange(len(drawn))
                else:
                    place = int(np.argmax(facts.information(drawn)))
                drawn[place] += 1
                batch.append(place)
            yield batch

    def bayes(self) -> Draws:
        """The spanning tree of pairs with the largest expected information gain.

        Li et al. (2018) and Mikhailiuk et al. (2021), with a normal posterior of the strengths.
        """
        k = self.cell.systems
        while True:
            found = self.information(bias_reduced=True)
            gap = found.strengths[self.a] - found.strengths[self.b]
            sd = np.sqrt(found.variance[self.a, self.b])
            p = special.expit(gap[:, None] + sd[:, None] * NODES)
            gain = entropy(p @ NODE_WEIGHTS) - entropy(p) @ NODE_WEIGHTS
            costs = np.zeros((k, k))
            costs[self.a, self.b] = 1 / np.maximum(gain, 1e-12)
            tree = sparse.csgraph.minimum_spanning_tree(costs).nonzero()
            yield [self.place[f"{a:03d}", f"{b:03d}"] for a, b in zip(*tree, strict=True)]

    def sort(self) -> Draws:
        """Merge sort whose comparisons are repeated until one system is clearly better.

        Falahatgar et al. (2017), as in Yasuda and Toda (2024). The most repeats spend the budget
        in the longest sort; what is left sorts again.
        """
        k = self.cell.systems
        longest = k * ceil(log(k, 2)) - 2 ** ceil(log(k, 2)) + 1
        order = self.rng.sample(range(k), k)
        while True:
            most = max((self.total - len(self.rows)) // longest, 1)
            order = yield from self.sorted(order, most)

    def sorted(self, order: list[int], most: int) -> Generator[list[int], list[bool], list[int]]:
        if len(order) < 2:
            return order
        middle = len(order) // 2
        left = yield from self.sorted(order[:middle], most)
        right = yield from self.sorted(order[middle:], most)
        merged = []
        while left and right:
            better = yield from self.is_better(left[0], right[0], most)
            merged.append((left if better else right).pop(0))
        return [*merged, *left, *right]

    def is_better(self, one: int, other: int, most: int) -> Generator[list[int], list[bool], bool]:
        a, b = sorted((one, other))
        wins = n = 0
        while n < most and abs(2 * wins - n) <= most - n:  # no more once the majority is certain
            (won,) = yield [self.place[f"{a:03d}", f"{b:03d}"]]
            wins, n = wins + (won == (a == one)), n + 1
            if abs(wins / n - 0.5) > sqrt(log(4 * n * n / SORT_ERROR) / (2 * n)):
                break
        return 2 * wins > n if 2 * wins != n else self.rng.random() < 0.5

    def answer(self, draws: list[int]) -> list[bool]:
        """Answers of raters; each has `EACH` pairs where raters differ."""
        answers = []
        each = EACH if self.cell.effects else len(draws)
        for n, place in enumerate(draws):
            if n % each == 0:
                rater = self.rows[-1][3] + 1 if self.rows else 0
                shift = self.random.normal(0, self.cell.effects, self.cell.systems)
                items = self.random.permutation(ITEMS)
            a, b, item = int(self.a[place]), int(self.b[place]), int(items[n % each % ITEMS])
            heard = self.strengths + shift + self.by_item[item]
            chance = (
                special.expit(heard[a] - heard[b]) if self.shares is None else self.shares[a, b]
            )
            won = bool(self.random.random() < chance)
            self.drawn[place] += 1
            self.wins[(a, b) if won else (b, a)] += 1
            self.rows.append((a, b, 1.0 if won else -1.0, rater, item))
            answers.append(won)
        return answers

    def information(self, bias_reduced: bool) -> PairInformation:
        k = self.cell.systems
        drawn = np.zeros((k, k))
        drawn[self.a, self.b] = self.drawn
        return pair_information(self.wins, np.zeros((k, k)), drawn, bias_reduced=bias_reduced)

    def truth(self) -> Floats:
        """Strengths that all pairs, each equally often, would give."""
        if self.shares is not None:
            return nearest_strengths(self.shares[self.a, self.b], self.strengths)
        if not self.cell.effects:
            return self.strengths
        gap = (self.strengths[self.a] - self.strengths[self.b])[:, None]
        p = special.expit(gap + 2 * self.cell.effects * NODES) @ NODE_WEIGHTS
        return nearest_strengths(p, self.strengths)


def entropy(p: Floats) -> Floats:
    return np.asarray(special.entr(p) + special.entr(1 - p))


def nearest_strengths(p: Floats, start: Floats) -> Floats:
    """The Bradley-Terry strengths nearest to the chances (pairs,) that the first system wins."""
    a, b = np.triu_indices(len(start), 1)

    def loss(at: Floats) -> tuple[float, Floats]:
        fitted = at[a] - at[b]
        value = float(np.sum(np.logaddexp(0, fitted) - p * fitted))
        error = special.expit(fitted) - p
        slope = np.zeros_like(at)
        np.add.at(slope, a, error)
        np.add.at(slope, b, -error)
        return value, slope

    found = optimize.minimize(loss, start, jac=True, method="BFGS", options={"gtol": 1e-8})
    centred: Floats = np.asarray(found.x - found.x.mean(), dtype=np.float64)
    return centred


def fitted(ratings: PairRatings, bias_reduced: bool) -> AbilityFit:
    with warnings.catch_warnings():
        warnings.simplefilter("error", linalg.LinAlgWarning)
        try:
            return bradley_terry(ratings, bias_reduced=bias_reduced)
        except Undefined:
            return bradley_terry(ratings, bias_reduced=True)  # the maximum is infinite


def measures(fit: AbilityFit, truth: Floats, kind: str) -> tuple[float, float, float, float]:
    """Root mean squared error, share covered, Kendall's tau, and the slope on truth."""
    ends = fit.abilities(kind)
    covered = [one.low <= true <= one.high for one, true in zip(ends, truth, strict=True)]
    error = float(np.sqrt(np.mean((fit.ability - truth) ** 2)))
    tau = float(stats.kendalltau(fit.ability, truth).statistic)
    return error, float(np.mean(covered)), tau, float(fit.ability @ truth / (truth @ truth))


def results(cell: Cell, rule: str, studies: int) -> Iterator[dict[str, object]]:
    found: dict[str, list[tuple[float, float, float, float]]] = {PLAIN: [], REDUCED: []}
    kind = CLUSTERED if cell.effects else MODEL
    for seed in range(studies):
        study = Simulated(cell, rule, seed)
        ratings, truth = study.run(), study.truth()
        for name, each in found.items():
            each.append(measures(fitted(ratings, name == REDUCED), truth, kind))
    for name, each in found.items():
        error, coverage, tau, spread = np.mean(each, axis=0)
        error_se, coverage_se, tau_se, _ = np.std(each, axis=0, ddof=1) / sqrt(studies)
        values = (error, error_se, coverage, coverage_se, tau, tau_se, spread - 1)
        measured = {m: round(float(v), 4) for m, v in zip(MEASURES, values, strict=True)}
        yield {"cell": cell.name, "rule": rule, "fit": name, "studies": studies} | measured


def real_cell(file: Path) -> Cell:
    return Cell(len(shares_of(file)), 0.0, 4, rules=RULES, wins=file)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--studies", type=int, default=200)
    parser.add_argument("--only", default="")
    parser.add_argument("--wins", type=Path, nargs="*", default=[])
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
        for cell in [*CELLS, *map(real_cell, given.wins)]:
            for rule in cell.rules:
                if given.only not in f"{cell.name}, {rule}" or (cell.name, rule) in done:
                    continue
                start = time.monotonic()
                writer.writerows(results(cell, rule, given.studies))
                file.flush()
                print(f"{cell.name}, {rule}: {time.monotonic() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
