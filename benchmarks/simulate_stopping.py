"""Studies that stop at planned looks: family-wise error, power, coverage and raters, by simulation.

    python benchmarks/simulate_stopping.py OUT.csv [--studies 10000] [--only TEXT]
    python benchmarks/simulate_stopping.py OUT.csv --table

Each study has a reference and three systems, normal scores, raters and items that are crossed and
random, and 100 planned sessions. Every look is decided by the code that decides it in Earnest.
With late exclusions, one rater in ten answers at random, counts at the look after which they
finished, and is left out of later looks and of the final analysis. Four raters are in session when
a study stops; they count in its final estimates. A row of OUT.csv per kind of study is written as
soon as it is done; kinds that it holds are not run again.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path

for library in ("OMP", "OPENBLAS"):  # before NumPy: small matrices
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np  # noqa: E402

from analysis.arrays import Bools, Codes, Floats  # noqa: E402
from analysis.statistics.clustered_variance import limits_of  # noqa: E402
from analysis.statistics.intervals import clustered  # noqa: E402
from analysis.statistics.planning.group_sequential import fixed_drift  # noqa: E402
from analysis.statistics.planning.planned_looks import (  # noqa: E402
    FUTILE,
    SIGNIFICANT,
    Compared,
    Verdicts,
    bounds_that_could_stop,
    verdicts_of,
)
from analysis.statistics.planning.stagewise import tail, z_of  # noqa: E402

LOOKS = (0.2, 0.4, 0.6, 0.8, 1.0)
RATERS, EACH, OVERRUN, SEED = 100, 5, 4, 20261129
CONDITIONS = 4  # the first is the reference
RATER, RATER_CONDITION, ITEM, STIMULUS, NOISE = 0.5, 0.25, 0.25, 0.2, 0.8
CONTRASTS = np.hstack([-np.ones((CONDITIONS - 1, 1)), np.eye(CONDITIONS - 1)])
FIELDS = (
    *("kind", "items", "futility", "late", "studies", "false", "power", "held", "below", "plain"),
    *("raters", "raters_se", "stopped", "seconds"),
)


@dataclass(frozen=True)
class Kind:
    """A kind of study: each system's true difference, in units of the one that is planned for."""

    name: str
    effects: tuple[float, float, float]
    items: int = 24
    futility: bool = True
    late: bool = False


KINDS = (
    *(Kind("none differs", (0.0, 0.0, 0.0), futility=futile) for futile in (False, True)),
    Kind("none differs", (0.0, 0.0, 0.0), late=True),
    Kind("none differs", (0.0, 0.0, 0.0), items=10),
    Kind("one differs", (1.0, 0.0, 0.0)),
    Kind("one differs clearly", (2.0, 0.0, 0.0), futility=False),
    Kind("one differs clearly", (2.0, 0.0, 0.0), late=True),
    Kind("all differ", (1.0, 1.0, 1.0)),
    Kind("all differ", (1.0, 1.0, 1.0), late=True),
    Kind("all differ, more and less", (0.5, 1.0, 2.0)),
    Kind("all differ clearly", (2.0, 2.0, 2.0)),
)


@dataclass(frozen=True)
class Data:
    """The ratings of a study as scores and codes (n,), raters in the order in which they finish."""

    y: Floats
    condition: Codes
    rater: Codes
    item: Codes

    def of(self, raters: Bools) -> tuple[Floats, Floats, Floats, Floats]:
        """Differences from the reference by these raters (R,): value, low, high, p (3,)."""
        rows = raters[self.rater]
        codes = self.condition[rows], self.rater[rows], self.item[rows]
        limits = limits_of(CONTRASTS, clustered(self.y[rows], *codes, CONDITIONS))
        low, high = limits.bounds(0.05)
        return limits.value, low, high, limits.p_against(0.0)


def study(rng: np.random.Generator, means: Floats, items: int, bad: Bools) -> Data:
    """Simulated ratings; ``bad`` (R,) raters answer at random."""
    raters = len(bad)
    heard = np.argsort(rng.random((raters, items)), axis=1)[:, :EACH]
    shape = (raters, EACH, CONDITIONS)
    latent = means + rng.normal(0, NOISE, shape)
    latent += rng.normal(0, RATER, (raters, 1, 1))
    latent += rng.normal(0, RATER_CONDITION, (raters, 1, CONDITIONS))
    effects = rng.normal(0, ITEM, (items, 1)) + rng.normal(0, STIMULUS, (items, CONDITIONS))
    latent += effects[heard]
    latent[bad] = rng.normal(0, 1.2, (int(bad.sum()), EACH, CONDITIONS))
    y = latent.ravel()
    code = np.broadcast_to(np.arange(CONDITIONS), shape).ravel()
    rater = np.broadcast_to(np.arange(raters)[:, None, None], shape).ravel()
    item = np.broadcast_to(heard[:, :, None], shape).ravel()
    return Data(y, code.astype(np.int64), rater.astype(np.int64), item.astype(np.int64))


def planned_effect(items: int) -> float:
    """The difference that all raters find with a power of 80 % at the level .05 / 3."""
    rng, good = np.random.default_rng(SEED), np.zeros(RATERS, dtype=bool)
    errors = [study(rng, np.zeros(CONDITIONS), items, good).of(~good)[0] for _ in range(400)]
    se = float(np.std(np.concatenate(errors)))
    return se * fixed_drift(1 - 0.05 / 3, 0.8)


