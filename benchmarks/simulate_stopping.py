"""Studies that stop at planned looks: family-wise error, power, coverage and raters, by simulation.

    python benchmarks/simulate_stopping.py OUT.csv [--studies 10000] [--only TEXT]
    python benchmarks/simulate_stopping.py OUT.csv --table

Each study has a reference and three systems, normal scores, raters and items that are crossed and
random, and 100 planned sessions. Every look is decided by the code that decides it in Earnest. A
system that is decided receives no more raters, or the study goes on with all systems until the last
is decided. With late exclusions, two of each 20 raters answer at random, count at the look after
which they finished, and are left out of later looks and of the final analysis. Four raters are in
session when a system or a study stops; they count in the final estimates. A row of OUT.csv per kind
of study is written as soon as it is done; kinds that it holds are not run again.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
import time
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

for library in ("OMP", "OPENBLAS"):  # before NumPy: small matrices
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np  # noqa: E402

from analysis.arrays import Bools, Codes, Floats  # noqa: E402
from analysis.statistics.clustered_variance import Limits, limits_of  # noqa: E402
from analysis.statistics.intervals import Clustered, clustered  # noqa: E402
from analysis.statistics.planning.group_sequential import fixed_drift  # noqa: E402
from analysis.statistics.planning.planned_looks import (  # noqa: E402
    FUTILE,
    SIGNIFICANT,
    Compared,
    bounds_that_could_stop,
    verdicts_of,
)
from analysis.statistics.planning.stagewise import tail, z_of  # noqa: E402

LOOKS = (0.2, 0.4, 0.6, 0.8, 1.0)
RATERS, EACH, OVERRUN, SEED = 100, 5, 4, 20261129
CONDITIONS = 4  # the first is the reference
DECIDED = (SIGNIFICANT, FUTILE)
BATCH = 500  # studies
RATER, RATER_CONDITION, ITEM, STIMULUS, NOISE = 0.5, 0.25, 0.25, 0.2, 0.8
WITH_REFERENCE = tuple((condition, 0) for condition in range(1, CONDITIONS))
AMONG_SYSTEMS = tuple(combinations(range(CONDITIONS), 2))
SETTINGS = ("kind", "items", "futility", "late", "each", "compare")
FIELDS = (
    *(*SETTINGS, "studies", "false", "power", "held", "below", "plain"),
    *("raters", "raters_se", "ratings", "stopped", "seconds"),
)


@dataclass(frozen=True)
class Kind:
    """A kind of study: each system's true difference, in units of the one that is planned for."""

    name: str
    effects: tuple[float, float, float]
    items: int = 24
    futility: bool = True
    late: bool = False
    each: bool = True  # a system that is decided receives no more raters
    compare: str = "reference"

    @property
    def title(self) -> str:
        """The name with the effects."""
        return f"{self.name} ({', '.join(f'{e:g}' for e in self.effects)})"

    @property
    def settings(self) -> dict[str, str]:
        """What tells it from the others, as text."""
        values = vars(self) | {"kind": self.title}
        return {name: str(values[name]) for name in SETTINGS}

    @property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """The conditions that are compared."""
        return WITH_REFERENCE if self.compare == "reference" else AMONG_SYSTEMS

    @property
    def contrasts(self) -> Floats:
        """A row for each comparison."""
        return np.stack([np.eye(CONDITIONS)[a] - np.eye(CONDITIONS)[b] for a, b in self.pairs])


NONE, CLEAR, ALL = (0.0, 0.0, 0.0), (2.0, 0.0, 0.0), (1.0, 1.0, 1.0)
KINDS = (
    Kind("none differs", NONE, futility=False),
    Kind("none differs", NONE),
    Kind("none differs", NONE, late=True),
    Kind("one differs clearly", CLEAR, late=True),
    Kind("one differs clearly", CLEAR, futility=False),
    Kind("all differ", ALL),
    Kind("all differ", ALL, late=True),
    Kind("all differ, more and less", (0.5, 1.0, 2.0), late=True),
    Kind("none differs", NONE, late=True, compare="systems"),
    Kind("one differs clearly", CLEAR, late=True, compare="systems"),
    Kind("one differs", (1.0, 0.0, 0.0)),
    Kind("none differs", NONE, items=10),
    Kind("none differs", NONE, late=True, each=False),
    Kind("one differs clearly", CLEAR, late=True, each=False),
    Kind("all differ", ALL, late=True, each=False),
    Kind("none differs", NONE, futility=False, each=False),
    Kind("all differ", ALL, each=False),
    Kind("all differ clearly", (2.0, 2.0, 2.0)),
)


