"""The tables of metrics against people: the short one, mapped, points, every number."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from analysis.citations import cite
from analysis.formatting import listed, percent
from analysis.name_spans import family_prefix
from analysis.ratings.estimands import estimand_of
from analysis.report.content import Column, Content, Table, bounds_cells, interval_cells
from analysis.report.part import PartInput
from analysis.report.parts.against_people.metric_data import FamilyScores
from analysis.statistics.agreement.noise_ceiling import noise_ceiling
from analysis.statistics.intervals import holm, naive_interval
from analysis.statistics.metric_agreement.metric_ceiling import (
    condition_ceiling,
    one_against_others,
)
from analysis.statistics.metric_agreement.metric_correlations import (
    AS_IS,
    FEW_CONDITIONS,
    FEWEST_VALUES,
    FISHER,
    MAPPED,
    THREE_WAY,
    TWO_WAY,
    MetricCorrelation,
)
from analysis.statistics.metric_agreement.metric_units import CONDITION, STIMULUS, WITHIN, Units
from analysis.statistics.metric_agreement.preference_accuracy import preferred_share
from analysis.statistics.metric_agreement.resampled_units import wider_over

MANY_UNITS, MANY_RATINGS = 1000, 100_000
MOST_SETS = 6  # of clips that metrics miss: each takes as long as the ceilings over all clips


@dataclass(frozen=True)
class MetricCeilings:
    """What a perfect metric could reach: over all units, and over those that a metric scored."""

    over_all: Ceilings
    by_metric: Mapping[str, Ceilings]  # of metrics that miss some; the same sets are shared
    rows: Sequence[dict[str, Any]]  # of a table
    untold: Sequence[str] = ()  # metrics that miss some, beyond as many sets as are computed

    def for_metric(self, metric: str) -> Ceilings:
        """The ceilings over the units of which this metric has a value; empty: not computed."""
        return {} if metric in self.untold else self.by_metric.get(metric, self.over_all)


def ceilings_of(scores: FamilyScores, inputs: PartInput) -> MetricCeilings:
    """The ceilings of a family, each over the very units of a correlation; once for all parts."""
    key = ("ceilings", scores.family.estimand, *scores.family.group.values())
    return inputs.once(key, lambda: _ceilings_of(scores, inputs))


def _ceilings_of(scores: FamilyScores, inputs: PartInput) -> MetricCeilings:
    over_all = _ceilings(scores.units, scores, inputs)
    sets: dict[bytes, Ceilings] = {}
    by_metric: dict[str, Ceilings] = {}
    rows = _rows(over_all, scores, "")
    untold = []
    for metric in order_metrics(scores):
        has_value = np.isfinite(scores.values[metric])
        if has_value.all():
            continue
        held = has_value.tobytes()
        if held not in sets and len(sets) >= MOST_SETS:
            untold.append(metric)
            continue
        if held not in sets:
            sets[held] = _ceilings(scores.units.only(has_value), scores, inputs)
        by_metric[metric] = sets[held]
    for ceilings in sets.values():
        alike = [scores.called(name) for name, own in by_metric.items() if own is ceilings]
        rows += _rows(ceilings, scores, listed(alike, 3))
    return MetricCeilings(over_all, by_metric, rows, untold)


def _rows(ceilings: Ceilings, scores: FamilyScores, metrics: str) -> list[dict[str, Any]]:
    return [
        {"unit": words_of(unit, scores), "statistic": NAMES[name], "scored_by": metrics, **row}
        for (unit, name), row in ceilings.items()
    ]


def _ceilings(units: Units, scores: FamilyScores, inputs: PartInput) -> Ceilings:
    options = inputs.options
    seed = int(np.random.default_rng(scores.family.seed(options.seed)).integers(2**31))
    many = len(units.score) > MANY_RATINGS
    splits, replicates = (
        (10, 200) if many else (40, 200) if len(units.own) > MANY_UNITS else (100, 500)
    )
    ceilings: dict[tuple[str, str], dict[str, Any]] = {}
    inside = units.condition[units.unit] if len(units.conditions) > 1 else None
    for unit in (STIMULUS, WITHIN) if inside is not None else (STIMULUS,):
        for statistic, name in (("spearman", "srcc"), ("pearson", "plcc")):
            half, reliability, top = noise_ceiling(
                units.unit,
                units.rater,
                units.score,
                statistic=statistic,
                splits=splits,
                replicates=replicates,
                level=options.level,
                seed=seed,
                within=inside if unit == WITHIN else None,
                neutral=estimand_of(units.estimand).neutral if units.signed else None,
            )
            ceilings[unit, name] = {
                "split_half": half.value,
                "reliability": reliability.value,
                **interval_cells("ceiling", top),
                "n": top.n_units,
                "note": top.note,
            }
    for each in condition_ceiling(units, level=options.level, seed=seed):
        row = each.row()
        row |= {"ceiling_low": row.pop("low"), "ceiling_high": row.pop("high")}
        ceilings[CONDITION, str(row.pop("statistic"))] = row
    return ceilings


def ceiling_table(scores: FamilyScores, ceilings: MetricCeilings, suffix: str) -> list[Table]:
    """Split halves, and one rater against the others."""
    rows = list(ceilings.rows)
    columns = [
        Column("unit", "Per"),
        Column("statistic", "Coefficient"),
        Column("split_half", "Between halves", "number"),
        Column("reliability", "Spearman-Brown", "number"),
        Column("ceiling", "Ceiling", "number"),
        Column("ceiling", "Ceiling, interval", "interval"),
        Column("n", "n", "count"),
        *[Column("scored_by", "Metric scored on")] * bool(ceilings.by_metric),
        Column("note", "Note"),
    ]
    note = (
        "The correlation between the means of random halves of the raters, and that of the mean "
        "of all raters (Spearman-Brown). The root of the latter is the highest correlation that a "
        "metric could reach. Within conditions, the means of conditions are subtracted from both "
        "halves. Intervals: from a bootstrap over stimuli; per condition the middle of the splits."
    )
    note += BOTH_ORDERS * scores.units.signed
    if ceilings.by_metric:
        note += " Metrics without a value for some clips have a ceiling over the others alone."
    if ceilings.untold:
        untold_names = listed([scores.called(name) for name in ceilings.untold])
        note += f" Not computed, as they miss yet other clips: {untold_names}."
    named = "What a perfect metric could reach"
    tables = [Table(f"ceiling{suffix}", named, columns, rows, note, scores.title, True)]
    alone = {each.statistic: each for each in one_against_others(scores.units)}
    if alone:
        lines = [
            {"statistic": NAMES[name], "value": alone[name].value}
            | {"n_raters": alone[name].n_raters}
            | {"low": alone[name].low, "high": alone[name].high}
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
            f"{BOTH_ORDERS * scores.units.signed}"
        )
        named = "One rater against the others"
        tables.append(Table(f"one_rater{suffix}", named, columns, lines, note, scores.title, True))
    return tables


COLUMNS = (
    Column("metric", "Metric"),
    Column("share", "Prefers the same", "percent"),
    Column("share_pct", "Interval, %", "interval", 1),
    Column("same", "Same side", "count"),
    Column("n", "Pairs", "count"),
    Column("ties_human", "People undecided", "count"),
    Column("ties_metric", "Metric undecided", "count"),
    Column("n_missing", "Missing", "count"),
    Column("srcc", "SRCC, both orders", "number", sign=True),
    Column("srcc", "SRCC, interval", "interval"),
    Column("ceiling", "Ceiling of SRCC", "number"),
    Column("note", "Note"),
)
NOTE = (
    "The share of pairs of clips in which metric and people, on average, prefer the same clip "
    "(50 % by guessing). Ties on either side are excluded and counted. Metrics whose lower "
    "values are better are reversed; all others count as higher is better. "
    "SRCC: Spearman of the mean preference with the difference of the metric."
)


def preferences(
    scores: FamilyScores,
    ceilings: MetricCeilings,
    inputs: PartInput,
    suffix: str,
    own: Collection[str] | None = None,
) -> Content:
    """How often each metric takes the side of people; nothing for ratings without sides.

    The sentence is about the best metric of all, or of its ``own``, which are about this aspect.
    """
    if not scores.units.signed:
        return Content()
    options = inputs.options
    shares = preferred_share(
        scores.units,
        scores.values,
        lower_is_better=scores.falls,
        level=options.level,
        replicates=options.replicates,
        seed=scores.family.seed(options.seed),
    )
    rows: list[dict[str, Any]] = []
    for each in shares:
        row = each.row() | {"same": None if each.share is None else round(each.share * each.n)}
        order = scores.number(each.metric, STIMULUS, "srcc", AS_IS)
        if order is not None:
            row |= interval_cells("srcc", order)
            row |= top_of(ceilings.for_metric(each.metric), STIMULUS, "srcc")
        if each.n < FEW and each.share is not None:
            row |= {"share": None, "low": None, "high": None}
            row["note"] = f"fewer than {FEW} pairs: no share"
        rows.append(row)
    rows.sort(key=lambda row: (-(row["share"] if row["share"] is not None else -1), row["metric"]))
    for row in rows:
        for end in ("low", "high"):
            row[f"share_pct_{end}"] = None if row[end] is None else 100 * row[end]
    columns = [each for each in COLUMNS if each.key != "note" or any(row["note"] for row in rows)]
    named = "Preferences of pairs and differences of metrics"
    table = Table(f"preferences{suffix}", named, columns, rows, NOTE + BOTH_ORDERS, scores.title)
    own_rows = [row for row in rows if own is None or row["metric"] in own]
    return Content(sentences=[_sentence(scores, own_rows)] if own_rows else [], tables=[table])


def _sentence(scores: FamilyScores, rows: Sequence[Mapping[str, Any]]) -> str:
    """How often the best of these metrics takes the side of people."""
    best = rows[0]
    called = scores.called(str(best["metric"]))
    if best["share"] is None:
        decided = max(row["n"] for row in rows)
        pairs = f"{decided} pair{'s' * (decided != 1)}"
        return (
            f"{family_prefix(scores.title)}people and {called if len(rows) == 1 else 'a metric'} "
            "both prefer a side "
            f"in {pairs} only: too few to say how often they agree ({FEW} or more are needed)."
        )
    among = f"of {len(rows)} metrics, {called}" if len(rows) > 1 else called
    ends = " (no interval)"
    if best["low"] is not None:
        ends = f" [{best['low'] * 100:.0f}, {best['high'] * 100:.0f}]"
    sentence = (
        f"{family_prefix(scores.title)}{among} prefers the clip that people prefer in "
        f"{percent(best['share'])}{ends} of {best['n']} pairs"
    )
    if best.get("srcc") is None:
        return f"{sentence}."
    order = (
        "" if best["srcc_low"] is None else f" [{best['srcc_low']:.2f}, {best['srcc_high']:.2f}]"
    )
    srcc = f"SRCC over both orders of each pair {best['srcc']:.2f}{order}".replace("-", "−")
    return f"{sentence} ({srcc})."


UNITS = (CONDITION, STIMULUS, WITHIN)
NAMES = {"srcc": "SRCC", "plcc": "PLCC", "krcc": "KRCC", "qwk": "QWK", "mae": "MAE"}
PLURALS = {"stimulus": "stimuli", "pair": "pairs"}
NAMES |= {"rmse": "RMSE", "rmse_star": "RMSE*"}
FEW = 10  # clips or pairs below which no sentence says which metric follows people, or how often
LEAST_CLIPS = 3  # for an interval of a metric's mean: of two it is wider than any drawing
COEFFICIENTS = ("srcc", "plcc", "krcc")
_ERRORS = ("plcc", "rmse", "rmse_star", "mae", "qwk")
_SIGNS = {True: "+", False: "−", None: ""}
BOTH_ORDERS = (
    " Each pair counts in both orders, A − B and B − A, so that no coefficient depends on which "
    "side is named first. Coefficients of one order depend on it, and are mostly lower. Intervals "
    "are wider than those of as many clips, since pairs share clips and systems."
)
Ceilings = Mapping[tuple[str, str], Mapping[str, Any]]  # by unit and statistic
CeilingsFor = Callable[[str], Ceilings]  # of a metric, over what it scored
NO_TOP = {"krcc": "of KRCC none is known: halves of raters say it of SRCC and PLCC"}


def correlation_table(scores: FamilyScores, ceilings: CeilingsFor, suffix: str) -> Table:
    """Each metric per condition, per stimulus and within conditions, beside the noise ceiling."""
    adjusted = holm_of(scores.correlations)
    rows = []
    for metric in order_metrics(scores):
        for unit in UNITS:
            first = scores.number(metric, unit, "srcc", AS_IS)
            if first is None:
                continue
            sign = next(each.rises for each in scores.metrics if each.name == metric)
            row: dict[str, Any] = {"metric": metric, "unit": words_of(unit, scores)}
            row |= {"sign": _SIGNS[sign], "n": first.n, "n_missing": first.n_missing}
            for name in ("srcc", "plcc", "krcc"):
                each = scores.number(metric, unit, name, AS_IS)
                if each is not None:
                    row |= interval_cells(name, each)
            row |= {"wide_low": first.low_conditions, "wide_high": first.high_conditions}
            own = ceilings(metric)
            row |= {**top_of(own, unit, "srcc"), "p": first.p}
            row |= {"ceiling_plcc": top_of(own, unit, "plcc")["ceiling"]}
            row |= {"p_holm": adjusted.get((metric, unit, "srcc")), "note": first.note}
            rows.append(row)
    columns = _columns(rows)
    note = (
        "SRCC, PLCC, KRCC: Spearman, Pearson, Kendall's tau-b with mean human scores. Intervals: "
        "raters and items drawn anew together, for these very conditions; for other conditions "
        "too, these are drawn as well. Ceiling: the SRCC that a perfect metric could reach over "
        "the same clips, by halves of the raters; of KRCC there is none. "
        f"{_multiplicity(rows)}{_no_top(scores, rows)}{BOTH_ORDERS * scores.units.signed}"
    )
    if any(row["n_missing"] for row in rows):
        note += f" Missing: {PLURALS[scores.what]} without a value, left out."
    note += _few(scores)
    note += "".join(dict.fromkeys(_reason(row, scores.called(row["metric"])) for row in rows))
    return Table(f"correlations{suffix}", "Metrics and people", columns, rows, note, scores.title)


def _no_top(scores: FamilyScores, rows: list[dict[str, Any]]) -> str:
    """Why lines have no ceiling, where some have none."""
    why: dict[str, list[str]] = {}
    for row in rows:
        if row["srcc"] is not None and row["ceiling"] is None:
            reason = row["ceiling_note"] or "too many other sets of clips"
            why.setdefault(reason, []).append(f"{scores.called(row['metric'])} per {row['unit']}")
    return "".join(f" No ceiling for {listed(who, 3)}: {reason}." for reason, who in why.items())


def _multiplicity(rows: list[dict[str, Any]]) -> str:
    """Over how many metrics p is adjusted: those that have one."""
    n = len({row["metric"] for row in rows if row["p"] is not None})
    if n < 2:
        return "p of SRCC; there is one metric with a p, so nothing is adjusted."
    return (
        f"p of SRCC, Holm's over the {n} metrics that have one, for each kind of line on its own; "
        "not over coefficients, tasks or criteria."
    )


def _few(scores: FamilyScores) -> str:
    """How rough the lines per condition are, where there are few."""
    n = len(scores.units.conditions)
    if not FEWEST_VALUES <= n < FEW_CONDITIONS:
        return ""
    kinds = "pairs of conditions" if scores.units.compared else "conditions"
    if scores.units.signed:
        return f" With {n} {kinds} an SRCC takes few values and its interval is rough."
    return (
        f" With {n} {kinds} an SRCC takes few values and its interval is rough; that of PLCC "
        f"is widened by sqrt(n / (n - 2)) = {wider_over(n):.2f}. For a claim about "
        "other systems read the interval for other conditions, which is wide with so few."
    )


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
        Column("ceiling_plcc", "Ceiling of PLCC", "number"),
        Column("krcc", "KRCC", "number", sign=True),
        *[Column("wide", "SRCC, other conditions too", "interval")] * some("wide_low"),
        *[Column("n_missing", "Missing", "count")] * some("n_missing"),
    ]


def _reason(row: Mapping[str, Any], called: str) -> str:
    """Why a line has no coefficient or no interval, as a sentence."""
    if not row["note"]:
        return ""
    unit = str(row["unit"])
    what = unit if "within" in unit else f"per {unit}"
    return f" {called}, {what}: {row['note'].removeprefix('undefined: ')}."


def mapped_table(scores: FamilyScores, suffix: str) -> list[Table]:
    """Errors on the raters' scale, before and after the monotonic cubic; none for comparisons."""
    if scores.units.compared:
        return []
    rows = [
        row
        for metric in order_metrics(scores)
        for unit in (CONDITION, STIMULUS)
        if "n" in (row := _mapped_row(scores, metric, unit))
    ]
    columns = [Column("metric", "Metric"), Column("unit", "Per"), Column("n", "n", "count")]
    for name in _ERRORS:
        columns += _before_and_after(name, rows)
    if any(row.get("note") for row in rows):
        columns.append(Column("note", "Note"))
    note = (
        "After: the metric mapped onto the human scale by the cubic of least squares that never "
        f"turns on the range of the data {cite('itu_p1401')}. SRCC and KRCC do not change by it. "
        "Before: of metrics on the raters' scale alone (by their declared range; where they have "
        "none, by their values). RMSE divides by n less the 4 numbers of the mapping; RMSE* "
        "counts only what lies outside the human interval. Intervals hold the mapping as it is. "
        "The mapping is fitted to these very scores, so errors after it are flattered, more so "
        "where they are few."
    )
    named = "Errors on the human scale, before and after a mapping"
    return [Table(f"mapped{suffix}", named, columns, rows, note, scores.title, True)]


