"""Correlations of metric scores with human scores: per stimulus, within conditions, per condition.

A metric is compared with the mean human score of the same stimuli. Pooled over stimuli, a metric
that only tells conditions apart looks good; ``stimulus within condition`` takes the condition means
away from both sides first, and shows what is left.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import special, stats

from analysis.breakdowns import Family, families
from analysis.cells import unescaped
from analysis.intervals import Floats, percentile_interval
from analysis.ratings import RatingsError
from analysis.scales import AGAINST_OPEN_REFERENCE

NO_METRICS = frozenset({"n_words"})  # scores that tell what a clip holds, not how good it is
SCORE_COLUMNS = ("stimulus", "metric", "version", "value")
STIMULUS = "stimulus"
WITHIN = "stimulus within condition"
CONDITION = "condition"
BOOTSTRAP_UNITS = {
    STIMULUS: "bootstrap over stimuli, percentile",
    WITHIN: "bootstrap over stimuli, percentile",
    CONDITION: "bootstrap over conditions, percentile",
}
FISHER = {
    "pearson": "Fisher z, variance 1/(n-3)",
    "spearman": "Fisher z, variance (1+r²/2)/(n-3) (Bonett-Wright)",
    "kendall": "Fisher z, variance 0.437/(n-4) (Fieller)",
}
STATISTICS = ("pearson", "spearman", "kendall")
REPLICATES = 2000
MOST_FOR_KENDALL = 600
_CHUNK = 200


@dataclass(frozen=True)
class Correlation:
    """How a metric goes with the human mean score: a coefficient, its interval and its counts.

    ``value`` is None when the coefficient is undefined, and ``low`` and ``high`` when there is no
    interval; ``note`` then says why. ``n`` counts the units (stimuli or conditions).
    """

    estimand: str
    metric: str
    version: str
    unit: str
    statistic: str
    value: float | None
    low: float | None
    high: float | None
    level: float
    interval: str
    n: int
    n_ratings: int
    group: Mapping[str, str] = field(default_factory=dict)
    note: str = ""

    def row(self) -> dict[str, Any]:
        """The correlation as one flat row of plain values, group columns included."""
        row = {name: getattr(self, name) for name in self.__dataclass_fields__ if name != "group"}
        first = {"estimand": row.pop("estimand"), **self.group}
        return {**first, **row}


def scores_from_rows(rows: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """A table of metric scores (stimulus, metric, version, value) from plain rows (ScoreRow)."""
    cells = [[row[name] for name in SCORE_COLUMNS] for row in rows]
    table = pd.DataFrame(cells, columns=list(SCORE_COLUMNS))
    for name in SCORE_COLUMNS[:3]:
        table[name] = table[name].astype("str")
    table["value"] = table["value"].astype("float64")
    return table.sort_values(list(SCORE_COLUMNS), ignore_index=True)


def scores_from_csv(path: str | Path) -> pd.DataFrame:
    """The metric scores of a CSV file with the columns stimulus, metric, version, value."""
    path = Path(path)
    problems: list[str] = []
    rows: list[dict[str, Any]] = []
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            absent = [name for name in SCORE_COLUMNS if name not in (reader.fieldnames or [])]
            if absent:
                wanted = ", ".join(SCORE_COLUMNS)
                raise RatingsError([f"{path.name}: no column {', '.join(absent)}; give {wanted}"])
            for number, row in enumerate(reader, start=2):
                try:
                    value = float(row["value"]) if row["value"] else None
                    named = {n: unescaped([row[n]], n)[0] for n in SCORE_COLUMNS[:3]}
                    rows.append({**named, "value": value})
                except (TypeError, ValueError):
                    problem = f"column value: {row['value']!r} is no number; write one"
                    problems.append(f"{path.name}, row {number}, {problem} or leave it empty")
    except FileNotFoundError:
        raise RatingsError([f"{path}: there is no such file; check the path"]) from None
    except UnicodeDecodeError:
        raise RatingsError([f"{path.name}: not UTF-8; save the file as CSV UTF-8"]) from None
    if problems:
        raise RatingsError(problems)
    return scores_from_rows(rows)


def correlations(
    ratings: pd.DataFrame,
    scores: pd.DataFrame,
    *,
    level: float = 0.95,
    seed: int = 0,
    replicates: int = REPLICATES,
) -> list[Correlation]:
    """Every metric against every family of ratings, in three units and three statistics."""
    found: list[Correlation] = []
    known = scores[np.isfinite(scores["value"]) & ~scores["metric"].isin(NO_METRICS)]
    for family in families(ratings):
        for (metric, version), values in known.groupby(["metric", "version"], sort=True):
            name = (str(metric), str(version))
            for unit, x, y, counted in _units(family, values):
                for statistic in STATISTICS:
                    rng = np.random.default_rng([*family.seed(seed), STATISTICS.index(statistic)])
                    lines = _lines(statistic, unit, x, y, level, rng, replicates)
                    found += [
                        Correlation(
                            family.estimand,
                            *name,
                            unit,
                            statistic,
                            *line[:3],
                            level,
                            line[3],
                            len(x),
                            counted,
                            family.group,
                            line[4],
                        )
                        for line in lines
                    ]
    return found


def points(ratings: pd.DataFrame, scores: pd.DataFrame) -> list[dict[str, Any]]:
    """Per family, metric and condition: mean metric value, mean human score and the counts."""
    found = []
    known = scores[np.isfinite(scores["value"]) & ~scores["metric"].isin(NO_METRICS)]
    for family in families(ratings):
        for (metric, version), values in known.groupby(["metric", "version"], sort=True):
            stimuli = _per_stimulus(family, values)
            for condition, rows in stimuli.groupby("condition", sort=True):
                found.append(
                    {
                        "estimand": family.estimand,
                        **family.group,
                        "metric": str(metric),
                        "version": str(version),
                        "condition": str(condition),
                        "metric_mean": float(rows["metric"].mean()),
                        "human_mean": float(np.average(rows["human"], weights=rows["ratings"])),
                        "n_stimuli": len(rows),
                        "n_ratings": int(rows["ratings"].sum()),
                    }
                )
    return found


def correlation(statistic: str, x: Floats, y: Floats) -> float | None:
    """Pearson's r, Spearman's rho or Kendall's tau-b of x and y (n,); None where undefined."""
    if len(x) < 3 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return None
    functions: dict[str, Callable[[Floats, Floats], Any]] = {
        "pearson": stats.pearsonr,
        "spearman": stats.spearmanr,
        "kendall": stats.kendalltau,
    }
    return float(functions[statistic](x, y).statistic)


