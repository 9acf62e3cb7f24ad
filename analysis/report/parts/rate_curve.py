"""The score of a codec by its bit rate, and the rate at which it equals other systems."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from analysis.arrays import Floats
from analysis.formatting import number, short
from analysis.name_spans import condition_span, family_prefix
from analysis.ratings.breakdowns import Family, families
from analysis.ratings.estimands import Estimand, estimand_of
from analysis.ratings.reference import reference_of, roles_of
from analysis.report.content import (
    Content,
    Figure,
    column,
    columns_of,
    row_from,
    table_row,
)
from analysis.report.part import FamilyInput, FamilyPart, PartInput
from analysis.statistics.estimator import Estimate
from analysis.statistics.estimators.mean_score import MeanScore
from analysis.statistics.intervals import TWO_WAY, PigeonholeWeights
from analysis.statistics.rate_curve import (
    FEWEST_RATES,
    equivalent_rate,
    monotone_fit,
    rate_interval,
)

ATTRIBUTE = "bitrate_kbps"  # of a condition, in kbit/s
UNIT = "kbit/s"
CURVE_NOTE = (
    "Curve: the means made monotone by isotonic regression, weighted by ratings. Intervals are "
    "those of the means, clustered by raters and items."
)
EQUIVALENT_NOTE = (
    "The lowest rate at which the curve reaches the mean of the condition. Between two rates the "
    "curve is linear in the logarithm of the rate. Interval: percentiles of a bootstrap that draws "
    "raters and items, of the curve and the condition together (conservative). Below and above: "
    "outside of the rates that were rated."
)
METHODS = (
    "Scores by bit rate were made monotone by isotonic regression. The equivalent bit rate of a "
    "condition is the rate at which that curve, linear in log rate, reaches its mean; its interval "
    "is from a bootstrap over raters and items."
)


@table_row
class RateRow:
    """One rate of a system: its mean with the interval, and the monotone curve there."""

    system: str = column("System")
    condition: str = column("Condition")
    rate: float = column(f"Rate, {UNIT}", "number", 1)
    value: float = column("Mean", "number")
    low: float | None = column("{level}", "interval", key="interval")
    high: float | None
    fitted: float = column("Curve", "number")
    n_ratings: int = column("Ratings", "count")


@table_row
class EquivalentRow:
    """A condition with the rate at which a curve reaches its mean; numbers are None outside."""

    system: str = column("Curve")
    condition: str = column("Condition")
    value: float = column("Mean", "number")
    equivalent: str = column(f"Equivalent rate, {UNIT}")
    interval: str = column("{level}")
    rate: float | None
    rate_low: float | None
    rate_high: float | None


@dataclass(frozen=True)
class Curve:
    """The conditions of one system by rising rate (k,), with their means and the fitted curve."""

    system: str
    conditions: tuple[str, ...]
    rates: Floats
    means: tuple[Estimate, ...]
    fitted: Floats


class RateCurve(FamilyPart):
    """Score by bit rate, its monotone curve, and the equivalent bit rates of other conditions."""

    key = "rate_curve"
    version = "1"
    title = "Score by bit rate"
    order = 24

    def applies(self, inputs: PartInput) -> bool:
        rates = rates_of(inputs)
        rated = set(inputs.ratings["condition"])
        return any(
            len({rates[name] for name in names if name in rated}) >= FEWEST_RATES
            for names in systems_of(inputs, rates).values()
        )

    def families(self, inputs: PartInput) -> Iterable[Family]:
        rates = rates_of(inputs)
        for family in families(inputs.ratings):
            rated = set(family.table["condition"]) & set(rates)
            if not family.in_pairs and len({rates[name] for name in rated}) >= FEWEST_RATES:
                yield family

    def of_family(self, each: FamilyInput) -> Content:
        estimand = estimand_of(each.family.estimand)
        means = _means(each)
        found = list(_curves(each, means, estimand))
        if not found:
            return Content()
        rows = [row for curve in found for row in _rate_rows(curve)]
        others = [row for curve in found for row in _equivalents(curve, each, means, estimand)]
        decimals = estimand.decimals
        columns = columns_of(RateRow, level=each.level, decimals=decimals)
        columns = tuple(replace(c, decimals=1) if c.key == "rate" else c for c in columns)
        title = "Score by bit rate"
        tables = [each.table(RateRow, "rate-curve", title, rows, columns=columns, note=CURVE_NOTE)]
        if others:
            key, title = "equivalent-rate", "Equivalent bit rate"
            columns = columns_of(EquivalentRow, level=each.level, decimals=decimals)
            tables.append(
                each.table(EquivalentRow, key, title, others, columns=columns, note=EQUIVALENT_NOTE)
            )
        return Content(
            sentences=[*_sentences(others, each)],
            figures=[_figure(found, each, means, estimand)],
            tables=tables,
            methods=[METHODS],
        )


def rates_of(inputs: PartInput) -> dict[str, float]:
    """The bit rate of each condition that names one above 0, in kbit/s."""
    rates = {}
    for each in inputs.facts["conditions"] if inputs.facts else ():
        try:
            rate = float(each["attributes"].get(ATTRIBUTE, ""))
        except ValueError:
            continue
        if 0 < rate < float("inf"):
            rates[each["condition"]] = rate
    return rates


def systems_of(inputs: PartInput, rates: Mapping[str, float]) -> dict[str, list[str]]:
    """The conditions with a rate of each system, by rising rate; those without one together."""
    systems: dict[str, list[str]] = {}
    for each in inputs.facts["conditions"] if inputs.facts else ():
        if each["condition"] in rates:
            systems.setdefault(each["system"], []).append(each["condition"])
    return {system: sorted(own, key=lambda name: rates[name]) for system, own in systems.items()}


def _curves(
    each: FamilyInput, means: Mapping[str, Estimate], estimand: Estimand
) -> Iterator[Curve]:
    rates = rates_of(each.inputs)
    for system, names in systems_of(each.inputs, rates).items():
        own = [name for name in names if name in means]
        x = np.array([rates[name] for name in own])
        if len(set(x)) < FEWEST_RATES or len(set(x)) < len(x):
            continue  # two conditions of one rate: which is the codec is not known
        of_each = tuple(means[name] for name in own)
        fitted = _fit([mean.value for mean in of_each], [m.n_ratings for m in of_each], estimand)
        yield Curve(system, tuple(own), x, of_each, fitted)


def _means(each: FamilyInput) -> dict[str, Estimate]:
    """The mean of each condition, as the report has it."""
    made = MeanScore(intervals=("two_way",), weightings=("ratings",))
    estimates = made.fit(each.family.table, level=each.level, seed=each.inputs.options.seed)
    return {mean.condition: mean for mean in estimates if mean.interval == TWO_WAY}


def _fit(means: Sequence[float], weights: Sequence[float], estimand: Estimand) -> Floats:
    """The curve that gets no worse with the rate; of places a low one is good."""
    turn = -1.0 if estimand.lowest_is_best else 1.0
    fitted = monotone_fit(turn * np.asarray(means), np.asarray(weights, dtype=np.float64))
    return turn * fitted + 0.0


def _rate_rows(curve: Curve) -> Iterator[RateRow]:
    for mean, rate, fitted in zip(curve.means, curve.rates, curve.fitted, strict=True):
        yield row_from(RateRow, mean, system=curve.system, rate=float(rate), fitted=float(fitted))


def _equivalents(
    curve: Curve, each: FamilyInput, means: Mapping[str, Estimate], estimand: Estimand
) -> Iterator[EquivalentRow]:
    """Of every condition beside the curve, but the reference: it is at no rate."""
    family, options = each.family, each.inputs.options
    table = family.table
    names = sorted(set(map(str, table["condition"])))
    reference = reference_of(names, options.reference, roles_of(table)).name
    others = [name for name in names if name not in (*curve.conditions, reference)]
    turn = -1.0 if estimand.lowest_is_best else 1.0
    weights = PigeonholeWeights(
        family.n_raters, family.n_items, options.replicates, family.seed(options.seed)
    )
    drawn = {name: turn * _replicates(name, family, weights) for name in names}
    counts = np.array([mean.n_ratings for mean in curve.means], dtype=np.float64)
    points = np.stack([drawn[name] for name in curve.conditions], axis=1)
    whole = ~np.isnan(points).any(axis=1)
    fits = np.full_like(points, np.nan)
    for place in np.flatnonzero(whole):
        fits[place] = monotone_fit(points[place], counts)
    for name in each.inputs.ordered("condition", others):
        value = means[name].value
        rate = equivalent_rate(curve.rates, turn * curve.fitted, turn * value)
        replicates = np.array(
            [
                equivalent_rate(curve.rates, fit, float(score))
                for fit, score in zip(fits, drawn[name], strict=True)
            ]
        )
        bounds = rate_interval(replicates, each.level)
        low, high = bounds or (float("nan"), float("nan"))
        yield EquivalentRow(
            system=curve.system,
            condition=name,
            value=value,
            equivalent=_rate_words(rate, curve.rates),
            interval=_interval_words(low, high, curve.rates) if bounds else "",
            rate=rate if np.isfinite(rate) else None,
            rate_low=low if np.isfinite(low) else None,
            rate_high=high if np.isfinite(high) else None,
        )


def _replicates(name: str, family: Family, weights: PigeonholeWeights) -> Floats:
    mine = (family.table["condition"] == name).to_numpy(dtype=bool)
    y = family.table["score"].to_numpy(dtype=np.float64)[mine]
    return weights.means(y, family.rater[mine], family.item[mine])


def _rate_words(rate: float, rates: Floats) -> str:
    if rate == float("-inf"):
        return f"below {short(rates[0])}"
    if rate == float("inf"):
        return f"above {short(rates[-1])}"
    return number(rate, False, 1)


def _interval_words(low: float, high: float, rates: Floats) -> str:
    ends = [_rate_words(end, rates) for end in (low, high)]
    return ends[0] if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"


def _sentences(rows: Sequence[EquivalentRow], each: FamilyInput) -> Iterator[str]:
    """Where a condition stands on a curve, for those that are on it."""
    prefix = family_prefix(each.title) if each.n_families > 1 else ""
    for row in rows:
        if row.rate is not None and row.interval:
            whose = f" of {row.system}" if row.system else ""
            yield (
                f"{prefix}{condition_span(row.condition)} equals the curve{whose} at "
                f"{row.equivalent} {UNIT} ({each.level * 100:g}% CI: {row.interval})."
            )


def _figure(
    curves: Sequence[Curve], each: FamilyInput, means: Mapping[str, Estimate], estimand: Estimand
) -> Figure:
    """The means of each curve with intervals, its monotone fit, and others that have a rate."""
    rows: list[dict[str, object]] = []
    for curve in curves:
        name = curve.system or "Mean"
        rows += [
            {"group": name, "x": float(rate), "y": m.value, "low": m.low, "high": m.high}
            for rate, m in zip(curve.rates, curve.means, strict=True)
        ]
        if any(m.value != fitted for m, fitted in zip(curve.means, curve.fitted, strict=True)):
            rows += [
                {"group": f"{name}, monotone curve", "x": float(rate), "y": float(fitted)}
                for rate, fitted in zip(curve.rates, curve.fitted, strict=True)
            ]
    rates = rates_of(each.inputs)
    shown = {name for curve in curves for name in curve.conditions}
    rows += [
        {"group": name, "x": rates[name], "y": means[name].value}
        | {"low": means[name].low, "high": means[name].high}
        for name in each.inputs.ordered("condition", set(rates) & set(means) - shown)
    ]
    return Figure(
        f"rate-curve{each.suffix}",
        "Score by bit rate",
        "lines",
        rows,
        x=f"Bit rate, {UNIT}",
        y=estimand.axis,
        note=CURVE_NOTE,
        about=each.title,
        decimals=estimand.decimals,
    )
