"""Which procedure tells conditions apart: false claims, coverage, power and width, by simulation.

    python benchmarks/simulate_procedures.py OUT.csv [--studies 4000] [--slow 200] [--only TEXT]
    python benchmarks/simulate_procedures.py OUT.csv --table

Every rule decides on the same simulated studies. Families: every system against the reference, all
pairs among the systems, or (CMOS, AB) every mean against the neutral point; single step, one level
for all, so that claims and intervals are one. A row of OUT.csv per cell, rule and
family is written as soon as the cell is done; cells that it holds are not run again. `--table`
prints what OUT.csv holds, a line per rule.
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path

for library in ("OMP", "OPENBLAS"):  # before NumPy: small matrices
    os.environ.setdefault(f"{library}_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402
from scipy import special  # noqa: E402

from analysis.statistics.comparisons.simultaneous import Family, spread_of  # noqa: E402
from benchmarks import simulated_rules as rules  # noqa: E402
from benchmarks.simulated_ratings import METHODS, Cell, Sums, places, scores, true_means  # noqa: E402

BATCH, ALPHA, BOOTSTRAP = 100, 0.05, 299
HOLM = "before: CGM, t(min G - 1), Holm over all pairs"
FIELDS = ("cell", "kind", "rule", "family", "studies", "false", "missed", "power", "half", "df")
SEED = 20261123


def cells() -> Iterator[Cell]:
    """The kinds of studies, the smallest first within each method."""
    alike, mixed = (3.0,) * 5, (0.25, 1.0, 1.0, 1.0, 2.0)
    for design, raters, items, each in (
        ("full", 8, 5, 0),
        ("full", 12, 10, 0),
        ("full", 20, 20, 0),
        ("full", 8, 40, 0),
        ("full", 60, 5, 0),
        ("once", 60, 5, 0),
        ("once", 400, 5, 0),
        ("once", 20, 20, 0),
        ("once", 8, 40, 0),
        ("some", 100, 40, 12),
        ("some", 400, 40, 10),
        ("uneven", 100, 40, 10),
        ("busy", 60, 40, 4),
        ("apart", 60, 10, 0),
    ):
        cell = Cell("MOS", design, raters, items, alike, each)
        yield cell
        yield replace(cell, shift=4.0, kind="two differ")
        yield replace(cell, spread=mixed, kind="unequal spread")
        if raters * items <= 400:
            yield replace(cell, spread=(0.25, 0.25, 1.0, 2.0, 2.0), kind="very unequal spread")
    for design in ("full", "once"):
        fickle = Cell("MOS", design, 60, 5, alike, kind="fickle items in two")
        yield replace(fickle, spread=(2, 2, 2, 0.5, 0.5), item_spread=(0.2, 0.2, 0.2, 2, 2))
        fickle = replace(fickle, kind="fickle items in two of little noise")
        yield replace(fickle, spread=(3, 3, 3, 0.1, 0.1), item_spread=(0.2, 0.2, 0.2, 2, 2))
    for design, raters, items, many in (
        ("full", 100, 3, 5),
        ("once", 400, 5, 5),
        ("once", 400, 5, 10),
        ("once", 400, 10, 10),
        ("once", 400, 20, 10),
    ):
        cell = Cell("MOS", design, raters, items, (3.0,) * many, kind="items matter most")
        yield replace(cell, item_spread=(3.0,) * many)
    yield Cell("MOS", "once", 60, 5, (3.0,) * 7)
    yield Cell("MOS", "once", 60, 5, (3.0,) * 7, shift=5.0, kind="two differ")
    yield Cell("MOS", "full", 12, 10, (3.0,) * 10)
    yield Cell("MOS", "full", 12, 10, (3.0, 3.0))
    yield Cell("MOS", "once", 60, 5, (3.0, 3.0))
    for level, kind in ((0.45, "equal"), (0.12, "equal near the floor")):
        for design, raters, items, each in (
            ("full", 12, 10, 0),
            ("once", 60, 5, 0),
            ("once", 20, 20, 0),
            ("some", 400, 40, 10),
        ):
            cell = Cell("HLS", design, raters, items, (level,) * 5, each, kind=kind)
            yield cell
            yield replace(cell, shift=4.0, kind=f"two differ, {level}")
    for design, raters, items, each in (
        ("full", 12, 10, 0),
        ("once", 60, 5, 0),
        ("some", 400, 40, 10),
    ):
        top = Cell("HLS", design, raters, items, (1.15,) * 5, each, kind="equal near the top")
        yield top
        yield replace(top, level=(1.3, 0.9, 0.9, 0.3, 0.3), kind="some near the top")
        yield replace(top, method="MOS", level=(4.9, 4.7, 4.7, 4.7, 4.7), kind="near the top")
        yield replace(top, method="AB", level=(2.0, 2.0, -2.0, 0.0), kind="near both ends")
    mushra = Cell("MUSHRA", "full", 8, 5, ())
    for raters, items in ((8, 5), (12, 10), (20, 20), (60, 5), (15, 8)):
        size = replace(mushra, raters=raters, items=items)
        yield replace(
            size, level=(98, 90, 90, 60, 30), spread=(0.3, 0.6, 0.6, 1.3, 1), kind="tops equal"
        )
        yield replace(
            size, level=(98, 80, 60, 60, 60), spread=(0.3, 0.8, 1.3, 1.3, 1.3), kind="middle equal"
        )
        yield replace(
            size, level=(98, 95, 91, 60, 56), spread=(0.3, 0.4, 0.5, 1.3, 1.3), kind="all differ"
        )
    for method in ("CMOS", "AB"):
        for design, raters, items, each in (
            ("full", 12, 10, 0),
            ("once", 60, 5, 0),
            ("full", 8, 40, 0),
            ("some", 100, 40, 12),
            ("once", 400, 5, 0),
            ("busy", 60, 40, 4),
        ):
            cell = Cell(method, design, raters, items, (0.0,) * 4, each)
            yield cell
            yield replace(cell, shift=4.0, kind="two differ")


def contrasts(cell: Cell) -> tuple[np.ndarray, rules.Families]:
    """The contrasts (m, C) of all families of a cell, and which belong to each."""
    conditions = len(cell.level)
    if METHODS[cell.method].neutral is not None:
        return np.eye(conditions), {"means": np.arange(conditions)}
    pairs = list(combinations(range(conditions), 2))
    rows = np.zeros((len(pairs), conditions))
    for i, (a, b) in enumerate(pairs):
        rows[i, a], rows[i, b] = 1.0, -1.0
    reference = np.array([a == 0 for a, _ in pairs])
    families = {"reference": np.flatnonzero(reference), "systems": np.flatnonzero(~reference)}
    return rows, {name: at for name, at in families.items() if len(at)}


def levels(cell: Cell, rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The conditions' levels; a shift is in standard errors seen in 200 pilot studies."""
    level = np.array(cell.level, dtype=np.float64)
    if cell.shift:
        at = places(cell, rng)
        mean, _ = Sums(at, len(level)).of(scores(cell, level, at, 200, rng))
        se = float((mean @ rows.T).std(axis=0).mean())
        level[0] += cell.shift * se
        level[-1] -= cell.shift * se
    return level