def _mapped_row(scores: FamilyScores, metric: str, unit: str) -> dict[str, Any]:
    """Errors of one metric per unit; without ``n`` where there is none."""
    row: dict[str, Any] = {"metric": metric, "unit": words_of(unit, scores)}
    for mapping, suffixed in ((AS_IS, "before"), (MAPPED, "after")):
        for name in _ERRORS:
            each = scores.number(metric, unit, name, mapping)
            if each is None:
                continue
            row |= interval_cells(f"{name}_{suffixed}", each)
            row |= {"n": each.n, "note": each.note or row.get("note", "")}
    return row


def _before_and_after(name: str, rows: list[dict[str, Any]]) -> Iterator[Column]:
    for suffixed in ("before", "after"):
        key = f"{name}_{suffixed}"
        if any(row.get(key) is not None for row in rows):
            yield Column(key, f"{NAMES[name]} {suffixed}", "number")
            if suffixed == "after":
                yield Column(key, f"{NAMES[name]} after, interval", "interval")


def number_table(scores: FamilyScores, ceilings: CeilingsFor, suffix: str) -> Table:
    """Every number as a line of its own, with its counts and how its interval was made."""
    adjusted = holm_of(scores.correlations)
    versions = {each.name: each for each in scores.metrics}
    rows = []
    for each in scores.correlations:
        own = versions[each.metric]
        row = {"estimand": scores.family.estimand, **scores.family.group, **each.row()}
        row |= {"metric": own.metric, "version": own.version, "statistic": NAMES[each.statistic]}
        row["p_holm"] = adjusted.get((each.metric, each.unit, each.statistic))
        row["level"], row["interval"] = scores.level, TWO_WAY if each.low is not None else ""
        row["interval_conditions"] = _over_conditions(each)
        row["n_raters"], row["n_items"] = scores.units.n_raters, scores.units.n_items
        if each.statistic in COEFFICIENTS:
            row |= top_of(ceilings(each.metric), each.unit, each.statistic)
        rows.append(row)
    columns = [
        Column("metric", "Metric"),
        Column("version", "Version"),
        Column("unit", "Per"),
        Column("statistic", "Measure"),
        Column("mapping", "Taken"),
        Column("value", "Value", "number"),
        Column("interval", "Interval", "interval"),
        Column("p", "p", "p"),
        Column("p_holm", "p, Holm", "p"),
        Column("ceiling", "Ceiling", "number"),
        Column("n", "n", "count"),
        Column("n_ratings", "Ratings", "count"),
        Column("note", "Note"),
    ]
    note = (
        "p per condition: from all orders of up to 7 conditions, above that scipy's p. All other "
        "p: from the spread of the bootstrap on Fisher's scale."
    )
    if scores.units.signed:
        note = (
            "p per pair of conditions: from exchanging systems, in all orders of up to 7, above "
            "that in 9,999 random ones (none with fewer than 20 orders). All other p: from the "
            f"spread of the bootstrap on Fisher's scale.{BOTH_ORDERS}"
        )
    return Table(f"numbers{suffix}", "Every number", columns, rows, note, scores.title, True)