def fisher_interval(
    statistic: str, value: float, n: int, level: float
) -> tuple[float, float] | None:
    """tanh(atanh(value) ± z se): Fisher (1915), Bonett and Wright (2000), Fieller et al. (1957)."""
    spare = n - (4 if statistic == "kendall" else 3)
    if spare < 1 or abs(value) >= 1 - 1e-12:
        return None
    variance = {"pearson": 1.0, "spearman": 1 + value**2 / 2, "kendall": 0.437}[statistic] / spare
    half = float(special.ndtri((1 + level) / 2)) * variance**0.5
    middle = float(np.arctanh(value))
    return float(np.tanh(middle - half)), float(np.tanh(middle + half))


def bootstrap_replicates(
    statistic: str, x: Floats, y: Floats, rng: np.random.Generator, replicates: int
) -> Floats:
    """The coefficient (B,) over units drawn with replacement; NaN where it is undefined."""
    if statistic == "kendall":
        return _kendall_replicates(x, y, rng, replicates)
    parts = []
    for start in range(0, replicates, _CHUNK):
        drawn = rng.integers(0, len(x), size=(min(_CHUNK, replicates - start), len(x)))
        a, b = x[drawn], y[drawn]
        if statistic == "spearman":
            a, b = stats.rankdata(a, axis=1), stats.rankdata(b, axis=1)
        parts.append(_row_pearson(a, b))
    return np.concatenate(parts)


Line = tuple[float | None, float | None, float | None, str, str]


def _lines(
    statistic: str,
    unit: str,
    x: Floats,
    y: Floats,
    level: float,
    rng: np.random.Generator,
    replicates: int,
) -> Iterator[Line]:
    """(value, low, high, interval, note), once by bootstrap and once by Fisher's z."""
    value = correlation(statistic, x, y)
    if value is None:
        yield None, None, None, BOOTSTRAP_UNITS[unit], _undefined(x, y, unit)
        return
    if statistic == "kendall" and len(x) > MOST_FOR_KENDALL:
        bounds = None
        why = f"not made for more than {MOST_FOR_KENDALL} units: see the Fisher interval"
    else:
        bounds = percentile_interval(bootstrap_replicates(statistic, x, y, rng, replicates), level)
        why = "" if bounds else f"only {len(x)} units: too many replicates are undefined"
        if bounds and bounds[0] == bounds[1]:
            bounds, why = None, f"all replicates of {len(x)} units give {value:.3g}"
    yield value, *(bounds or (None, None)), BOOTSTRAP_UNITS[unit], why
    bounds = fisher_interval(statistic, value, len(x), level)
    why = "" if bounds else f"no interval from {len(x)} units with a coefficient of {value:.3g}"
    yield value, *(bounds or (None, None)), FISHER[statistic], why