@dataclass(frozen=True)
class Data:
    """Scores (S, R, E, C) of S studies and the items (S, R, E) that their raters heard.

    Raters are in the order in which they finish.
    """

    y: Floats
    heard: Codes
    items: int

    def of(self, use: Bools, contrasts: Floats) -> list[Limits]:
        """The contrasts (m, C) of each study by the raters of each condition, ``use`` (S, R, C)."""
        return [limits_of(contrasts, means) for means in self.means(use)]

    def means(self, use: Bools) -> Iterator[Clustered]:
        """The clustered means of each study: as `clustered` gives them, for all studies at once."""
        studies, raters, each, _ = self.y.shape
        n_raters = use.sum(axis=1)
        w = use / (n_raters * each)[:, None, :]
        value = np.einsum("src,srec->sc", w, self.y)
        apart = self.y - value[:, None, None, :]
        part = w[:, :, None, :] * apart
        of_rater, by_rater = w * each, part.sum(axis=2)
        place = (np.arange(studies)[:, None, None] * self.items + self.heard).ravel()
        by_item, of_item = (
            np.stack([self._by_item(place, values[..., c]) for c in range(CONDITIONS)], axis=-1)
            for values in (part, np.broadcast_to(w[:, :, None, :], part.shape))
        )
        flat = part.reshape(studies, raters * each, CONDITIONS)
        grams = [_gram(x) for x in (by_rater, by_item, flat, of_rater, of_item)]
        of_both, shared_raters = _gram(w) * each, _gram(use.astype(np.int64))
        shared_items = _gram((of_item > 0).astype(np.int64))
        squared, within = each * (w**2).sum(axis=1), (part * apart).sum(axis=(1, 2))
        groups = use.any(axis=2).sum(axis=1), (of_item > 0).any(axis=2).sum(axis=1)
        for s in range(studies):
            by_rater_s, by_item_s, by_both_s, of_rater_s, of_item_s = (gram[s] for gram in grams)
            yield Clustered(
                *(value[s], by_rater_s, by_item_s, by_both_s, of_rater_s, of_item_s, of_both[s]),
                *(squared[s], within[s], n_raters[s] * each, n_raters[s]),
                n_items=np.diag(shared_items[s]),
                shared_raters=shared_raters[s],
                shared_items=shared_items[s],
                groups=(int(groups[0][s]), int(groups[1][s])),
            )

    def _by_item(self, place: Codes, values: Floats) -> Floats:
        studies = len(self.y)
        sums = np.bincount(place, weights=values.ravel(), minlength=studies * self.items)
        return sums.reshape(studies, self.items).astype(np.float64)

    def check(self, use: Bools) -> None:
        """Raises AssertionError unless the first study's means are those of `clustered`."""
        rater, each, condition = np.nonzero(np.broadcast_to(use[0][:, None, :], self.y.shape[1:]))
        item = self.heard[0][rater, each]
        y = self.y[0][rater, each, condition]
        wanted = vars(clustered(y, condition, rater, item, CONDITIONS))
        for name, found in vars(next(self.means(use[:1]))).items():
            if name not in ("ends", "pool") and not np.allclose(found, wanted[name]):
                raise AssertionError(f"{name}: {found} is not {wanted[name]}")


def _gram(x: Any) -> Any:
    """The cross products (S, C, C) of values (S, n, C)."""
    return x.swapaxes(1, 2) @ x


def draw(rng: np.random.Generator, means: Floats, items: int, bad: Bools) -> Data:
    """Simulated ratings of studies; ``bad`` (S, R) raters answer at random."""
    studies, raters = bad.shape
    heard = np.argsort(rng.random((studies, raters, items)), axis=2)[:, :, :EACH]
    shape = (studies, raters, EACH, CONDITIONS)
    y = means + rng.normal(0, NOISE, shape)
    y += rng.normal(0, RATER, (studies, raters, 1, 1))
    y += rng.normal(0, RATER_CONDITION, (studies, raters, 1, CONDITIONS))
    effects = rng.normal(0, ITEM, (studies, items, 1))
    effects = effects + rng.normal(0, STIMULUS, (studies, items, CONDITIONS))
    y += effects[np.arange(studies)[:, None, None], heard]
    y[bad] = rng.normal(0, 1.2, (int(bad.sum()), EACH, CONDITIONS))
    return Data(y, heard, items)