@dataclass
class Tally:
    """What a rule did in a family: sums over studies."""

    studies: int = 0
    false: float = 0.0
    missed: float = 0.0
    power: float = 0.0
    half: float = 0.0
    df: float = 0.0

    def add(
        self, off: np.ndarray, half: np.ndarray, claimed: np.ndarray, truth: np.ndarray, df: float
    ) -> None:
        """``off``: estimate less truth (B, m); ``claimed`` (B, m); ``truth`` (m,), 0 if none."""
        none = np.abs(truth) < 1e-9
        self.studies += len(off)
        self.false += claimed[:, none].any(axis=1).sum()
        self.missed += (np.abs(off) > half).any(axis=1).sum()
        self.power += claimed[:, ~none].mean(axis=1).sum() if not none.all() else 0.0
        self.half += half.mean(axis=1).sum()
        self.df += df * len(off)

    def row(self) -> dict[str, float]:
        """Shares and means."""
        shares = {name: getattr(self, name) / self.studies for name in FIELDS[5:]}
        return {"studies": self.studies} | {name: round(x, 6) for name, x in shares.items()}


@dataclass
class Judged:
    """A batch with its truth, for `Tally`."""

    batch: rules.Batch
    families: rules.Families
    truth: np.ndarray
    null: float

    @property
    def estimate(self) -> np.ndarray:
        return self.batch.mean @ self.batch.rows.T - self.null

    def by_limits(self, tallies: dict[tuple[str, str], Tally]) -> None:
        """Claims and intervals of the rule in force."""
        limits = [rules.limits_in_force(self.batch, k) for k in range(len(self.batch.mean))]
        df = np.array([each.df for each in limits])
        middle, truth = float(np.median(df)), self.truth + self.null
        for family, at in self.families.items():
            local = rules.nearer_sidak(self.local(family), len(at), df[:, at])
            ends = [each.bounds(alpha) for each, alpha in zip(limits, local, strict=True)]
            low, high = (np.array([end[side] for end in ends])[:, at] for side in (0, 1))
            claimed = (low > self.null) | (high < self.null)
            missed = (low > truth[at]) | (high < truth[at])
            half = (high - low) / 2
            off = np.where(missed, half + 1, 0.0)
            tallies[rules.SHIPPED, family].add(off, half, claimed, self.truth[at], middle)

    def by_spread(
        self, tallies: dict[tuple[str, str], Tally], name: str, spread: rules.Spread
    ) -> None:
        """Claims and intervals of one rule in each family, and of each contrast alone."""
        variance, df = spread
        estimate, se = self.estimate, np.sqrt(np.maximum(variance, 1e-30))
        p = 2 * special.stdtr(df, -np.abs(estimate) / se)
        middle = float(np.median(df))
        for family, at in self.families.items():
            local = self.local(family)
            if name not in rules.ONE_VARIANCE:
                local = rules.nearer_sidak(local, len(at), df[:, at])
            local = local[:, None]
            half = -special.stdtrit(df[:, at], local / 2) * se[:, at]
            off, truth = (estimate - self.truth)[:, at], self.truth[at]
            tallies[name, family].add(off, half, p[:, at] <= local, truth, middle)
        half = -special.stdtrit(df, ALPHA / 2) * se
        for j in range(len(self.truth)):
            each = slice(j, j + 1)
            off, claimed = (estimate - self.truth)[:, each], p[:, each] <= ALPHA
            tallies[name, "alone"].add(off, half[:, each], claimed, self.truth[each], middle)

    def local(self, family: str) -> np.ndarray:
        """The level of each contrast (B,)."""
        known = self.__dict__.setdefault("_local", {})
        if family not in known:
            rows = self.batch.rows[self.families[family]]
            known[family] = rules.local_alphas(self.batch.covariance, rows)
        return known[family]

    def check(self) -> None:
        """The quick level is that of the analysis's own code."""
        for family, at in self.families.items():
            rows, batch = self.batch.rows[at], self.batch
            grams = [gram[0] for gram in batch.grams]
            spread = spread_of(rows, batch.sums.clustered(batch.mean[0], grams, batch.within[0]))
            told = Family(rows, spread, np.ones(len(at)), 0.95, 0).local_alpha
            found = rules.nearer_sidak(self.local(family)[:1], len(at), spread.df[None])[0]
            if abs(found / told - 1) > 0.1:  # few items: the quick level is a little too strict
                raise SystemExit(f"{family}: a level of {found}, and {told} by the analysis")