def simulate(kind: Kind, studies: int) -> dict[str, object]:
    """The row of a kind of study."""
    begun, rng = time.perf_counter(), np.random.default_rng(SEED + KINDS.index(kind))
    effect = planned_effect(kind.items)
    means = effect * np.array([0.0, *kind.effects])
    truth = means[1:]
    null = np.array(kind.effects) == 0
    false, stopped, raters, power = 0, 0, [], []
    held, below, plain = [], [], []
    for _ in range(studies):
        bad = (rng.random(RATERS) < 0.1) & kind.late
        data = study(rng, means, kind.items, bad)
        number, shares, claimed, history = _until_it_stops(data, kind, bad)
        stopped += number < len(LOOKS)
        size = round(LOOKS[number - 1] * RATERS)
        raters.append(size)
        false += bool((claimed & null).any())
        power.append(claimed[~null].mean() if (~null).any() else np.nan)
        final = np.arange(RATERS) < min(size + OVERRUN, RATERS)
        final &= ~bad
        for i, (value, low, high, p) in enumerate(zip(*data.of(final), strict=True)):
            before = bounds_that_could_stop(history[:-1], i)
            looks = [(shares[place], bound) for place, bound in before]
            at = _tail_at(truth[i], looks, final.sum() / RATERS, value, (low, high), p)
            held.append(0.025 <= at <= 0.975)
            below.append(at < 0.5)
            plain.append(low <= truth[i] <= high)
    return {
        "kind": f"{kind.name} ({', '.join(f'{e:g}' for e in kind.effects)})",
        "items": kind.items,
        "futility": kind.futility,
        "late": kind.late,
        "studies": studies,
        "false": false / studies if null.any() else "",
        "power": "" if null.all() else float(np.mean(power)),
        "held": float(np.mean(held)),
        "below": float(np.mean(below)),
        "plain": float(np.mean(plain)),
        "raters": float(np.mean(raters)) / RATERS,
        "raters_se": float(np.std(raters)) / RATERS / studies**0.5,
        "stopped": stopped / studies,
        "seconds": round(time.perf_counter() - begun),
    }


def _until_it_stops(
    data: Data, kind: Kind, bad: Bools
) -> tuple[int, list[float], Bools, list[Verdicts]]:
    """The number of the last look, the shares counted, what is claimed (3,), and all verdicts."""
    before: dict[tuple[str, str], int] = {}
    shares: list[float] = []
    history: list[Verdicts] = []
    for number, look in enumerate(LOOKS, start=1):
        size = round(look * RATERS)
        known = np.arange(RATERS) < (round(LOOKS[number - 2] * RATERS) if number > 1 else 0)
        use = (np.arange(RATERS) < size) & ~(bad & known)
        shares.append(max(use.sum() / RATERS, (shares[-1] if shares else 0) + 0.01))
        compared = [
            Compared(f"system {i}", "reference", *(float(each) for each in row))
            for i, row in enumerate(zip(*data.of(use), strict=True))
        ]
        verdicts = verdicts_of(
            compared,
            shares,
            range(1, number + 1),
            before=before,
            futility=kind.futility,
            last=number == len(LOOKS),
        )
        history.append({i: (each.verdict, each.bound) for i, each in enumerate(verdicts)})
        before = {(each.condition, each.versus): each.look for each in verdicts if each.look}
        if all(each.verdict in (SIGNIFICANT, FUTILE) for each in verdicts):
            break
    claimed = np.array([each.verdict == SIGNIFICANT for each in verdicts])
    return number, shares, claimed, history


def _tail_at(
    truth: float,
    looks: list[tuple[float, float]],
    share: float,
    value: float,
    interval: tuple[float, float],
    p: float,
) -> float:
    """The tail probability of what was found, if the truth is this; .025 to .975: covered."""
    share = max(share, (looks[-1][0] if looks else 0.0) + 0.01)
    side = interval[0] if truth < value else interval[1]
    se = abs(side - value) / 1.959964
    z = z_of(p, value)
    times = [*(time / share for time, _ in looks), 1.0]
    return tail(z + (truth - value) / se, times, [bound for _, bound in looks], z)


def table(path: Path) -> str:
    """What the file holds, as Markdown."""
    rows = list(csv.DictReader(path.open(encoding="utf-8")))
    lines = [
        "| true differences (planned = 1) | items | futility | late exclusions | family-wise error"
        " | power | coverage, adjusted | coverage, not adjusted | raters (all = 1) |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
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
            f"| {row['kind']} | {row['items']} | {yes[row['futility']]} | {yes[row['late']]} | "
            f"{share('false')} | {share('power')} | {share('held')} | {share('plain')} | "
            f"{float(row['raters']):.2f} |"
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
    done = set()
    if options.out.exists():
        rows = csv.DictReader(options.out.open(encoding="utf-8"))
        done = {(row["kind"], row["items"], row["futility"], row["late"]) for row in rows}
    with options.out.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, FIELDS)
        if not file.tell():
            writer.writeheader()
        for kind in KINDS:
            name = f"{kind.name} ({', '.join(f'{e:g}' for e in kind.effects)})"
            key = (name, str(kind.items), str(kind.futility), str(kind.late))
            if key in done or options.only not in name:
                continue
            writer.writerow(simulate(kind, options.studies))
            file.flush()


if __name__ == "__main__":
    main()