def _undefined(x: Floats, y: Floats, unit: str) -> str:
    if len(x) < 3:
        return f"undefined: {len(x)} of the 3 or more units needed ({unit})"
    sides = [
        name
        for name, values in (("metric", x), ("human score", y))
        if np.ptp(values) == 0  # one value for all
    ]
    return f"undefined: the {' and the '.join(sides)} is constant" if sides else ""


def _units(family: Family, values: pd.DataFrame) -> Iterator[tuple[str, Floats, Floats, int]]:
    stimuli = _per_stimulus(family, values)
    counted = int(stimuli["ratings"].sum())
    x = stimuli["metric"].to_numpy(dtype=np.float64)
    y = stimuli["human"].to_numpy(dtype=np.float64)
    yield STIMULUS, x, y, counted
    names, code = np.unique(stimuli["condition"].to_numpy(dtype=object), return_inverse=True)
    size = np.bincount(code, minlength=len(names))
    several = size[code] > 1
    if len(names) > 1:
        inner_x = (x - (np.bincount(code, weights=x) / size)[code])[several]
        inner_y = (y - (np.bincount(code, weights=y) / size)[code])[several]
        used = int(stimuli["ratings"].to_numpy(dtype=np.int64)[several].sum())
        yield WITHIN, _without_dust(inner_x), _without_dust(inner_y), used
    weight = stimuli["ratings"].to_numpy(dtype=np.float64)
    human = np.bincount(code, weights=weight * y) / np.bincount(code, weights=weight)
    yield CONDITION, np.bincount(code, weights=x) / size, human, counted


def _per_stimulus(family: Family, values: pd.DataFrame) -> pd.DataFrame:
    """One row per stimulus (or pair of stimuli): condition, human, ratings, metric.

    Where stimuli are compared, the metric's value is the difference, as the human score is; its
    size alone where the score says whether a difference was heard (ABX).
    """
    rows = family.table[family.table["stimulus"] != ""]
    keys = ["stimulus", "versus_stimulus", "condition", "versus_condition"]
    human = rows.groupby(keys, sort=True)["score"].agg(["mean", "size"]).reset_index()
    human = human.rename(columns={"mean": "human", "size": "ratings"})
    metric = values.groupby("stimulus")["value"].mean()
    own, other = human["stimulus"].map(metric), human["versus_stimulus"].map(metric)
    compared = family.estimand not in AGAINST_OPEN_REFERENCE
    paired = (human["versus_condition"] != "") & compared
    difference = (own - other).abs() if family.estimand == "abx" else own - other
    human["metric"] = own.where(~paired, difference).astype("float64")
    named = human["condition"] + " ~ " + human["versus_condition"]
    human["condition"] = human["condition"].where(~paired, named)
    return human[human["metric"].notna()]


def _without_dust(values: Floats) -> Floats:
    """Differences of equal numbers that rounding left a hair from zero, made zero again."""
    return np.where(np.abs(values) < 1e-12, 0.0, values)


def _row_pearson(a: Floats, b: Floats) -> Floats:
    constant = (np.ptp(a, axis=1) == 0) | (np.ptp(b, axis=1) == 0)
    a = a - a.mean(axis=1, keepdims=True)
    b = b - b.mean(axis=1, keepdims=True)
    size = np.sqrt((a**2).sum(axis=1) * (b**2).sum(axis=1))
    size[constant] = 1.0
    r = np.clip((a * b).sum(axis=1) / size, -1.0, 1.0)
    return np.asarray(np.where(constant, np.nan, r), dtype=np.float64)


def _kendall_replicates(x: Floats, y: Floats, rng: np.random.Generator, replicates: int) -> Floats:
    """tau-b from multiplicities w: w'Sw / sqrt(w'|Sx|w w'|Sy|w), S the product of the signs."""
    n = len(x)
    sign_x = np.sign(x[:, None] - x[None, :])
    sign_y = np.sign(y[:, None] - y[None, :])
    drawn = rng.integers(0, n, size=(replicates, n)) + np.arange(replicates)[:, None] * n
    w = np.bincount(drawn.reshape(-1), minlength=replicates * n).reshape(replicates, n)
    w = w.astype(np.float64)
    agree = ((w @ (sign_x * sign_y)) * w).sum(axis=1)
    untied_x = ((w @ np.abs(sign_x)) * w).sum(axis=1)
    untied_y = ((w @ np.abs(sign_y)) * w).sum(axis=1)
    size = np.sqrt(untied_x * untied_y)
    undefined = np.full(replicates, np.nan)
    return np.asarray(np.divide(agree, size, out=undefined, where=size > 0), dtype=np.float64)
