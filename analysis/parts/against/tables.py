"""The tables of metrics against people: the short one, mapped, ceilings, points, every number."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from analysis.against import (
    CONDITION,
    STIMULUS,
    WITHIN,
    condition_ceiling,
    one_against_others,
)
from analysis.against.result import AS_IS, MAPPED, THREE_WAY, TWO_WAY, Correlated
from analysis.agreement import noise_ceiling
from analysis.intervals import holm, naive_interval
from analysis.parts.against.gathered import Gathered
from analysis.parts.base import Given
from analysis.parts.shown import Column, Table

UNITS = (CONDITION, STIMULUS, WITHIN)
NAMES = {"srcc": "SRCC", "plcc": "PLCC", "krcc": "KRCC", "qwk": "QWK", "mae": "MAE"}
PLURALS = {"stimulus": "stimuli", "pair": "pairs"}
NAMES |= {"rmse": "RMSE", "rmse_star": "RMSE*"}
LEAST_CLIPS = 3  # for an interval of a metric's mean: of two it is wider than any drawing
_ERRORS = ("plcc", "rmse", "rmse_star", "mae", "qwk")
MANY_UNITS, MANY_RATINGS = 1000, 100_000
_SIGNS = {True: "+", False: "−", None: ""}
Ceilings = Mapping[tuple[str, str], Mapping[str, Any]]  # by unit and statistic


def correlation_table(of: Gathered, ceilings: Ceilings, suffix: str) -> Table:
    """Each metric per condition, per stimulus and within conditions, beside the noise ceiling."""
    adjusted = holm_of(of.found)
    rows = []
    for metric in ordered(of):
        for unit in UNITS:
            first = of.number(metric, unit, "srcc", AS_IS)
            if first is None:
                continue
            sign = next(each.rises for each in of.metrics if each.name == metric)
            row: dict[str, Any] = {"metric": metric, "unit": words_of(unit, of)}
            row |= {"sign": _SIGNS[sign], "n": first.n, "n_missing": first.n_missing}
            for name in ("srcc", "plcc", "krcc"):
                each = of.number(metric, unit, name, AS_IS)
                if each is not None:
                    row |= {name: each.value, f"{name}_low": each.low, f"{name}_high": each.high}
            row |= {"wide_low": first.low_conditions, "wide_high": first.high_conditions}
            row |= {"ceiling": _top(ceilings, unit, "srcc"), "p": first.p}
            row |= {"ceiling_plcc": _top(ceilings, unit, "plcc")}
            row |= {"p_holm": adjusted.get((metric, unit, "srcc")), "note": first.note}
            rows.append(row)
    columns = _columns(rows)
    note = (
        "SRCC, PLCC, KRCC: Spearman, Pearson, Kendall's tau-b with mean human scores. Intervals: "
        "raters and items drawn anew together; for other conditions too, these are drawn as well. "
        "Ceiling: the SRCC that a perfect metric could reach, by halves of the raters. p of SRCC, "
        f"Holm's over the {len(of.metrics)} metrics of this table, per line of the same kind. "
        f"Missing: {PLURALS[of.what]} without a value, left out."
    )
    if len(of.metrics) == 1:
        note = note.replace("1 metrics", "one metric")
    note += "".join(dict.fromkeys(_reason(row) for row in rows))
    return Table(f"correlations{suffix}", "Metrics and people", columns, rows, note, of.title)


def _columns(rows: list[dict[str, Any]]) -> list[Column]:
    """The columns of the first table; those that would be empty are left out."""

    def some(key: str) -> bool:
        return any(row[key] not in (None, "", 0) for row in rows)

    return [
        Column("metric", "Metric"),
        Column("unit", "Per"),
        *[Column("sign", "Expected", "mark")] * some("sign"),
        Column("n", "n", "count"),
        Column("srcc", "SRCC", "number", sign=True),
        Column("srcc", "SRCC, interval", "interval"),
        Column("ceiling", "Ceiling", "number"),
        Column("p_holm", "p, Holm", "p"),
        Column("plcc", "PLCC", "number", sign=True),
        Column("plcc", "PLCC, interval", "interval"),
        Column("krcc", "KRCC", "number", sign=True),
        *[Column("wide", "SRCC, other conditions too", "interval")] * some("wide_low"),
        *[Column("n_missing", "Missing", "count")] * some("n_missing"),
    ]


def _reason(row: Mapping[str, Any]) -> str:
    """Why a line has no coefficient or no interval, as a sentence."""
    return f" {row['metric']} per {row['unit']}: {row['note']}." if row["note"] else ""


def mapped_table(of: Gathered, suffix: str) -> list[Table]:
    """Errors on the raters' scale, before and after the monotonic cubic; none for comparisons."""
    if of.units.compared:
        return []
    rows = [
        row
        for metric in ordered(of)
        for unit in (CONDITION, STIMULUS)
        if "n" in (row := _mapped_row(of, metric, unit))
    ]
    columns = [Column("metric", "Metric"), Column("unit", "Per"), Column("n", "n", "count")]
    for name in _ERRORS:
        columns += _before_and_after(name, rows)
    if any(row.get("note") for row in rows):
        columns.append(Column("note", "Note"))
    note = (
        "After: the metric mapped onto the human scale by the cubic of least squares that never "
        "turns on the range of the data (ITU-T P.1401). SRCC and KRCC do not change by it. Before: "
        "of metrics on the raters' scale alone (judges, predictors of opinions). RMSE divides by n "
        "less the 4 numbers of the mapping; RMSE* counts only what lies outside the human "
        "interval. Intervals hold the mapping as it is. The mapping is fitted to these very "
        "scores, so errors after it are flattered, the more the fewer there are."
    )
    named = "Errors on the human scale, before and after a mapping"
    return [Table(f"mapped{suffix}", named, columns, rows, note, of.title, True)]