def simulate(cell: Cell, studies: int, slow: int) -> dict[tuple[str, str], Tally]:
    """What every rule did, by rule and family."""
    rng = np.random.default_rng([SEED, *cell.name.encode()])
    rows, families = contrasts(cell)
    level = levels(cell, rows, rng)
    null = METHODS[cell.method].neutral or 0.0
    truth = true_means(cell, level) @ rows.T - null
    tallies: dict[tuple[str, str], Tally] = defaultdict(Tally)
    for number in range(0, studies, BATCH):
        at = places(cell, rng)
        sums = Sums(at, len(level))
        y = scores(cell, level, at, BATCH, rng)
        mean, grams = sums.of(y)
        ends = METHODS[cell.method].ends
        batch = rules.Batch(sums, mean, grams, rows, sums.within(mean, y), ends)
        judged = Judged(batch, families, truth, null)
        if not number:
            judged.check()
        spreads = rules.spreads_of(batch) | {rules.JACKKNIFE: rules.jackknife(batch, y)}
        if cell.design == "full" and METHODS[cell.method].neutral is None:
            spreads[rules.REML] = rules.balanced_reml(batch, y, cell.raters, cell.items)
        for name, spread in spreads.items():
            judged.by_spread(tallies, name, spread)
        judged.by_limits(tallies)
        _holm(judged, tallies, spreads[rules.PLAIN])
        if number < slow and y[0].size <= 1500:
            _bootstraps(judged, y, tallies, rng)
    return tallies