def planned_effect(items: int) -> float:
    """The difference that all raters find with a power of 80 % at the level .05 / 3."""
    rng, good = np.random.default_rng(SEED), np.zeros((BATCH, RATERS), dtype=bool)
    data = draw(rng, np.zeros(CONDITIONS), items, good)
    found = data.of(np.ones((BATCH, RATERS, CONDITIONS), dtype=bool), Kind("", NONE).contrasts)
    se = float(np.std([limits.value for limits in found]))
    return se * fixed_drift(1 - 0.05 / 3, 0.8)


class Study:
    """A study on its way: verdicts, and up to which rater each condition is rated."""

    def __init__(self, kind: Kind, bad: Bools) -> None:
        self.kind, self.bad, self.pairs = kind, bad, kind.pairs
        self.until = np.full(CONDITIONS, RATERS)
        self.stopped_at = np.zeros(CONDITIONS, dtype=int)  # look; 0: not yet
        self.shares: list[float] = []
        self.history: list[dict[Hashable, tuple[str, float | None]]] = []
        self.significant: dict[tuple[str, str], int] = {}
        self.futile: set[tuple[str, str]] = set()
        self.is_over = False

    def use(self, number: int) -> Bools:
        """Who counts at a look (R, C): who finished, but whoever was left out before."""
        place, size = np.arange(RATERS), _size(number)
        known = self.bad & (place < (_size(number - 1) if number > 1 else 0))
        counts = (place < size) & ~known
        use: Bools = counts[:, None] & (place[:, None] < self.until)
        return use

    def final(self) -> Bools:
        """Who counts in the end (R, C)."""
        return ~self.bad[:, None] & (np.arange(RATERS)[:, None] < self.until)

    def look(self, number: int, limits: Limits, counted: int) -> None:
        """Decide on the comparisons, and stop what is decided."""
        low, high = limits.bounds(0.05)
        rows = zip(limits.value, low, high, limits.p_against(0.0), strict=True)
        self.shares.append(max(counted / RATERS, (self.shares or [0.0])[-1] + 0.01))
        last = number == len(LOOKS)
        verdicts = verdicts_of(
            [
                Compared(*_names(pair), *map(float, row))
                for pair, row in zip(self.pairs, rows, strict=True)
            ],
            self.shares,
            range(1, number + 1),
            before=self.significant,
            futile_before=self.futile,
            futility=self.kind.futility,
            last=last,
        )
        self.history.append(
            {pair: (v.verdict, v.bound) for pair, v in zip(self.pairs, verdicts, strict=True)}
        )
        self.significant = {(v.condition, v.versus): v.look for v in verdicts if v.look}
        found = {pair: self.history[-1][pair][0] for pair in self.pairs}
        still = {name for pair, verdict in found.items() if verdict not in DECIDED for name in pair}
        self.is_over = last or not still
        for condition in range(CONDITIONS):
            if self.is_over or (self.kind.each and condition not in still):
                self._stop(condition, number)
        self.futile |= {
            _names(pair)
            for pair, verdict in found.items()
            if verdict == FUTILE and any(self.stopped_at[condition] for condition in pair)
        }

    def _stop(self, condition: int, number: int) -> None:
        if not self.stopped_at[condition]:
            self.stopped_at[condition] = number
            self.until[condition] = min(_size(number) + OVERRUN, RATERS)

    @property
    def claimed(self) -> Bools:
        """Which comparisons are significant (m,)."""
        return np.array([self.history[-1][pair][0] == SIGNIFICANT for pair in self.pairs])

    def tail_at(self, truth: float, i: int, limits: Limits, raters: int) -> float:
        """The tail probability of what was found, if the truth is this; .025 to .975: covered."""
        needs: dict[Hashable, frozenset[Hashable]] = {pair: frozenset(pair) for pair in self.pairs}
        before = bounds_that_could_stop(
            self.history[:-1], self.pairs[i], needs if self.kind.each else None
        )
        looks = [(self.shares[place], bound) for place, bound in before]
        share = max(raters / RATERS, (looks[-1][0] if looks else 0.0) + 0.01)
        value, p = float(limits.value[i]), float(limits.p_against(0.0)[i])
        side = limits.bounds(0.05)[0 if truth < value else 1][i]
        se, z = abs(side - value) / 1.959964, z_of(p, value)
        times = [*(time / share for time, _ in looks), 1.0]
        return tail(z + (truth - value) / se, times, [bound for _, bound in looks], z)


def _names(pair: tuple[int, int]) -> tuple[str, str]:
    return str(pair[0]), str(pair[1])


def _size(number: int) -> int:
    return round(LOOKS[number - 1] * RATERS)