def _mapped_row(of: Gathered, metric: str, unit: str) -> dict[str, Any]:
    """Errors of one metric per unit; without ``n`` where there is none."""
    row: dict[str, Any] = {"metric": metric, "unit": words_of(unit, of)}
    for mapping, suffixed in ((AS_IS, "before"), (MAPPED, "after")):
        for name in _ERRORS:
            each = of.number(metric, unit, name, mapping)
            if each is None:
                continue
            key = f"{name}_{suffixed}"
            row |= {key: each.value, f"{key}_low": each.low, f"{key}_high": each.high}
            row |= {"n": each.n, "note": each.note or row.get("note", "")}
    return row


def _before_and_after(name: str, rows: list[dict[str, Any]]) -> Iterator[Column]:
    for suffixed in ("before", "after"):
        key = f"{name}_{suffixed}"
        if any(row.get(key) is not None for row in rows):
            yield Column(key, f"{NAMES[name]} {suffixed}", "number")
            if suffixed == "after":
                yield Column(key, f"{NAMES[name]} after, interval", "interval")


def ceilings_of(of: Gathered, given: Given) -> tuple[Ceilings, list[dict[str, Any]]]:
    """What a perfect metric could reach, per stimulus and per condition; and rows of a table."""
    units, options = of.units, given.options
    seed = int(np.random.default_rng(of.family.seed(options.seed)).integers(2**31))
    many = len(units.score) > MANY_RATINGS
    splits, replicates = (
        (10, 200) if many else (40, 200) if len(units.own) > MANY_UNITS else (100, 500)
    )
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for statistic, name in (("spearman", "srcc"), ("pearson", "plcc")):
        three = noise_ceiling(
            units.unit,
            units.rater,
            units.score,
            statistic=statistic,
            splits=splits,
            replicates=replicates,
            level=options.level,
            seed=seed,
        )
        half, reliability, top = three
        found[STIMULUS, name] = {
            "split_half": half.value,
            "reliability": reliability.value,
            "ceiling": top.value,
            "ceiling_low": top.low,
            "ceiling_high": top.high,
            "n": top.n_units,
            "note": top.note,
        }
    for each in condition_ceiling(units, level=options.level, seed=seed):
        row = each.row()
        row |= {"ceiling_low": row.pop("low"), "ceiling_high": row.pop("high")}
        found[CONDITION, str(row.pop("statistic"))] = row
    rows = [
        {"unit": words_of(unit, of), "statistic": NAMES[name], **row}
        for (unit, name), row in found.items()
    ]
    return found, rows


def ceiling_table(of: Gathered, rows: list[dict[str, Any]], suffix: str) -> list[Table]:
    """Split halves, and one rater against the others."""
    columns = [
        Column("unit", "Per"),
        Column("statistic", "Coefficient"),
        Column("split_half", "Between halves", "number"),
        Column("reliability", "Spearman-Brown", "number"),
        Column("ceiling", "Ceiling", "number"),
        Column("ceiling", "Ceiling, interval", "interval"),
        Column("n", "n", "count"),
        Column("note", "Note"),
    ]
    note = (
        "Halves of the raters, drawn many times: how their means correlate, the same for the mean "
        "of all raters (Spearman-Brown), and its root, the correlation that a metric could reach "
        "which knew the true scores. Intervals: per stimulus from a bootstrap over stimuli, per "
        "condition the middle of the splits."
    )
    named = "What a perfect metric could reach"
    tables = [Table(f"ceiling{suffix}", named, columns, rows, note, of.title, True)]
    alone = one_against_others(of.units)
    if alone["n_raters"]:
        lines = [
            {"statistic": NAMES[name], "value": alone[name], "n_raters": alone["n_raters"]}
            | {"low": alone[f"{name}_low"], "high": alone[f"{name}_high"]}
            for name in ("srcc", "plcc", "krcc")
        ]
        columns = [
            Column("statistic", "Coefficient"),
            Column("value", "Mean over raters", "number", sign=True),
            Column("interval", "Middle half of the raters", "interval"),
            Column("n_raters", "Raters", "count"),
        ]
        note = (
            "Each rater left out in turn and correlated with the mean of the others, over the same "
            "clips (5 or more). A metric above this follows the others better than one rater does."
        )
        named = "One rater against the others"
        tables.append(Table(f"one_rater{suffix}", named, columns, lines, note, of.title, True))
    return tables