def _holm(judged: Judged, tallies: dict[tuple[str, str], Tally], spread: rules.Spread) -> None:
    """The claims of old (Holm over all contrasts) beside the interval printed then (unadjusted)."""
    variance, df = spread
    estimate, se = judged.estimate, np.sqrt(np.maximum(variance, 1e-30))
    claimed = rules.holm_claims(2 * special.stdtr(df, -np.abs(estimate) / se))
    half = -special.stdtrit(df, ALPHA / 2) * se
    for family, at in judged.families.items():
        off = (estimate - judged.truth)[:, at]
        tallies[HOLM, family].add(off, half[:, at], claimed[:, at], judged.truth[at], 0.0)


def _bootstraps(
    judged: Judged,
    y: np.ndarray,
    tallies: dict[tuple[str, str], Tally],
    rng: np.random.Generator,
) -> None:
    for name, rule in ((rules.WILD, rules.wild), (rules.PIGEONHOLE, rules.pigeonhole)):
        found = rule(judged.batch, y, judged.families, rng, BOOTSTRAP)
        for family, at in judged.families.items():
            estimate, half = judged.estimate[:, at], found[family]
            off = estimate - judged.truth[at]
            claimed = np.abs(estimate) > half
            tallies[name, family].add(off, half, claimed, judged.truth[at], 0.0)


def as_markdown(out: Path) -> str:
    """A line of Markdown per rule: false claims and coverage of whole families, power and width.

    Width is that of the intervals over that of the rule in force, where both were run.
    """
    found = pd.read_csv(out)
    found = found[found["family"] != "alone"]
    found["method"] = found["cell"].str.split().str[0]
    place = ["cell", "kind", "family"]
    own = found[found["rule"] == rules.SHIPPED].set_index(place)["half"]
    found["width"] = found["half"] / own.reindex(pd.MultiIndex.from_frame(found[place])).to_numpy()
    methods = list(METHODS)
    heads = ["false claims, most", "mean", "coverage, least", "mean", "width"]
    heads += [f"power, {method}" for method in methods]
    lines = [f"| rule | cells | studies | {' | '.join(heads)} |"]
    lines.append("| --- |" + " --- |" * (len(heads) + 2))
    for rule, rows in found.groupby("rule"):
        cells = [str(rule), str(rows["cell"].nunique()), str(rows["studies"].min())]
        cells += [f"{rows['false'].max():.3f}", f"{rows['false'].mean():.3f}"]
        cells += [f"{1 - rows['missed'].max():.3f}", f"{1 - rows['missed'].mean():.3f}"]
        cells.append(f"{rows['width'].mean():.2f}")
        power = rows[rows["power"] > 0].groupby("method")["power"].mean()
        cells += [f"{power[method]:.2f}" if method in power else "" for method in methods]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--studies", type=int, default=4000)
    parser.add_argument("--slow", type=int, default=200, help="studies with bootstraps")
    parser.add_argument("--only", default="", help="cells whose name holds this")
    parser.add_argument("--table", action="store_true", help="print what OUT.csv holds")
    options = parser.parse_args()
    if options.table:
        print(as_markdown(options.out))
        return
    done = set()
    if options.out.exists():
        with options.out.open() as lines:
            done = {row["cell"] for row in csv.DictReader(lines)}
    with options.out.open("a", newline="") as lines:
        table = csv.DictWriter(lines, FIELDS)
        if not done:
            table.writeheader()
        for cell in cells():
            if cell.name in done or options.only not in cell.name:
                continue
            began = time.process_time()
            for (rule, family), tally in simulate(cell, options.studies, options.slow).items():
                about = {"cell": cell.name, "kind": cell.kind, "rule": rule, "family": family}
                table.writerow(about | tally.row())
            lines.flush()
            print(f"{cell.name}: {time.process_time() - began:.1f} CPU s", flush=True)


if __name__ == "__main__":
    main()