def simulate(kind: Kind, studies: int) -> dict[str, object]:
    """The row of a kind of study."""
    begun, rng = time.perf_counter(), np.random.default_rng(SEED + KINDS.index(kind))
    means = planned_effect(kind.items) * np.array([0.0, *kind.effects])
    truth = kind.contrasts @ means
    null = truth == 0
    rows = [
        row
        for first in range(0, studies, BATCH)
        for row in _simulate_batch(kind, rng, means, truth, min(BATCH, studies - first))
    ]
    false, power, held, below, plain, raters, ratings = map(np.array, zip(*rows, strict=True))
    return kind.settings | {
        "studies": studies,
        "false": false.mean() if null.any() else "",
        "power": "" if null.all() else power.mean(),
        "held": held.mean(),
        "below": below.mean(),
        "plain": plain.mean(),
        "raters": raters.mean() / RATERS,
        "raters_se": raters.std() / RATERS / studies**0.5,
        "ratings": ratings.mean() / RATERS,
        "stopped": (raters < RATERS).mean(),
        "seconds": round(time.perf_counter() - begun),
    }


Row = tuple[bool, float, list[bool], list[bool], list[bool], int, float]


def _simulate_batch(
    kind: Kind, rng: np.random.Generator, means: Floats, truth: Floats, studies: int
) -> Iterator[Row]:
    step, null = round(LOOKS[0] * RATERS), truth == 0
    order = rng.random((studies, RATERS // step, step)).argsort(axis=2)
    bad = (order < 2).reshape(studies, RATERS) & kind.late
    data = draw(rng, means, kind.items, bad)
    under_way = [Study(kind, each) for each in bad]
    for number in range(1, len(LOOKS) + 1):
        going_on = [s for s, study in enumerate(under_way) if not study.is_over]
        if not going_on:
            break
        use = np.stack([under_way[s].use(number) for s in going_on])
        part = Data(data.y[going_on], data.heard[going_on], kind.items)
        part.check(use)
        for s, limits, counted in zip(
            going_on, part.of(use, kind.contrasts), use.any(2).sum(1), strict=True
        ):
            under_way[s].look(number, limits, int(counted))
    final = np.stack([study.final() for study in under_way])
    for study, limits, use in zip(under_way, data.of(final, kind.contrasts), final, strict=True):
        low, high = limits.bounds(0.05)
        raters = use.sum(axis=0)
        tails = [
            study.tail_at(truth[i], i, limits, int(raters[list(pair)].min()))
            for i, pair in enumerate(kind.pairs)
        ]
        yield (
            bool((study.claimed & null).any()),
            float(study.claimed[~null].mean()) if (~null).any() else np.nan,
            [0.025 <= at <= 0.975 for at in tails],
            [at < 0.5 for at in tails],
            list(map(bool, (low <= truth) & (truth <= high))),
            int(study.until.max()),
            float(study.until.mean()),
        )


def table(path: Path) -> str:
    """What the file holds, as Markdown."""
    rows = list(csv.DictReader(path.open(encoding="utf-8")))
    lines = [
        "| true differences (planned = 1) | compared | items | futility | late exclusions"
        " | systems stop alone | family-wise error | power | coverage, adjusted"
        " | coverage, not adjusted | raters (all = 1) | ratings (all = 1) |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        n = int(row["studies"])

        def share(name: str, row: dict[str, str] = row, n: int = n) -> str:
            if row[name] == "":
                return "–"
            value = float(row[name])
            return f"{value:.3f} ± {(value * (1 - value) / n) ** 0.5:.3f}"

        yes = {"True": "yes", "False": "no"}
        lines.append(
            f"| {row['kind']} | {row['compare']} | {row['items']} | {yes[row['futility']]} | "
            f"{yes[row['late']]} | {yes[row['each']]} | {share('false')} | "
            f"{share('power')} | {share('held')} | {share('plain')} | "
            f"{float(row['raters']):.2f} | {float(row['ratings']):.2f} |"
        )
    return "\n".join(lines)


def main() -> None:
    """Run what OUT.csv lacks, or print it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--studies", type=int, default=10_000)
    parser.add_argument("--only", default="")
    parser.add_argument("--table", action="store_true")
    options = parser.parse_args()
    if options.table:
        print(table(options.out))
        return
    done: list[dict[str, str]] = []
    if options.out.exists():
        rows = csv.DictReader(options.out.open(encoding="utf-8"))
        done = [{name: row[name] for name in SETTINGS} for row in rows]
    with options.out.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, FIELDS)
        if not file.tell():
            writer.writeheader()
        for kind in KINDS:
            if kind.settings in done or options.only not in kind.title:
                continue
            writer.writerow(simulate(kind, options.studies))
            file.flush()


if __name__ == "__main__":
    main()