def number_table(of: Gathered, suffix: str) -> Table:
    """Every number as a line of its own, with its counts and how its interval was made."""
    adjusted = holm_of(of.found)
    versions = {each.name: each for each in of.metrics}
    rows = []
    for each in of.found:
        own = versions[each.metric]
        row = {"estimand": of.family.estimand, **of.family.group, **each.row()}
        row |= {"metric": own.metric, "version": own.version, "statistic": NAMES[each.statistic]}
        row["p_holm"] = adjusted.get((each.metric, each.unit, each.statistic))
        row["level"], row["interval"] = of.level, TWO_WAY if each.low is not None else ""
        row["interval_conditions"] = THREE_WAY if each.low_conditions is not None else ""
        row["n_raters"], row["n_items"] = of.units.n_raters, of.units.n_items
        rows.append(row)
    columns = [
        Column("metric", "Metric"),
        Column("version", "Version"),
        Column("unit", "Per"),
        Column("statistic", "Measure"),
        Column("mapping", "Metric"),
        Column("value", "Value", "number"),
        Column("interval", "Interval", "interval"),
        Column("p", "p", "p"),
        Column("p_holm", "p, Holm", "p"),
        Column("n", "n", "count"),
        Column("n_ratings", "Ratings", "count"),
        Column("note", "Note"),
    ]
    note = (
        "p per condition: every order is tried with up to 7 conditions, above that scipy's p; all "
        "others from the spread of the bootstrap on Fisher's scale."
    )
    return Table(f"numbers{suffix}", "Every number", columns, rows, note, of.title, True)


def point_rows(of: Gathered, metric: str, level: float) -> list[dict[str, Any]]:
    """Per condition: the metric's mean over clips and the mean human score, with intervals."""
    values, units = of.values[metric], of.units
    human = units.intervals(level)
    rows = []
    for c, condition in enumerate(units.conditions):
        inside = values[(units.condition == c) & np.isfinite(values)]
        if not len(inside):
            continue
        bounds = naive_interval(inside, level) if len(inside) >= LEAST_CLIPS else None
        mean, low, high = human[c]
        rows.append(
            {"metric": metric, "condition": condition, "x": float(inside.mean())}
            | {
                "x_low": bounds and bounds[0],
                "x_high": bounds and bounds[1],
                "y": mean,
                "y_low": low,
                "y_high": high,
            }
            | {
                "n_stimuli": len(inside),
                "n_ratings": int(units.ratings[units.condition == c].sum()),
            }
        )
    return rows


def point_table(of: Gathered, level: float, suffix: str) -> Table:
    """The points of the figures per condition, of every metric."""
    rows = [row for metric in ordered(of) for row in point_rows(of, metric, level)]
    columns = [
        Column("metric", "Metric"),
        Column("condition", "Condition"),
        Column("x", "Metric, mean", "number"),
        Column("x", "Metric, interval", "interval"),
        Column("y", "Human, mean", "number"),
        Column("y", "Human, interval", "interval"),
        Column("n_stimuli", "Clips", "count"),
        Column("n_ratings", "Ratings", "count"),
    ]
    note = (
        f"Metric: t interval over {LEAST_CLIPS} clips or more. Human: two-way clustered over "
        "raters and items."
    )
    return Table(f"points{suffix}", "Means of the conditions", columns, rows, note, of.title, True)


def holm_of(found: Iterable[Correlated]) -> dict[tuple[str, str, str], float | None]:
    """Holm's p over the metrics, for each unit and coefficient, by metric, unit, coefficient."""
    groups: dict[tuple[str, str], list[Correlated]] = {}
    for each in found:
        if each.mapping == AS_IS and each.p is not None:
            groups.setdefault((each.unit, each.statistic), []).append(each)
    return {
        (each.metric, *key): p
        for key, group in groups.items()
        for each, p in zip(group, holm([each.p for each in group]), strict=True)
    }


def ordered(of: Gathered) -> list[str]:
    """The metrics by the size of their SRCC per stimulus; those with few values come last."""
    most = max((each.n for each in of.found if each.unit == STIMULUS), default=0)

    def place(name: str) -> tuple[bool, float, str]:
        each = of.number(name, STIMULUS, "srcc", AS_IS)
        if each is None or each.value is None:
            return True, 2.0, name
        return each.n < most / 2, -abs(each.value), name

    return sorted(of.values, key=place)


def words_of(unit: str, of: Gathered) -> str:
    """What a line counts, in words: of comparisons it is pairs."""
    if not of.units.compared:
        return "within conditions" if unit == WITHIN else unit
    return {STIMULUS: "pair", CONDITION: "pair of conditions", WITHIN: "pair, within conditions"}[
        unit
    ]


def _top(ceilings: Ceilings, unit: str, statistic: str) -> Any:
    return ceilings.get((unit, statistic), {}).get("ceiling")