def _over_conditions(each: MetricCorrelation) -> str:
    """How the interval for other conditions was made."""
    if each.low_conditions is None:
        return ""
    return FISHER if each.statistic == "plcc" and each.n < FEW_CONDITIONS else THREE_WAY


def point_rows(scores: FamilyScores, metric: str) -> list[dict[str, Any]]:
    """Per condition: the metric's mean over clips and the mean human score, with intervals."""
    values, units = scores.values[metric], scores.units
    human = units.intervals(scores.level)
    rows = []
    for c, condition in enumerate(units.conditions):
        inside = values[(units.condition == c) & np.isfinite(values)]
        if not len(inside):
            continue
        bounds = naive_interval(inside, scores.level) if len(inside) >= LEAST_CLIPS else None
        mean, low, high = human[c]
        rows.append(
            {
                "metric": metric,
                "condition": condition,
                "x": float(inside.mean()),
                **bounds_cells("x", bounds),
                "y": mean,
                "y_low": low,
                "y_high": high,
                "n_stimuli": len(inside),
                "n_ratings": int(units.ratings[units.condition == c].sum()),
            }
        )
    return rows


def point_table(scores: FamilyScores, suffix: str) -> Table:
    """The points of the figures per condition, of every metric."""
    rows = [row for metric in order_metrics(scores) for row in point_rows(scores, metric)]
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
    title = "Means of the conditions"
    return Table(f"points{suffix}", title, columns, rows, note, scores.title, True)


def holm_of(correlated: Iterable[MetricCorrelation]) -> dict[tuple[str, str, str], float | None]:
    """Holm's p over the metrics, for each unit and coefficient, by metric, unit, coefficient."""
    groups: dict[tuple[str, str], list[MetricCorrelation]] = {}
    for each in correlated:
        if each.mapping == AS_IS and each.p is not None:
            groups.setdefault((each.unit, each.statistic), []).append(each)
    return {
        (each.metric, *key): p
        for key, group in groups.items()
        for each, p in zip(group, holm([each.p for each in group]), strict=True)
    }


def order_metrics(scores: FamilyScores) -> list[str]:
    """The metrics by the size of their SRCC per stimulus; those with few values come last."""
    most = max((each.n for each in scores.correlations if each.unit == STIMULUS), default=0)

    def place(name: str) -> tuple[bool, float, str]:
        each = scores.number(name, STIMULUS, "srcc", AS_IS)
        if each is None or each.value is None:
            return True, 2.0, name
        return each.n < most / 2, -abs(each.value), name

    return sorted(scores.values, key=place)


def words_of(unit: str, scores: FamilyScores) -> str:
    """What a line counts, in words: of comparisons it is pairs."""
    if not scores.units.compared:
        return "within conditions" if unit == WITHIN else unit
    return {STIMULUS: "pair", CONDITION: "pair of conditions", WITHIN: "pair, within conditions"}[
        unit
    ]


def top_of(ceilings: Ceilings, unit: str, statistic: str) -> dict[str, Any]:
    """What a perfect metric could reach, with its interval; or None, and the note says why."""
    ceiling = ceilings.get((unit, statistic), {})
    row = {name: ceiling.get(name) for name in ("ceiling", "ceiling_low", "ceiling_high")}
    why = ceiling.get("note") or NO_TOP.get(statistic, "") if row["ceiling"] is None else ""
    return {**row, "ceiling_note": why}
